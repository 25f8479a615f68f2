// RUN: mpc-opt %s --mpc-lower-to-linalg --mpc-compose-data-movement --split-input-file | FileCheck %s

// The heads of an attention: slices of a product, transposed. Each is read
// directly from the product, in one pass.
// CHECK-DAG:   #[[$ID:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
// CHECK-DAG:   #[[$Q:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1 mod 8, d3)>
// CHECK-DAG:   #[[$K:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d3, d1 + 4, d2)>
// CHECK-LABEL: func.func @heads
// CHECK-SAME:    (%[[X:.*]]: tensor<2x5x8x3xf32>)
// CHECK:         linalg.generic {indexing_maps = [#[[$Q]], #[[$ID]]], {{.*}} ins(%[[X]] : tensor<2x5x8x3xf32>)
// CHECK:         linalg.generic {indexing_maps = [#[[$K]], #[[$ID]]], {{.*}} ins(%[[X]] : tensor<2x5x8x3xf32>)
// CHECK-NOT:     linalg.generic
func.func @heads(%x: tensor<2x5x8x3xf32>) -> (tensor<2x4x5x3xf32>, tensor<2x4x3x5xf32>) {
  %0:2 = train.split %x {axis = 2 : i64, sizes = array<i64: 4, 4>} : (tensor<2x5x8x3xf32>) -> (tensor<2x5x4x3xf32>, tensor<2x5x4x3xf32>)
  %1 = train.transpose %0#0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x3xf32>) -> tensor<2x4x5x3xf32>
  %2 = train.transpose %0#1 {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x5x4x3xf32>) -> tensor<2x4x3x5xf32>
  return %1, %2 : tensor<2x4x5x3xf32>, tensor<2x4x3x5xf32>
}

// -----

// Their gradients are each written directly to their place.
// CHECK-DAG:   #[[$FROM:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>
// CHECK-DAG:   #[[$TO:.*]] = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2 + 4, d3)>
// CHECK-LABEL: func.func @gradients
// CHECK-SAME:    (%[[Q:.*]]: tensor<2x4x5x3xbf16>, %[[K:.*]]: tensor<2x4x5x3xbf16>)
// CHECK:         linalg.generic {{.*}} ins(%[[Q]] : tensor<2x4x5x3xbf16>)
// CHECK:         linalg.generic {indexing_maps = [#[[$FROM]], #[[$TO]]], {{.*}} ins(%[[K]] : tensor<2x4x5x3xbf16>)
// CHECK-NOT:     linalg.generic
func.func @gradients(%q: tensor<2x4x5x3xbf16>, %k: tensor<2x4x5x3xbf16>) -> tensor<2x5x8x3xbf16> {
  %0 = train.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x5x3xbf16>) -> tensor<2x5x4x3xbf16>
  %1 = train.transpose %k {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x4x5x3xbf16>) -> tensor<2x5x4x3xbf16>
  %2 = train.concat %0, %1 {axis = 2 : i64} : (tensor<2x5x4x3xbf16>, tensor<2x5x4x3xbf16>) -> tensor<2x5x8x3xbf16>
  return %2 : tensor<2x5x8x3xbf16>
}

// -----

// A slice of a slice, and of a broadcast.
// CHECK-DAG:   #[[$BOX:.*]] = affine_map<(d0, d1) -> (d0 + 3, d1 mod 9)>
// CHECK-DAG:   #[[$STILL:.*]] = affine_map<(d0, d1) -> (d0 + 1, 0)>
// CHECK-LABEL: func.func @slices
// CHECK-COUNT-2: linalg.generic
// CHECK-NOT:     linalg.generic
func.func @slices(%x: tensor<9x9xf32>, %y: tensor<4x1xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = train.slice %x {offsets = array<i64: 1, 0>} : (tensor<9x9xf32>) -> tensor<5x5xf32>
  %1 = train.slice %0 {offsets = array<i64: 2, 0>} : (tensor<5x5xf32>) -> tensor<2x3xf32>
  %2 = train.broadcast_to %y : (tensor<4x1xf32>) -> tensor<4x7xf32>
  %3 = train.slice %2 {offsets = array<i64: 1, 2>} : (tensor<4x7xf32>) -> tensor<2x3xf32>
  return %1, %3 : tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// One row, repeated.
// CHECK-DAG:   #[[$ROW:.*]] = affine_map<(d0, d1) -> (2, d1)>
// CHECK-LABEL: func.func @row
// CHECK:         linalg.generic {indexing_maps = [#[[$ROW]], #{{.*}}]
// CHECK-NOT:     linalg.generic
func.func @row(%x: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %0 = train.slice %x {offsets = array<i64: 2, 0>} : (tensor<4x5xf32>) -> tensor<1x5xf32>
  %1 = train.broadcast_to %0 : (tensor<1x5xf32>) -> tensor<3x5xf32>
  return %1 : tensor<3x5xf32>
}

// -----

// Not a slice that is inserted as a part: its size would not be recorded anywhere.
// CHECK-LABEL: func.func @part_of_part
// CHECK-COUNT-3: linalg.generic
func.func @part_of_part(%x: tensor<8xf32>, %y: tensor<2xf32>) -> tensor<6xf32> {
  %0 = train.slice %x {offsets = array<i64: 1>} : (tensor<8xf32>) -> tensor<4xf32>
  %1 = train.concat %y, %0 {axis = 0 : i64} : (tensor<2xf32>, tensor<4xf32>) -> tensor<6xf32>
  return %1 : tensor<6xf32>
}

// -----

// Not values with other uses, not for arithmetic, and not what a concatenation
// wrote partially.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-7: linalg.generic
func.func @apart(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>) {
  %0 = train.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = train.neg %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = train.relu %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = train.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = train.transpose %3 {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = train.concat %x, %2 {axis = 0 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  return %1, %3, %4, %5 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>
}
