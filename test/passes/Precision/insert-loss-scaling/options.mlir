// RUN: mpc-opt %s --mpc-guard-states --mpc-insert-loss-scaling="loss-scale-init=1024 loss-scale-growth=4 loss-scale-backoff=0.25 loss-scale-interval=7 loss-scale-min=2 loss-scale-max=4096 loss-scale-hysteresis=3" | FileCheck %s
// RUN: mpc-opt %s --mpc-guard-states --mpc-insert-loss-scaling=loss-scale-init=1 | FileCheck %s --check-prefix=ONE
// RUN: mpc-opt %s --mpc-guard-states --mpc-insert-loss-scaling=loss-scale=off | FileCheck %s --check-prefix=OFF --implicit-check-not=amp.scale_loss --implicit-check-not=amp.un --implicit-check-not=amp.update --implicit-check-not=@loss_scale
// RUN: mpc-opt %s --mpc-guard-states --mpc-insert-loss-scaling=loss-scale=off --mpc-verify-precision
// RUN: not mpc-opt %s --mpc-guard-states --mpc-insert-loss-scaling=loss-scale-init=0 2>&1 | FileCheck %s --check-prefix=INIT
// RUN: not mpc-opt %s --mpc-guard-states --mpc-insert-loss-scaling=loss-scale-growth=1 2>&1 | FileCheck %s --check-prefix=GROWTH

// INIT: error: option 'loss-scale-init' must be above 0, but is '0'
// GROWTH: error: option 'loss-scale-growth' must be above 1

// CHECK: train.state @loss_scale loss_scale : tensor<f32> = dense<1.024000e+03>
// CHECK: amp.update_scale {{.*}} {backoff = 2.500000e-01 : f32, ceiling = 4.096000e+03 : f32, floor = 2.000000e+00 : f32, growth = 4.000000e+00 : f32, hysteresis = 3 : i32, interval = 7 : i32

// A scale of 1 is still dynamic.
// ONE: train.state @loss_scale loss_scale : tensor<f32> = dense<1.000000e+00>
// ONE: amp.scale_loss
// ONE: amp.unscale

// Nothing is scaled; steps that are not finite still change nothing.
// OFF: module attributes {mpc.loss_scale_off, mpc.precision = "fp16"}
// OFF: amp.all_finite
// OFF: amp.select_if_finite
module attributes {mpc.precision = "fp16"} {
  train.state @parameters parameter : tensor<1x1024xf32>
  func.func @step(%x: tensor<1024xf32>) attributes {train.entry = #train.entry<step>} {
    %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    %dx = train.mul %x, %seed : (tensor<1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %g = train.pack %dx {mpc.gradients, offsets = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1x1024xf32>
    train.write @parameters, %g : tensor<1x1024xf32>
    return
  }
}
