// RUN: mpc-opt %s --mpc-split-reductions --split-input-file | FileCheck %s

// A reduction over adjacent dimensions is walked directly.
// CHECK-LABEL: func.func @together
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.generic
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#first = affine_map<(d0, d1, d2) -> (d0)>
func.func @together(%x: tensor<4x5x6xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#all, #first], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x : tensor<4x5x6xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A reduction that skips a dimension is done in two, the inner ones first, with
// the same combiner and the same identity.
// CHECK-LABEL: func.func @apart
// CHECK:         %[[LOW:.*]] = arith.constant 0xFF800000 : f32
// CHECK:         %[[FIRST:.*]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}} : tensor<4x5x6xf32>) outs(%{{.*}} : tensor<4x5xf32>)
// CHECK:           arith.maximumf
// CHECK:         linalg.fill ins(%[[LOW]] : f32) outs(%{{.*}} : tensor<5xf32>)
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} ins(%[[FIRST]] : tensor<4x5xf32>) outs(%{{.*}} : tensor<5xf32>)
// CHECK:           arith.maximumf
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#middle = affine_map<(d0, d1, d2) -> (d1)>
func.func @apart(%x: tensor<4x5x6xf32>) -> tensor<5xf32> {
  %low = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<5xf32>
  %init = linalg.fill ins(%low : f32) outs(%empty : tensor<5xf32>) -> tensor<5xf32>
  %0 = linalg.generic {indexing_maps = [#all, #middle], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x : tensor<4x5x6xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.maximumf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

// The terms are computed only in the first of the two.
// CHECK-LABEL: func.func @computes_once
// CHECK:         arith.mulf
// CHECK:         arith.addf
// CHECK-NOT:     arith.mulf
// CHECK:         arith.addf
// CHECK-NOT:     arith.mulf
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#middle = affine_map<(d0, d1, d2) -> (d1)>
func.func @computes_once(%x: tensor<4x5x6xf32>) -> tensor<5xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<5xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<5xf32>) -> tensor<5xf32>
  %0 = linalg.generic {indexing_maps = [#all, #middle], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x : tensor<4x5x6xf32>) outs(%init : tensor<5xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.mulf %in, %in : f32
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

// A sum over dimensions that memory steps through unevenly (a slice) is split
// as well.
// CHECK-LABEL: func.func @uneven
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]}
#slice = affine_map<(d0, d1, d2) -> (d0, d1, d2 + 1)>
#first = affine_map<(d0, d1, d2) -> (d0)>
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
func.func @uneven(%x: tensor<4x5x7xf32>, %y: tensor<4x5x6xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4xf32>) -> tensor<4xf32>
  %0 = linalg.generic {indexing_maps = [#slice, #all, #first], iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x, %y : tensor<4x5x7xf32>, tensor<4x5x6xf32>) outs(%init : tensor<4xf32>) {
  ^bb0(%in: f32, %in_1: f32, %out: f32):
    %1 = arith.mulf %in, %in_1 : f32
    %2 = arith.addf %out, %1 : f32
    linalg.yield %2 : f32
  } -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A large sum down the rows leaves 64 blocks of rows for threads to share.
// CHECK-LABEL: func.func @large
// CHECK:         %[[BLOCKS:.*]] = tensor.expand_shape %{{.*}} {{.*}} output_shape [64, 32, 128] : tensor<2048x128xf32> into tensor<64x32x128xf32>
// CHECK:         linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]} ins(%[[BLOCKS]] : tensor<64x32x128xf32>) outs(%{{.*}} : tensor<64x128xf32>)
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]} {{.*}} outs(%{{.*}} : tensor<128xf32>)
#all = affine_map<(d0, d1) -> (d0, d1)>
#last = affine_map<(d0, d1) -> (d1)>
func.func @large(%x: tensor<2048x128xf32>) -> tensor<128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<128xf32>) -> tensor<128xf32>
  %0 = linalg.generic {indexing_maps = [#all, #last], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<2048x128xf32>) outs(%init : tensor<128xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<128xf32>
  return %0 : tensor<128xf32>
}

// -----

// A prime number of rows has no even blocks: the sum stays whole, as does a small one.
// CHECK-LABEL: func.func @prime
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.generic
#all = affine_map<(d0, d1) -> (d0, d1)>
#last = affine_map<(d0, d1) -> (d1)>
func.func @prime(%x: tensor<2053x128xf32>) -> tensor<128xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<128xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<128xf32>) -> tensor<128xf32>
  %0 = linalg.generic {indexing_maps = [#all, #last], iterator_types = ["reduction", "parallel"]}
      ins(%x : tensor<2053x128xf32>) outs(%init : tensor<128xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<128xf32>
  return %0 : tensor<128xf32>
}

// -----

// A reduction that starts from other values than its identity is not changed.
// CHECK-LABEL: func.func @goes_on
// CHECK-COUNT-1: linalg.generic
// CHECK-NOT:     linalg.generic
#all = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#middle = affine_map<(d0, d1, d2) -> (d1)>
func.func @goes_on(%x: tensor<4x8x16xf32>, %init: tensor<8xf32>) -> tensor<8xf32> {
  %0 = linalg.generic {indexing_maps = [#all, #middle], iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%x : tensor<4x8x16xf32>) outs(%init : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %1 = arith.addf %out, %in : f32
    linalg.yield %1 : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
