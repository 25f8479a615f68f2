// RUN: mpc-opt %s | mpc-opt | FileCheck %s
// RUN: mpc-opt %s --mpc-use-training-form | FileCheck %s --check-prefix=FORM
// RUN: mpc-opt %s --mpc-use-training-form --mpc-differentiate | FileCheck %s --check-prefix=GRAD

train.state @bias parameter : tensor<1x3x5x5xf32>

// Training reads the seed and the step; gradients draw the same numbers. The
// attention without dropout has no number.
// CHECK-LABEL: func.func @train
// FORM-LABEL: func.func @train
// GRAD-LABEL: func.func @train
func.func @train(%q: tensor<2x3x5x8xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %b = train.read @bias : tensor<1x3x5x5xf32>
  // FORM: train.attention %{{.*}} {scale = 1.000000e+00 : f32}
  %x, %more = train.attention %q, %q, %q {scale = 1.0 : f32} : (tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>) -> (tensor<2x3x5x8xf32>, tensor<2x2x3x5xf32>)
  // CHECK: train.attention {{.*}} {dropout = 1.250000e-01 : f32, scale = 2.500000e-01 : f32}
  // FORM: %[[SEED:.*]] = train.read @random_seed : tensor<i64>
  // FORM: %[[STEP:.*]] = train.read @step_count : tensor<i64>
  // FORM: train.attention_dropout %{{.*}}, %{{.*}}, %{{.*}}, %[[SEED]], %[[STEP]], %{{.*}} {index = 0 : i64, ratio = 1.250000e-01 : f32, scale = 2.500000e-01 : f32}
  // GRAD: %[[SEED:.*]] = train.read @random_seed : tensor<i64>
  // GRAD: %[[STEP:.*]] = train.read @step_count : tensor<i64>
  // GRAD: train.attention_dropout_grad {{.*}}, %[[SEED]], %[[STEP]], %{{.*}} {index = 0 : i64, needs_bias, ratio = 1.250000e-01 : f32, scale = 2.500000e-01 : f32} : {{.*}} -> (tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<1x3x5x5xf32>)
  %y, %sums = train.attention %x, %x, %q, %b {dropout = 0.125 : f32, scale = 0.25 : f32} : (tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<1x3x5x5xf32>) -> (tensor<2x3x5x8xf32>, tensor<2x2x3x5xf32>)
  %loss = train.reduce_sum %y {axes = array<i64: 0, 1, 2, 3>} : (tensor<2x3x5x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// FORM-LABEL: func.func @predict
// FORM: train.attention {{.*}} {causal, scale = 2.500000e-01 : f32}
func.func @predict(%q: tensor<2x3x5x8xf32>) -> tensor<2x3x5x8xf32> attributes {train.entry = #train.entry<predict>} {
  %y, %sums = train.attention %q, %q, %q {causal, dropout = 0.125 : f32, scale = 0.25 : f32} : (tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>) -> (tensor<2x3x5x8xf32>, tensor<2x2x3x5xf32>)
  return %y : tensor<2x3x5x8xf32>
}
