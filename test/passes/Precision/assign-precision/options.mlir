// RUN: mpc-opt %s --mpc-assign-precision="precision=bf16 keep-fp32=^head$ force-low=Softmax" | FileCheck %s

// The user's rules override the class, for a node and its gradient. A pinned result
// still stays f32.
// CHECK-LABEL: func.func @options
func.func @options(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %d: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8x8xf32>) {
  // CHECK: train.matmul
  // CHECK-SAME: #amp.decision<"class">
  // CHECK-SAME: (tensor<4x8xbf16>, tensor<8x8xbf16>)
  %0 = train.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("body"("MatMul"))
  // A log-softmax is sensitive unless the user overrides that.
  // CHECK: train.log_softmax
  // CHECK-SAME: mpc.precision.decision = #amp.decision<"option.force-low", "Softmax">
  // CHECK-SAME: (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  %1 = train.log_softmax %0 {axis = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("probabilities"("LogSoftmax"))
  // CHECK: train.matmul
  // CHECK-SAME: mpc.precision.decision = #amp.decision<"option.keep-fp32", "^head$">
  // CHECK-SAME: (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = train.matmul %1, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("head"("MatMul"))
  // CHECK: train.matmul
  // CHECK-SAME: keep-fp32
  // CHECK-SAME: (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %3 = train.matmul %x, %d {transpose_lhs, weight_gradient} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32> loc("head.grad"("MatMul"))
  return %2, %3 : tensor<4x8xf32>, tensor<8x8xf32>
}

// An op that replaces several nodes is matched by the name of each.
// CHECK-LABEL: func.func @several_nodes
func.func @several_nodes(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = train.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("body"("MatMul"))
  // CHECK: train.gelu
  // CHECK-SAME: mpc.precision.decision = #amp.decision<"option.keep-fp32", "^head$">
  // CHECK-SAME: (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = train.gelu %0 : (tensor<4x8xf32>) -> tensor<4x8xf32> loc(fused["last"("Mul"), "head"("Erf")])
  return %1 : tensor<4x8xf32>
}
