// RUN: mpc-opt %s --mpc-use-working-copy --split-input-file | FileCheck %s

// All functions read the working copy; functions that write the masters also write the
// copy, from the same value.
// CHECK:      train.state @parameters parameter
// CHECK-NEXT: train.state @parameters.bf16 working_copy {of = @parameters} : tensor<2x1024xbf16>
train.state @parameters parameter : tensor<2x1024xf32>
// CHECK-LABEL: func.func @predict
func.func @predict() -> tensor<32x32xbf16> attributes {train.entry = #train.entry<predict>} {
  // CHECK: %[[P:.*]] = train.read @parameters.bf16 : tensor<2x1024xbf16>
  // CHECK: %[[W:.*]] = train.unpack %[[P]] {offset = 64 : i64} : (tensor<2x1024xbf16>) -> tensor<32x32xbf16>
  // CHECK-NOT: amp.cast
  // CHECK: return %[[W]]
  %p = train.read @parameters : tensor<2x1024xf32>
  %w = train.unpack %p {offset = 64 : i64} : (tensor<2x1024xf32>) -> tensor<32x32xf32>
  %low = amp.cast %w : tensor<32x32xf32> to tensor<32x32xbf16>
  return %low : tensor<32x32xbf16>
}
// A weight that is read in both types is unpacked from both.
// CHECK-LABEL: func.func @step
func.func @step(%lr: tensor<f32>) -> (tensor<32xbf16>, tensor<32xf32>) attributes {train.entry = #train.entry<step>} {
  // CHECK: train.read @parameters.bf16
  // CHECK: %[[M:.*]] = train.read @parameters : tensor<2x1024xf32>
  // CHECK: train.unpack %[[M]] {offset = 0 : i64} : (tensor<2x1024xf32>) -> tensor<32xf32>
  %p = train.read @parameters : tensor<2x1024xf32>
  %w = train.unpack %p {offset = 0 : i64} : (tensor<2x1024xf32>) -> tensor<32xf32>
  %low = amp.cast %w : tensor<32xf32> to tensor<32xbf16>
  // CHECK: %[[NEW:.*]] = train.sgd
  %new = train.sgd %p, %p, %lr {weight_decay = 0.0 : f32} : (tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<f32>) -> tensor<2x1024xf32>
  // CHECK-NEXT: train.write @parameters, %[[NEW]]
  // CHECK-NEXT: %[[ROUNDED:.*]] = amp.cast %[[NEW]]
  // CHECK-SAME: tensor<2x1024xf32> to tensor<2x1024xbf16>
  // CHECK-NEXT: train.write @parameters.bf16, %[[ROUNDED]] : tensor<2x1024xbf16>
  train.write @parameters, %new : tensor<2x1024xf32>
  return %low, %w : tensor<32xbf16>, tensor<32xf32>
}

// -----

// A tensor that is not trained has no masters and is rounded once, at compile time.
// CHECK-NOT: working_copy
// CHECK: train.state @frozen constant : tensor<3xf16> = dense<[1.000000e+00, 9.997550e-02, 6.550400e+04]> : tensor<3xf16>
train.state @frozen constant : tensor<3xf32> = dense<[1.0, 0.1, 1.0e9]> : tensor<3xf32>
// CHECK: train.state @stored constant : tensor<2xbf16> = dense_resource<stored> : tensor<2xbf16>
train.state @stored constant : tensor<2xf32> = dense_resource<blob> : tensor<2xf32>
// CHECK-LABEL: func.func @constant
func.func @constant() -> (tensor<3xf16>, tensor<2xbf16>) {
  // CHECK: %[[W:.*]] = train.read @frozen : tensor<3xf16>
  // CHECK-NEXT: %[[S:.*]] = train.read @stored : tensor<2xbf16>
  // CHECK-NEXT: return %[[W]], %[[S]]
  %w = train.read @frozen : tensor<3xf32>
  %low = amp.cast %w : tensor<3xf32> to tensor<3xf16>
  %s = train.read @stored : tensor<2xf32>
  %lows = amp.cast %s : tensor<2xf32> to tensor<2xbf16>
  return %low, %lows : tensor<3xf16>, tensor<2xbf16>
}
// 1.0, and the midpoint of two bf16 numbers, which rounds to even.
// CHECK: stored: "0x40000000803F803F"
{-#
  dialect_resources: {
    builtin: {
      blob: "0x400000000000803F0080803F"
    }
  }
#-}

// -----

// If it is read in both types, it has a working copy, which is never written.
// CHECK: train.state @both constant : tensor<4xf32>
// CHECK: train.state @both.f16 working_copy {of = @both} : tensor<4xf16>
train.state @both constant : tensor<4xf32>
// CHECK-LABEL: func.func @narrow
func.func @narrow() -> tensor<4xf16> {
  // CHECK: train.read @both.f16 : tensor<4xf16>
  %w = train.read @both : tensor<4xf32>
  %low = amp.cast %w : tensor<4xf32> to tensor<4xf16>
  return %low : tensor<4xf16>
}
// CHECK-LABEL: func.func @wide
func.func @wide() -> tensor<4xf32> {
  // CHECK: train.read @both : tensor<4xf32>
  %w = train.read @both : tensor<4xf32>
  return %w : tensor<4xf32>
}

// -----

// Casts of other values stay: activations, and states that are not weights.
// CHECK-NOT: working_copy
train.state @mean statistic : tensor<4xf32>
train.state @parameters parameter : tensor<1x1024xf32>
// CHECK-LABEL: func.func @others_stay
func.func @others_stay(%x: tensor<4xf32>) -> (tensor<4xbf16>, tensor<4xbf16>) {
  // CHECK-COUNT-2: amp.cast
  %m = train.read @mean : tensor<4xf32>
  %0 = amp.cast %m : tensor<4xf32> to tensor<4xbf16>
  %1 = amp.cast %x : tensor<4xf32> to tensor<4xbf16>
  return %0, %1 : tensor<4xbf16>, tensor<4xbf16>
}
