// RUN: mpc-opt %s --mpc-add-optimizer="no-decay=norms" | FileCheck %s

// Norms of groups of channels have scale and offset as separate ops after them.
// CHECK: mpc.notes = ["2 parameters with weight decay 0: 'scale', 'offset'", "1 parameter with weight decay 0.01: 'bias'"]
module {
  train.state @scale parameter : tensor<4xf32>
  train.state @offset parameter : tensor<4xf32>
  train.state @bias parameter : tensor<4xf32>

  func.func @predict(%x: tensor<3x4x5xf32>, %one: tensor<10xf32>, %zero: tensor<10xf32>) -> tensor<3x4x5xf32> attributes {train.entry = #train.entry<predict>} {
    %scale = train.read @scale : tensor<4xf32>
    %offset = train.read @offset : tensor<4xf32>
    %bias = train.read @bias : tensor<4xf32>
    %0 = train.reshape %x : (tensor<3x4x5xf32>) -> tensor<3x2x10xf32>
    %1, %mean, %inv = train.layer_norm %0, %one, %zero {axis = 2 : i64, epsilon = 1.0e-5 : f32} : (tensor<3x2x10xf32>, tensor<10xf32>, tensor<10xf32>) -> (tensor<3x2x10xf32>, tensor<3x2xf32>, tensor<3x2xf32>)
    %2 = train.reshape %1 : (tensor<3x2x10xf32>) -> tensor<3x4x5xf32>
    %3 = train.reshape %scale : (tensor<4xf32>) -> tensor<1x4x1xf32>
    %4 = train.mul %2, %3 : (tensor<3x4x5xf32>, tensor<1x4x1xf32>) -> tensor<3x4x5xf32>
    %5 = train.reshape %offset : (tensor<4xf32>) -> tensor<1x4x1xf32>
    %6 = train.add %4, %5 : (tensor<3x4x5xf32>, tensor<1x4x1xf32>) -> tensor<3x4x5xf32>
    %7 = train.relu %6 : (tensor<3x4x5xf32>) -> tensor<3x4x5xf32>
    %8 = train.reshape %bias : (tensor<4xf32>) -> tensor<1x4x1xf32>
    %9 = train.add %7, %8 : (tensor<3x4x5xf32>, tensor<1x4x1xf32>) -> tensor<3x4x5xf32>
    return %9 : tensor<3x4x5xf32>
  }
  func.func @train(%a: tensor<4xf32>) -> (tensor<f32> {mpc.name = "loss"}, tensor<4xf32> {mpc.gradient_of = "scale"}, tensor<4xf32> {mpc.gradient_of = "offset"}, tensor<4xf32> {mpc.gradient_of = "bias"}) attributes {train.entry = #train.entry<train>} {
    %0 = train.reduce_sum %a {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    return %0, %a, %a, %a : tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
