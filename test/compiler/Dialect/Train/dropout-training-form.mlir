// RUN: mpc-opt %s --mpc-use-training-form --split-input-file --verify-diagnostics | FileCheck %s

// Every dropout of the step has its own number; the states it needs appear.
// CHECK-DAG: train.state @random_seed random_seed : tensor<i64>
// CHECK-DAG: train.state @step_count step_count : tensor<i64>
// CHECK-LABEL: func.func @train
// CHECK-SAME:    (%[[X:[a-z0-9]*]]: tensor<4xf32>)
func.func @train(%x: tensor<4xf32>) -> tensor<4xf32> attributes {train.entry = #train.entry<train>} {
  // CHECK: %[[SEED:.*]] = train.read @random_seed
  // CHECK: %[[STEP:.*]] = train.read @step_count
  // CHECK: %[[D:.*]] = train.dropout_training %[[X]], %[[SEED]], %[[STEP]] {index = 0 : i64, ratio = 5.000000e-01 : f32}
  // CHECK: train.dropout_training %[[D]], %{{.*}}, %{{.*}} {index = 1 : i64, ratio = 1.000000e-01 : f32}
  %0 = train.dropout %x {ratio = 0.5 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = train.dropout %0 {ratio = 0.1 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A seed that the module has is used; at inference nothing is dropped.
// CHECK: train.state @random_seed random_seed : tensor<i64> = dense<7> : tensor<i64>
// CHECK-NOT: train.state @random_seed
train.state @random_seed random_seed : tensor<i64> = dense<7> : tensor<i64>
func.func @train(%x: tensor<4xf32>) -> tensor<4xf32> attributes {train.entry = #train.entry<train>} {
  // CHECK: train.dropout_training
  %0 = train.dropout %x {ratio = 0.5 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func @predict
// CHECK-SAME:    (%[[X:[a-z0-9]*]]: tensor<4xf32>)
func.func @predict(%x: tensor<4xf32>) -> tensor<4xf32> attributes {train.entry = #train.entry<predict>} {
  // CHECK-NEXT: return %[[X]]
  %0 = train.dropout %x {ratio = 0.5 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A weight may have the usual name of the counter.
// CHECK: train.state @mpc.step_count step_count : tensor<i64>
// CHECK: train.state @step_count parameter : tensor<4xf32>
train.state @step_count parameter : tensor<4xf32>
// CHECK-LABEL: func.func @train
func.func @train(%x: tensor<4xf32>) -> tensor<4xf32> attributes {train.entry = #train.entry<train>} {
  // CHECK: train.read @mpc.step_count
  %0 = train.dropout %x {ratio = 0.5 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
