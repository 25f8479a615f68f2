// RUN: mpc-opt %s -split-input-file -mpc-hoist-weight-quantization -mpc-verify-precision | FileCheck %s

// Micro-batches read the weights that @derive rounded; they round values that depend on
// the batch themselves.
module attributes {mpc.precision = "fp8"} {
  train.state @parameters parameter : tensor<2x1024xf32>
  train.state @parameters.bf16 working_copy {of = @parameters} : tensor<2x1024xbf16>
  // CHECK-DAG: train.state @fp8.weights derived : tensor<576xf8E4M3FN>
  // CHECK-DAG: train.state @fp8.weight_scales derived : tensor<32xf32>
  // CHECK-LABEL: func.func @derive()
  // CHECK: %[[P:.*]] = train.read @parameters.bf16
  // CHECK: %[[W0:.*]] = train.unpack %[[P]] {offset = 0 : i64}
  // CHECK: %[[S0:.*]] = amp.scale_of
  // CHECK: %[[Q0:.*]] = amp.quantize %[[W0]] by %[[S0]]
  // CHECK: %[[W1:.*]] = train.unpack %[[P]] {offset = 1024 : i64}
  // CHECK: %[[S1:.*]] = amp.scale_of
  // CHECK: %[[Q1:.*]] = amp.quantize %[[W1]] by %[[S1]]
  // CHECK: %[[Q:.*]] = train.pack %[[Q0]], %[[Q1]] {offsets = array<i64: 0, 320>} {{.*}} -> tensor<576xf8E4M3FN>
  // CHECK: train.write @fp8.weights, %[[Q]]
  // CHECK: %[[S:.*]] = train.pack %[[S0]], %[[S1]] {offsets = array<i64: 0, 16>} {{.*}} -> tensor<32xf32>
  // CHECK: train.write @fp8.weight_scales, %[[S]]
  // CHECK: return
  // CHECK-LABEL: func.func @accumulate
  func.func @accumulate(%x: tensor<16x16xf32>, %s: tensor<f32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) attributes {train.entry = #train.entry<accumulate>} {
    // CHECK-DAG: %[[SCALES:.*]] = train.read @fp8.weight_scales
    // CHECK-DAG: %[[T0:.*]] = train.unpack %[[SCALES]] {offset = 0 : i64}
    // CHECK-DAG: %[[WEIGHTS:.*]] = train.read @fp8.weights
    // CHECK-DAG: %[[V0:.*]] = train.unpack %[[WEIGHTS]] {offset = 0 : i64}
    // CHECK-DAG: %[[V1:.*]] = train.unpack %[[WEIGHTS]] {offset = 320 : i64}
    // CHECK: %[[QX:.*]] = amp.quantize
    // CHECK-NOT: amp.quantize
    // CHECK: %[[P0:.*]] = train.matmul %[[QX]], %[[V0]]
    // CHECK: amp.dequantize %[[P0]] by %{{.*}}, %[[T0]]
    // CHECK: train.matmul %[[QX]], %[[V1]]
    %p = train.read @parameters.bf16 : tensor<2x1024xbf16>
    %448 = train.constant dense<448.0> : tensor<f32> : tensor<f32>
    %1 = train.constant dense<1.0> : tensor<f32> : tensor<f32>
    %w0 = train.unpack %p {offset = 0 : i64} : (tensor<2x1024xbf16>) -> tensor<16x17xbf16>
    %a0 = amp.amax %w0 : tensor<16x17xbf16>
    %s0 = amp.scale_of %a0 for %448 else %1 : tensor<f32>
    %q0 = amp.quantize %w0 by %s0 : tensor<16x17xbf16> to tensor<16x17xf8E4M3FN>
    %w1 = train.unpack %p {offset = 1024 : i64} : (tensor<2x1024xbf16>) -> tensor<16x16xbf16>
    %a1 = amp.amax %w1 : tensor<16x16xbf16>
    %s1 = amp.scale_of %a1 for %448 else %1 : tensor<f32>
    %q1 = amp.quantize %w1 by %s1 : tensor<16x16xbf16> to tensor<16x16xf8E4M3FN>
    %qx = amp.quantize %x by %s : tensor<16x16xf32> to tensor<16x16xf8E4M3FN>
    %p0 = train.matmul %qx, %q0 : (tensor<16x16xf8E4M3FN>, tensor<16x17xf8E4M3FN>) -> tensor<16x17xf32>
    %y0 = amp.dequantize %p0 by %s, %s0 : tensor<16x17xf32>
    %r0 = train.slice %y0 {offsets = array<i64: 0, 0>} : (tensor<16x17xf32>) -> tensor<16x16xf32>
    %p1 = train.matmul %qx, %q1 : (tensor<16x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>) -> tensor<16x16xf32>
    %y1 = amp.dequantize %p1 by %s, %s1 : tensor<16x16xf32>
    return %r0, %y1 : tensor<16x16xf32>, tensor<16x16xf32>
  }
  func.func @apply() attributes {train.entry = #train.entry<apply>} {
    return
  }
}

// -----

// Without micro-batches, a step rounds only once anyway.
// CHECK-NOT: derive
module attributes {mpc.precision = "fp8"} {
  train.state @w parameter : tensor<16x16xf32>
  func.func @step(%x: tensor<16x16xf32>, %s: tensor<f32>) -> tensor<16x16xf32> attributes {train.entry = #train.entry<step>} {
    %w = train.read @w : tensor<16x16xf32>
    %a = amp.amax %w : tensor<16x16xf32>
    %448 = train.constant dense<448.0> : tensor<f32> : tensor<f32>
    %t = amp.scale_of %a for %448 else %448 : tensor<f32>
    %q = amp.quantize %w by %t : tensor<16x16xf32> to tensor<16x16xf8E4M3FN>
    %qx = amp.quantize %x by %s : tensor<16x16xf32> to tensor<16x16xf8E4M3FN>
    %p = train.matmul %qx, %q : (tensor<16x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>) -> tensor<16x16xf32>
    %y = amp.dequantize %p by %s, %t : tensor<16x16xf32>
    return %y : tensor<16x16xf32>
  }
}
