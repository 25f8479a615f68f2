// RUN: mpc-opt %s --mpc-add-loss="loss=cross-entropy ignore-index=2 class-weights=1,2,0.5" | FileCheck %s --check-prefix=CLASSES
// RUN: mpc-opt %s --mpc-add-loss="loss=bce-with-logits pos-weight=3" | FileCheck %s --check-prefix=POSITIVE
// RUN: mpc-opt %s --mpc-add-loss="loss=mse sample-weights" | FileCheck %s --check-prefix=SAMPLES
// RUN: mpc-opt %s --mpc-add-loss="loss=mse*0.5+huber" | FileCheck %s --check-prefix=SUM
// RUN: mpc-opt %s --mpc-add-loss="loss=kl" | FileCheck %s --check-prefix=KL

// Losses with an op of their own stay one op; accuracy counts labels without
// their weights.
// CLASSES: mpc.loss = "softmax-cross-entropy of output 'y' against input 'labels', ignoring label 2, class weights 1 2 0.5"
// CLASSES-LABEL: func.func @evaluate
// CLASSES-SAME:    mpc.name = "sample_correct"{{.*}} mpc.name = "sample_counted"
// CLASSES-LABEL: func.func @train
// CLASSES:         %[[WEIGHTS:.*]] = train.constant dense<[1.000000e+00, 2.000000e+00, 5.000000e-01]>
// CLASSES-NEXT:    train.softmax_cross_entropy %{{.*}}, %{{.*}}, %[[WEIGHTS]] {ignore_index = 2 : i64, reduction = #train<reduction mean>}

// A single positive weight is that of all columns.
// POSITIVE-LABEL: func.func @train
// POSITIVE:         train.constant dense<3.000000e+00> : tensor<3xf32>
// POSITIVE:         train.element_loss {{.*}} {kind = #train<element_loss bce_with_logits>, reduction = #train<reduction none>}

// The weights of samples are an input; the mean is divided by their sum.
// SAMPLES: mpc.loss = "mse of output 'y' against input 'targets', weighted by input 'sample_weights'"
// SAMPLES-LABEL: func.func @train
// SAMPLES-SAME:    %[[GIVEN:[^:]*]]: tensor<4xf32> {mpc.batch_dim = 0 : i64, mpc.name = "sample_weights"}
// SAMPLES:         %[[COLUMN:.*]] = train.reshape %[[GIVEN]] : (tensor<4xf32>) -> tensor<4x1xf32>
// SAMPLES:         %[[WEIGHTS:.*]] = train.broadcast_to %[[COLUMN]]
// SAMPLES:         %[[LOSSES:.*]] = train.mul %{{.*}}, %[[WEIGHTS]]
// SAMPLES-DAG:     %[[TOTAL:.*]] = train.reduce_sum %[[LOSSES]]
// SAMPLES-DAG:     %[[COUNT:.*]] = train.reduce_sum %[[WEIGHTS]]
// SAMPLES:         train.div %[[TOTAL]], %[[COUNT]]

// Losses of one output share its targets.
// SUM: mpc.loss = "mse of output 'y' against input 'targets', times 0.5 + huber of output 'y' against input 'targets', delta 1", mpc.loss_parts = ["sum", "", "", ""]
// SUM-LABEL: func.func @train
// SUM-SAME:    tensor<2x3xf32> {mpc.name = "w"}, %{{[^:]*}}: tensor<4x3xf32> {mpc.batch_dim = 0 : i64, mpc.name = "targets"}) ->
// SUM:         train.add

// The sum over classes is averaged over samples.
// KL-LABEL: func.func @train
// KL:         train.log_softmax %{{.*}} {axis = 1 : i64}
// KL:         train.reduce_sum %{{.*}} {axes = array<i64: 1>}
// KL:         train.reduce_mean %{{.*}} {axes = array<i64: 0>}
module {
  func.func @predict(%x: tensor<4x2xf32> {mpc.name = "x", mpc.batch_dim = 0 : i64}, %w: tensor<2x3xf32> {mpc.name = "w"}) -> (tensor<4x3xf32> {mpc.name = "y", mpc.batch_dim = 0 : i64}) attributes {train.entry = #train.entry<predict>} {
    %0 = train.matmul %x, %w : (tensor<4x2xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
}
