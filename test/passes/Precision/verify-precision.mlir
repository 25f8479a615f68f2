// RUN: mpc-opt %s --mpc-assign-precision=precision=bf16 --mpc-elide-casts --mpc-use-working-copy --mpc-guard-states --mpc-insert-loss-scaling --mpc-verify-precision | FileCheck %s
// RUN: mpc-opt %s --mpc-assign-precision=precision=fp16 --mpc-elide-casts --mpc-use-working-copy --mpc-guard-states --mpc-insert-loss-scaling --mpc-verify-precision | FileCheck %s
// RUN: mpc-opt %s --mpc-assign-precision=precision=fp32 --mpc-elide-casts --mpc-use-working-copy --mpc-guard-states --mpc-insert-loss-scaling --mpc-verify-precision | FileCheck %s
// RUN: mpc-opt %s --mpc-assign-precision="precision=fp16 keep-fp32=head force-low=loss" --mpc-elide-casts --mpc-use-working-copy --mpc-guard-states --mpc-insert-loss-scaling --mpc-verify-precision | FileCheck %s

// The output of the stage is accepted.
train.state @parameters parameter : tensor<2x1024xf32>
// CHECK: func.func @step
func.func @step(%x: tensor<32x32xf32>, %labels: tensor<32xi64>, %lr: tensor<f32>) -> tensor<f32> attributes {train.entry = #train.entry<step>} {
  %p = train.read @parameters : tensor<2x1024xf32>
  %w = train.unpack %p {offset = 0 : i64} : (tensor<2x1024xf32>) -> tensor<32x32xf32>
  %h = train.matmul %x, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32> loc("body")
  %r = train.relu %h : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %v = train.unpack %p {offset = 1024 : i64} : (tensor<2x1024xf32>) -> tensor<32x10xf32>
  %y = train.matmul %r, %v : (tensor<32x32xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc("head")
  %loss = train.softmax_cross_entropy %y, %labels {reduction = #train<reduction mean>} : (tensor<32x10xf32>, tensor<32xi64>) -> tensor<f32> loc("loss")
  %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
  %dy = train.softmax_cross_entropy_grad %seed, %y, %labels {reduction = #train<reduction mean>} : (tensor<f32>, tensor<32x10xf32>, tensor<32xi64>) -> tensor<32x10xf32> loc("loss.grad")
  %dv = train.matmul %r, %dy {transpose_lhs, weight_gradient} : (tensor<32x32xf32>, tensor<32x10xf32>) -> tensor<32x10xf32> loc("head.grad")
  %dr = train.matmul %dy, %v {transpose_rhs} : (tensor<32x10xf32>, tensor<32x10xf32>) -> tensor<32x32xf32> loc("head.grad")
  %dh = train.relu_grad %dr, %r : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %dw = train.matmul %x, %dh {transpose_lhs, weight_gradient} : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32> loc("body.grad")
  %g = train.pack %dw, %dv {mpc.gradients, offsets = array<i64: 0, 1024>} : (tensor<32x32xf32>, tensor<32x10xf32>) -> tensor<2x1024xf32>
  %new = train.sgd %p, %g, %lr {weight_decay = 0.0 : f32} : (tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<f32>) -> tensor<2x1024xf32>
  train.write @parameters, %new : tensor<2x1024xf32>
  return %loss : tensor<f32>
}
