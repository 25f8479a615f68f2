// RUN: mpc-opt %s --split-input-file | mpc-opt --split-input-file | FileCheck %s
// RUN: mpc-opt %s --split-input-file --mpc-use-training-form --mpc-differentiate | FileCheck %s --check-prefix=GRAD

train.state @bias parameter : tensor<1x3x5x5xf32>
train.state @other parameter : tensor<2x1x1x5xf32>

// The soft cap and the bias that replaces scores reach the gradients. Where both
// biases are learned, the second gradient exchanges them.
// CHECK-LABEL: func.func @train
// GRAD-LABEL: func.func @train
func.func @train(%q: tensor<2x3x5x8xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %b = train.read @bias : tensor<1x3x5x5xf32>
  %c = train.read @other : tensor<2x1x1x5xf32>
  // CHECK: train.attention {{.*}} {replacing = 1 : i64, scale = 2.500000e-01 : f32, softcap = 3.000000e+01 : f32}
  // GRAD: %[[B:.*]] = train.read @bias
  // GRAD: %[[C:.*]] = train.read @other
  // GRAD: train.attention_grad {{.*}}, %[[B]], %[[C]] {needs_bias, replacing = 1 : i64, scale = 2.500000e-01 : f32, softcap = 3.000000e+01 : f32}
  // GRAD: train.attention_grad {{.*}}, %[[C]], %[[B]] {needs_bias, replacing = 0 : i64, scale = 2.500000e-01 : f32, softcap = 3.000000e+01 : f32}
  %y, %sums = train.attention %q, %q, %q, %b, %c {replacing = 1 : i64, scale = 0.25 : f32, softcap = 30.0 : f32} : (tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<1x3x5x5xf32>, tensor<2x1x1x5xf32>) -> (tensor<2x3x5x8xf32>, tensor<2x2x3x5xf32>)
  %loss = train.reduce_sum %y {axes = array<i64: 0, 1, 2, 3>} : (tensor<2x3x5x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// -----

train.state @bias parameter : tensor<1x3x5x5xf32>

// CHECK-LABEL: func.func @dropout
// GRAD-LABEL: func.func @dropout
func.func @dropout(%q: tensor<2x3x5x8xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %b = train.read @bias : tensor<1x3x5x5xf32>
  // GRAD: train.attention_dropout {{.*}} {index = 0 : i64, ratio = 1.250000e-01 : f32, replacing = 0 : i64, scale = 1.000000e+00 : f32, softcap = 2.000000e+00 : f32}
  // GRAD: train.attention_dropout_grad {{.*}} {index = 0 : i64, needs_bias, ratio = 1.250000e-01 : f32, replacing = 0 : i64, scale = 1.000000e+00 : f32, softcap = 2.000000e+00 : f32}
  %y, %sums = train.attention %q, %q, %q, %b {dropout = 0.125 : f32, replacing = 0 : i64, scale = 1.0 : f32, softcap = 2.0 : f32} : (tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<1x3x5x5xf32>) -> (tensor<2x3x5x8xf32>, tensor<2x2x3x5xf32>)
  %loss = train.reduce_sum %y {axes = array<i64: 0, 1, 2, 3>} : (tensor<2x3x5x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
