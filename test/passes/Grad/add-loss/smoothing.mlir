// RUN: mpc-opt %s --mpc-add-loss=label-smoothing=0.1 --split-input-file --verify-diagnostics | FileCheck %s

// Labels are smoothed in training, not in evaluation.
module {
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}) -> (tensor<4x3xf32> {mpc.name = "logits", mpc.batch_dim = 0 : i64}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.relu %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
  // CHECK-LABEL: func.func @evaluate
  // CHECK-NOT:     label_smoothing
  // CHECK-LABEL: func.func @train
  // CHECK:         train.softmax_cross_entropy {{.*}} {ignore_index = -100 : i64, label_smoothing = 1.000000e-01 : f64, reduction = #train<reduction mean>}
}

// -----

// Numeric targets have no classes.
module {
  // expected-error @+1 {{option 'label-smoothing' requires a loss that compares classes with labels}}
  func.func @predict(%x: tensor<4xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}) -> (tensor<4xf32> {mpc.name = "y", mpc.batch_dim = 0 : i64}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.relu %x : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

module {
  // expected-error @+1 {{option 'label-smoothing' cannot be combined with the class weights of the loss}}
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x"}, %y: tensor<4xi64> {mpc.name = "y"}, %w: tensor<3xf32> {mpc.name = "w"}) -> (tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.softmax_cross_entropy %x, %y, %w {reduction = #train<reduction mean>} : (tensor<4x3xf32>, tensor<4xi64>, tensor<3xf32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
}
