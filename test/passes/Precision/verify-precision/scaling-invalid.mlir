// RUN: mpc-opt %s --mpc-verify-precision --split-input-file --verify-diagnostics

module attributes {mpc.precision = "bf16"} {
  func.func @scaling_without_fp16(%x: tensor<f32>) {
    // expected-error @+2 {{requires a scaled loss}}
    // expected-note @+1 {{expected mpc-insert-loss-scaling to prevent this}}
    %0 = amp.scale_loss %x, %x
    return
  }
}

// -----

// Nor with fp16 if scaling is off.
module attributes {mpc.precision = "fp16", mpc.loss_scale_off} {
  func.func @scaling_switched_off(%x: tensor<f32>) {
    // expected-error @+2 {{requires a scaled loss}}
    // expected-note @+1 {{expected mpc-insert-loss-scaling to prevent this}}
    %0 = amp.scale_loss %x, %x
    return
  }
}

// -----

module attributes {mpc.precision = "fp32"} {
  train.state @parameters parameter : tensor<4xf32>
  func.func @unguarded(%x: tensor<4xf32>) {
    // expected-error @+2 {{must keep the old value of 'parameters' in a step that is not finite}}
    // expected-note @+1 {{expected mpc-guard-states to prevent this}}
    train.write @parameters, %x : tensor<4xf32>
    return
  }
}

// -----

// In a function that trains, every write must be guarded.
module attributes {mpc.precision = "bf16"} {
  train.state @parameters parameter : tensor<4xf32>
  train.state @mean statistic : tensor<4xf32>
  func.func @unguarded_statistic(%x: tensor<4xf32>) {
    %old = train.read @parameters : tensor<4xf32>
    %finite = amp.all_finite %x : tensor<4xf32>
    %new = amp.select_if_finite %x over %old if %finite : tensor<4xf32>
    train.write @parameters, %new : tensor<4xf32>
    // expected-error @+2 {{must keep the old value of 'mean' in a step that is not finite}}
    // expected-note @+1 {{expected mpc-guard-states to prevent this}}
    train.write @mean, %x : tensor<4xf32>
    return
  }
}

// -----

// A selection by another value than the test is not a guard.
module attributes {mpc.precision = "fp16"} {
  train.state @parameters parameter : tensor<4xf32>
  func.func @wrong_guard(%x: tensor<4xf32>, %flag: tensor<i1>) {
    %old = train.read @parameters : tensor<4xf32>
    %0 = amp.select_if_finite %x over %old if %flag : tensor<4xf32>
    // expected-error @+2 {{must keep the old value of 'parameters' in a step that is not finite}}
    // expected-note @+1 {{expected mpc-guard-states to prevent this}}
    train.write @parameters, %0 : tensor<4xf32>
    return
  }
}

// -----

// Between two updates the model must not change.
module attributes {mpc.precision = "bf16"} {
  // expected-error @+2 {{statistic 'mean' must not change without the weights}}
  // expected-note @+1 {{expected mpc-defer-states to prevent this}}
  train.state @mean statistic : tensor<4xf32>
  func.func @accumulate(%x: tensor<4xf32>) attributes {train.entry = #train.entry<accumulate>} {
    train.write @mean, %x : tensor<4xf32>
    return
  }
}

// -----

module attributes {mpc.precision = "fp16"} {
  func.func @unscaled_seed() -> tensor<f32> {
    // expected-error @+2 {{starts a backward pass whose loss is not scaled}}
    // expected-note @+1 {{expected mpc-insert-loss-scaling to prevent this}}
    %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    // expected-note @+1 {{used here}}
    %0 = train.neg %seed : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
