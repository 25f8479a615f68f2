// RUN: mpc-opt %s --mpc-add-optimizer="optimizer=sgd data-parallel" | FileCheck %s

// With data-parallel even one batch is a micro-batch, because those of other ranks are
// added before apply. A rank adds a number of its own to the seed, but only where it
// draws for its own batch. The state is not saved in checkpoints.
module {
  train.state @w parameter : tensor<2xf32>
  train.state @step_count step_count : tensor<i64>
  train.state @random_seed random_seed : tensor<i64>
  // CHECK: train.state @rank_seed rank_seed : tensor<i64>

  // CHECK-LABEL: func.func @accumulate
  // CHECK-DAG:     %[[SEED:.*]] = train.read @random_seed
  // CHECK-DAG:     %[[RANK:.*]] = train.read @rank_seed
  // CHECK:         %[[OWN:.*]] = train.integer %[[SEED]], %[[RANK]] {kind = #train<integer_operation add>}
  // CHECK:         train.dropout_training %{{.*}}, %[[OWN]], %{{.*}}
  // CHECK:         train.dropout_training %{{.*}}, %[[OWN2:.*]], %{{.*}}
  // CHECK:         train.write @rank_gradients
  // CHECK-LABEL: func.func @apply
  // CHECK-NOT:     @rank_seed
  func.func @train(%a: tensor<2xf32>) -> (tensor<f32> {mpc.name = "loss"}, tensor<2xf32> {mpc.gradient_of = "w"}) attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<2xf32>
    %step = train.read @step_count : tensor<i64>
    %seed = train.read @random_seed : tensor<i64>
    %0 = train.dropout_training %w, %seed, %step {index = 0 : i64, ratio = 5.0e-01 : f32} : (tensor<2xf32>, tensor<i64>, tensor<i64>) -> tensor<2xf32>
    %again = train.read @random_seed : tensor<i64>
    %1 = train.dropout_training %0, %again, %step {index = 1 : i64, ratio = 5.0e-01 : f32} : (tensor<2xf32>, tensor<i64>, tensor<i64>) -> tensor<2xf32>
    %2 = train.reduce_sum %1 {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
    %one = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    %3 = train.broadcast_to %one : (tensor<f32>) -> tensor<2xf32>
    return %2, %3 : tensor<f32>, tensor<2xf32>
  }
}
