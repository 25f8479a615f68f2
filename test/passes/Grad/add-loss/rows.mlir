// RUN: mpc-opt %s --mpc-add-loss --mpc-limit-indices --split-input-file | FileCheck %s

// A language model merges batch and positions. Its labels have separate dimensions,
// and the losses of a sample are summed.
module {
  // CHECK-LABEL: func.func @evaluate
  // CHECK-SAME:    -> (tensor<2xf32> {mpc.batch_dim = 0 : i64, mpc.name = "sample_loss"}
  // CHECK:         %[[LOSSES:.*]] = train.softmax_cross_entropy {{.*}}-> tensor<6xf32>
  // CHECK:         %[[SAMPLES:.*]] = train.reshape %[[LOSSES]] : (tensor<6xf32>) -> tensor<2x3xf32>
  // CHECK:         train.reduce_sum %[[SAMPLES]] {axes = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2xf32>
  // CHECK-LABEL: func.func @train
  // CHECK-SAME:    %[[L:[^:]*]]: tensor<2x3xi64> {mpc.batch_dim = 0 : i64, mpc.ignored = -100 : i64, mpc.name = "labels", mpc.range = [0, 5]}
  // CHECK:         %[[ROWS:.*]] = train.reshape %[[L]] : (tensor<2x3xi64>) -> tensor<6xi64>
  // CHECK:         train.softmax_cross_entropy %{{.*}}, %[[ROWS]]
  func.func @predict(%x: tensor<2x3x5xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}) -> (tensor<6x5xf32> {mpc.name = "logits"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.tanh %x : (tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
    %1 = train.reshape %0 : (tensor<2x3x5xf32>) -> tensor<6x5xf32>
    return %1 : tensor<6x5xf32>
  }
}

// -----

// Rows that were merged in another order do not belong to consecutive samples.
module {
  // CHECK-LABEL: func.func @evaluate
  // CHECK-SAME:    tensor<6xi64> {mpc.ignored = -100 : i64, mpc.name = "labels"
  func.func @predict(%x: tensor<2x5x3xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}) -> (tensor<6x5xf32> {mpc.name = "logits"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.reshape %x : (tensor<2x5x3xf32>) -> tensor<6x5xf32>
    return %0 : tensor<6x5xf32>
  }
}

// -----

// The class axis is the one for which labels have the shape of an integer input, the
// tokens; the dimensions before it are merged, which is a view. The loss of tokens has
// a perplexity.
// CHECK: module attributes {mpc.loss = "softmax-cross-entropy of output 'logits' against input 'labels', classes along axis 2", mpc.loss_parts = {{.*}}, mpc.metrics = "perplexity", mpc.notes = ["loss: {{.*}} (chosen from the output's shape f32[2,3,5]: classes along axis 2, because then labels have the shape of input 'tokens', i64[2,3]; use option 'loss' and option 'label-axis' to change it)"]}
module {
  // CHECK-LABEL: func.func @evaluate
  // CHECK-SAME:    %[[LABELS:[^:]*]]: tensor<2x3xi64> {mpc.batch_dim = 0 : i64, mpc.ignored = -100 : i64, mpc.name = "labels", mpc.range = [0, 5]}
  // CHECK-SAME:    -> (tensor<2xf32> {mpc.batch_dim = 0 : i64, mpc.name = "sample_loss"}
  // CHECK-LABEL: func.func @train
  // CHECK-SAME:    %[[LABELS:[^:]*]]: tensor<2x3xi64> {mpc.batch_dim = 0 : i64, mpc.ignored
  // CHECK:         %[[FLAT:.*]] = train.reshape %[[LABELS]] : (tensor<2x3xi64>) -> tensor<6xi64>
  // CHECK:         %[[ROWS:.*]] = train.reshape %{{.*}} : (tensor<2x3x5xf32>) -> tensor<6x5xf32>
  // CHECK:         train.softmax_cross_entropy %[[ROWS]], %[[FLAT]]
  func.func @predict(%tokens: tensor<2x3xi64> {mpc.name = "tokens", mpc.batch_dim = 0 : i64, mpc.range = [-5, 5]}, %table: tensor<5x5xf32> {mpc.name = "t"}) -> (tensor<2x3x5xf32> {mpc.name = "logits", mpc.batch_dim = 0 : i64}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.embedding %table, %tokens : (tensor<5x5xf32>, tensor<2x3xi64>) -> tensor<2x3x5xf32>
    return %0 : tensor<2x3x5xf32>
  }
}

// -----

// Rows still belong to their samples after products, norms and elementwise ops; if an
// op mixes them, they belong to the batch.
module {
  // CHECK-LABEL: func.func @predict
  // CHECK-SAME:    -> (tensor<6x5xf32> {mpc.batch_dim = 0 : i64, mpc.name = "kept"}, tensor<6x5xf32> {mpc.name = "mixed"})
  func.func @predict(%x: tensor<2x3x4xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}, %w: tensor<4x5xf32> {mpc.name = "w"}) -> (tensor<6x5xf32> {mpc.name = "kept"}, tensor<6x5xf32> {mpc.name = "mixed"}, tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.reshape %x : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
    %1 = train.matmul %0, %w : (tensor<6x4xf32>, tensor<4x5xf32>) -> tensor<6x5xf32>
    %2 = train.softmax %1 {axis = 1 : i64} : (tensor<6x5xf32>) -> tensor<6x5xf32>
    %3 = train.tanh %2 : (tensor<6x5xf32>) -> tensor<6x5xf32>
    %4 = train.softmax %3 {axis = 0 : i64} : (tensor<6x5xf32>) -> tensor<6x5xf32>
    %5 = train.element_loss %4, %3 {kind = #train<element_loss mse>, reduction = #train<reduction mean>} : (tensor<6x5xf32>, tensor<6x5xf32>) -> tensor<f32>
    return %3, %4, %5 : tensor<6x5xf32>, tensor<6x5xf32>, tensor<f32>
  }
}
