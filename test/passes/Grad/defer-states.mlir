// RUN: mpc-opt %s --mpc-defer-states --split-input-file --verify-diagnostics | FileCheck %s

// What micro-batches alone write waits for the update; what apply writes too is
// how they speak to each other.
module {
  train.state @gradients gradient_sum : tensor<1x1024xf32>
  train.state @mean statistic : tensor<4xf32> = dense<3.0> : tensor<4xf32>
  train.state @micro_step micro_step : tensor<i64>
  // CHECK-DAG: train.state @"pending/mean" pending {of = @mean} : tensor<4xf32> = dense<3.0
  // CHECK-DAG: train.state @"pending/micro_step" pending_control {of = @micro_step} : tensor<i64>

  // CHECK-LABEL: func.func @accumulate
  func.func @accumulate(%g: tensor<1x1024xf32>, %loss: tensor<f32>) -> (tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<accumulate>} {
    // CHECK-DAG: %[[MEAN:.*]] = train.read @"pending/mean"
    // CHECK-DAG: %[[MICRO:.*]] = train.read @"pending/micro_step"
    %mean = train.read @mean : tensor<4xf32>
    %micro = train.read @micro_step : tensor<i64>
    // CHECK-DAG: train.write @"pending/mean", %[[MEAN]]
    train.write @mean, %mean : tensor<4xf32>
    %next = train.increment %micro : (tensor<i64>) -> tensor<i64>
    // CHECK-DAG: train.write @"pending/micro_step"
    train.write @micro_step, %next : tensor<i64>
    // CHECK-DAG: train.write @gradients
    train.write @gradients, %g : tensor<1x1024xf32>
    return %loss : tensor<f32>
  }

  // CHECK-LABEL: func.func @apply
  func.func @apply(%zeros: tensor<1x1024xf32>) attributes {train.entry = #train.entry<apply>} {
    // CHECK: train.write @gradients
    train.write @gradients, %zeros : tensor<1x1024xf32>
    // CHECK-DAG: %[[MEAN:.*]] = train.read @"pending/mean"
    // CHECK-DAG: train.write @mean, %[[MEAN]]
    // CHECK-DAG: %[[MICRO:.*]] = train.read @"pending/micro_step"
    // CHECK-DAG: train.write @micro_step, %[[MICRO]]
    return
  }
}

// -----

// With one batch per step, nothing is deferred.
module {
  train.state @mean statistic : tensor<4xf32>
  // CHECK-LABEL: func.func @step
  func.func @step(%mean: tensor<4xf32>) attributes {train.entry = #train.entry<step>} {
    // CHECK-NEXT: train.write @mean
    train.write @mean, %mean : tensor<4xf32>
    return
  }
}

// -----

// A weight may have any name.
module {
  // CHECK: train.state @"pending/mean" parameter
  // CHECK: train.state @"mpc.pending/mean" pending {of = @mean}
  train.state @mean statistic : tensor<4xf32>
  train.state @"pending/mean" parameter : tensor<4xf32>
  // CHECK: train.write @"mpc.pending/mean"
  func.func @accumulate(%mean: tensor<4xf32>) attributes {train.entry = #train.entry<accumulate>} {
    train.write @mean, %mean : tensor<4xf32>
    return
  }
  func.func @apply() attributes {train.entry = #train.entry<apply>} {
    return
  }
}
