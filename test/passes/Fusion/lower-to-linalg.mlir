// RUN: mpc-opt %s --mpc-lower-to-linalg --split-input-file | FileCheck %s

// What becomes generated code is linalg; catalog kernels and state access stay.
// CHECK-LABEL: func.func @ops
// CHECK:         train.read @w
// CHECK:         train.matmul
// CHECK:         linalg.generic
// CHECK-NOT:     train.relu
// CHECK:         train.write @w
train.state @w parameter : tensor<4x4xf32>
func.func @ops(%x: tensor<4x4xf32>) {
  %w = train.read @w : tensor<4x4xf32>
  %0 = train.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = train.relu %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  train.write @w, %1 : tensor<4x4xf32>
  return
}

// -----

// One repeated value goes into the code.
// CHECK-NOT:   train.state
// CHECK-LABEL: func.func @repeated
// CHECK:         %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %[[TWO]] : tensor<4xf32>, tensor<4xf32>)
func.func @repeated(%x: tensor<4xf32>) -> tensor<4xf32> {
  %c = train.constant dense<2.0> : tensor<4xf32> : tensor<4xf32>
  %0 = train.mul %x, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Different values become a state.
// CHECK:       train.state @constant.0 constant : tensor<2xf32> = dense<[1.000000e+00, 2.000000e+00]>
// CHECK-LABEL: func.func @different
// CHECK:         %[[C:.*]] = train.read @constant.0
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %[[C]] : tensor<2xf32>, tensor<2xf32>)
func.func @different(%x: tensor<2xf32>) -> tensor<2xf32> {
  %c = train.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  %0 = train.mul %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
