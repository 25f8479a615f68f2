// RUN: mpc-opt %s --mpc-add-optimizer=clip-norm=2.0 | FileCheck %s
// RUN: mpc-opt %s --mpc-add-optimizer="optimizer=sgd weight-decay=0.25 lr=0.5" | FileCheck %s --check-prefix=SGD
// RUN: mpc-opt %s --mpc-add-optimizer="optimizer=momentum nesterov" | FileCheck %s --check-prefix=MOMENTUM
// RUN: mpc-opt %s --mpc-add-optimizer=optimizer=adam | FileCheck %s --check-prefix=ADAM

// All parameters become slots of one state; each begins at a multiple of 32, and the
// end is filled with zeros.
module {
  // CHECK:     train.state @parameters parameter {slots = [#train.slot<"w", 0, [3, 3]>, #train.slot<"b", 32, [3]>, #train.slot<"zero", 64, [2]>]} : tensor<1x1024xf32> = dense_resource<parameters>
  // CHECK-NOT: @w parameter
  // CHECK:     train.state @step_count step_count : tensor<i64>
  // CHECK:     train.state @learning_rate learning_rate : tensor<f32> = dense<1.000000e-03>
  // CHECK:     train.state @adam.first_moment first_moment {slots = [{{.*}}]} : tensor<1x1024xf32>{{$}}
  // CHECK:     train.state @adam.second_moment second_moment {slots = [{{.*}}]} : tensor<1x1024xf32>{{$}}
  // SGD:       train.state @learning_rate learning_rate : tensor<f32> = dense<5.000000e-01>
  // SGD-NOT:   optimizer {{.*}}slots
  // MOMENTUM:  train.state @momentum.velocity optimizer
  train.state @w parameter : tensor<3x3xf32> = dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>
  train.state @b parameter : tensor<3xf32> = dense<0.5> : tensor<3xf32>
  train.state @zero parameter : tensor<2xf32>

  // Every function that reads a parameter reads the pack once, at its top.
  // CHECK-LABEL: func.func @predict
  // CHECK-NEXT:    %[[PACK:.*]] = train.read @parameters : tensor<1x1024xf32>
  // CHECK-NEXT:    %[[W:.*]] = train.unpack %[[PACK]] {offset = 0 : i64} {{.*}} -> tensor<3x3xf32>
  // CHECK-NEXT:    %[[B:.*]] = train.unpack %[[PACK]] {offset = 32 : i64} {{.*}} -> tensor<3xf32>
  // CHECK-NEXT:    train.add %[[W]], %[[B]]
  func.func @predict() -> tensor<3x3xf32> attributes {train.entry = #train.entry<predict>} {
    %w = train.read @w : tensor<3x3xf32>
    %b = train.read @b : tensor<3xf32>
    %0 = train.add %w, %b : (tensor<3x3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
    return %0 : tensor<3x3xf32>
  }

  // CHECK-LABEL: func.func @step
  // CHECK-SAME:    (%[[DW:[^:]*]]: tensor<3x3xf32>, %[[DB:[^:]*]]: tensor<3xf32>, %[[DZ:[^:]*]]: tensor<2xf32>)
  // CHECK-SAME:    -> (tensor<f32> {mpc.name = "loss"}, tensor<f32> {mpc.name = "grad_norm"})
  // CHECK:         %[[PACK:.*]] = train.read @parameters
  // CHECK:         %[[LOSS:.*]] = train.reduce_sum
  // CHECK:         %[[G:.*]] = train.pack %[[DW]], %[[DB]], %[[DZ]] {mpc.gradients, offsets = array<i64: 0, 32, 64>} {{.*}} -> tensor<1x1024xf32>
  // CHECK:         %[[STEP:.*]] = train.read @step_count
  // CHECK:         %[[LR:.*]] = train.read @learning_rate
  // CHECK:         %[[NORM:.*]] = train.global_norm %[[G]]
  // CHECK:         %[[FACTOR:.*]] = train.clip_factor %[[NORM]] {max_norm = 2.000000e+00 : f32}
  // CHECK:         %[[CLIPPED:.*]] = train.mul %[[G]], %[[FACTOR]]
  // CHECK:         %[[M:.*]] = train.read @adam.first_moment
  // CHECK:         %[[V:.*]] = train.read @adam.second_moment
  // CHECK:         %[[C1:.*]] = train.bias_correction %[[STEP]] {beta = 9.000000e-01 : f64}
  // CHECK:         %[[C2:.*]] = train.bias_correction %[[STEP]] {beta = 0.99{{.*}} : f64}
  // CHECK:         %[[W1:.*]], %[[M1:.*]], %[[V1:.*]] = train.adam %[[PACK]], %[[CLIPPED]], %[[M]], %[[V]], %[[LR]], %[[C1]], %[[C2]]
  // CHECK-SAME:      decoupled
  // CHECK-SAME:      weight_decay = 0.00999999977 : f32
  // CHECK:         train.write @adam.first_moment, %[[M1]]
  // CHECK:         train.write @adam.second_moment, %[[V1]]
  // CHECK:         train.write @parameters, %[[W1]]
  // CHECK:         %[[NEXT:.*]] = train.increment %[[STEP]]
  // CHECK:         train.write @step_count, %[[NEXT]]
  // CHECK:         return %[[LOSS]], %[[NORM]]

  // By default only AdamW has weight decay; without a threshold nothing is clipped.
  // SGD-LABEL:      func.func @step
  // SGD-NOT:          train.clip_factor
  // SGD:              train.sgd {{.*}} {weight_decay = 2.500000e-01 : f32}
  // MOMENTUM-LABEL: func.func @step
  // MOMENTUM:         train.momentum {{.*}} {momentum = 0.899999976 : f32, nesterov, weight_decay = 0.000000e+00 : f32}
  // MOMENTUM:         train.write @momentum.velocity
  // ADAM-LABEL:     func.func @step
  // ADAM-NOT:         decoupled
  // ADAM:             train.adam {{.*}} weight_decay = 0.000000e+00 : f32}
  func.func @train(%dw: tensor<3x3xf32>, %db: tensor<3xf32>, %dz: tensor<2xf32>) -> (tensor<f32> {mpc.name = "loss"}, tensor<3x3xf32> {mpc.gradient_of = "w"}, tensor<3xf32> {mpc.gradient_of = "b"}, tensor<2xf32> {mpc.gradient_of = "zero"}) attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<3x3xf32>
    %0 = train.reduce_sum %w {axes = array<i64: 0, 1>} : (tensor<3x3xf32>) -> tensor<f32>
    return %0, %dw, %db, %dz : tensor<f32>, tensor<3x3xf32>, tensor<3xf32>, tensor<2xf32>
  }
}

// The bytes of the pack: 1 .. 9, seven zeros, three halves, zeros.
// CHECK: parameters: "0x400000000000803F0000004000004040000080400000A0400000C0400000E040000000410000104100000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000003F0000003F0000003F00000000
