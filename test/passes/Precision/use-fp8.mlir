// RUN: mpc-opt %s -split-input-file -pass-pipeline='builtin.module(mpc-use-fp8{fp8-amax-history=4},mpc-use-working-copy,mpc-guard-states,mpc-verify-precision)' | FileCheck %s

// Two layers between edges that stay: each tensor is rounded once for all
// products that read it.
module attributes {mpc.precision = "fp8"} {
  train.state @parameters parameter : tensor<3x1024xf32>
  train.state @step_count step_count : tensor<i64>
  // CHECK-DAG: train.state @fp8.scales fp8_scales : tensor<2x16xf32> = dense
  // CHECK-DAG: train.state @fp8.amax_history fp8_history : tensor<4x2xf32>
  // CHECK-LABEL: func.func @step
  func.func @step(%x: tensor<32x32xf32>) -> (tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<step>} {
    %p = train.read @parameters : tensor<3x1024xf32>
    %w0 = train.unpack %p {offset = 0 : i64} : (tensor<3x1024xf32>) -> tensor<32x32xf32>
    %w1 = train.unpack %p {offset = 1024 : i64} : (tensor<3x1024xf32>) -> tensor<32x32xf32>
    %w2 = train.unpack %p {offset = 2048 : i64} : (tensor<3x1024xf32>) -> tensor<32x32xf32>
    %l0 = amp.cast %w0 : tensor<32x32xf32> to tensor<32x32xbf16>
    %l1 = amp.cast %w1 : tensor<32x32xf32> to tensor<32x32xbf16>
    %l2 = amp.cast %w2 : tensor<32x32xf32> to tensor<32x32xbf16>
    %lx = amp.cast %x : tensor<32x32xf32> to tensor<32x32xbf16>
    %h0 = train.matmul %lx, %l0 : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16> layer "a" loc("a"("MatMul"))
    // CHECK: %[[SCALES:.*]] = train.read @fp8.scales
    // CHECK: %[[SX:.*]] = train.unpack %[[SCALES]] {offset = 0 : i64}
    // CHECK: %[[SG:.*]] = train.unpack %[[SCALES]] {offset = 16 : i64}
    // CHECK: %[[SW:.*]] = amp.scale_of
    // CHECK: %[[QW:.*]] = amp.quantize %{{.*}} by %[[SW]] : tensor<32x32xbf16> to tensor<32x32xf8E4M3FN>
    // The first layer is unchanged.
    // CHECK: %[[H0:.*]] = train.matmul {{.*}} -> tensor<32x32xbf16>
    // CHECK-DAG: %[[AX:.*]] = amp.amax %[[H0]]
    // CHECK-DAG: %[[QX:.*]] = amp.quantize %[[H0]] by %[[SX]] : tensor<32x32xbf16> to tensor<32x32xf8E4M3FN>
    // CHECK: %[[P1:.*]] = train.matmul %[[QX]], %[[QW]]
    // CHECK-NEXT: amp.dequantize %[[P1]] by %[[SX]], %[[SW]] : tensor<32x32xbf16>
    %h1 = train.matmul %h0, %l1 : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16> layer "b" loc("b"("MatMul"))
    %h2 = train.matmul %h1, %l2 : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xf32> layer "c" loc("c"("MatMul"))
    %axes = train.reduce_sum %h2 {axes = array<i64: 0, 1>} : (tensor<32x32xf32>) -> tensor<f32>
    %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    %g2 = train.broadcast_to %seed : (tensor<f32>) -> tensor<32x32xf32>
    %lg2 = amp.cast %g2 : tensor<32x32xf32> to tensor<32x32xbf16>
    %dw2 = train.matmul %h1, %lg2 {transpose_lhs, weight_gradient} : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xf32> layer "c" loc("c.grad"("MatMul"))
    %g1 = train.matmul %lg2, %l2 {transpose_rhs} : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16> layer "c" loc("c.grad"("MatMul"))
    // CHECK: %[[G1:.*]] = train.matmul {{.*}}transpose_rhs
    // CHECK-DAG: %[[AG:.*]] = amp.amax %[[G1]]
    // CHECK-DAG: %[[QG:.*]] = amp.quantize %[[G1]] by %[[SG]] : tensor<32x32xbf16> to tensor<32x32xf8E5M2>
    // CHECK: %[[PW:.*]] = train.matmul %[[QX]], %[[QG]] {{.*}}transpose_lhs, weight_gradient}
    // CHECK-NEXT: amp.dequantize %[[PW]] by %[[SX]], %[[SG]] : tensor<32x32xf32>
    // CHECK: %[[PX:.*]] = train.matmul %[[QG]], %[[QW]] {{.*}}transpose_rhs}
    // CHECK-NEXT: amp.dequantize %[[PX]] by %[[SG]], %[[SW]] : tensor<32x32xbf16>
    %dw1 = train.matmul %h0, %g1 {transpose_lhs, weight_gradient} : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xf32> layer "b" loc("b.grad"("MatMul"))
    %g0 = train.matmul %g1, %l1 {transpose_rhs} : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xbf16> layer "b" loc("b.grad"("MatMul"))
    %dw0 = train.matmul %lx, %g0 {transpose_lhs, weight_gradient} : (tensor<32x32xbf16>, tensor<32x32xbf16>) -> tensor<32x32xf32> layer "a" loc("a.grad"("MatMul"))
    %g = train.pack %dw0, %dw1, %dw2 {mpc.gradients, offsets = array<i64: 0, 1024, 2048>} : (tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<3x1024xf32>
    // Updates of the magnitudes are guarded like the weights.
    // CHECK: train.pack %[[AX]], %[[AG]] {offsets = array<i64: 0, 16>}
    // CHECK: train.concat {{.*}} -> tensor<4x2xf32>
    // CHECK: amp.scale_of
    // CHECK: %[[OK:.*]] = amp.all_finite
    // CHECK-DAG: amp.select_if_finite {{.*}} if %[[OK]] : tensor<4x2xf32>
    // CHECK-DAG: amp.select_if_finite {{.*}} if %[[OK]] : tensor<2x16xf32>
    %new = train.sub %p, %g : (tensor<3x1024xf32>, tensor<3x1024xf32>) -> tensor<3x1024xf32>
    train.write @parameters, %new : tensor<3x1024xf32>
    return %axes : tensor<f32>
  }
}
