// RUN: mpc-opt %s --mpc-insert-loss-scaling --split-input-file --verify-diagnostics

module attributes {mpc.precision = "fp16"} {
  train.state @parameters parameter : tensor<1x1024xf32>
  // expected-error @+1 {{'step' trains, but packs no gradients that could be tested}}
  func.func @step(%x: tensor<1x1024xf32>) attributes {train.entry = #train.entry<step>} {
    train.write @parameters, %x : tensor<1x1024xf32>
    return
  }
}

// -----

// Nobody guards the states.
module attributes {mpc.precision = "fp16"} {
  train.state @parameters parameter : tensor<1x1024xf32>
  // expected-error @+1 {{'step' does not compute whether its step is finite; expected mpc-guard-states to prevent this}}
  func.func @step(%x: tensor<1024xf32>) attributes {train.entry = #train.entry<step>} {
    %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    %g = train.pack %x {mpc.gradients, offsets = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1x1024xf32>
    train.write @parameters, %g : tensor<1x1024xf32>
    return
  }
}

// -----

// A canonicalization merged the seed with another constant.
module attributes {mpc.precision = "fp16"} {
  train.state @parameters parameter : tensor<1x1024xf32>
  // expected-error @+1 {{'step' has gradients, but no constant marked 'mpc.loss_seed' to scale}}
  func.func @step(%x: tensor<1024xf32>) attributes {train.entry = #train.entry<step>} {
    %g = train.pack %x {mpc.gradients, offsets = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1x1024xf32>
    train.write @parameters, %g : tensor<1x1024xf32>
    return
  }
}
