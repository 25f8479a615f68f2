// RUN: mpc-opt %s --mpc-lower-to-linalg --mpc-sink-into-slices --split-input-file | FileCheck %s

// The bias of a projection to query and key is added where they are split, also
// behind a reshape to heads.
// CHECK-DAG:   #[[$ALL:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
// CHECK-DAG:   #[[$FIRST:.*]] = affine_map<(d0, d1, d2) -> (d0, d1 mod 4, d2)>
// CHECK-DAG:   #[[$FIRST_BIAS:.*]] = affine_map<(d0, d1, d2) -> (d1 mod 4, d2)>
// CHECK-DAG:   #[[$SECOND:.*]] = affine_map<(d0, d1, d2) -> (d0, d1 + 2, d2)>
// CHECK-DAG:   #[[$SECOND_BIAS:.*]] = affine_map<(d0, d1, d2) -> (d1 + 2, d2)>
// CHECK-LABEL: func.func @heads
// CHECK-SAME:    (%[[X:.*]]: tensor<6x32xf32>, %[[B:.*]]: tensor<32xf32>)
// CHECK-DAG:     %[[X3:.*]] = tensor.expand_shape %[[X]] {{.*}} into tensor<6x4x8xf32>
// CHECK-DAG:     %[[B2:.*]] = tensor.expand_shape %[[B]] {{.*}} into tensor<4x8xf32>
// CHECK:         linalg.generic {indexing_maps = [#[[$FIRST]], #[[$FIRST_BIAS]], #[[$ALL]]], {{.*}} ins(%[[X3]], %[[B2]] : tensor<6x4x8xf32>, tensor<4x8xf32>) outs(%{{.*}} : tensor<6x2x8xf32>)
// CHECK:           arith.addf
// CHECK:         linalg.generic {indexing_maps = [#[[$SECOND]], #[[$SECOND_BIAS]], #[[$ALL]]], {{.*}} outs(%{{.*}} : tensor<6x2x8xf32>)
// CHECK:           arith.addf
// CHECK-NOT:     linalg.generic
func.func @heads(%x: tensor<6x32xf32>, %b: tensor<32xf32>) -> (tensor<6x2x8xf32>, tensor<6x2x8xf32>) {
  %0 = train.add %x, %b : (tensor<6x32xf32>, tensor<32xf32>) -> tensor<6x32xf32>
  %1 = train.reshape %0 : (tensor<6x32xf32>) -> tensor<6x4x8xf32>
  %2:2 = train.split %1 {axis = 1 : i64, sizes = array<i64: 2, 2>} : (tensor<6x4x8xf32>) -> (tensor<6x2x8xf32>, tensor<6x2x8xf32>)
  return %2#0, %2#1 : tensor<6x2x8xf32>, tensor<6x2x8xf32>
}

// -----

// Any elementwise function of one operand, too.
// CHECK-LABEL: func.func @function
// CHECK:         linalg.generic
// CHECK:           arith.maximumf
// CHECK:         linalg.generic
// CHECK:           arith.maximumf
// CHECK:         return
func.func @function(%x: tensor<6x8xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  %0 = train.relu %x : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %1:2 = train.split %0 {axis = 1 : i64, sizes = array<i64: 4, 4>} : (tensor<6x8xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>)
  return %1#0, %1#1 : tensor<6x4xf32>, tensor<6x4xf32>
}

// -----

// Left alone: a result that another op reads whole, slices that overlap, a single
// slice, and slices that turn the rows.
// CHECK-LABEL: func.func @others
// CHECK:         arith.maximumf
// CHECK:         math.exp
// CHECK:         math.log
// CHECK:         math.tanh
// CHECK-NOT:     {{math|arith.max}}
// CHECK:         return
func.func @others(%x: tensor<6x8xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x8xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x4xf32>, tensor<4x6xf32>, tensor<4x6xf32>) {
  %0 = train.relu %x : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %1:2 = train.split %0 {axis = 1 : i64, sizes = array<i64: 4, 4>} : (tensor<6x8xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>)
  %2 = train.exp %x : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %3 = train.slice %2 {offsets = array<i64: 0, 0>} : (tensor<6x8xf32>) -> tensor<6x5xf32>
  %4 = train.slice %2 {offsets = array<i64: 0, 3>} : (tensor<6x8xf32>) -> tensor<6x5xf32>
  %5 = train.log %x : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %6 = train.slice %5 {offsets = array<i64: 0, 3>} : (tensor<6x8xf32>) -> tensor<6x4xf32>
  %7 = train.tanh %x : (tensor<6x8xf32>) -> tensor<6x8xf32>
  %8 = train.transpose %7 {permutation = array<i64: 1, 0>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %9:2 = train.split %8 {axis = 0 : i64, sizes = array<i64: 4, 4>} : (tensor<8x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>)
  return %1#0, %1#1, %0, %3, %4, %6, %9#0, %9#1 : tensor<6x4xf32>, tensor<6x4xf32>, tensor<6x8xf32>, tensor<6x5xf32>, tensor<6x5xf32>, tensor<6x4xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}
