// RUN: mpc-opt %s --mpc-guard-states --mpc-insert-loss-scaling --split-input-file | FileCheck %s

// The whole order: scaled seed, unscale, norm, update, test, guarded writes.
// CHECK: module attributes {mpc.precision = "fp16"}
module attributes {mpc.precision = "fp16"} {
  train.state @parameters parameter : tensor<1x1024xf32>
  train.state @step_count step_count : tensor<i64>
  // CHECK: train.state @loss_scale loss_scale : tensor<f32> = dense<6.553600e+04>
  // CHECK: train.state @loss_scale_streak loss_scale_streak : tensor<i32> = dense<0>

  // CHECK-LABEL: func.func @step
  // CHECK-SAME: tensor<i1> {mpc.name = "finite"}, tensor<i1> {mpc.name = "update_finite"})
  func.func @step(%x: tensor<1024xf32>, %lr: tensor<f32>)
      -> (tensor<f32> {mpc.name = "loss"}, tensor<f32> {mpc.name = "grad_norm"}) attributes {train.entry = #train.entry<step>} {
    // CHECK-DAG: %[[SCALE:.*]] = train.read @loss_scale : tensor<f32>
    // CHECK-DAG: %[[STREAK:.*]] = train.read @loss_scale_streak : tensor<i32>
    // CHECK-DAG: %[[OLD:.*]] = train.read @parameters : tensor<1x1024xf32>
    %p = train.read @parameters : tensor<1x1024xf32>
    %count = train.read @step_count : tensor<i64>
    // CHECK: %[[ONE:.*]] = train.constant {mpc.loss_seed}
    // CHECK: %[[SEED:.*]] = amp.scale_loss %[[ONE]], %[[SCALE]]
    %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    // CHECK: %[[DX:.*]] = train.mul %{{.*}}, %[[SEED]]
    %dx = train.mul %x, %seed : (tensor<1024xf32>, tensor<f32>) -> tensor<1024xf32>
    // CHECK: %[[G:.*]] = train.pack %[[DX]]
    %g = train.pack %dx {mpc.gradients, offsets = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1x1024xf32>
    // CHECK-NEXT: %[[TRUE:.*]] = amp.unscale %[[G]], %[[SCALE]]
    // CHECK: %[[NORM:.*]] = train.global_norm %[[TRUE]]
    %norm = train.global_norm %g : (tensor<1x1024xf32>) -> tensor<f32>
    // CHECK: %[[NEW:.*]] = train.sgd %[[OLD]], %[[TRUE]], %{{.*}}
    %new = train.sgd %p, %g, %lr {weight_decay = 0.0 : f32} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<f32>) -> tensor<1x1024xf32>
    train.write @parameters, %new : tensor<1x1024xf32>
    %next = train.increment %count : (tensor<i64>) -> tensor<i64>
    train.write @step_count, %next : tensor<i64>
    // An infinity or NaN stays one when it is unscaled and squared.
    // CHECK: %[[FINITE:.*]] = amp.all_finite %[[NORM]]
    // CHECK: amp.select_if_finite %[[NEW]] over %[[OLD]] if %[[FINITE]]
    // CHECK: %[[UPDATED:.*]] = amp.all_finite %[[NEW]]
    // The scale adapts to overflows, and is written unguarded.
    // CHECK-NEXT: %[[S:.*]], %[[N:.*]] = amp.update_scale %[[SCALE]], %[[STREAK]] if %[[FINITE]] {backoff = 5.000000e-01 : f32, growth = 2.000000e+00 : f32, interval = 2000 : i32
    // CHECK-NEXT: train.write @loss_scale, %[[S]]
    // CHECK-NEXT: train.write @loss_scale_streak, %[[N]]
    // The loss that is reported was never scaled.
    // CHECK-NEXT: return %{{.*}}, %[[NORM]], %[[FINITE]], %[[UPDATED]]
    return %lr, %norm : tensor<f32>, tensor<f32>
  }
}

// -----

// Accumulation: micro-batches neither unscale nor test; the sum is unscaled in apply,
// and is always reset.
module attributes {mpc.precision = "fp16"} {
  train.state @parameters parameter : tensor<1x1024xf32>
  train.state @gradients gradient_sum : tensor<1x1024xf32>

  // CHECK-LABEL: func.func @accumulate
  // CHECK-SAME: -> tensor<f32>
  func.func @accumulate(%x: tensor<1024xf32>, %loss: tensor<f32>) -> tensor<f32> attributes {train.entry = #train.entry<accumulate>} {
    // CHECK: %[[SEED:.*]] = amp.scale_loss
    %seed = train.constant {mpc.loss_seed} dense<2.5e-01> : tensor<f32> : tensor<f32>
    // CHECK: train.mul %{{.*}}, %[[SEED]]
    %dx = train.mul %x, %seed : (tensor<1024xf32>, tensor<f32>) -> tensor<1024xf32>
    // CHECK: %[[G:.*]] = train.pack
    // CHECK-NOT: amp.
    %g = train.pack %dx {mpc.gradients, offsets = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1x1024xf32>
    %sum = train.read @gradients : tensor<1x1024xf32>
    // CHECK: %[[SUM:.*]] = train.add %{{.*}}, %[[G]]
    %new = train.add %sum, %g : (tensor<1x1024xf32>, tensor<1x1024xf32>) -> tensor<1x1024xf32>
    // CHECK: train.write @gradients, %[[SUM]]
    train.write @gradients, %new : tensor<1x1024xf32>
    // CHECK: return %{{.*}} : tensor<f32>
    return %loss : tensor<f32>
  }

  // CHECK-LABEL: func.func @apply
  // CHECK-SAME: -> (tensor<f32>, tensor<i1> {mpc.name = "finite"}, tensor<i1> {mpc.name = "update_finite"})
  func.func @apply(%lr: tensor<f32>) -> tensor<f32> attributes {train.entry = #train.entry<apply>} {
    // CHECK: %[[G:.*]] = train.read @gradients
    // CHECK-NEXT: %[[TRUE:.*]] = amp.unscale %[[G]]
    %g = train.read @gradients : tensor<1x1024xf32>
    %p = train.read @parameters : tensor<1x1024xf32>
    // CHECK: %[[NORM:.*]] = train.global_norm %[[TRUE]]
    %norm = train.global_norm %g : (tensor<1x1024xf32>) -> tensor<f32>
    %new = train.sgd %p, %g, %lr {weight_decay = 0.0 : f32} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<f32>) -> tensor<1x1024xf32>
    train.write @parameters, %new : tensor<1x1024xf32>
    // CHECK: %[[ZERO:.*]] = train.constant dense<0.0
    %zero = train.constant dense<0.0> : tensor<1x1024xf32> : tensor<1x1024xf32>
    train.write @gradients, %zero : tensor<1x1024xf32>
    // CHECK: amp.all_finite %[[NORM]]
    // CHECK: train.write @gradients, %[[ZERO]]
    // CHECK: amp.update_scale
    return %norm : tensor<f32>
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
    // CHECK-NOT: amp.scale_loss
    // CHECK-NOT: amp.unscale
    // CHECK-NOT: amp.update_scale
    // CHECK: return
    %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    %dx = train.mul %x, %seed : (tensor<1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %g = train.pack %dx {mpc.gradients, offsets = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1x1024xf32>
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
  func.func @predict(%x: tensor<4xf32>) -> tensor<4xf32> attributes {train.entry = #train.entry<predict>} {
    // CHECK-NEXT: return
    return %x : tensor<4xf32>
  }
}
