// RUN: mpc-opt %s --mpc-differentiate=rounding | FileCheck %s

// A rounding op for each value between the parameters and the loss, with its gradient.
// CHECK-LABEL: func.func @train
// CHECK:         %[[P:.*]] = train.mul
// CHECK:         %[[LOSS:.*]] = train.reduce_sum %[[P]]
// CHECK:         train.rounding %[[P]], %{{.*}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf64>
// CHECK-NEXT:    train.rounding %[[LOSS]], %{{.*}} : (tensor<f32>, tensor<f32>) -> tensor<8xf64>
module {
  train.state @w parameter : tensor<4xf32>
  func.func @train(%x: tensor<4xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<4xf32>
    %p = train.mul %w, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %loss = train.reduce_sum %p {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
