// RUN: mpc-opt %s --mpc-recognize-norms --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// The norm stands for every node that it replaces, and has the name of the last.
// CHECK-LABEL: func.func @names_all
func.func @names_all(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4x8xf32> {
  // CHECK: train.rms_norm {{.*}} loc(fused["scale", "quotient", "root", "sum", "mean", "square"])
  %eps = train.constant dense<1.0e-06> : tensor<f32> : tensor<f32> loc("epsilon")
  %0 = train.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("square")
  %1 = train.reduce_mean %0 {axes = array<i64: 1>, keepdims} : (tensor<4x8xf32>) -> tensor<4x1xf32> loc("mean")
  %2 = train.add %1, %eps : (tensor<4x1xf32>, tensor<f32>) -> tensor<4x1xf32> loc("sum")
  %3 = train.sqrt %2 : (tensor<4x1xf32>) -> tensor<4x1xf32> loc("root")
  %4 = train.div %x, %3 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32> loc("quotient")
  %5 = train.mul %4, %w : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> loc("scale")
  return %5 : tensor<4x8xf32>
}
