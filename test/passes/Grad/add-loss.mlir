// RUN: mpc-opt %s --mpc-add-loss --mpc-limit-indices --split-input-file | FileCheck %s

// Logits: cross entropy, against labels that are a new input of evaluate and
// train. Evaluation counts per sample, training takes the mean.
// CHECK:       module attributes {mpc.loss = "softmax-cross-entropy of output 'logits' against input 'labels'", mpc.loss_parts = {{.*}}, mpc.notes = ["loss: {{.*}} (chosen from the output's shape f32[4,3]; use option 'loss' to change it)"]}
module {
  // CHECK-LABEL: func.func @predict
  // CHECK-SAME:    (%{{.*}}: tensor<4x3xf32> {{{.*}}}) -> (tensor<4x3xf32> {mpc.batch_dim = 0 : i64, mpc.name = "logits"})
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}) -> (tensor<4x3xf32> {mpc.name = "logits", mpc.batch_dim = 0 : i64}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.relu %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
  // CHECK-LABEL: func.func @evaluate
  // CHECK-SAME:    %[[LABELS:[^:]*]]: tensor<4xi64> {mpc.batch_dim = 0 : i64, mpc.ignored = -100 : i64, mpc.name = "labels", mpc.range = [0, 3]}
  // CHECK-SAME:    -> (tensor<4xf32> {mpc.batch_dim = 0 : i64, mpc.name = "sample_loss"}, tensor<4xf32> {mpc.batch_dim = 0 : i64, mpc.name = "sample_weight"}, tensor<4xf32> {mpc.batch_dim = 0 : i64, mpc.name = "sample_correct"})
  // CHECK:         %[[LOGITS:.*]] = train.relu
  // CHECK:         %[[LOSS:.*]] = train.softmax_cross_entropy %[[LOGITS]], %[[LABELS]] {ignore_index = -100 : i64, reduction = #train<reduction none>}
  // CHECK:         %[[WEIGHT:.*]] = train.is_counted %[[LABELS]] {ignore_index = -100 : i64}
  // CHECK:         %[[HIT:.*]] = train.is_correct %[[LOGITS]], %[[LABELS]]
  // CHECK:         %[[CORRECT:.*]] = train.mul %[[HIT]], %[[WEIGHT]]
  // CHECK:         return %[[LOSS]], %[[WEIGHT]], %[[CORRECT]]
  // CHECK-LABEL: func.func @train
  // CHECK-SAME:    -> (tensor<f32> {mpc.name = "loss"})
  // CHECK:         train.softmax_cross_entropy {{.*}}reduction = #train<reduction mean>
}

// -----

// Labels of several dimensions: evaluation sums over all but the batch.
module {
  // CHECK-LABEL: func.func @evaluate
  // CHECK-SAME:    tensor<2x8xi64> {mpc.ignored = -1 : i64, mpc.name = "y", mpc.range = [0, 3]}
  // CHECK:         %[[LOSS:.*]] = train.softmax_cross_entropy {{.*}} -> tensor<2x8xf32>
  // CHECK:         train.reduce_sum %[[LOSS]] {axes = array<i64: 1>} : (tensor<2x8xf32>) -> tensor<2xf32>
  // CHECK-LABEL: func.func @train
  func.func @predict(%x: tensor<2x3x8xf32> {mpc.name = "x"}, %y: tensor<2x8xi64> {mpc.name = "y"}) -> (tensor<2x3x8xf32> {mpc.name = "logits"}, tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.softmax_cross_entropy %x, %y {reduction = #train<reduction mean>, ignore_index = -1 : i64} : (tensor<2x3x8xf32>, tensor<2x8xi64>) -> tensor<f32>
    return %x, %0 : tensor<2x3x8xf32>, tensor<f32>
  }
}

// -----

// Labels cast from other integers and reshaped are still those of the input. The
// values of labels cast from floats are not known in advance; they still determine
// the batch dimension.
module {
  // CHECK-LABEL: func.func @evaluate
  // CHECK-SAME:    tensor<4x1xi32> {mpc.batch_dim = 0 : i64, mpc.name = "y", mpc.range = [0, 3]}
  // CHECK-SAME:    {mpc.batch_dim = 0 : i64, mpc.name = "sample_loss"}
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x"}, %y: tensor<4x1xi32> {mpc.name = "y", mpc.batch_dim = 0 : i64}) -> (tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.cast %y {to = i64} : (tensor<4x1xi32>) -> tensor<4x1xi64>
    %1 = train.reshape %0 : (tensor<4x1xi64>) -> tensor<4xi64>
    %2 = train.softmax_cross_entropy %x, %1 {reduction = #train<reduction mean>} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
    return %2 : tensor<f32>
  }
}

// -----

module {
  // CHECK-LABEL: func.func @evaluate
  // CHECK-SAME:    tensor<4xf32> {mpc.batch_dim = 0 : i64, mpc.name = "y"}
  // CHECK-SAME:    {mpc.batch_dim = 0 : i64, mpc.name = "sample_loss"}
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x"}, %y: tensor<4xf32> {mpc.name = "y", mpc.batch_dim = 0 : i64}) -> (tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.cast %y {to = i64} : (tensor<4xf32>) -> tensor<4xi64>
    %1 = train.softmax_cross_entropy %x, %0 {reduction = #train<reduction mean>} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// A softmax at the end stays in predict; the loss takes its input.
// CHECK: module attributes {{{.*}}'probabilities' comes from softmax, so the loss uses its input
module {
  // CHECK-LABEL: func.func @predict
  // CHECK:         train.softmax
  // CHECK-LABEL: func.func @evaluate
  // CHECK-SAME:    %[[X:[^:]*]]: tensor<4x3xf32>
  // CHECK-NOT:     train.softmax %
  // CHECK:         train.softmax_cross_entropy %[[X]],
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x"}) -> (tensor<4x3xf32> {mpc.name = "probabilities"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.softmax %x {axis = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
}

// -----

// One number per sample: the squared error. The weight of a sample is its number of
// elements; an input called targets keeps its name.
// CHECK: module attributes {mpc.loss = "mse of output 'y' against input 'targets_2'"
module {
  // CHECK-LABEL: func.func @evaluate
  // CHECK-SAME:    tensor<4x1xf32> {mpc.batch_dim = 0 : i64, mpc.name = "targets_2"}
  // CHECK:         %[[LOSS:.*]] = train.element_loss {{.*}} {kind = #train<element_loss mse>, reduction = #train<reduction none>}
  // CHECK:         %[[SUM:.*]] = train.reduce_sum %[[LOSS]] {axes = array<i64: 1>}
  // CHECK:         %[[ONE:.*]] = train.constant dense<1.000000e+00> : tensor<f32>
  // CHECK:         %[[ONES:.*]] = train.broadcast_to %[[ONE]] : (tensor<f32>) -> tensor<4xf32>
  // CHECK:         return %[[SUM]], %[[ONES]]
  func.func @predict(%x: tensor<4x1xf32> {mpc.name = "targets", mpc.batch_dim = 0 : i64}) -> (tensor<4x1xf32> {mpc.name = "y", mpc.batch_dim = 0 : i64}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.relu %x : (tensor<4x1xf32>) -> tensor<4x1xf32>
    return %0 : tensor<4x1xf32>
  }
}

// -----

// A loss in the model takes precedence; it is removed from predict with its labels.
// CHECK: module attributes {mpc.loss = "output 'loss' of the model, negative-log-likelihood"
module {
  // CHECK-LABEL: func.func @predict
  // CHECK-SAME:    (%{{[^:]*}}: tensor<4x3xf32> {mpc.name = "x"}) -> (tensor<4x3xf32> {mpc.name = "scores"})
  // CHECK-NOT:     train.nll_loss
  // CHECK-LABEL: func.func @evaluate
  // CHECK:         train.nll_loss {{.*}}reduction = #train<reduction none>
  // CHECK-LABEL: func.func @train
  // CHECK-SAME:    tensor<4xi64> {mpc.name = "y", mpc.range = [0, 3]}
  // CHECK:         %[[LOSS:.*]] = train.nll_loss {{.*}}reduction = #train<reduction sum>
  // CHECK:         return %[[LOSS]]
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x"}, %y: tensor<4xi64> {mpc.name = "y"}) -> (tensor<f32> {mpc.name = "loss"}, tensor<4x3xf32> {mpc.name = "scores"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.log_softmax %x {axis = 1 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
    %1 = train.nll_loss %0, %y {reduction = #train<reduction sum>} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
    return %1, %0 : tensor<f32>, tensor<4x3xf32>
  }
}

// -----

// For a loss per sample the mean is minimized; a model without another output
// predicts the operand of the loss.
module {
  // CHECK-LABEL: func.func @predict
  // CHECK-SAME:    (%[[X:[^:]*]]: tensor<4x3xf32> {mpc.batch_dim = 0 : i64, mpc.name = "x"}) -> (tensor<4x3xf32> {mpc.batch_dim = 0 : i64, mpc.name = "prediction"})
  // CHECK:         return %[[X]]
  // CHECK-LABEL: func.func @train
  // CHECK:         train.softmax_cross_entropy {{.*}}reduction = #train<reduction mean>
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}, %y: tensor<4xi64> {mpc.name = "y"}) -> (tensor<4xf32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.softmax_cross_entropy %x, %y {reduction = #train<reduction none>} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// Losses with class weights or ignored labels are minimized and evaluated by the mean
// of all elements, as the note says; only counted labels count for the accuracy.
// CHECK: mpc.notes = ["loss: {{.*}}training minimizes its mean, in which all elements count alike, also those of labels that are ignored
module {
  // CHECK-LABEL: func.func @evaluate
  // CHECK-SAME:    "sample_loss"}, tensor<4xf32> {{{.*}}"sample_weight"}, tensor<4xf32> {{{.*}}"sample_correct"}, tensor<4xf32> {{{.*}}"sample_counted"})
  // CHECK:         %[[LOSS:.*]] = train.nll_loss {{.*}}reduction = #train<reduction none>
  // CHECK:         %[[COUNTED:.*]] = train.is_counted
  // CHECK:         %[[ONE:.*]] = train.constant dense<1.000000e+00>
  // CHECK:         %[[ONES:.*]] = train.broadcast_to %[[ONE]]
  // CHECK:         %[[CORRECT:.*]] = train.mul %{{.*}}, %[[COUNTED]]
  // CHECK:         return %[[LOSS]], %[[ONES]], %[[CORRECT]], %[[COUNTED]]
  // CHECK-LABEL: func.func @train
  // CHECK:         %[[EACH:.*]] = train.nll_loss {{.*}}reduction = #train<reduction none>
  // CHECK:         %[[MEAN:.*]] = train.reduce_mean %[[EACH]]
  // CHECK:         return %[[MEAN]]
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}, %y: tensor<4xi64> {mpc.name = "y"}) -> (tensor<4xf32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.nll_loss %x, %y {reduction = #train<reduction none>, ignore_index = -1 : i64} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// A loss with an additional term cannot be split by samples.
module {
  // CHECK-LABEL: func.func @evaluate
  // CHECK-SAME:    -> (tensor<f32> {mpc.name = "loss"})
  // CHECK:         %[[SUM:.*]] = train.add
  // CHECK:         return %[[SUM]]
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x"}, %y: tensor<4xi64> {mpc.name = "y"}, %penalty: tensor<f32> {mpc.name = "penalty"}) -> (tensor<4x3xf32> {mpc.name = "logits"}, tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.softmax_cross_entropy %x, %y {reduction = #train<reduction mean>} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
    %1 = train.add %0, %penalty : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %x, %1 : tensor<4x3xf32>, tensor<f32>
  }
}

// -----

// Labels that also select rows of a table must be in range for both; a label that is
// not a row cannot be ignored.
module {
  // CHECK-LABEL: func.func @evaluate
  // CHECK-SAME:    tensor<4xi64> {mpc.name = "i", mpc.range = [0, 3]}
  func.func @predict(%i: tensor<4xi64> {mpc.name = "i", mpc.range = [-7, 7]}, %t: tensor<7x3xf32> {mpc.name = "t"}) -> (tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.embedding %t, %i : (tensor<7x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
    %1 = train.softmax_cross_entropy %0, %i {reduction = #train<reduction mean>, ignore_index = -100 : i64} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

module {
  // CHECK-LABEL: func.func @evaluate
  // CHECK-SAME:    tensor<4xi64> {mpc.ignored = -1 : i64, mpc.name = "i", mpc.range = [0, 2]}
  func.func @predict(%i: tensor<4xi64> {mpc.name = "i", mpc.range = [-2, 2]}, %t: tensor<2x3xf32> {mpc.name = "t"}) -> (tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.embedding %t, %i : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
    %1 = train.softmax_cross_entropy %0, %i {reduction = #train<reduction mean>, ignore_index = -1 : i64} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}

// -----

// A single scalar that no loss op computes is the loss; the rest stays in predict.
// CHECK: module attributes {mpc.loss = "output 'cost' of the model", mpc.loss_parts = {{.*}}, mpc.notes = ["loss: output 'cost' of the model (the model's only scalar output; use option 'loss' to change it)"]}
module {
  // CHECK-LABEL: func.func @predict
  // CHECK-SAME:    -> (tensor<4x3xf32> {mpc.name = "y"})
  // CHECK-LABEL: func.func @evaluate
  // CHECK-SAME:    -> (tensor<f32> {mpc.name = "loss"})
  // CHECK-LABEL: func.func @train
  // CHECK-SAME:    (%[[X:[^:]*]]: tensor<4x3xf32> {mpc.name = "x"}) -> (tensor<f32> {mpc.name = "loss"})
  // CHECK:         %[[SUM:.*]] = train.reduce_sum %[[X]]
  // CHECK:         %[[ONE:.*]] = train.reshape %[[SUM]] : (tensor<f32>) -> tensor<1xf32>
  // CHECK:         %[[LOSS:.*]] = train.reshape %[[ONE]] : (tensor<1xf32>) -> tensor<f32>
  // CHECK:         return %[[LOSS]]
  func.func @predict(%x: tensor<4x3xf32> {mpc.name = "x"}) -> (tensor<1xf32> {mpc.name = "cost"}, tensor<4x3xf32> {mpc.name = "y"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.reduce_sum %x {axes = array<i64: 0, 1>} : (tensor<4x3xf32>) -> tensor<f32>
    %1 = train.reshape %0 : (tensor<f32>) -> tensor<1xf32>
    %2 = train.relu %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
    return %1, %2 : tensor<1xf32>, tensor<4x3xf32>
  }
}

// -----

// A single number for a batch of one sample is a prediction.
// CHECK: module attributes {mpc.loss = "mse of output 'y' against input 'targets'"
module {
  func.func @predict(%x: tensor<1x3xf32> {mpc.name = "x"}) -> (tensor<1x1xf32> {mpc.name = "y"}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.reduce_sum %x {axes = array<i64: 1>} : (tensor<1x3xf32>) -> tensor<1xf32>
    %1 = train.reshape %0 : (tensor<1xf32>) -> tensor<1x1xf32>
    return %1 : tensor<1x1xf32>
  }
}
