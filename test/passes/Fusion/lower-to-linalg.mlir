// RUN: mpc-opt %s --mpc-lower-to-linalg --split-input-file | FileCheck %s

// Ops for generated code become linalg; catalog kernels and state access stay.
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

// A repeated value becomes part of the code.
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

// -----

// A repeated value that is packed, written, returned or an operand of a catalog
// kernel is copied to its own memory, once.
// CHECK-LABEL: func.func @in_memory
// CHECK:         %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<4x4xf32>
// CHECK:         %[[COPY:.*]] = linalg.generic {{.*}} ins(%[[ONE]] : tensor<4x4xf32>)
// CHECK:         train.matmul %{{.*}}, %[[COPY]]
// CHECK:         train.pack %[[COPY]]
// CHECK:         train.write @w, %[[COPY]]
// CHECK:         return %{{.*}}, %[[COPY]]
train.state @w parameter : tensor<4x4xf32>
func.func @in_memory(%x: tensor<4x4xf32>) -> (tensor<32xf32>, tensor<4x4xf32>) {
  %c = train.constant dense<1.0> : tensor<4x4xf32> : tensor<4x4xf32>
  %0 = train.matmul %x, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = train.pack %c, %0 {offsets = array<i64: 0, 16>} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<32xf32>
  train.write @w, %c : tensor<4x4xf32>
  return %1, %c : tensor<32xf32>, tensor<4x4xf32>
}

// -----

// So is one that is viewed with another shape.
// CHECK-LABEL: func.func @view_in_memory
// CHECK:         %[[VIEW:.*]] = tensor.expand_shape
// CHECK:         %[[COPY:.*]] = linalg.generic {{.*}} ins(%[[VIEW]] : tensor<2x2xi64>)
// CHECK:         return %[[COPY]]
func.func @view_in_memory() -> tensor<2x2xi64> {
  %c = train.constant dense<7> : tensor<4xi64> : tensor<4xi64>
  %0 = train.reshape %c : (tensor<4xi64>) -> tensor<2x2xi64>
  return %0 : tensor<2x2xi64>
}

// -----

// States change when the function returns, one after the other: an old value that
// goes to another state or to the caller is copied before.
// CHECK-LABEL: func.func @old_values
// CHECK:         %[[A:.*]] = train.read @a
// CHECK:         %[[B:.*]] = train.read @b
// CHECK:         %[[OLD_A:.*]] = linalg.generic {{.*}} ins(%[[A]] :
// CHECK:         train.write @b, %[[OLD_A]]
// CHECK:         %[[OLD_B:.*]] = linalg.generic {{.*}} ins(%[[B]] :
// CHECK:         train.write @a, %[[OLD_B]]
// CHECK:         return %[[OLD_A]]
train.state @a parameter : tensor<4xf32>
train.state @b parameter : tensor<4xf32>
func.func @old_values() -> tensor<4xf32> {
  %a = train.read @a : tensor<4xf32>
  %b = train.read @b : tensor<4xf32>
  train.write @b, %a : tensor<4xf32>
  train.write @a, %b : tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// A state that keeps its value is not copied, nor is one that is written to itself.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     linalg
func.func @kept() -> tensor<4xf32> {
  %a = train.read @a : tensor<4xf32>
  %b = train.read @b : tensor<4xf32>
  train.write @b, %b : tensor<4xf32>
  return %a : tensor<4xf32>
}
train.state @a parameter : tensor<4xf32>
train.state @b parameter : tensor<4xf32>

// -----

// The model may have a state with that name.
// CHECK:       train.state @constant.0_{{[0-9]+}} constant : tensor<2xf32> = dense<[1.000000e+00, 2.000000e+00]>
// CHECK:       train.state @constant.0 constant : tensor<2xf32> = dense<[3.000000e+00, 4.000000e+00]>
// CHECK-LABEL: func.func @name_taken
// CHECK-DAG:     train.read @constant.0 :
// CHECK-DAG:     train.read @constant.0_{{[0-9]+}} :
train.state @constant.0 constant : tensor<2xf32> = dense<[3.0, 4.0]> : tensor<2xf32>
func.func @name_taken(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %w = train.read @constant.0 : tensor<2xf32>
  %c = train.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  %0 = train.mul %x, %c : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0, %w : tensor<2xf32>, tensor<2xf32>
}
