// RUN: mpc-opt %s --mpc-assign-precision=precision=fp32 | FileCheck %s

// Nothing changes, but the report still gives the reasons.
// CHECK: module attributes {mpc.precision = "fp32"}
// CHECK-LABEL: func.func @product
func.func @product(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK-NOT: amp.cast
  // CHECK: train.matmul
  // CHECK-SAME: mpc.precision.decision = #amp.decision<"precision", "fp32">
  // CHECK-SAME: (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = train.matmul %x, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
