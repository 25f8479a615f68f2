// RUN: mpc-opt %s --mpc-add-optimizer="optimizer=sgd accumulate=4" | FileCheck %s

// Gradients of a quarter of the loss are added up by accumulate; apply updates
// and starts anew. Random numbers go by a counter of micro-batches, since the
// step stands still between updates. f64 stays f64.
module {
  train.state @w parameter : tensor<2xf64>
  train.state @step_count control : tensor<i64>
  // CHECK: train.state @parameters parameter {{.*}} : tensor<1x1024xf64>{{$}}
  // CHECK: train.state @gradients optimizer {slots = [#train.slot<"w", 0, [2]>]} : tensor<1x1024xf64>
  // CHECK: train.state @micro_step control : tensor<i64>
  // CHECK: train.state @learning_rate control : tensor<f64>

  // CHECK-LABEL: func.func @accumulate
  // CHECK-SAME:    -> (tensor<f64> {mpc.name = "loss"})
  // CHECK:         %[[MICRO:.*]] = train.read @micro_step
  // CHECK-NOT:     @step_count
  // CHECK:         %[[SEED:.*]] = train.constant {mpc.loss_seed} dense<2.500000e-01> : tensor<f64>
  // CHECK:         %[[G:.*]] = train.pack
  // CHECK:         %[[OLD:.*]] = train.read @gradients
  // CHECK:         %[[SUM:.*]] = train.add %[[OLD]], %[[G]]
  // CHECK:         train.write @gradients, %[[SUM]]
  // CHECK:         %[[NEXT:.*]] = train.increment %[[MICRO]]
  // CHECK:         train.write @micro_step, %[[NEXT]]

  // CHECK-LABEL: func.func @apply
  // CHECK-SAME:    () -> (tensor<f64> {mpc.name = "grad_norm"})
  // CHECK:         %[[SUM:.*]] = train.read @gradients
  // CHECK:         %[[W:.*]] = train.read @parameters
  // CHECK:         %[[NORM:.*]] = train.global_norm %[[SUM]]
  // CHECK:         %[[NEW:.*]] = train.sgd %[[W]], %[[SUM]]
  // CHECK:         train.write @parameters, %[[NEW]]
  // CHECK:         train.write @step_count
  // CHECK:         %[[ZERO:.*]] = train.constant dense<0.000000e+00> : tensor<f64>
  // CHECK:         %[[ZEROS:.*]] = train.broadcast_to %[[ZERO]]
  // CHECK:         train.write @gradients, %[[ZEROS]]
  // CHECK:         return %[[NORM]]
  func.func @train(%seed: tensor<i64>) -> (tensor<f64> {mpc.name = "loss"}, tensor<2xf64> {mpc.gradient_of = "w"}) {
    %w = train.read @w : tensor<2xf64>
    %step = train.read @step_count : tensor<i64>
    %0 = train.dropout_training %w, %seed, %step {index = 0 : i64, ratio = 5.0e-01 : f32} : (tensor<2xf64>, tensor<i64>, tensor<i64>) -> tensor<2xf64>
    %1 = train.reduce_sum %0 {axes = array<i64: 0>} : (tensor<2xf64>) -> tensor<f64>
    %one = train.constant {mpc.loss_seed} dense<1.0> : tensor<f64> : tensor<f64>
    %2 = train.broadcast_to %one : (tensor<f64>) -> tensor<2xf64>
    %3 = train.dropout_training %2, %seed, %step {index = 0 : i64, ratio = 5.0e-01 : f32} : (tensor<2xf64>, tensor<i64>, tensor<i64>) -> tensor<2xf64>
    return %1, %3 : tensor<f64>, tensor<2xf64>
  }
}
