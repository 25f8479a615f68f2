// RUN: mpc-opt %s --mpc-insert-loss-scaling --split-input-file | FileCheck %s

// The whole order: scaled seed, test, unscale, norm, update, gated writes.
// CHECK: module attributes {mpc.precision = "fp16"}
module attributes {mpc.precision = "fp16"} {
  train.state @parameters parameter : tensor<1x1024xf32>
  train.state @parameters.f16 working_copy {copy_of = @parameters} : tensor<1x1024xf16>
  train.state @mean statistic : tensor<4xf32>
  train.state @step_count control : tensor<i64>
  // CHECK: train.state @loss_scale control : tensor<f32> = dense<6.553600e+04>
  // CHECK: train.state @loss_scale_streak control : tensor<i32> = dense<0>

  // CHECK-LABEL: func.func @step
  // CHECK-SAME: -> (tensor<f32> {mpc.name = "loss"}, tensor<f32> {mpc.name = "grad_norm"}, tensor<i1> {mpc.name = "finite"})
  func.func @step(%x: tensor<1024xf32>, %mean: tensor<4xf32>, %lr: tensor<f32>)
      -> (tensor<f32> {mpc.name = "loss"}, tensor<f32> {mpc.name = "grad_norm"}) {
    // CHECK-DAG: %[[SCALE:.*]] = train.read @loss_scale : tensor<f32>
    // CHECK-DAG: %[[STREAK:.*]] = train.read @loss_scale_streak : tensor<i32>
    // CHECK-DAG: %[[MEAN:.*]] = train.read @mean : tensor<4xf32>
    // CHECK-DAG: %[[OLD:.*]] = train.read @parameters : tensor<1x1024xf32>
    // CHECK-DAG: %[[COUNT:.*]] = train.read @step_count : tensor<i64>
    %p = train.read @parameters : tensor<1x1024xf32>
    %count = train.read @step_count : tensor<i64>
    // A statistic is written in the middle of the forward pass.
    // CHECK-NOT: train.write
    train.write @mean, %mean : tensor<4xf32>
    // CHECK: %[[ONE:.*]] = train.constant {mpc.loss_seed}
    // CHECK: %[[SEED:.*]] = amp.scale_loss %[[ONE]], %[[SCALE]]
    %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    // CHECK: %[[DX:.*]] = train.mul %{{.*}}, %[[SEED]]
    %dx = train.mul %x, %seed : (tensor<1024xf32>, tensor<f32>) -> tensor<1024xf32>
    // CHECK: %[[G:.*]] = train.pack %[[DX]]
    %g = train.pack %dx {offsets = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1x1024xf32>
    // CHECK-NEXT: %[[FINITE:.*]] = amp.all_finite %[[G]]
    // CHECK-NEXT: %[[TRUE:.*]] = amp.unscale %[[G]], %[[SCALE]]
    // CHECK: %[[NORM:.*]] = train.global_norm %[[TRUE]]
    %norm = train.global_norm %g : (tensor<1x1024xf32>) -> tensor<f32>
    // CHECK: %[[NEW:.*]] = train.sgd %[[OLD]], %[[TRUE]], %{{.*}}
    %new = train.sgd %p, %g, %lr {weight_decay = 0.0 : f32} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<f32>) -> tensor<1x1024xf32>
    train.write @parameters, %new : tensor<1x1024xf32>
    %rounded = amp.cast %new : tensor<1x1024xf32> to tensor<1x1024xf16>
    train.write @parameters.f16, %rounded : tensor<1x1024xf16>
    // CHECK: %[[NEXT:.*]] = train.increment
    %next = train.increment %count : (tensor<i64>) -> tensor<i64>
    train.write @step_count, %next : tensor<i64>
    // CHECK: %[[KEPT:.*]] = train.select %[[FINITE]], %{{.*}}, %[[MEAN]]
    // CHECK-NEXT: train.write @mean, %[[KEPT]]
    // CHECK: %[[KEPT:.*]] = train.select %[[FINITE]], %[[NEW]], %[[OLD]]
    // CHECK-NEXT: train.write @parameters, %[[KEPT]]
    // CHECK-NEXT: %[[KEPTSTEP:.*]] = train.select %[[FINITE]], %[[NEXT]], %[[COUNT]]
    // CHECK-NEXT: train.write @step_count, %[[KEPTSTEP]]
    // The copy rounds what the masters became.
    // CHECK-NEXT: %[[LOW:.*]] = amp.cast %[[KEPT]]
    // CHECK-NEXT: train.write @parameters.f16, %[[LOW]]
    // CHECK-NEXT: %[[S:.*]], %[[N:.*]] = amp.update_scale %[[SCALE]], %[[STREAK]] if %[[FINITE]] {backoff = 5.000000e-01 : f32, growth = 2.000000e+00 : f32, interval = 2000 : i32
    // CHECK-NEXT: train.write @loss_scale, %[[S]]
    // CHECK-NEXT: train.write @loss_scale_streak, %[[N]]
    // The loss that is reported was never scaled.
    // CHECK-NEXT: return %{{.*}}, %[[NORM]], %[[FINITE]]
    return %lr, %norm : tensor<f32>, tensor<f32>
  }
}

// -----

// Accumulation: micro-batches scale and gate their statistics; the sum is
// never gated, is tested and unscaled in apply, and is emptied in any case.
module attributes {mpc.precision = "fp16"} {
  train.state @parameters parameter : tensor<1x1024xf32>
  train.state @gradients optimizer : tensor<1x1024xf32>
  train.state @mean statistic : tensor<4xf32>

  // CHECK-LABEL: func.func @accumulate
  // CHECK-SAME: -> tensor<f32>
  func.func @accumulate(%x: tensor<1024xf32>, %mean: tensor<4xf32>, %loss: tensor<f32>) -> tensor<f32> {
    // CHECK: %[[SEED:.*]] = amp.scale_loss
    %seed = train.constant {mpc.loss_seed} dense<2.5e-01> : tensor<f32> : tensor<f32>
    // CHECK: train.mul %{{.*}}, %[[SEED]]
    %dx = train.mul %x, %seed : (tensor<1024xf32>, tensor<f32>) -> tensor<1024xf32>
    // CHECK: %[[G:.*]] = train.pack
    // CHECK-NEXT: %[[FINITE:.*]] = amp.all_finite %[[G]]
    %g = train.pack %dx {offsets = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %sum = train.read @gradients : tensor<1x1024xf32>
    // CHECK: %[[SUM:.*]] = train.add %{{.*}}, %[[G]]
    %new = train.add %sum, %g : (tensor<1x1024xf32>, tensor<1x1024xf32>) -> tensor<1x1024xf32>
    train.write @mean, %mean : tensor<4xf32>
    train.write @gradients, %new : tensor<1x1024xf32>
    // CHECK-NOT: amp.unscale
    // CHECK: %[[KEPT:.*]] = train.select %[[FINITE]]
    // CHECK-NEXT: train.write @mean, %[[KEPT]]
    // CHECK-NEXT: train.write @gradients, %[[SUM]]
    // CHECK-NOT: amp.update_scale
    // CHECK: return %{{.*}} : tensor<f32>
    return %loss : tensor<f32>
  }

  // CHECK-LABEL: func.func @apply
  // CHECK-SAME: -> (tensor<f32>, tensor<i1> {mpc.name = "finite"})
  func.func @apply(%lr: tensor<f32>) -> tensor<f32> {
    // CHECK: %[[G:.*]] = train.read @gradients
    // CHECK-NEXT: %[[FINITE:.*]] = amp.all_finite %[[G]]
    // CHECK-NEXT: %[[TRUE:.*]] = amp.unscale %[[G]]
    %g = train.read @gradients : tensor<1x1024xf32>
    %p = train.read @parameters : tensor<1x1024xf32>
    // CHECK: train.global_norm %[[TRUE]]
    %norm = train.global_norm %g : (tensor<1x1024xf32>) -> tensor<f32>
    %new = train.sgd %p, %g, %lr {weight_decay = 0.0 : f32} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<f32>) -> tensor<1x1024xf32>
    train.write @parameters, %new : tensor<1x1024xf32>
    // CHECK: %[[ZERO:.*]] = train.constant dense<0.0
    %zero = train.constant dense<0.0> : tensor<1x1024xf32> : tensor<1x1024xf32>
    train.write @gradients, %zero : tensor<1x1024xf32>
    // CHECK: train.select %[[FINITE]]
    // CHECK-NEXT: train.write @parameters
    // CHECK-NEXT: train.write @gradients, %[[ZERO]]
    // CHECK-NEXT: amp.update_scale
    return %norm : tensor<f32>
  }
}

// -----

// Micro-batches without statistics have nothing to gate, and test nothing.
module attributes {mpc.precision = "fp16"} {
  train.state @gradients optimizer : tensor<1x1024xf32>
  // CHECK-LABEL: func.func @nothing_to_gate
  func.func @nothing_to_gate(%x: tensor<1024xf32>) {
    // CHECK: amp.scale_loss
    // CHECK-NOT: amp.all_finite
    // CHECK: train.write @gradients
    %seed = train.constant {mpc.loss_seed} dense<2.5e-01> : tensor<f32> : tensor<f32>
    %dx = train.mul %x, %seed : (tensor<1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %g = train.pack %dx {offsets = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1x1024xf32>
    train.write @gradients, %g : tensor<1x1024xf32>
    return
  }
}

// -----

// bf16 has the range of f32: no scaling op and no state.
// CHECK: module attributes {mpc.precision = "bf16"}
module attributes {mpc.precision = "bf16"} {
  train.state @parameters parameter : tensor<1x1024xf32>
  // CHECK-NOT: loss_scale
  // CHECK-LABEL: func.func @bf16
  func.func @bf16(%x: tensor<1024xf32>) {
    // CHECK-NOT: amp.
    // CHECK: return
    %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    %dx = train.mul %x, %seed : (tensor<1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %g = train.pack %dx {offsets = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1x1024xf32>
    train.write @parameters, %g : tensor<1x1024xf32>
    return
  }
}

// -----

// A program that only predicts has nothing to scale.
// CHECK-LABEL: module attributes {mpc.precision = "fp16"}
module attributes {mpc.precision = "fp16"} {
  // CHECK-NOT: loss_scale
  // CHECK: func.func @predict
  func.func @predict(%x: tensor<4xf32>) -> tensor<4xf32> {
    // CHECK-NEXT: return
    return %x : tensor<4xf32>
  }
}
