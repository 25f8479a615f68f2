// RUN: mpc-opt %s | mpc-opt | FileCheck %s
// RUN: mpc-opt %s --mpc-differentiate | FileCheck %s --check-prefix=GRAD

train.state @r parameter : tensor<20x5xf32>
train.state @b parameter : tensor<20xf32>

// One op computes the gradients of all steps, and products over all of them those of
// the weights: of the first step with the initial state, of the others with the
// states before them.
// CHECK-LABEL: func.func @train
// GRAD-LABEL: func.func @train
func.func @train(%x: tensor<4x3x20xf32>, %h: tensor<3x5xf32>, %c: tensor<3x5xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %r = train.read @r : tensor<20x5xf32>
  %b = train.read @b : tensor<20xf32>
  // CHECK: train.lstm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<4x3x20xf32>, tensor<20x5xf32>, tensor<20xf32>, tensor<3x5xf32>, tensor<3x5xf32>) -> (tensor<4x3x5xf32>, tensor<3x5xf32>, tensor<4x3x20xf32>, tensor<4x3x5xf32>)
  // GRAD: %[[Y:.*]], %{{.*}}, %[[GATES:.*]], %[[CELLS:.*]] = train.lstm
  %y, %last, %gates, %cells = train.lstm %x, %r, %b, %h, %c : (tensor<4x3x20xf32>, tensor<20x5xf32>, tensor<20xf32>, tensor<3x5xf32>, tensor<3x5xf32>) -> (tensor<4x3x5xf32>, tensor<3x5xf32>, tensor<4x3x20xf32>, tensor<4x3x5xf32>)
  // GRAD: %[[NONE:.*]] = train.constant dense<-0.000000e+00> : tensor<3x5xf32>
  // GRAD: %[[DX:.*]], %{{.*}}, %{{.*}} = train.lstm_grad %{{.*}}, %[[NONE]], %{{.*}}, %{{.*}}, %[[GATES]], %[[CELLS]] :
  // GRAD: %[[FIRST:.*]] = train.slice %[[DX]] {offsets = array<i64: 0, 0, 0>} : (tensor<4x3x20xf32>) -> tensor<1x3x20xf32>
  // GRAD: %[[OF_FIRST:.*]] = train.matmul %{{.*}}, %arg1 {transpose_lhs, weight_gradient} : (tensor<3x20xf32>, tensor<3x5xf32>) -> tensor<20x5xf32>
  // GRAD: train.slice %[[DX]] {offsets = array<i64: 1, 0, 0>} : (tensor<4x3x20xf32>) -> tensor<3x3x20xf32>
  // GRAD: train.slice %[[Y]] {offsets = array<i64: 0, 0, 0>} : (tensor<4x3x5xf32>) -> tensor<3x3x5xf32>
  // GRAD: %[[OTHERS:.*]] = train.matmul %{{.*}}, %{{.*}} {transpose_lhs, weight_gradient} : (tensor<9x20xf32>, tensor<9x5xf32>) -> tensor<20x5xf32>
  // GRAD: %[[DR:.*]] = train.add %[[OTHERS]], %[[OF_FIRST]]
  // GRAD: %[[DB:.*]] = train.reduce_sum %[[DX]] {axes = array<i64: 0, 1>} : (tensor<4x3x20xf32>) -> tensor<20xf32>
  // GRAD: return %{{.*}}, %[[DR]], %[[DB]]
  %loss = train.reduce_sum %y {axes = array<i64: 0, 1, 2>} : (tensor<4x3x5xf32>) -> tensor<f32>
  return %loss : tensor<f32>
}

// The weights may be 16-bit. The gradient of the last cell arrives, too.
// CHECK-LABEL: func.func @reverse
func.func @reverse(%x: tensor<1x3x20xf32>, %r: tensor<20x5xbf16>, %b: tensor<20xf32>, %h: tensor<3x5xf32>) {
  // CHECK: train.lstm %{{.*}} {reverse} : (tensor<1x3x20xf32>, tensor<20x5xbf16>, {{.*}}) ->
  %y, %last, %gates, %cells = train.lstm %x, %r, %b, %h, %h {reverse} : (tensor<1x3x20xf32>, tensor<20x5xbf16>, tensor<20xf32>, tensor<3x5xf32>, tensor<3x5xf32>) -> (tensor<1x3x5xf32>, tensor<3x5xf32>, tensor<1x3x20xf32>, tensor<1x3x5xf32>)
  // CHECK: train.lstm_grad {{.*}} {reverse} : (tensor<1x3x5xf32>, tensor<3x5xf32>, tensor<20x5xbf16>, {{.*}}) -> (tensor<1x3x20xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
  %d:3 = train.lstm_grad %y, %last, %r, %h, %gates, %cells {reverse} : (tensor<1x3x5xf32>, tensor<3x5xf32>, tensor<20x5xbf16>, tensor<3x5xf32>, tensor<1x3x20xf32>, tensor<1x3x5xf32>) -> (tensor<1x3x20xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
  return
}

// CHECK-LABEL: func.func @gru
func.func @gru(%x: tensor<4x3x15xf32>, %r: tensor<15x5xf32>, %b: tensor<20xf32>, %h: tensor<3x5xf32>) {
  // CHECK: train.gru %{{.*}} : ({{.*}}) -> (tensor<4x3x5xf32>, tensor<4x3x15xf32>, tensor<4x3x5xf32>)
  %y, %gates, %products = train.gru %x, %r, %b, %h : (tensor<4x3x15xf32>, tensor<15x5xf32>, tensor<20xf32>, tensor<3x5xf32>) -> (tensor<4x3x5xf32>, tensor<4x3x15xf32>, tensor<4x3x5xf32>)
  // CHECK: train.gru_grad %{{.*}} : ({{.*}}) -> (tensor<4x3x15xf32>, tensor<4x3x15xf32>, tensor<3x5xf32>)
  %d:3 = train.gru_grad %y, %r, %h, %y, %gates, %products : (tensor<4x3x5xf32>, tensor<15x5xf32>, tensor<3x5xf32>, tensor<4x3x5xf32>, tensor<4x3x15xf32>, tensor<4x3x5xf32>) -> (tensor<4x3x15xf32>, tensor<4x3x15xf32>, tensor<3x5xf32>)
  return
}
