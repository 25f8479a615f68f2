// RUN: mpc-opt %s --mpc-add-optimizer="optimizer=sgd accumulate=4 clip-norm=2" --split-input-file | FileCheck %s

// If the reduction of a loss is unknown, accumulate sums the gradients, each times a
// quarter, and counts the micro-batches; apply divides by their actual number and
// resets the sums. Random numbers are keyed by a counter of micro-batches, because the
// step count does not change between updates. f64 stays f64.
module {
  train.state @w parameter : tensor<2xf64>
  train.state @step_count step_count : tensor<i64>
  // CHECK: train.state @parameters parameter {{.*}} : tensor<1x1024xf64>{{$}}
  // CHECK: train.state @gradients gradient_sum {slots = [#train.slot<"w", 0, [2]>]} : tensor<1x1024xf64>
  // CHECK: train.state @loss_sum loss_sum : tensor<f64>
  // CHECK: train.state @micro_step micro_step : tensor<i64>
  // CHECK: train.state @learning_rate learning_rate : tensor<f64>

  // CHECK-LABEL: func.func @accumulate
  // CHECK-SAME:    -> (tensor<f64> {mpc.name = "loss"})
  // CHECK:         %[[MICRO:.*]] = train.read @micro_step
  // CHECK-NOT:     @step_count
  // CHECK:         %[[SEED:.*]] = train.constant {mpc.loss_seed} dense<2.500000e-01> : tensor<f64>
  // CHECK:         %[[G:.*]] = train.pack
  // CHECK:         %[[OLD:.*]] = train.read @gradients
  // CHECK:         %[[SUM:.*]] = train.add %[[OLD]], %[[G]]
  // CHECK:         train.write @gradients, %[[SUM]]
  // CHECK:         %[[ONE:.*]] = train.constant dense<1.000000e+00> : tensor<f64>
  // CHECK:         %[[COUNT:.*]] = train.add %{{.*}}, %[[ONE]]
  // CHECK:         train.write @loss_divisor, %[[COUNT]]
  // CHECK:         %[[LOSS:.*]] = train.add %{{.*}}, %{{.*}} : (tensor<f64>, tensor<f64>)
  // CHECK:         train.write @loss_sum, %[[LOSS]]
  // CHECK:         %[[NEXT:.*]] = train.increment %[[MICRO]]
  // CHECK:         train.write @micro_step, %[[NEXT]]

  // CHECK-LABEL: func.func @apply
  // CHECK-SAME:    () -> (tensor<f64> {mpc.name = "loss"}, tensor<f64> {mpc.name = "grad_norm"})
  // CHECK:         %[[SUM:.*]] = train.read @gradients
  // CHECK:         %[[LOSSES:.*]] = train.read @loss_sum
  // CHECK:         %[[COUNT:.*]] = train.read @loss_divisor
  // CHECK:         %[[FACTOR:.*]] = train.mean_factor %[[COUNT]] {terms = 4.000000e+00 : f64}
  // CHECK:         %[[LOSS:.*]] = train.div %[[LOSSES]], %[[COUNT]]
  // CHECK:         train.write @loss_divisor
  // CHECK:         train.write @loss_sum
  // CHECK:         %[[W:.*]] = train.read @parameters
  // CHECK:         %[[RAW:.*]] = train.global_norm %[[SUM]]
  // CHECK:         %[[NORM:.*]] = train.mul %[[RAW]], %[[FACTOR]]
  // CHECK:         %[[CLIP:.*]] = train.clip_factor %[[NORM]]
  // CHECK:         %[[BOTH:.*]] = train.mul %[[FACTOR]], %[[CLIP]]
  // CHECK:         %[[CLIPPED:.*]] = train.mul %[[SUM]], %[[BOTH]]
  // CHECK:         %[[NEW:.*]] = train.sgd %[[W]], %[[CLIPPED]]
  // CHECK:         train.write @parameters, %[[NEW]]
  // CHECK:         train.write @step_count
  // CHECK:         %[[ZERO:.*]] = train.constant dense<0.000000e+00> : tensor<f64>
  // CHECK:         %[[ZEROS:.*]] = train.broadcast_to %[[ZERO]]
  // CHECK:         train.write @gradients, %[[ZEROS]]
  // CHECK:         return %[[LOSS]], %[[NORM]]
  func.func @train(%seed: tensor<i64>) -> (tensor<f64> {mpc.name = "loss"}, tensor<2xf64> {mpc.gradient_of = "w"}) attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<2xf64>
    %step = train.read @step_count : tensor<i64>
    %0 = train.dropout_training %w, %seed, %step {index = 0 : i64, ratio = 5.0e-01 : f32} : (tensor<2xf64>, tensor<i64>, tensor<i64>) -> tensor<2xf64>
    %1 = train.reduce_sum %0 {axes = array<i64: 0>} : (tensor<2xf64>) -> tensor<f64>
    %one = train.constant {mpc.loss_seed} dense<1.0> : tensor<f64> : tensor<f64>
    %2 = train.broadcast_to %one : (tensor<f64>) -> tensor<2xf64>
    %3 = train.dropout_training %2, %seed, %step {index = 0 : i64, ratio = 5.0e-01 : f32} : (tensor<2xf64>, tensor<i64>, tensor<i64>) -> tensor<2xf64>
    %4 = train.tanh %1 : (tensor<f64>) -> tensor<f64>
    return %4, %3 : tensor<f64>, tensor<2xf64>
  }
}

// -----

// Losses that sum are summed.
module {
  train.state @w parameter : tensor<2xf32>
  // CHECK-LABEL: func.func @accumulate
  // CHECK:         %[[LOSS:.*]] = train.reduce_sum
  // CHECK:         train.constant {mpc.loss_seed} dense<1.000000e+00>
  // CHECK:         %[[SUM:.*]] = train.add %{{.*}}, %[[LOSS]]
  // CHECK:         train.write @loss_sum, %[[SUM]]
  func.func @train(%x: tensor<2xf32>) -> (tensor<f32> {mpc.name = "loss"}, tensor<2xf32> {mpc.gradient_of = "w"}) attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<2xf32>
    %0 = train.mul %w, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %1 = train.reduce_sum %0 {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
    %one = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    %2 = train.mul %x, %one : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    return %1, %2 : tensor<f32>, tensor<2xf32>
  }
}

// -----

// A mean that ignores labels is weighted by the counted ones: of 4 x 3 labels, as many
// as the four micro-batches actually have.
module {
  train.state @w parameter : tensor<3x2xf32>
  // CHECK-LABEL: func.func @accumulate
  // CHECK-SAME:    %[[LABELS:[^:]*]]: tensor<3xi64>
  // CHECK:         %[[LOSS:.*]] = train.softmax_cross_entropy
  // CHECK:         %[[SEED:.*]] = train.constant {mpc.loss_seed} dense<0.0833333358> : tensor<f32>
  // CHECK:         %[[COUNTS:.*]] = train.is_counted %[[LABELS]] {ignore_index = -1 : i64}
  // CHECK:         %[[DIVISOR:.*]] = train.reduce_sum %[[COUNTS]] {axes = array<i64: 0>}
  // CHECK:         %[[GRAD:.*]] = train.mul %[[SEED]], %[[DIVISOR]]
  // CHECK:         train.softmax_cross_entropy_grad %[[GRAD]],
  // CHECK:         train.loss_share %[[LOSS]], %[[DIVISOR]] {terms = 1.200000e+01 : f64}
  // CHECK:         %[[TOTAL:.*]] = train.add %{{.*}}, %[[DIVISOR]]
  // CHECK:         train.write @loss_divisor, %[[TOTAL]]
  // CHECK-LABEL: func.func @apply
  // CHECK:         %[[SUM:.*]] = train.read @gradients
  // CHECK:         %[[DIVISOR:.*]] = train.read @loss_divisor
  // CHECK:         %[[FACTOR:.*]] = train.mean_factor %[[DIVISOR]] {terms = 1.200000e+01 : f64}
  // CHECK:         %[[RAW:.*]] = train.global_norm %[[SUM]]
  // CHECK:         %[[NORM:.*]] = train.mul %[[RAW]], %[[FACTOR]]
  // CHECK:         %[[CLIP:.*]] = train.clip_factor %[[NORM]]
  // CHECK:         %[[BOTH:.*]] = train.mul %[[FACTOR]], %[[CLIP]]
  // CHECK:         train.mul %[[SUM]], %[[BOTH]]
  // CHECK:         return %{{.*}}, %[[NORM]]
  func.func @train(%labels: tensor<3xi64>) -> (tensor<f32> {mpc.name = "loss"}, tensor<3x2xf32> {mpc.gradient_of = "w"}) attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<3x2xf32>
    %0 = train.softmax_cross_entropy %w, %labels {reduction = #train<reduction mean>, ignore_index = -1 : i64} : (tensor<3x2xf32>, tensor<3xi64>) -> tensor<f32>
    %one = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    %1 = train.softmax_cross_entropy_grad %one, %w, %labels {reduction = #train<reduction mean>, ignore_index = -1 : i64} : (tensor<f32>, tensor<3x2xf32>, tensor<3xi64>) -> tensor<3x2xf32>
    return %0, %1 : tensor<f32>, tensor<3x2xf32>
  }
}
