// RUN: mpc-opt %s --mpc-add-loss --split-input-file | FileCheck %s

// What the loss compares, for exports and metrics. A softmax at the end is recorded,
// because the output then has probabilities.
// CHECK: mpc.loss_parts = ["softmax-cross-entropy", "y", "labels", "1", "scores softmax y"]
module {
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}) -> (tensor<4x3xf32> {mpc.name = "y", mpc.batch_dim = 0 : i64}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.softmax %x {axis = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
}

// -----

// A loss in the graph may compare an output that is reshaped or transposed.
// CHECK: mpc.loss_parts = ["output", "loss", "", "", "kind softmax-cross-entropy", "prediction logits", "target t", "axis 2"]
module {
  func.func @predict(%x: tensor<2x4x3xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}, %t: tensor<2x4xi32> {mpc.name = "t", mpc.batch_dim = 0 : i64}) -> (tensor<2x4x3xf32> {mpc.name = "logits", mpc.batch_dim = 0 : i64}, tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.relu %x : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    %1 = train.transpose %0 {permutation = array<i64: 0, 2, 1>} : (tensor<2x4x3xf32>) -> tensor<2x3x4xf32>
    %2 = train.cast %t {to = i64} : (tensor<2x4xi32>) -> tensor<2x4xi64>
    %3 = train.softmax_cross_entropy %1, %2 {reduction = #train<reduction mean>} : (tensor<2x3x4xf32>, tensor<2x4xi64>) -> tensor<f32>
    return %0, %3 : tensor<2x4x3xf32>, tensor<f32>
  }
}

// -----

// If rows are joined, the dimension of classes is another one in the output.
// CHECK: mpc.loss_parts = ["output", "loss", "", "", "kind softmax-cross-entropy", "prediction logits", "target t", "axis 2"]
module {
  func.func @predict(%x: tensor<2x4x3xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}, %t: tensor<8xi64> {mpc.name = "t"}) -> (tensor<2x4x3xf32> {mpc.name = "logits", mpc.batch_dim = 0 : i64}, tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.relu %x : (tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
    %1 = train.reshape %0 : (tensor<2x4x3xf32>) -> tensor<8x3xf32>
    %2 = train.softmax_cross_entropy %1, %t {reduction = #train<reduction mean>} : (tensor<8x3xf32>, tensor<8xi64>) -> tensor<f32>
    return %0, %2 : tensor<2x4x3xf32>, tensor<f32>
  }
}

// -----

// If the loss is the only output, `predict` returns its prediction, here log-softmax.
// CHECK: mpc.loss_parts = ["output", "loss", "", "", "kind negative-log-likelihood", "prediction prediction", "target t", "axis 1", "scores log-softmax prediction"]
module {
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}, %t: tensor<4xi64> {mpc.name = "t", mpc.batch_dim = 0 : i64}) -> (tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.log_softmax %x {axis = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %1 = train.nll_loss %0, %t {reduction = #train<reduction mean>} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// A loss of values that are no output: only its own name is known.
// CHECK: mpc.loss_parts = ["output", "loss", "", ""]
module {
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}, %t: tensor<4xi64> {mpc.name = "t", mpc.batch_dim = 0 : i64}) -> (tensor<4x3xf32> {mpc.name = "y", mpc.batch_dim = 0 : i64}, tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.relu %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %1 = train.tanh %0 : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %2 = train.softmax_cross_entropy %1, %t {reduction = #train<reduction mean>} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
    return %0, %2 : tensor<4x3xf32>, tensor<f32>
  }
}

// -----

// The output may also be a reshape of what the loss compares.
// CHECK: mpc.loss_parts = ["output", "loss", "", "", "kind softmax-cross-entropy", "prediction logits", "target t", "axis 2"]
module {
  func.func @predict(%x: tensor<8x3xf32> {mpc.name = "x"}, %t: tensor<8xi64> {mpc.name = "t"}) -> (tensor<2x4x3xf32> {mpc.name = "logits"}, tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.relu %x : (tensor<8x3xf32>) -> tensor<8x3xf32>
    %1 = train.reshape %0 : (tensor<8x3xf32>) -> tensor<2x4x3xf32>
    %2 = train.softmax_cross_entropy %0, %t {reduction = #train<reduction mean>} : (tensor<8x3xf32>, tensor<8xi64>) -> tensor<f32>
    return %1, %2 : tensor<2x4x3xf32>, tensor<f32>
  }
}
