// RUN: mpc-opt %s --mpc-verify-grad --split-input-file --verify-diagnostics

// The output of the stage is accepted.
module {
  train.state @parameters parameter {slots = [#train.slot<"w", 0, [2]>]} : tensor<1x1024xf32>
  func.func @predict() attributes {train.entry = #train.entry<predict>} {
    return
  }
  func.func @evaluate(%x: tensor<4xf32>) -> (tensor<4xf32> {mpc.name = "sample_loss"}, tensor<4xf32> {mpc.name = "sample_weight"}) attributes {train.entry = #train.entry<evaluate>} {
    return %x, %x : tensor<4xf32>, tensor<4xf32>
  }
  func.func @step() -> (tensor<f32> {mpc.name = "loss"}, tensor<f32> {mpc.name = "grad_norm"}) attributes {train.entry = #train.entry<step>} {
    %p = train.read @parameters : tensor<1x1024xf32>
    %0 = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    train.write @parameters, %p : tensor<1x1024xf32>
    return %0, %0 : tensor<f32>, tensor<f32>
  }
}

// -----

// The stage has not run.
// expected-error @+5 {{there is no entry 'evaluate'}}
// expected-note @+4 {{expected mpc-add-loss to prevent this}}
// expected-error @+3 {{there must be either 'step' or 'accumulate' and 'apply'}}
// expected-error @+2 {{there must be one packed parameter state, but there are 0}}
// expected-note @+1 {{expected mpc-add-optimizer to prevent this}}
module {
  // expected-error @+2 {{parameter 'w' is not packed}}
  // expected-note @+1 {{expected mpc-add-optimizer to prevent this}}
  train.state @w parameter : tensor<2xf32>
  func.func @predict() attributes {train.entry = #train.entry<predict>} {
    return
  }
  // expected-error @+2 {{'train' is not an entry point}}
  // expected-note @+1 {{expected mpc-add-optimizer to prevent this}}
  func.func @train() attributes {train.entry = #train.entry<train>} {
    return
  }
}

// -----

module {
  train.state @parameters parameter {slots = []} : tensor<1x1024xf32>
  func.func @predict(%x: tensor<1x1024xf32>) attributes {train.entry = #train.entry<predict>} {
    // expected-error @+2 {{'predict' must not write states}}
    // expected-note @+1 {{expected mpc-use-training-form to prevent this}}
    train.write @parameters, %x : tensor<1x1024xf32>
    return
  }
  // expected-error @+2 {{'evaluate' must return loss, or sample_loss, sample_weight and perhaps sample_correct and sample_counted, of one length}}
  // expected-note @+1 {{expected mpc-add-loss to prevent this}}
  func.func @evaluate(%x: tensor<4xf32>) -> (tensor<4xf32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<evaluate>} {
    return %x : tensor<4xf32>
  }
  // expected-error @+4 {{'accumulate' must return loss, of rank 0}}
  // expected-note @+3 {{expected mpc-add-optimizer to prevent this}}
  // expected-error @+2 {{'accumulate' has 0 constants marked mpc.loss_seed}}
  // expected-note @+1 {{expected mpc-differentiate to prevent this}}
  func.func @accumulate(%x: tensor<2xf32>) -> (tensor<2xf32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<accumulate>} {
    // expected-error @+2 {{'train.dropout' is an inference form, but 'accumulate' trains}}
    // expected-note @+1 {{expected mpc-use-training-form to prevent this}}
    %0 = train.dropout %x {ratio = 0.5 : f32} : (tensor<2xf32>) -> tensor<2xf32>
    // expected-error @+2 {{'train.stop_gradient' must be gone: there is no gradient left to stop}}
    // expected-note @+1 {{expected mpc-differentiate to prevent this}}
    %1 = train.stop_gradient %0 : (tensor<2xf32>) -> tensor<2xf32>
    return %1 : tensor<2xf32>
  }
  // expected-error @+2 {{'apply' reads the parameters more than once}}
  // expected-note @+1 {{expected mpc-add-optimizer to prevent this}}
  func.func @apply(%x: tensor<f32>) -> (tensor<f32> {mpc.name = "loss"}, tensor<f32> {mpc.name = "grad_norm"}) attributes {train.entry = #train.entry<apply>} {
    %0 = train.read @parameters : tensor<1x1024xf32>
    %1 = train.read @parameters : tensor<1x1024xf32>
    train.write @parameters, %0 : tensor<1x1024xf32>
    // expected-error @+2 {{'apply' writes 'parameters' twice}}
    // expected-note @+1 {{expected mpc-add-optimizer to prevent this}}
    train.write @parameters, %1 : tensor<1x1024xf32>
    return %x, %x : tensor<f32>, tensor<f32>
  }
}
