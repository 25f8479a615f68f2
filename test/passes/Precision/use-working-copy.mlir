// RUN: mpc-opt %s --mpc-use-working-copy --split-input-file | FileCheck %s

// All functions read the copy; who writes the masters writes the copy, from
// the same value.
// CHECK:      train.state @parameters parameter
// CHECK-NEXT: train.state @parameters.bf16 working_copy {copy_of = @parameters} : tensor<2x1024xbf16>
train.state @parameters parameter : tensor<2x1024xf32>
// CHECK-LABEL: func.func @predict
func.func @predict() -> tensor<32x32xbf16> {
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
func.func @step(%lr: tensor<f32>) -> (tensor<32xbf16>, tensor<32xf32>) {
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

// A tensor that is not trained has a copy too, which nobody needs to write.
// CHECK: train.state @frozen.f16 working_copy {copy_of = @frozen} : tensor<4x4xf16>
train.state @frozen constant : tensor<4x4xf32>
// CHECK-LABEL: func.func @constant
func.func @constant() -> tensor<4x4xf16> {
  // CHECK: %[[W:.*]] = train.read @frozen.f16 : tensor<4x4xf16>
  // CHECK-NEXT: return %[[W]]
  %w = train.read @frozen : tensor<4x4xf32>
  %low = amp.cast %w : tensor<4x4xf32> to tensor<4x4xf16>
  return %low : tensor<4x4xf16>
}

// -----

// Casts of anything else stay: activations, and states that are no weights.
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
