// RUN: mpc-opt %s --mpc-patches-to-products --split-input-file | FileCheck %s

// Patches have the order of the weight: channels, then rows and columns.
// CHECK-LABEL: func.func @patches
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3x8x12xf32>, %[[W:.*]]: tensor<5x3x4x4xf32>, %[[B:.*]]: tensor<5xf32>)
// CHECK-DAG:     %[[DIVIDED:.*]] = train.reshape %[[X]] : (tensor<2x3x8x12xf32>) -> tensor<2x3x2x4x3x4xf32>
// CHECK-DAG:     %[[PATCHES:.*]] = train.transpose %[[DIVIDED]] {permutation = array<i64: 0, 2, 4, 1, 3, 5>}
// CHECK-DAG:     %[[ROWS:.*]] = train.reshape %[[PATCHES]] : (tensor<2x2x3x3x4x4xf32>) -> tensor<12x48xf32>
// CHECK-DAG:     %[[WEIGHT:.*]] = train.reshape %[[W]] : (tensor<5x3x4x4xf32>) -> tensor<5x48xf32>
// CHECK:         %[[PRODUCT:.*]] = train.matmul %[[ROWS]], %[[WEIGHT]] {transpose_rhs} : {{.*}} -> tensor<12x5xf32>
// CHECK:         %[[SUM:.*]] = train.add %[[PRODUCT]], %[[B]]
// CHECK:         %[[LAST:.*]] = train.reshape %[[SUM]] : (tensor<12x5xf32>) -> tensor<2x2x3x5xf32>
// CHECK:         %[[FIRST:.*]] = train.transpose %[[LAST]] {permutation = array<i64: 0, 3, 1, 2>}
// CHECK:         return %[[FIRST]] : tensor<2x5x2x3xf32>
func.func @patches(%x: tensor<2x3x8x12xf32>, %w: tensor<5x3x4x4xf32>, %b: tensor<5xf32>) -> tensor<2x5x2x3xf32> {
  %0 = train.conv %x, %w, %b {strides = array<i64: 4, 4>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x3x8x12xf32>, tensor<5x3x4x4xf32>, tensor<5xf32>) -> tensor<2x5x2x3xf32>
  return %0 : tensor<2x5x2x3xf32>
}

// -----

// One spatial dimension.
// CHECK-LABEL: func.func @frames
// CHECK:         train.transpose %{{.*}} {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x1x3x16xf32>)
// CHECK:         train.matmul {{.*}} -> tensor<6x5xf32>
// CHECK-NOT:     train.add
// CHECK:         train.transpose %{{.*}} {permutation = array<i64: 0, 2, 1>} : (tensor<2x3x5xf32>)
func.func @frames(%x: tensor<2x1x48xf32>, %w: tensor<5x1x16xf32>) -> tensor<2x5x3xf32> {
  %0 = train.conv %x, %w {strides = array<i64: 16>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>} : (tensor<2x1x48xf32>, tensor<5x1x16xf32>) -> tensor<2x5x3xf32>
  return %0 : tensor<2x5x3xf32>
}

// -----

// Pixels that belong to no patch; pads; overlaps; groups; and small windows.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-5: train.conv
func.func @others(%x: tensor<2x4x9x8xf32>, %y: tensor<2x4x8x8xf32>, %w: tensor<6x4x4x4xf32>, %g: tensor<6x2x4x4xf32>, %s: tensor<6x4x2x2xf32>) -> (tensor<2x6x2x2xf32>, tensor<2x6x3x3xf32>, tensor<2x6x3x3xf32>, tensor<2x6x2x2xf32>, tensor<2x6x4x4xf32>) {
  %0 = train.conv %x, %w {strides = array<i64: 4, 4>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x4x9x8xf32>, tensor<6x4x4x4xf32>) -> tensor<2x6x2x2xf32>
  %1 = train.conv %y, %w {strides = array<i64: 4, 4>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 2, 2>, pads_end = array<i64: 2, 2>} : (tensor<2x4x8x8xf32>, tensor<6x4x4x4xf32>) -> tensor<2x6x3x3xf32>
  %2 = train.conv %y, %w {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>, tensor<6x4x4x4xf32>) -> tensor<2x6x3x3xf32>
  %3 = train.conv %y, %g {strides = array<i64: 4, 4>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>, group = 2 : i64} : (tensor<2x4x8x8xf32>, tensor<6x2x4x4xf32>) -> tensor<2x6x2x2xf32>
  %4 = train.conv %y, %s {strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>, tensor<6x4x2x2xf32>) -> tensor<2x6x4x4xf32>
  return %0, %1, %2, %3, %4 : tensor<2x6x2x2xf32>, tensor<2x6x3x3xf32>, tensor<2x6x3x3xf32>, tensor<2x6x2x2xf32>, tensor<2x6x4x4xf32>
}
