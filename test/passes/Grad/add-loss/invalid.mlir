// RUN: mpc-opt %s --mpc-add-loss --split-input-file --verify-diagnostics
// RUN: not mpc-opt %s --split-input-file --mpc-add-loss=loss=hinge 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not mpc-opt %s --split-input-file --mpc-add-loss=loss=mse:c 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not mpc-opt %s --split-input-file --mpc-add-loss=loss=softmax-cross-entropy:a 2>&1 | FileCheck %s --check-prefix=CLASSES

// UNKNOWN: error: option 'loss' must be softmax-cross-entropy, mse, l1, bce-with-logits, huber, {{.*}}, KIND:NAME, output:NAME or external, but is 'hinge'
// NAME:    error: the model has no output 'c'; its outputs are 'a', 'b'
// CLASSES: error: softmax-cross-entropy needs an output [N, C, ..] of two classes or more, but 'a' is f32[4]

module {
  // expected-error @+1 {{the model has 2 outputs ('a', 'b') and no loss; use option 'loss'=output:NAME if one of them is the loss, or option 'loss'=KIND:NAME to compute a loss from one of them}}
  func.func @predict(%x: tensor<4xf32>) -> (tensor<4xf32> {mpc.name = "a"}, tensor<4xf32> {mpc.name = "b"}) attributes {train.entry = #train.entry<predict>} {
    return %x, %x : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

module {
  // expected-error @+1 {{several outputs are losses ('a', 'b'); use option 'loss'=output:NAME to choose}}
  func.func @predict(%x: tensor<4xf32>, %t: tensor<4xf32>) -> (tensor<f32> {mpc.name = "a"}, tensor<f32> {mpc.name = "b"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.element_loss %x, %t {kind = #train<element_loss mse>, reduction = #train<reduction mean>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
    %1 = train.neg %0 : (tensor<f32>) -> tensor<f32>
    return %0, %1 : tensor<f32>, tensor<f32>
  }
}

// -----

// Either of two scalars may be the loss.
module {
  // expected-error @+1 {{the model has 2 outputs ('a', 'b') and no loss; use option 'loss'=output:NAME}}
  func.func @predict(%x: tensor<f32>) -> (tensor<f32> {mpc.name = "a"}, tensor<1xf32> {mpc.name = "b"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.reshape %x : (tensor<f32>) -> tensor<1xf32>
    return %x, %0 : tensor<f32>, tensor<1xf32>
  }
}

// -----

module {
  // expected-error @+1 {{output 'a' must be a float for a loss, but is i64[4]}}
  func.func @predict(%x: tensor<4xi64>) -> (tensor<4xi64> {mpc.name = "a"}) attributes {train.entry = #train.entry<predict>} {
    return %x : tensor<4xi64>
  }
}

// -----

// expected-error @+1 {{the model has no entry 'predict' with outputs}}
module {
}
