// RUN: mpc-opt %s --mpc-pack-updates --split-input-file | FileCheck %s

// Parameters with the same update formula become one range that begins at a row and is
// updated as a whole; their states are packed, under their own names. A formula with a
// norm per tensor cannot be packed: that weight stays separate.

module attributes {mpc.imported_step = "loss"} {
  // CHECK-DAG: train.state @parameters parameter {slots = [#train.slot<"a", 0, [2]>, #train.slot<"b", 32, [3]>, #train.slot<"c", 1024, [2]>]} : tensor<2x1024xf32> = dense_resource<parameters>
  // CHECK-DAG: train.state @update.0.0 optimizer {own_names, slots = [#train.slot<"A", 0, [2]>, #train.slot<"B", 32, [3]>]} : tensor<1x1024xf32> = dense_resource<update.0.0>
  // CHECK-NOT: train.state @a
  train.state @a parameter : tensor<2xf32> = dense<1.0> : tensor<2xf32>
  train.state @c parameter : tensor<2xf32> = dense<3.0> : tensor<2xf32>
  train.state @b parameter : tensor<3xf32> = dense<2.0> : tensor<3xf32>
  train.state @A optimizer : tensor<2xf32> = dense<0.0> : tensor<2xf32>
  train.state @B optimizer : tensor<3xf32> = dense<5.0> : tensor<3xf32>

  // CHECK: func.func @predict
  // CHECK: %[[P:.*]] = train.read @parameters
  // CHECK: train.unpack %[[P]] {offset = 32 : i64}
  func.func @predict(%x: tensor<3xf32> {mpc.name = "x"}) -> (tensor<3xf32> {mpc.name = "y"}) attributes {train.entry = #train.entry<predict>} {
    %b = train.read @b : tensor<3xf32>
    %y = train.mul %x, %b : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    return %y : tensor<3xf32>
  }

  // CHECK: func.func @step(%[[GA:.*]]: tensor<2xf32> {{.*}}, %[[GB:.*]]: tensor<3xf32> {{.*}}, %[[GC:.*]]: tensor<2xf32> {{.*}}) -> (tensor<f32> {mpc.name = "loss"}, tensor<f32> {mpc.name = "grad_norm"})
  func.func @train(%ga: tensor<2xf32> {mpc.name = "ga"}, %gb: tensor<3xf32> {mpc.name = "gb"},
                   %gc: tensor<2xf32> {mpc.name = "gc"})
      -> (tensor<f32> {mpc.name = "loss"}, tensor<2xf32> {mpc.gradient_of = "a"},
          tensor<3xf32> {mpc.gradient_of = "b"}, tensor<2xf32> {mpc.gradient_of = "c"}) attributes {train.entry = #train.entry<train>} {
    %rate = train.constant dense<0.5> : tensor<f32> : tensor<f32>
    %a = train.read @a : tensor<2xf32>
    %b = train.read @b : tensor<3xf32>
    %c = train.read @c : tensor<2xf32>
    %A = train.read @A : tensor<2xf32>
    %B = train.read @B : tensor<3xf32>
    // CHECK-DAG: %[[P:.*]] = train.read @parameters
    // CHECK-DAG: %[[S:.*]] = train.read @update.0.0
    // CHECK-DAG: %[[G:.*]] = train.pack %[[GA]], %[[GB]] {mpc.gradients, offsets = array<i64: 0, 32>}
    // CHECK-DAG: %[[N:.*]] = train.global_norm %[[G]]
    // CHECK-DAG: %[[W:.*]] = train.unpack %[[P]] {offset = 0 : i64} : (tensor<2x1024xf32>) -> tensor<1x1024xf32>
    // CHECK-DAG: %[[SUM:.*]] = train.add %[[S]], %[[G]] : (tensor<1x1024xf32>
    // CHECK-DAG: %[[STEP:.*]] = train.mul %[[SUM]], %{{.*}} : (tensor<1x1024xf32>, tensor<f32>)
    // CHECK-DAG: %[[NEW:.*]] = train.sub %[[W]], %[[STEP]]
    // CHECK-DAG: train.write @update.0.0, %[[SUM]]
    %sa = train.add %A, %ga : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %ta = train.mul %sa, %rate : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    %na = train.sub %a, %ta : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %sb = train.add %B, %gb : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %tb = train.mul %sb, %rate : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    %nb = train.sub %b, %tb : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>

    // CHECK-DAG: %[[H:.*]] = train.pack %[[GC]] {mpc.gradients, offsets = array<i64: 0>}
    // CHECK-DAG: %[[M:.*]] = train.global_norm %[[H]]
    // CHECK-DAG: %[[D:.*]] = train.unpack %[[H]] {offset = 0 : i64} : (tensor<1x1024xf32>) -> tensor<2xf32>
    // CHECK-DAG: %[[NC:.*]] = train.sub %{{.*}}, %[[D]]
    // CHECK-DAG: %[[ALL:.*]] = train.pack %[[NEW]], %[[NC]] {offsets = array<i64: 0, 1024>}
    // CHECK-DAG: train.write @parameters, %[[ALL]]
    // CHECK-DAG: train.write @step_count
    %mask = train.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
    %mc = train.mul %c, %mask : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %nc = train.sub %mc, %gc : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    train.write @a, %na : tensor<2xf32>
    train.write @b, %nb : tensor<3xf32>
    train.write @c, %nc : tensor<2xf32>
    train.write @A, %sa : tensor<2xf32>
    train.write @B, %sb : tensor<3xf32>
    // CHECK: return
    return %rate, %ga, %gb, %gc : tensor<f32>, tensor<2xf32>, tensor<3xf32>, tensor<2xf32>
  }
}

// -----

// Scalars that are not constants are part of the formula, so weights with different ones
// are separate; a later update reads what an earlier one wrote.

module attributes {mpc.imported_step = "loss"} {
  // CHECK: train.state @parameters parameter {slots = [#train.slot<"a", 0, [2]>, #train.slot<"b", 1024, [2]>]}
  train.state @a parameter : tensor<2xf32>
  train.state @b parameter : tensor<2xf32>
  // CHECK: func.func @step(%[[G:.*]]: tensor<2xf32>
  func.func @train(%g: tensor<2xf32> {mpc.name = "g"}, %r: tensor<1xf32> {mpc.name = "r"})
      -> (tensor<f32> {mpc.name = "loss"}, tensor<2xf32> {mpc.gradient_of = "a"}) attributes {train.entry = #train.entry<train>} {
    %loss = train.constant dense<0.5> : tensor<f32> : tensor<f32>
    %a = train.read @a : tensor<2xf32>
    %b = train.read @b : tensor<2xf32>
    // CHECK-DAG: %[[PA:.*]] = train.pack %[[G]] {mpc.gradients
    // CHECK-DAG: %[[R:.*]] = train.reshape %{{.*}} : (tensor<1xf32>) -> tensor<f32>
    // CHECK-DAG: %[[S:.*]] = train.mul %[[PA]], %[[R]]
    // CHECK-DAG: %[[NA:.*]] = train.sub %{{.*}}, %[[S]] : (tensor<1x1024xf32>, tensor<1x1024xf32>)
    // CHECK-DAG: %[[VIEW:.*]] = train.unpack %[[NA]] {offset = 0 : i64} : (tensor<1x1024xf32>) -> tensor<2xf32>
    // CHECK-DAG: %[[GB:.*]] = train.transpose %[[VIEW]]
    // CHECK-DAG: train.pack %[[GB]] {mpc.gradients
    %s = train.mul %g, %r : (tensor<2xf32>, tensor<1xf32>) -> tensor<2xf32>
    %na = train.sub %a, %s : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    train.write @a, %na {mpc.update = 0 : i64} : tensor<2xf32>
    %gb = train.transpose %na {permutation = array<i64: 0>} : (tensor<2xf32>) -> tensor<2xf32>
    %nb = train.sub %b, %gb : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    train.write @b, %nb {mpc.update = 1 : i64} : tensor<2xf32>
    return %loss, %g : tensor<f32>, tensor<2xf32>
  }
}
