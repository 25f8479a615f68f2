// RUN: mpc-opt %s --mpc-add-optimizer="lr-schedule=cosine warmup=5 total-steps=20 ema=0.5 ema-warmup" | FileCheck %s
// RUN: mpc-opt %s --mpc-add-optimizer="clip-value=0.5 clip-norm=2" | FileCheck %s --check-prefix=CLIP
// RUN: mpc-opt %s --mpc-add-optimizer="lr-schedule=linear accumulate=4 ema=0.5" | FileCheck %s --check-prefix=APPLY

// CHECK: train.state @total_steps total_steps : tensor<i64> = dense<20>
// CHECK: train.state @ema_count average_count : tensor<i64> = dense<0>
// CHECK: train.state @ema average {slots = [#train.slot<"w", 0, [3]>]} : tensor<1x1024xf32>
module {
  train.state @w parameter : tensor<3xf32>

  // CHECK-LABEL: func.func @step
  // CHECK-SAME:    -> (tensor<f32> {mpc.name = "loss"}, tensor<f32> {mpc.name = "grad_norm"}, tensor<f32> {mpc.name = "learning_rate"})
  // CHECK:         %[[STEP:.*]] = train.read @step_count
  // CHECK:         %[[LR:.*]] = train.read @learning_rate
  // CHECK:         %[[TOTAL:.*]] = train.read @total_steps
  // CHECK:         %[[RATE:.*]] = train.scheduled_rate %[[LR]], %[[STEP]], %[[TOTAL]] {{.*}} schedule = #train<rate_schedule cosine>, warmup = 5.000000e+00
  // CHECK:         %[[W:.*]], %{{.*}}, %{{.*}} = train.adam {{.*}}, %[[RATE]],
  // CHECK:         train.write @parameters, %[[W]]
  // CHECK:         %[[COUNT:.*]] = train.read @ema_count
  // CHECK:         train.minimum
  // CHECK:         %[[BEGINS:.*]] = train.compare
  // CHECK:         %[[DECAY:.*]] = train.select %[[BEGINS]]
  // CHECK:         %[[OLD:.*]] = train.read @ema
  // CHECK:         train.mul %[[DECAY]], %[[OLD]]
  // CHECK:         train.write @ema,
  // CHECK:         train.increment %[[COUNT]]
  // CHECK:         return %{{.*}}, %{{.*}}, %[[RATE]]

  // First each element is clipped, then the norm of the result; the reported norm
  // is that of the original gradients.
  // CLIP-LABEL: func.func @step
  // CLIP:         %[[G:.*]] = train.pack
  // CLIP:         %[[NORM:.*]] = train.global_norm %[[G]]
  // CLIP:         %[[LIMITED:.*]] = train.clip %[[G]] {{.*}}-5.000000e-01
  // CLIP:         %[[LEFT:.*]] = train.global_norm %[[LIMITED]]
  // CLIP:         %[[FACTOR:.*]] = train.clip_factor %[[LEFT]]
  // CLIP:         train.mul %[[LIMITED]], %[[FACTOR]]
  // CLIP:         return %{{.*}}, %[[NORM]]

  // Schedules and averages count updates, not micro-batches.
  // APPLY-LABEL: func.func @accumulate
  // APPLY-NOT:     train.scheduled_rate
  // APPLY-NOT:     @ema
  // APPLY-LABEL: func.func @apply
  // APPLY:         train.scheduled_rate
  // APPLY:         train.write @ema
  func.func @train(%a: tensor<3xf32>) -> (tensor<f32> {mpc.name = "loss"}, tensor<3xf32> {mpc.gradient_of = "w"}) attributes {train.entry = #train.entry<train>} {
    %one = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    %w = train.read @w : tensor<3xf32>
    %0 = train.reduce_sum %w {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
    return %0, %a : tensor<f32>, tensor<3xf32>
  }
}
