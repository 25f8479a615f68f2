// RUN: mpc-opt %s --mpc-stage-fusion --mpc-plan-memory --mpc-verify-plan --split-input-file | FileCheck %s

// Gradients are added to a state where they are: by the product itself, and by the kernel
// that sums those of a bias after its passes over rows. Nothing is copied.
// CHECK:       exec.entry @accumulate
// CHECK-NOT:     "copy"
// CHECK:         exec.call "matmul_add" [1, 0] {{.*}}#exec.buffer<state + 0 : tensor<4x6xf32>>, #exec.buffer<state + 0 : tensor<4x6xf32>>]
// CHECK-NOT:     "copy"
// CHECK:         exec.launch {{.*}}#exec.buffer<state + 128 : tensor<6xf32>>{{.*}}#exec.buffer<state + 128 : tensor<6xf32>>
// CHECK-NOT:     "copy"
// CHECK:       train.state
train.state @gradients optimizer : tensor<1x64xf32>
func.func @accumulate(%x: tensor<8x4xf32> {mpc.name = "x"}, %dy: tensor<8x6xf32> {mpc.name = "dy"}) -> (tensor<8x6xf32> {mpc.name = "norm"}) attributes {train.entry = #train.entry<accumulate>} {
  %w = train.matmul %x, %dy {transpose_lhs, weight_gradient} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %s = train.softmax %dy {axis = 1 : i64} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %b = train.reduce_sum %s {axes = array<i64: 0>} : (tensor<8x6xf32>) -> tensor<6xf32>
  %g = train.pack %w, %b {offsets = array<i64: 0, 32>} : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<1x64xf32>
  %old = train.read @gradients : tensor<1x64xf32>
  %sum = train.add %old, %g : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
  train.write @gradients, %sum : tensor<1x64xf32>
  return %s : tensor<8x6xf32>
}

// -----

// The old value of one part is needed after the new one exists: the new values have memory
// of their own and are copied at the end.
// CHECK:       exec.entry @late
// CHECK:         exec.call "matmul_add" [1, 0] {{.*}}#exec.buffer<state + 0 : tensor<4x6xf32>>, #exec.buffer<arena
// CHECK:         exec.call "copy" {{.*}} #exec.buffer<state + 0 : tensor<1x64xf32>>]
train.state @gradients optimizer : tensor<1x64xf32>
func.func @late(%x: tensor<8x4xf32> {mpc.name = "x"}, %dy: tensor<8x6xf32> {mpc.name = "dy"}) -> (tensor<8x6xf32> {mpc.name = "later"}) attributes {train.entry = #train.entry<accumulate>} {
  %old = train.read @gradients : tensor<1x64xf32>
  %part = train.unpack %old {offset = 0 : i64} : (tensor<1x64xf32>) -> tensor<4x6xf32>
  %w = train.matmul_add %x, %dy, %part {transpose_lhs} : (tensor<8x4xf32>, tensor<8x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %g = train.pack %w {offsets = array<i64: 0>} : (tensor<4x6xf32>) -> tensor<1x64xf32>
  %later = train.matmul %x, %part : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  train.write @gradients, %g : tensor<1x64xf32>
  return %later : tensor<8x6xf32>
}

// -----

// Sums of products are computed in the memory of the first, in a pack, too.
// CHECK:       exec.entry @chunks
// CHECK:         exec.call "matmul" [1, 0] {{.*}}#exec.buffer<arena + [[AT:[0-9]+]] : tensor<4x6xf32>>]
// CHECK:         exec.call "matmul_add" [1, 0] {{.*}}#exec.buffer<arena + [[AT]] : tensor<4x6xf32>>, #exec.buffer<arena + [[AT]] : tensor<4x6xf32>>]
func.func @chunks(%x: tensor<8x4xf32> {mpc.name = "x"}, %dy: tensor<8x6xf32> {mpc.name = "dy"}) -> (tensor<1x64xf32> {mpc.name = "packed"}) attributes {train.entry = #train.entry<predict>} {
  %a = train.matmul %x, %dy {transpose_lhs, weight_gradient} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %b = train.matmul_add %x, %dy, %a {transpose_lhs} : (tensor<8x4xf32>, tensor<8x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %g = train.pack %b {offsets = array<i64: 0>} : (tensor<4x6xf32>) -> tensor<1x64xf32>
  return %g : tensor<1x64xf32>
}
