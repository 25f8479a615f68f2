// RUN: mpc-opt %s --mpc-add-probe=length=4 --split-input-file --verify-diagnostics | FileCheck %s

module attributes {mpc.precision = "fp16"} {
  train.state @parameters parameter : tensor<1x1024xf32>
  train.state @loss_scale loss_scale : tensor<f32>

  // The training step is unchanged.
  // CHECK-LABEL: func.func @step
  // CHECK:         train.write @parameters
  // CHECK-NEXT:    return %{{.*}} : tensor<f32>
  func.func @step(%x: tensor<2x5xf32> {mpc.name = "x"}) -> (tensor<f32> {mpc.name = "loss"}) attributes {train.entry = #train.entry<step>} {
    %scale = train.read @loss_scale : tensor<f32>
    %parameters = train.read @parameters : tensor<1x1024xf32>
    %seed = train.constant dense<1.0> : tensor<f32> : tensor<f32>
    %scaled = amp.scale_loss %seed, %scale
    %low = amp.cast %x : tensor<2x5xf32> to tensor<2x5xf16>
    %relu = train.relu %low : (tensor<2x5xf16>) -> tensor<2x5xf16>
    %loss = train.reduce_sum %relu {axes = array<i64: 0, 1>} : (tensor<2x5xf16>) -> tensor<f32>
    %grad = train.broadcast_to %scaled : (tensor<f32>) -> tensor<2x5xf32>
    %pack = train.pack %grad {mpc.gradients, offsets = array<i64: 0>} : (tensor<2x5xf32>) -> tensor<1x1024xf32>
    %gradients = amp.unscale %pack, %scale : tensor<1x1024xf32>
    %sum = train.add %parameters, %gradients : (tensor<1x1024xf32>, tensor<1x1024xf32>) -> tensor<1x1024xf32>
    train.write @parameters, %sum : tensor<1x1024xf32>
    return %loss : tensor<f32>
  }

  // Ten elements give two rows of four, added up, and the remaining two, as f32;
  // values computed from the scaled loss are unscaled. Lines are numbered as in the
  // report; the update has no probed values and is removed.
  // CHECK-LABEL: func.func @probe
  // CHECK-SAME:    (%[[X:.*]]: tensor<2x5xf32> {mpc.name = "x"})
  // CHECK-SAME:    -> (tensor<1xf32> {mpc.name = "0.0"}, tensor<6xf32> {mpc.name = "1.0"}, tensor<1xf32> {mpc.name = "2.0"}, tensor<6xf32> {mpc.name = "3.0"})
  // CHECK:         %[[SCALE:.*]] = train.read @loss_scale
  // CHECK:         %[[SEED:.*]] = amp.scale_loss
  // CHECK:         amp.unscale %{{.*}}, %[[SCALE]] : tensor<1xf32>
  // CHECK:         %[[RELU:.*]] = train.relu
  // CHECK-NEXT:    %[[WIDE:.*]] = amp.cast %[[RELU]] : tensor<2x5xf16> to tensor<2x5xf32>
  // CHECK-NEXT:    %[[FLAT:.*]] = train.reshape %[[WIDE]] : (tensor<2x5xf32>) -> tensor<10xf32>
  // CHECK-NEXT:    %[[MOST:.*]] = train.slice %[[FLAT]] {offsets = array<i64: 0>} : (tensor<10xf32>) -> tensor<8xf32>
  // CHECK-NEXT:    %[[SIGNS:.*]] = train.constant dense<{{\[\[}}1.000000e+00], [-1.000000e+00]]> : tensor<2x1xf32> : tensor<2x1xf32>
  // CHECK-NEXT:    %[[ROWS:.*]] = train.reshape %[[MOST]] : (tensor<8xf32>) -> tensor<2x4xf32>
  // CHECK-NEXT:    %[[TURNED:.*]] = train.mul %[[ROWS]], %[[SIGNS]]
  // CHECK-NEXT:    %[[SUMS:.*]] = train.reduce_sum %[[TURNED]] {axes = array<i64: 0>} : (tensor<2x4xf32>) -> tensor<4xf32>
  // CHECK-NEXT:    %[[REST:.*]] = train.slice %[[FLAT]] {offsets = array<i64: 8>} : (tensor<10xf32>) -> tensor<2xf32>
  // CHECK-NEXT:    %[[SKETCH:.*]] = train.concat %[[SUMS]], %[[REST]] {axis = 0 : i64}
  // CHECK:         %[[LOSS:.*]] = train.reduce_sum %[[RELU]]
  // CHECK-NEXT:    train.reshape %[[LOSS]] : (tensor<f32>) -> tensor<1xf32>
  // CHECK:         train.broadcast_to %[[SEED]]
  // CHECK:         %[[TRUE:.*]] = amp.unscale %{{.*}}, %[[SCALE]] : tensor<6xf32>
  // CHECK-NOT:     train.pack
  // CHECK-NOT:     train.write
  // CHECK:         return %{{.*}}, %[[SKETCH]], %{{.*}}, %[[TRUE]] :
}

// -----

// A model that is not trained has no step to probe.
// CHECK-LABEL: func.func @predict
// CHECK-NOT: @probe
func.func @predict(%x: tensor<4xf32>) -> tensor<4xf32> attributes {train.entry = #train.entry<predict>} {
  return %x : tensor<4xf32>
}
