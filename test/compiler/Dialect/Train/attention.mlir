// RUN: mpc-opt %s | mpc-opt | FileCheck %s
// RUN: mpc-opt %s --mpc-differentiate | FileCheck %s --check-prefix=GRAD

train.state @w parameter : tensor<2x2x7x8xf32>

// Two key heads serve six query heads. One op computes the gradients of all operands
// from the results of the forward op.
// CHECK-LABEL: func.func @train
// GRAD-LABEL: func.func @train
func.func @train(%q: tensor<2x6x5x8xf32>, %v: tensor<2x2x7x4xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %k = train.read @w : tensor<2x2x7x8xf32>
  // CHECK: train.attention %{{.*}}, %{{.*}}, %{{.*}} {causal, scale = 2.500000e-01 : f32} : (tensor<2x6x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x4xf32>) -> (tensor<2x6x5x4xf32>, tensor<2x2x6x5xf32>)
  // GRAD: %[[K:.*]] = train.read @w
  // GRAD: %[[Y:.*]], %[[SUMS:.*]] = train.attention %[[Q:.*]], %[[K]], %[[V:.*]] {causal
  %y, %sums = train.attention %q, %k, %v {causal, scale = 0.25 : f32} : (tensor<2x6x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x4xf32>) -> (tensor<2x6x5x4xf32>, tensor<2x2x6x5xf32>)
  // GRAD: %{{.*}}, %[[DK:.*]], %{{.*}} = train.attention_grad %{{.*}}, %[[Q]], %[[K]], %[[V]], %[[Y]], %[[SUMS]] {causal, scale = 2.500000e-01 : f32} : ({{.*}}) -> (tensor<2x6x5x8xf32>, tensor<2x2x7x8xf32>, tensor<2x2x7x4xf32>)
  // GRAD: return %{{.*}}, %[[DK]] : tensor<f32>, tensor<2x2x7x8xf32>
  %loss = train.reduce_sum %y {axes = array<i64: 0, 1, 2, 3>} : (tensor<2x6x5x4xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// 16-bit operands and results with f32 sums; a result may be f32.
// CHECK-LABEL: func.func @narrow
func.func @narrow(%q: tensor<1x2x5x8xbf16>, %k: tensor<1x2x5x8xbf16>) {
  // CHECK: %[[Y:.*]], %[[SUMS:.*]] = train.attention {{.*}} : (tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>) -> (tensor<1x2x5x8xbf16>, tensor<2x1x2x5xf32>)
  %y, %sums = train.attention %q, %k, %k {scale = 1.0 : f32} : (tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>) -> (tensor<1x2x5x8xbf16>, tensor<2x1x2x5xf32>)
  // CHECK: train.attention_grad %[[Y]], {{.*}}, %[[Y]], %[[SUMS]] {scale = 1.000000e+00 : f32} : ({{.*}}) -> (tensor<1x2x5x8xbf16>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xbf16>)
  %d:3 = train.attention_grad %y, %q, %k, %k, %y, %sums {scale = 1.0 : f32} : (tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>, tensor<2x1x2x5xf32>) -> (tensor<1x2x5x8xbf16>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xbf16>)
  return
}

// CHECK-LABEL: func.func @dropout
func.func @dropout(%q: tensor<1x2x5x8xbf16>, %k: tensor<1x2x5x8xbf16>, %seed: tensor<i64>, %step: tensor<i64>) {
  // CHECK: %[[Y:.*]], %[[SUMS:.*]] = train.attention_dropout %{{.*}}, %{{.*}}, %{{.*}}, %[[SEED:.*]], %[[STEP:.*]] {index = 3 : i64, ratio = 2.500000e-01 : f32, scale = 1.000000e+00 : f32} : ({{.*}}) -> (tensor<1x2x5x8xbf16>, tensor<2x1x2x5xf32>)
  %y, %sums = train.attention_dropout %q, %k, %k, %seed, %step {index = 3 : i64, ratio = 0.25 : f32, scale = 1.0 : f32} : (tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>, tensor<i64>, tensor<i64>) -> (tensor<1x2x5x8xbf16>, tensor<2x1x2x5xf32>)
  // CHECK: train.attention_dropout_grad %[[Y]], {{.*}}, %[[Y]], %[[SUMS]], %[[SEED]], %[[STEP]] {index = 3 : i64, ratio = 2.500000e-01 : f32, scale = 1.000000e+00 : f32} : ({{.*}}) -> (tensor<1x2x5x8xbf16>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xbf16>)
  %d:3 = train.attention_dropout_grad %y, %q, %k, %k, %y, %sums, %seed, %step {index = 3 : i64, ratio = 0.25 : f32, scale = 1.0 : f32} : (tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>, tensor<1x2x5x8xbf16>, tensor<2x1x2x5xf32>, tensor<i64>, tensor<i64>) -> (tensor<1x2x5x8xbf16>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xbf16>)
  return
}
