// RUN: mpc-opt %s --mpc-use-training-form --split-input-file | FileCheck %s

// Dropout: the identity at inference; in training, keyed by states that are
// made for it and by its number.
module {
  // CHECK-DAG: train.state @random_seed random_seed : tensor<i64>
  // CHECK-DAG: train.state @step_count step_count : tensor<i64>
  // CHECK-LABEL: func.func @evaluate
  // CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
  // CHECK-NEXT:    return %[[X]]
  func.func @evaluate(%x: tensor<4xf32>) -> tensor<4xf32> attributes {train.entry = #train.entry<evaluate>} {
    %0 = train.dropout %x {ratio = 5.0e-01 : f32} : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  // CHECK-LABEL: func.func @train
  func.func @train(%x: tensor<4xf32>) -> tensor<4xf32> attributes {train.entry = #train.entry<train>} {
    // CHECK:     train.dropout_training {{.*}} {index = 0 : i64, ratio = 5.000000e-01 : f32}
    // CHECK:     train.dropout_training {{.*}} {index = 1 : i64, ratio = 2.500000e-01 : f32}
    // CHECK-NOT: train.dropout{{ }}
    %0 = train.dropout %x {ratio = 5.0e-01 : f32} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = train.dropout %0 {ratio = 2.5e-01 : f32} : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}

// -----

// Without differentiation a stop is the identity.
module {
  // CHECK-LABEL: func.func @predict
  // CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
  // CHECK-NEXT:    return %[[X]]
  func.func @predict(%x: tensor<4xf32>) -> tensor<4xf32> attributes {train.entry = #train.entry<predict>} {
    %0 = train.stop_gradient %x : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
  // CHECK-LABEL: func.func @train
  // CHECK:         train.stop_gradient
  func.func @train(%x: tensor<4xf32>) -> tensor<4xf32> attributes {train.entry = #train.entry<train>} {
    %0 = train.stop_gradient %x : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}

// -----

// BatchNormalization uses the statistics of the batch in training and updates the
// running ones; other functions are unchanged, and no control state is made.
module {
  // CHECK-NOT: control
  train.state @mean statistic : tensor<3xf32>
  train.state @var statistic : tensor<3xf32>
  // CHECK-LABEL: func.func @predict
  // CHECK:         train.batch_norm %
  // CHECK-NOT:     train.write
  func.func @predict(%x: tensor<4x3xf32>, %c: tensor<3xf32>) -> tensor<4x3xf32> attributes {train.entry = #train.entry<predict>} {
    %m = train.read @mean : tensor<3xf32>
    %v = train.read @var : tensor<3xf32>
    %0 = train.batch_norm %x, %c, %c, %m, %v {epsilon = 1.0e-5 : f32, momentum = 0.75 : f32, axis = 1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
  // CHECK-LABEL: func.func @train
  // CHECK:         %[[Y:.*]], %{{.*}}, %{{.*}}, %{{.*}} = train.batch_norm_training
  // CHECK-DAG:     train.write @mean
  // CHECK-DAG:     train.write @var
  // CHECK:         return %[[Y]]
  func.func @train(%x: tensor<4x3xf32>, %c: tensor<3xf32>) -> tensor<4x3xf32> attributes {train.entry = #train.entry<train>} {
    %m = train.read @mean : tensor<3xf32>
    %v = train.read @var : tensor<3xf32>
    %0 = train.batch_norm %x, %c, %c, %m, %v {epsilon = 1.0e-5 : f32, momentum = 0.75 : f32, axis = 1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
}

// -----

// Frozen statistics, like constants, are used unchanged in training.
module {
  train.state @mean constant : tensor<3xf32>
  // CHECK-LABEL: func.func @train
  // CHECK:         %[[Y:.*]] = train.batch_norm %
  // CHECK-NOT:     train.write
  // CHECK:         return %[[Y]]
  func.func @train(%x: tensor<4x3xf32>, %c: tensor<3xf32>) -> tensor<4x3xf32> attributes {train.entry = #train.entry<train>} {
    %m = train.read @mean : tensor<3xf32>
    %v = train.constant dense<1.0> : tensor<3xf32> : tensor<3xf32>
    %0 = train.batch_norm %x, %c, %c, %m, %v {epsilon = 1.0e-5 : f32, momentum = 0.75 : f32, axis = 1 : i64} : (tensor<4x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
    return %0 : tensor<4x3xf32>
  }
}
