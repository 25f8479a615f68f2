// RUN: mpc-opt %s | mpc-opt | FileCheck %s
// RUN: mpc-opt %s --mpc-differentiate | FileCheck %s --check-prefix=GRAD

train.state @bias parameter : tensor<1x3x5x5xf32>

// A learned bias and a mask: only the former has a gradient, of the shape of the
// bias. The mask need not be the second bias.
// CHECK-LABEL: func.func @train
// GRAD-LABEL: func.func @train
func.func @train(%q: tensor<2x3x5x8xf32>, %mask: tensor<2x1x1x5xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %b = train.read @bias : tensor<1x3x5x5xf32>
  // CHECK: train.attention %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {scale = 2.500000e-01 : f32} : (tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<1x3x5x5xf32>, tensor<2x1x1x5xf32>) -> (tensor<2x3x5x8xf32>, tensor<2x2x3x5xf32>)
  // GRAD: %[[B:.*]] = train.read @bias
  // GRAD-DAG: train.attention_grad {{.*}}, %[[B]], %[[M:arg1]] {needs_bias, scale = 2.500000e-01 : f32} : {{.*}} -> (tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<1x3x5x5xf32>)
  // GRAD-DAG: train.attention_grad {{.*}}, %[[B]], %[[M]] {needs_bias, scale = 5.000000e-01 : f32}
  %y, %sums = train.attention %q, %q, %q, %b, %mask {scale = 0.25 : f32} : (tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<1x3x5x5xf32>, tensor<2x1x1x5xf32>) -> (tensor<2x3x5x8xf32>, tensor<2x2x3x5xf32>)
  %z, %other = train.attention %q, %q, %y, %mask, %b {scale = 0.5 : f32} : (tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<2x1x1x5xf32>, tensor<1x3x5x5xf32>) -> (tensor<2x3x5x8xf32>, tensor<2x2x3x5xf32>)
  %loss = train.reduce_sum %z {axes = array<i64: 0, 1, 2, 3>} : (tensor<2x3x5x8xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
