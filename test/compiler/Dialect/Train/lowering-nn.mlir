// RUN: mpc-opt %s --split-input-file --mpc-lower-to-linalg --canonicalize --cse | FileCheck %s

// Two passes for the variance, with all arithmetic in f32 although the data is not.
// CHECK-LABEL: func.func @layer_norm
// CHECK-SAME:    (%[[X:.*]]: tensor<4x6xbf16>, %[[S:.*]]: tensor<6xf32>, %[[B:.*]]: tensor<6xf32>)
func.func @layer_norm(%x: tensor<4x6xbf16>, %s: tensor<6xf32>, %b: tensor<6xf32>) -> tensor<4x6xbf16> {
  // CHECK: %[[SUM:.*]] = linalg.generic {{.*}}["parallel", "reduction"]} ins(%[[X]] : tensor<4x6xbf16>)
  // CHECK:   arith.extf
  // CHECK: %[[MEAN:.*]] = linalg.generic {{.*}} ins(%[[SUM]] :
  // CHECK: %[[SQUARES:.*]] = linalg.generic {{.*}}["parallel", "reduction"]} ins(%[[X]], %[[MEAN]] :
  // CHECK:   %[[C:.*]] = arith.subf
  // CHECK:   arith.mulf %[[C]], %[[C]] : f32
  // CHECK: linalg.generic {{.*}} ins(%[[X]], %[[MEAN]], %{{.*}}, %[[S]], %[[B]] :
  // CHECK:   arith.truncf %{{.*}} : f32 to bf16
  %y:3 = train.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-05 : f32} : (tensor<4x6xbf16>, tensor<6xf32>, tensor<6xf32>) -> (tensor<4x6xbf16>, tensor<4xf32>, tensor<4xf32>)
  return %y#0 : tensor<4x6xbf16>
}

// -----

// The exponential is computed once and used twice; the difference comes before
// everything else.
// CHECK-LABEL: func.func @softmax
func.func @softmax(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // CHECK: arith.maxnumf
  // CHECK: %[[EXP:.*]] = linalg.generic
  // CHECK:   %[[DIFFERENCE:.*]] = arith.subf
  // CHECK:   %[[BITS:.*]] = arith.mulf %[[DIFFERENCE]], %{{.*}} : f32
  // CHECK:   math.exp2 %[[BITS]]
  // CHECK: linalg.generic {{.*}}["parallel", "reduction"]} ins(%[[EXP]] :
  // CHECK: linalg.generic {{.*}} ins(%[[EXP]], %{{.*}} :
  // CHECK-NOT: math.exp
  %0 = train.softmax %x {axis = 1 : i64} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  return %0 : tensor<4x6xf32>
}

// -----

// The label is compared with positions in 32 bits, and once per row with the
// number of classes.
// CHECK-LABEL: func.func @cross_entropy
func.func @cross_entropy(%x: tensor<4x6xf32>, %l: tensor<4xi32>) -> tensor<4xf32> {
  // CHECK: %[[AT:.*]] = linalg.index 1
  // CHECK: %[[CLASS:.*]] = arith.index_cast %[[AT]] : index to i32
  // CHECK: arith.cmpi eq, %[[CLASS]], %{{.*}} : i32
  // CHECK: arith.cmpi ult, %{{.*}}, %c6_i32 : i32
  %0 = train.softmax_cross_entropy %x, %l {reduction = #train<reduction none>} : (tensor<4x6xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Padded columns count as minus infinity, and labels are compared with the
// number of classes. Their gradient is 0.
// CHECK-LABEL: func.func @padded_classes
func.func @padded_classes(%g: tensor<4xf32>, %x: tensor<4x8xf32>, %l: tensor<4xi32>) -> (tensor<4x8xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK-DAG: %[[NEVER:.*]] = arith.constant 0xFF800000 : f32
  // CHECK: %[[AT:.*]] = linalg.index 1
  // CHECK: %[[CLASS:.*]] = arith.index_cast %[[AT]] : index to i32
  // CHECK: %[[IS:.*]] = arith.cmpi ult, %[[CLASS]], %c6_i32 : i32
  // CHECK: %[[SCORE:.*]] = arith.select %[[IS]], %in, %[[NEVER]] : f32
  // CHECK: arith.maxnumf %out, %[[SCORE]]
  // CHECK: arith.cmpi ult, %in{{.*}}, %c6_i32 : i32
  // CHECK: math.exp2
  // CHECK: %[[SLOPE:.*]] = arith.subf
  // CHECK-NEXT: %[[IS:.*]] = arith.cmpi ult, %{{.*}}, %c6_i32 : i32
  // CHECK-NEXT: arith.select %[[IS]], %[[SLOPE]], %[[ZERO]] : f32
  // CHECK: %[[IS:.*]] = arith.cmpi ult, %{{.*}}, %c6_i32 : i32
  // CHECK: %[[SCORE:.*]] = arith.select %[[IS]], %in, %[[NEVER]] : f32
  // CHECK: arith.maximumf %out, %[[SCORE]]
  %0 = train.softmax_cross_entropy_grad %g, %x, %l {classes = 6 : i64, reduction = #train<reduction none>} : (tensor<4xf32>, tensor<4x8xf32>, tensor<4xi32>) -> tensor<4x8xf32>
  %1 = train.is_correct %x, %l {classes = 6 : i64} : (tensor<4x8xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %0, %1 : tensor<4x8xf32>, tensor<4xf32>
}

// -----

// No i32 label can equal an ignore_index beyond 32 bits: labels are compared only with
// positions and with the number of classes.
// CHECK-LABEL: func.func @ignore_nothing
func.func @ignore_nothing(%x: tensor<4x6xf32>, %l: tensor<4xi32>) -> tensor<4xf32> {
  // CHECK: arith.cmpi eq
  // CHECK: arith.cmpi ult
  // CHECK-NOT: arith.cmpi
  %0 = train.nll_loss %x, %l {ignore_index = 8589934592 : i64, reduction = #train<reduction none>} : (tensor<4x6xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// All bits of a label decide whether it is a class.
// CHECK-LABEL: func.func @wide_label
func.func @wide_label(%x: tensor<4x6xf32>, %l: tensor<4xi64>) -> tensor<4xf32> {
  // CHECK: arith.cmpi ult, %{{.*}}, %c6_i64 : i64
  // CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
  %0 = train.nll_loss %x, %l {reduction = #train<reduction none>} : (tensor<4x6xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Channel sums have one value per channel, in either layout.
// CHECK-LABEL: func.func @batch_norm
func.func @batch_norm(%x: tensor<2x4x4x3xf32>, %s: tensor<3xf32>) -> tensor<2x4x4x3xf32> {
  // CHECK: linalg.generic {{.*}}["reduction", "reduction", "reduction", "parallel"]} {{.*}} outs(%{{.*}} : tensor<3xf32>)
  %0:4 = train.batch_norm_training %x, %s, %s {axis = 3 : i64, epsilon = 1.0e-05 : f32} : (tensor<2x4x4x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x4x4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0 : tensor<2x4x4x3xf32>
}

// -----

// CHECK-LABEL: func.func @global_average_pool
func.func @global_average_pool(%x: tensor<2x4x4x3xf32>) -> tensor<2x1x1x3xf32> {
  // CHECK: linalg.generic {{.*}}["parallel", "reduction", "reduction", "parallel"]}
  // CHECK: arith.divf %{{.*}}, %cst
  // CHECK: tensor.expand_shape %{{.*}} output_shape [2, 1, 1, 3]
  %0 = train.global_average_pool %x {channels_last} : (tensor<2x4x4x3xf32>) -> tensor<2x1x1x3xf32>
  return %0 : tensor<2x1x1x3xf32>
}
