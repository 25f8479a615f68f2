// RUN: mpc-opt %s --mpc-use-training-form --split-input-file --verify-diagnostics | FileCheck %s

// Every dropout of the step has its own number; the states it needs appear.
// CHECK-DAG: train.state @random_seed control : tensor<i64>
// CHECK-DAG: train.state @step_count control : tensor<i64>
// CHECK-LABEL: func.func @train
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
func.func @train(%x: tensor<4xf32>) -> tensor<4xf32> {
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
// CHECK: train.state @random_seed control : tensor<i64> = dense<7> : tensor<i64>
// CHECK-NOT: train.state @random_seed
train.state @random_seed control : tensor<i64> = dense<7> : tensor<i64>
func.func @train(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: train.dropout_training
  %0 = train.dropout %x {ratio = 0.5 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK-LABEL: func.func @predict
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
func.func @predict(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: return %[[X]]
  %0 = train.dropout %x {ratio = 0.5 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-note @+1 {{the name is taken here}}
train.state @step_count parameter : tensor<4xf32>
func.func @train(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'train.dropout' op needs a control state @step_count of type 'tensor<i64>'}}
  %0 = train.dropout %x {ratio = 0.5 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
