// RUN: mpc-opt %s | mpc-opt | FileCheck %s
// RUN: mpc-opt %s --mpc-differentiate | FileCheck %s --check-prefix=GRAD

train.state @w parameter : tensor<2x7x2x8xf32>

// Heads inside the sequence: the gradient op has the same layout, and the logarithms
// of the sums keep theirs.
// CHECK-LABEL: func.func @train
// GRAD-LABEL: func.func @train
func.func @train(%q: tensor<2x5x6x8xf32>, %v: tensor<2x7x2x4xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %k = train.read @w : tensor<2x7x2x8xf32>
  // CHECK: train.attention {{.*}} {bshd, scale = 2.500000e-01 : f32} : (tensor<2x5x6x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x4xf32>) -> (tensor<2x5x6x4xf32>, tensor<2x2x6x5xf32>)
  %y, %sums = train.attention %q, %k, %v {bshd, scale = 0.25 : f32} : (tensor<2x5x6x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x4xf32>) -> (tensor<2x5x6x4xf32>, tensor<2x2x6x5xf32>)
  // GRAD: train.attention_grad {{.*}} {bshd, scale = 2.500000e-01 : f32} : ({{.*}}) -> (tensor<2x5x6x8xf32>, tensor<2x7x2x8xf32>, tensor<2x7x2x4xf32>)
  %loss = train.reduce_sum %y {axes = array<i64: 0, 1, 2, 3>} : (tensor<2x5x6x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}
