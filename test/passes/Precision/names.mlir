// RUN: mpc-opt %s --split-input-file --mpc-use-working-copy | FileCheck %s --check-prefix=COPY
// RUN: mpc-opt %s --split-input-file --mpc-use-bf16-masters=master-weights=bf16-kahan --verify-diagnostics | FileCheck %s --check-prefix=MASTERS
// RUN: mpc-opt %s --split-input-file --mpc-insert-loss-scaling | FileCheck %s --check-prefix=SCALE

// Names of the model do not matter: states are found by their roles.

module attributes {mpc.precision = "bf16"} {
  // COPY: train.state @w parameter
  // COPY: train.state @mpc.w.bf16 working_copy {of = @w} : tensor<4xbf16>
  // COPY: train.state @w.bf16 statistic
  train.state @w parameter : tensor<4xf32>
  train.state @w.bf16 statistic : tensor<4xf32>
  // COPY-LABEL: func.func @f
  func.func @f() -> tensor<4xbf16> {
    // COPY: train.read @mpc.w.bf16
    %w = train.read @w : tensor<4xf32>
    %low = amp.cast %w : tensor<4xf32> to tensor<4xbf16>
    return %low : tensor<4xbf16>
  }
}

// -----

module attributes {mpc.precision = "bf16"} {
  // MASTERS: train.state @parameters parameter : tensor<1x1024xbf16>
  // MASTERS: train.state @compensation constant
  // MASTERS: train.state @mpc.compensation compensation {of = @parameters} : tensor<1x1024xbf16>
  train.state @parameters parameter : tensor<1x1024xf32>
  train.state @compensation constant : tensor<4xf32>
  func.func private @none()
}

// -----

// So is a part of a state: "ema/fc.weight" is the average of "fc.weight".
// expected-error @+1 {{option 'master-weights'=bf16-kahan requires weights that are read in bf16}}
module attributes {mpc.precision = "fp16"} {
  // SCALE: train.state @parameters parameter
  // SCALE: train.state @"loss_scale_streak/fc" statistic
  // SCALE: train.state @mpc.loss_scale loss_scale : tensor<f32>
  // SCALE: train.state @mpc.loss_scale_streak loss_scale_streak : tensor<i32>
  train.state @parameters parameter {slots = [#train.slot<"loss_scale", 0, [4]>]} : tensor<1x1024xf32>
  train.state @"loss_scale_streak/fc" statistic : tensor<f32>
  func.func @step(%x: tensor<1024xf32>, %ok: tensor<i1>) -> (tensor<i1> {mpc.name = "finite"}) attributes {train.entry = #train.entry<step>} {
    %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    %g = train.pack %x {mpc.gradients, offsets = array<i64: 0>} : (tensor<1024xf32>) -> tensor<1x1024xf32>
    train.write @parameters, %g : tensor<1x1024xf32>
    return %ok : tensor<i1>
  }
}
