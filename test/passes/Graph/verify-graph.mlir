// RUN: mpc-opt %s --mpc-verify-graph --split-input-file --verify-diagnostics

// The output of the stage is accepted.
module {
  train.state @w parameter : tensor<3x2xf32>
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x"}) -> (tensor<4x2xf32> {mpc.name = "y"}) attributes {train.entry = #train.entry<predict>} {
    %w = train.read @w : tensor<3x2xf32>
    %0 = train.matmul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
    return %0 : tensor<4x2xf32>
  }
}

// -----

// expected-error @+2 {{the model has no entry 'predict'}}
// expected-note @+1 {{expected import to prevent this}}
module {
}

// -----

module {
  func.func @predict() attributes {train.entry = #train.entry<predict>} {
    return
  }
  // expected-error @+2 {{a model holds states and the entry 'predict', plus 'evaluate' and 'train' if it brings its own training step}}
  // expected-note @+1 {{expected import to prevent this}}
  func.func @other() {
    return
  }
}

// -----

module {
  // expected-error @+4 {{input 0 of 'predict' has no 'mpc.name'}}
  // expected-error @+3 {{input 0 must be a tensor of static shape}}
  // expected-error @+2 {{two inputs of 'predict' have the name 'x'}}
  // expected-note @+1 {{expected import to prevent this}}
  func.func @predict(%a: tensor<?xf32>, %b: tensor<2xf32> {mpc.name = "x"}, %c: tensor<2xf32> {mpc.name = "x"}) attributes {train.entry = #train.entry<predict>} {
    return
  }
}

// -----

module {
  func.func @predict(%x: tensor<2xf32> {mpc.name = "x"}) -> (tensor<2xf16> {mpc.name = "y"}) attributes {train.entry = #train.entry<predict>} {
    // expected-error @+2 {{'amp.cast' is not an op of the train dialect}}
    // expected-note @+1 {{expected import to prevent this}}
    %0 = amp.cast %x : tensor<2xf32> to tensor<2xf16>
    return %0 : tensor<2xf16>
  }
}

// -----

module {
  train.state @s statistic : tensor<2xf32>
  func.func @predict(%x: tensor<2xf32> {mpc.name = "x"}) attributes {train.entry = #train.entry<predict>} {
    // expected-error @+2 {{'predict' must not write states}}
    // expected-note @+1 {{expected import to prevent this}}
    train.write @s, %x : tensor<2xf32>
    return
  }
}

// -----

module {
  func.func @predict(%x: tensor<2x5x8x8xf32> {mpc.name = "x"}) -> (tensor<2x5x1x1xf32> {mpc.name = "y"}) attributes {train.entry = #train.entry<predict>} {
    // expected-error @+2 {{an op on images has channels first}}
    // expected-note @+1 {{expected mpc-use-channels-last to prevent this}}
    %0 = train.global_average_pool %x : (tensor<2x5x8x8xf32>) -> tensor<2x5x1x1xf32>
    return %0 : tensor<2x5x1x1xf32>
  }
}
