// RUN: mpc-opt %s --mpc-differentiate --split-input-file --verify-diagnostics

// All ops without a gradient are listed at once.
// expected-error @+1 {{between the parameters and the loss, these nodes have no gradient: 'cut' (Tile), 'train.rms_norm_grad'}}
module {
  train.state @w parameter : tensor<4xf32>
  func.func @train() -> tensor<f32> attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<4xf32>
    // expected-note @unknown {{'cut' (Tile) has no gradient; freeze the parameters that feed it or remove it}}
    %inv = train.constant dense<1.0> : tensor<f32> : tensor<f32>
    %0:2 = train.rms_norm_grad %w, %w, %w, %inv {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>) loc("cut"("Tile"))
    // expected-note @+1 {{'train.rms_norm_grad' has no gradient}}
    %1:2 = train.rms_norm_grad %0#0, %0#0, %0#0, %inv {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
    %2 = train.reduce_sum %1#0 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

// Ops that no parameter feeds need no gradient.
module {
  train.state @w parameter : tensor<f32>
  func.func @train(%x: tensor<4xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<f32>
    %0 = train.relu_grad %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = train.reduce_sum %0 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    %2 = train.mul %w, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

module {
  train.state @w constant : tensor<f32>
  // expected-error @+1 {{the loss depends on no parameter: nothing to train}}
  func.func @train() -> tensor<f32> attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<f32>
    return %w : tensor<f32>
  }
}

// -----

module {
  train.state @w parameter : tensor<f32>
  // expected-error @+1 {{the loss depends on no parameter: nothing to train}}
  func.func @train() -> tensor<f32> attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<f32>
    // expected-note @+1 {{no gradient flows back from here}}
    %0 = train.stop_gradient %w : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}

// -----

module {
  // expected-error @+1 {{the loss must be one float, but is 'tensor<2xf32>'}}
  func.func @train(%x: tensor<2xf32>) -> tensor<2xf32> attributes {train.entry = #train.entry<train>} {
    return %x : tensor<2xf32>
  }
}

// -----

// expected-error @+2 {{an entry 'train' that returns the loss is needed}}
// expected-note @+1 {{mpc-add-loss makes it}}
module {
}

// -----

module {
  train.state @w parameter : tensor<f32>
  // expected-error @+1 {{the loss depends on parameters only through ops whose gradient is 0 everywhere, such as Floor or Sign: nothing to train}}
  func.func @train() -> tensor<f32> attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<f32>
    %0 = train.floor %w : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
