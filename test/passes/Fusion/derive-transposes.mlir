// RUN: mpc-opt %s -split-input-file -mpc-legalize-kernel-types='device=cuda features=sm_80,sm_89' -mpc-derive-transposes | FileCheck %s

// Weights change only with an update: micro-batches, including recomputation, read
// the transposes that @derive made. Tensors that depend on the batch are transposed
// in each micro-batch.
// CHECK: train.state @fp8.turned_weights derived : tensor<1152xf8E4M3FN>
// CHECK-LABEL: func.func @derive()
// CHECK:         %[[Q0:.*]] = amp.quantize
// CHECK:         %[[Q1:.*]] = amp.quantize
// CHECK:         train.write @fp8.weights
// CHECK:         %[[T0:.*]] = train.transpose %[[Q0]]
// CHECK:         %[[T1:.*]] = train.transpose %[[Q1]]
// CHECK:         %[[T:.*]] = train.pack %[[T0]], %[[T1]] {offsets = array<i64: 0, 896>} : {{.*}} -> tensor<1152xf8E4M3FN>
// CHECK:         train.write @fp8.turned_weights, %[[T]]
// CHECK-LABEL: func.func @accumulate
// CHECK-SAME:    (%[[X:.*]]: tensor<32x17xf8E4M3FN>, %[[Y:.*]]: tensor<32x16xf8E4M3FN>
// CHECK:         %[[TURNED:.*]] = train.read @fp8.turned_weights
// CHECK-DAG:     %[[W0:.*]] = train.unpack %[[TURNED]] {offset = 0 : i64} : {{.*}} -> tensor<49x17xf8E4M3FN>
// CHECK-DAG:     %[[W1:.*]] = train.unpack %[[TURNED]] {offset = 896 : i64} : {{.*}} -> tensor<16x16xf8E4M3FN>
// CHECK-NOT:     train.transpose
// CHECK:         train.scaled_matmul %[[X]], %[[W0]]
// CHECK:         train.scaled_matmul %[[Y]], %[[W1]]
// CHECK:         train.scaled_matmul %[[X]], %[[W0]]
// CHECK-COUNT-2: train.transpose
// CHECK-NOT:     train.transpose
// CHECK:         train.scaled_matmul
// CHECK-LABEL: func.func @apply
train.state @parameters.bf16 working_copy {of = @parameters} : tensor<2x1024xbf16>
train.state @parameters parameter : tensor<2x1024xf32>
train.state @fp8.weights derived : tensor<1152xf8E4M3FN>
func.func @derive() attributes {train.entry = #train.entry<derive>} {
  %s = train.constant dense<1.0> : tensor<f32> : tensor<f32>
  %p = train.read @parameters.bf16 : tensor<2x1024xbf16>
  %w0 = train.unpack %p {offset = 0 : i64} : (tensor<2x1024xbf16>) -> tensor<17x49xbf16>
  %w1 = train.unpack %p {offset = 1024 : i64} : (tensor<2x1024xbf16>) -> tensor<16x16xbf16>
  %q0 = amp.quantize %w0 by %s : tensor<17x49xbf16> to tensor<17x49xf8E4M3FN>
  %q1 = amp.quantize %w1 by %s : tensor<16x16xbf16> to tensor<16x16xf8E4M3FN>
  %all = train.pack %q0, %q1 {offsets = array<i64: 0, 896>} : (tensor<17x49xf8E4M3FN>, tensor<16x16xf8E4M3FN>) -> tensor<1152xf8E4M3FN>
  train.write @fp8.weights, %all : tensor<1152xf8E4M3FN>
  return
}
func.func @accumulate(%x: tensor<32x17xf8E4M3FN>, %y: tensor<32x16xf8E4M3FN>, %s: tensor<f32>) -> (tensor<32x49xf32>, tensor<32x16xf32>, tensor<32x49xf32>, tensor<17x16xf32>) attributes {train.entry = #train.entry<accumulate>} {
  %all = train.read @fp8.weights : tensor<1152xf8E4M3FN>
  %w0 = train.unpack %all {offset = 0 : i64} : (tensor<1152xf8E4M3FN>) -> tensor<17x49xf8E4M3FN>
  %w1 = train.unpack %all {offset = 896 : i64} : (tensor<1152xf8E4M3FN>) -> tensor<16x16xf8E4M3FN>
  %p0 = train.matmul %x, %w0 : (tensor<32x17xf8E4M3FN>, tensor<17x49xf8E4M3FN>) -> tensor<32x49xf32>
  %r0 = amp.dequantize %p0 by %s, %s : tensor<32x49xf32>
  %p1 = train.matmul %y, %w1 : (tensor<32x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>) -> tensor<32x16xf32>
  %r1 = amp.dequantize %p1 by %s, %s : tensor<32x16xf32>
  %again = train.remat_barrier %w0 after %r1 : tensor<17x49xf8E4M3FN> after tensor<32x16xf32>
  %p2 = train.matmul %x, %again {mpc.recomputed} : (tensor<32x17xf8E4M3FN>, tensor<17x49xf8E4M3FN>) -> tensor<32x49xf32>
  %r2 = amp.dequantize %p2 by %s, %s : tensor<32x49xf32>
  %p3 = train.matmul %x, %y {transpose_lhs} : (tensor<32x17xf8E4M3FN>, tensor<32x16xf8E4M3FN>) -> tensor<17x16xf32>
  %r3 = amp.dequantize %p3 by %s, %s : tensor<17x16xf32>
  return %r0, %r1, %r2, %r3 : tensor<32x49xf32>, tensor<32x16xf32>, tensor<32x49xf32>, tensor<17x16xf32>
}
func.func @apply() attributes {train.entry = #train.entry<apply>} {
  return
}

// -----

// A step that rounds its weights itself also transposes them itself.
// CHECK-LABEL: func.func @step
// CHECK:         train.transpose
func.func @step(%x: tensor<32x16xf8E4M3FN>, %w: tensor<16x16xf8E4M3FN>) -> tensor<32x16xf32> attributes {train.entry = #train.entry<step>} {
  %0 = train.matmul %x, %w : (tensor<32x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
