// RUN: mpc-opt %s --mpc-add-optimizer --split-input-file --verify-diagnostics
// RUN: not mpc-opt %s --split-input-file --mpc-add-optimizer=optimizer=ftrl 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not mpc-opt %s --split-input-file --mpc-add-optimizer=lr=-1 2>&1 | FileCheck %s --check-prefix=LR
// RUN: not mpc-opt %s --split-input-file --mpc-add-optimizer=lr=nan 2>&1 | FileCheck %s --check-prefix=LR
// RUN: not mpc-opt %s --split-input-file --mpc-add-optimizer=beta2=1 2>&1 | FileCheck %s --check-prefix=BETA
// RUN: not mpc-opt %s --split-input-file --mpc-add-optimizer=epsilon=inf 2>&1 | FileCheck %s --check-prefix=EPSILON
// RUN: not mpc-opt %s --split-input-file --mpc-add-optimizer=nesterov 2>&1 | FileCheck %s --check-prefix=NESTEROV
// RUN: not mpc-opt %s --split-input-file --mpc-add-optimizer=clip-norm=-1 2>&1 | FileCheck %s --check-prefix=CLIP
// RUN: not mpc-opt %s --split-input-file --mpc-add-optimizer=clip-value=nan 2>&1 | FileCheck %s --check-prefix=CLIP-VALUE
// RUN: not mpc-opt %s --split-input-file --mpc-add-optimizer=momentum=1 2>&1 | FileCheck %s --check-prefix=MOMENTUM
// RUN: not mpc-opt %s --split-input-file --mpc-add-optimizer="optimizer=rmsprop alpha=1" 2>&1 | FileCheck %s --check-prefix=ALPHA
// RUN: not mpc-opt %s --split-input-file --mpc-add-optimizer=ema=1 2>&1 | FileCheck %s --check-prefix=EMA
// RUN: not mpc-opt %s --split-input-file --mpc-add-optimizer=lr-schedule=sine 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not mpc-opt %s --split-input-file --mpc-add-optimizer=emaa=1 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not mpc-opt %s --split-input-file --mpc-add-optimizer=accumulate=0 2>&1 | FileCheck %s --check-prefix=ACCUMULATE

// NAME:       error: option 'optimizer' must be sgd, momentum, adam, {{.*}}, rmsprop or none, but is 'ftrl'
// LR:         error: option 'lr' must be {{at least 0|a number}}
// BETA:       error: option 'beta2' must be in [0, 1), but is '1'
// EPSILON:    error: option 'epsilon' must be {{above 0|a number}}
// NESTEROV:   error: option 'nesterov' needs optimizer momentum, but it is 'adamw'
// CLIP:       error: option 'clip-norm' must be {{at least 0|a number}}
// CLIP-VALUE: error: option 'clip-value' must be {{at least 0|a number}}
// MOMENTUM:   error: option 'momentum' must be in [0, 1)
// ALPHA:      error: option 'alpha' must be in [0, 1)
// EMA:        error: option 'ema' must be in [0, 1), but is '1'
// SCHEDULE:   error: option 'lr-schedule' must be constant, {{.*}} but is 'sine'
// ACCUMULATE: error: option 'accumulate' must be a whole number from 1
// UNKNOWN:    error: unknown option 'emaa'; did you mean 'ema'?

// expected-error @+2 {{an entry 'train' that returns gradients is needed}}
// expected-note @+1 {{mpc-differentiate makes it}}
module {
}

// -----

module {
  train.state @w parameter : tensor<2xf32>
  // expected-error @+1 {{parameters must all be f32, or all f64, but 'v' is 'tensor<2xf64>'}}
  train.state @v parameter : tensor<2xf64>
  func.func @train(%x: tensor<f32>, %w: tensor<2xf32>, %v: tensor<2xf64>) -> (tensor<f32>, tensor<2xf32> {mpc.gradient_of = "w"}, tensor<2xf64> {mpc.gradient_of = "v"}) attributes {train.entry = #train.entry<train>} {
    return %x, %w, %v : tensor<f32>, tensor<2xf32>, tensor<2xf64>
  }
}

// -----

module {
  train.state @w parameter : tensor<f32>
  train.state @v parameter : tensor<f32>
  // expected-error @+1 {{'train' must return the loss and the gradients of 2 parameters in the order of their states}}
  func.func @train(%x: tensor<f32>) -> (tensor<f32>, tensor<f32> {mpc.gradient_of = "w"}) attributes {train.entry = #train.entry<train>} {
    return %x, %x : tensor<f32>, tensor<f32>
  }
}
