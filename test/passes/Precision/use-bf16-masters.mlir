// RUN: mpc-opt %s --mpc-use-working-copy --mpc-use-bf16-masters=master-weights=bf16-kahan --mpc-guard-states --mpc-verify-precision | FileCheck %s --check-prefixes=CHECK,KAHAN
// RUN: mpc-opt %s --mpc-use-working-copy --mpc-use-bf16-masters=master-weights=bf16-stochastic --mpc-guard-states --mpc-verify-precision | FileCheck %s --check-prefixes=CHECK,CHANCE --implicit-check-not=compensation
// RUN: mpc-opt %s --mpc-use-working-copy --mpc-guard-states > %t.before
// RUN: mpc-opt %s --mpc-use-working-copy --mpc-use-bf16-masters --mpc-guard-states | cmp - %t.before

// The working copy is gone: the weights take its place.
// CHECK-NOT: working_copy
// KAHAN:  train.state @parameters parameter {slots = [{{.*}}]} : tensor<1x1024xbf16> = dense_resource<parameters>
// KAHAN:  train.state @compensation compensation {of = @parameters, slots = [{{.*}}]} : tensor<1x1024xbf16> = dense_resource<compensation>
// CHANCE: train.state @parameters parameter {slots = [{{.*}}]} : tensor<1x1024xbf16> = dense_resource<parameters>
module attributes {mpc.precision = "bf16"} {
train.state @parameters parameter {slots = [#train.slot<"w", 0, [16, 32]>, #train.slot<"b", 512, [32]>]} : tensor<1x1024xf32> = dense<1.003> : tensor<1x1024xf32>
train.state @learning_rate learning_rate : tensor<f32> = dense<0.1> : tensor<f32>

// Uses in 16 bit read the value; uses in f32 read the value plus its compensation.
// CHECK-LABEL: func.func @predict
func.func @predict() -> (tensor<16x32xf32>, tensor<32xf32>) attributes {train.entry = #train.entry<predict>} {
  // CHECK-DAG: %[[V:.*]] = train.read @parameters : tensor<1x1024xbf16>
  // KAHAN-DAG: %[[R:.*]] = train.read @compensation : tensor<1x1024xbf16>
  // KAHAN-DAG: %[[BR:.*]] = train.unpack %[[R]] {offset = 512 : i64} : (tensor<1x1024xbf16>) -> tensor<32xbf16>
  // KAHAN-DAG: %[[BV:.*]] = train.unpack %{{.*}} {offset = 512 : i64} : (tensor<1x1024xbf16>) -> tensor<32xbf16>
  // KAHAN-DAG: %[[B:.*]] = amp.join_compensated %[[BV]], %[[BR]]
  // CHANCE-DAG: %[[BV:.*]] = train.unpack %{{.*}} {offset = 512 : i64} : (tensor<1x1024xbf16>) -> tensor<32xbf16>
  // CHANCE-DAG: %[[B:.*]] = amp.cast %[[BV]]
  // CHECK-DAG: %[[W:.*]] = train.unpack %{{.*}} {offset = 0 : i64} : (tensor<1x1024xbf16>) -> tensor<16x32xbf16>
  // CHECK: %[[P:.*]] = train.matmul %[[X:.*]], %[[W]]
  // CHECK: return %[[P]], %[[B]]
  %x = train.constant dense<1.0> : tensor<16x16xbf16> : tensor<16x16xbf16>
  %p = train.read @parameters : tensor<1x1024xf32>
  %w = train.unpack %p {offset = 0 : i64} : (tensor<1x1024xf32>) -> tensor<16x32xf32>
  %b = train.unpack %p {offset = 512 : i64} : (tensor<1x1024xf32>) -> tensor<32xf32>
  %low = amp.cast %w : tensor<16x32xf32> to tensor<16x32xbf16>
  %y = train.matmul %x, %low : (tensor<16x16xbf16>, tensor<16x32xbf16>) -> tensor<16x32xf32>
  return %y, %b : tensor<16x32xf32>, tensor<32xf32>
}

// The update is unchanged, in f32; a step that is not finite keeps the bits.
// CHECK-LABEL: func.func @step
func.func @step(%g: tensor<1024xf32>) -> (tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<step>} {
  // KAHAN-DAG: %[[V:.*]] = train.read @parameters : tensor<1x1024xbf16>
  // KAHAN-DAG: %[[R:.*]] = train.read @compensation : tensor<1x1024xbf16>
  // KAHAN: %[[W:.*]] = amp.join_compensated %[[V]], %[[R]] {{.*}} : tensor<1x1024xbf16> to tensor<1x1024xf32>
  // KAHAN: %[[NEW:.*]] = train.sgd %[[W]]
  // KAHAN: %[[VALUE:.*]], %[[REST:.*]] = amp.split_compensated %[[NEW]]
  // KAHAN: %[[FINITE:.*]] = amp.all_finite
  // KAHAN: %[[KEPT:.*]] = amp.select_if_finite %[[VALUE]] over %{{.*}} if %[[FINITE]] : tensor<1x1024xbf16>
  // KAHAN: train.write @parameters, %[[KEPT]]
  // KAHAN: %[[LEFT:.*]] = amp.select_if_finite %[[REST]] over %{{.*}} if %[[FINITE]] : tensor<1x1024xbf16>
  // KAHAN: train.write @compensation, %[[LEFT]]

  // CHANCE-DAG: %[[V:.*]] = train.read @parameters : tensor<1x1024xbf16>
  // CHANCE-DAG: %[[SEED:.*]] = train.read @random_seed
  // CHANCE-DAG: %[[STEP:.*]] = train.read @step_count
  // CHANCE: %[[W:.*]] = amp.cast %[[V]] {{.*}} : tensor<1x1024xbf16> to tensor<1x1024xf32>
  // CHANCE: %[[NEW:.*]] = train.sgd %[[W]]
  // CHANCE: %[[ROUNDED:.*]] = amp.round_stochastically %[[NEW]] by %{{.*}}, %{{.*}} {index = -1 : i64
  // CHANCE: %[[KEPT:.*]] = amp.select_if_finite %[[ROUNDED]] over %{{.*}} if %{{.*}} : tensor<1x1024xbf16>
  // CHANCE: train.write @parameters, %[[KEPT]]
  %loss = train.constant dense<1.0> : tensor<f32> : tensor<f32>
  %lr = train.read @learning_rate : tensor<f32>
  %p = train.read @parameters : tensor<1x1024xf32>
  %packed = train.pack %g {mpc.gradients, offsets = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1x1024xf32>
  %new = train.sgd %p, %packed, %lr {weight_decay = 0.0 : f32} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<f32>) -> tensor<1x1024xf32>
  train.write @parameters, %new : tensor<1x1024xf32>
  return %loss : tensor<f32>
}
}

// 1.003 is between 1 and 1.0078125; the compensation is 0.003.
// KAHAN-DAG: parameters: "0x40000000803F803F
// KAHAN-DAG: compensation: "0x40000000453B453B
