// RUN: mpc-opt %s --mpc-guard-states --split-input-file | FileCheck %s

// The norm represents all gradients; together with the loss it guards all writes, at any
// position, in every precision.
// CHECK: module attributes {mpc.precision = "fp32"}
module attributes {mpc.precision = "fp32"} {
  train.state @parameters parameter : tensor<1x1024xf32>
  train.state @parameters.bf16 working_copy {of = @parameters} : tensor<1x1024xbf16>
  train.state @mean statistic : tensor<4xf32>
  train.state @step_count step_count : tensor<i64>

  // CHECK-LABEL: func.func @step
  // CHECK-SAME: -> (tensor<f32> {mpc.name = "loss"}, tensor<f32> {mpc.name = "grad_norm"}, tensor<i1> {mpc.name = "finite"}, tensor<i1> {mpc.name = "update_finite"})
  func.func @step(%x: tensor<1024xf32>, %mean: tensor<4xf32>, %lr: tensor<f32>)
      -> (tensor<f32> {mpc.name = "loss"}, tensor<f32> {mpc.name = "grad_norm"}) attributes {train.entry = #train.entry<step>} {
    // CHECK-DAG: %[[MEAN:.*]] = train.read @mean : tensor<4xf32>
    // CHECK-DAG: %[[OLD:.*]] = train.read @parameters : tensor<1x1024xf32>
    // CHECK-DAG: %[[COUNT:.*]] = train.read @step_count : tensor<i64>
    %p = train.read @parameters : tensor<1x1024xf32>
    %count = train.read @step_count : tensor<i64>
    // A statistic is written in the middle of the forward pass.
    // CHECK-NOT: train.write
    train.write @mean, %mean : tensor<4xf32>
    %g = train.pack %x {mpc.gradients, offsets = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1x1024xf32>
    // CHECK: %[[NORM:.*]] = train.global_norm
    %norm = train.global_norm %g : (tensor<1x1024xf32>) -> tensor<f32>
    // CHECK: %[[NEW:.*]] = train.sgd %[[OLD]]
    %new = train.sgd %p, %g, %lr {weight_decay = 0.0 : f32} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<f32>) -> tensor<1x1024xf32>
    train.write @parameters, %new : tensor<1x1024xf32>
    %rounded = amp.cast %new : tensor<1x1024xf32> to tensor<1x1024xbf16>
    train.write @parameters.bf16, %rounded : tensor<1x1024xbf16>
    // CHECK: %[[NEXT:.*]] = train.increment
    %next = train.increment %count : (tensor<i64>) -> tensor<i64>
    train.write @step_count, %next : tensor<i64>
    // CHECK: %[[FINITE:.*]] = amp.all_finite %[[NORM]], %arg2 {{.*}} : tensor<f32>, tensor<f32>
    // CHECK: %[[KEPT:.*]] = amp.select_if_finite %{{.*}} over %[[MEAN]] if %[[FINITE]]
    // CHECK-NEXT: train.write @mean, %[[KEPT]]
    // CHECK-NEXT: %[[KEPT:.*]] = amp.select_if_finite %[[NEW]] over %[[OLD]] if %[[FINITE]]
    // CHECK-NEXT: train.write @parameters, %[[KEPT]]
    // CHECK-NEXT: %[[KEPTSTEP:.*]] = amp.select_if_finite %[[NEXT]] over %[[COUNT]] if %[[FINITE]]
    // CHECK-NEXT: train.write @step_count, %[[KEPTSTEP]]
    // The working copy rounds the new masters.
    // CHECK-NEXT: %[[LOW:.*]] = amp.cast %[[KEPT]]
    // CHECK-NEXT: train.write @parameters.bf16, %[[LOW]]
    // Tests the new weights, not those that are kept.
    // CHECK-NEXT: %[[UPDATED:.*]] = amp.all_finite %[[NEW]]
    // CHECK-NEXT: return %{{.*}}, %[[NORM]], %[[FINITE]], %[[UPDATED]]
    return %lr, %norm : tensor<f32>, tensor<f32>
  }
}

// -----

// Accumulation: sums are carried unguarded and are always reset; pending states continue
// from the result of the update.
module attributes {mpc.precision = "bf16"} {
  train.state @parameters parameter : tensor<1x1024xf32>
  train.state @gradients gradient_sum : tensor<1x1024xf32>
  train.state @mean statistic : tensor<4xf32>
  train.state @"pending/mean" pending {of = @mean} : tensor<4xf32>
  train.state @loss_sum loss_sum : tensor<f32>

  // CHECK-LABEL: func.func @accumulate
  func.func @accumulate(%g: tensor<1x1024xf32>, %mean: tensor<4xf32>, %loss: tensor<f32>)
      -> (tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<accumulate>} {
    // CHECK-NOT: amp.
    // CHECK: return
    train.write @gradients, %g : tensor<1x1024xf32>
    train.write @"pending/mean", %mean : tensor<4xf32>
    train.write @loss_sum, %loss : tensor<f32>
    return %loss : tensor<f32>
  }

  // CHECK-LABEL: func.func @apply
  // CHECK-SAME: -> (tensor<f32> {mpc.name = "loss"}, tensor<f32> {mpc.name = "grad_norm"}, tensor<i1> {mpc.name = "finite"}, tensor<i1> {mpc.name = "update_finite"})
  func.func @apply(%lr: tensor<f32>, %zero: tensor<f32>, %zeros: tensor<1x1024xf32>)
      -> (tensor<f32> {mpc.name = "loss"}, tensor<f32> {mpc.name = "grad_norm"}) attributes {train.entry = #train.entry<apply>} {
    // CHECK-DAG: %[[LOSS:.*]] = train.read @loss_sum
    %loss = train.read @loss_sum : tensor<f32>
    // CHECK-DAG: %[[MEAN:.*]] = train.read @mean
    // CHECK-DAG: %[[PENDING:.*]] = train.read @"pending/mean"
    %g = train.read @gradients : tensor<1x1024xf32>
    %p = train.read @parameters : tensor<1x1024xf32>
    %mean = train.read @"pending/mean" : tensor<4xf32>
    // CHECK: %[[NORM:.*]] = train.global_norm
    %norm = train.global_norm %g : (tensor<1x1024xf32>) -> tensor<f32>
    %new = train.sgd %p, %g, %lr {weight_decay = 0.0 : f32} : (tensor<1x1024xf32>, tensor<1x1024xf32>, tensor<f32>) -> tensor<1x1024xf32>
    train.write @parameters, %new : tensor<1x1024xf32>
    train.write @gradients, %zeros : tensor<1x1024xf32>
    train.write @loss_sum, %zero : tensor<f32>
    train.write @mean, %mean : tensor<4xf32>
    // CHECK: %[[FINITE:.*]] = amp.all_finite %[[NORM]], %[[LOSS]]
    // CHECK: amp.select_if_finite %{{.*}} over %{{.*}} if %[[FINITE]]
    // CHECK-NEXT: train.write @parameters
    // CHECK-NEXT: train.write @gradients, %arg2
    // CHECK-NEXT: train.write @loss_sum, %arg1
    // CHECK-NEXT: %[[KEPT:.*]] = amp.select_if_finite %[[PENDING]] over %[[MEAN]] if %[[FINITE]]
    // CHECK-DAG: train.write @mean, %[[KEPT]]
    // CHECK-DAG: train.write @"pending/mean", %[[KEPT]]
    return %loss, %norm : tensor<f32>, tensor<f32>
  }
}

// -----

// Without a norm the gradients themselves are tested. Functions that do not train are
// unchanged.
module attributes {mpc.precision = "fp32"} {
  train.state @parameters parameter : tensor<1x1024xf32>
  // CHECK-LABEL: func.func @no_norm
  func.func @no_norm(%x: tensor<1024xf32>) {
    // CHECK: %[[G:.*]] = train.pack
    // CHECK: amp.all_finite %[[G]]
    %g = train.pack %x {mpc.gradients, offsets = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1x1024xf32>
    train.write @parameters, %g : tensor<1x1024xf32>
    return
  }
  // CHECK-LABEL: func.func @predict
  func.func @predict(%x: tensor<4xf32>) -> tensor<4xf32> attributes {train.entry = #train.entry<predict>} {
    // CHECK-NEXT: return
    return %x : tensor<4xf32>
  }
}
