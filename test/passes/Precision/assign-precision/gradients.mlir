// RUN: mpc-opt %s --mpc-assign-precision="precision=bf16 minimum-gain=0" --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-assign-precision="precision=fp16 minimum-gain=0" --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-assign-precision="precision=bf16 minimum-gain=0" --mpc-elide-casts --mpc-use-working-copy --split-input-file | mpc-opt --mpc-verify-precision --split-input-file
// RUN: mpc-opt %s --mpc-assign-precision="precision=bf16 minimum-gain=0 force-low=mul|concat|split|transpose|add|reshape" --mpc-elide-casts --mpc-use-working-copy --split-input-file | mpc-opt --mpc-verify-precision --split-input-file

// A gradient of a parameter is f32 from the op that sums it to the pack,
// whatever the model did with the weight in between.

// Three products read a slice each of a fused weight.
// CHECK-LABEL: func.func @sliced_weight
func.func @sliced_weight(%x: tensor<32x64xf32>, %dq: tensor<32x64xf32>, %dk: tensor<32x64xf32>) {
  // CHECK-COUNT-2: train.matmul {{.*}} -> tensor<64x64xf32>
  %0 = train.matmul %x, %dq {transpose_lhs} : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %1 = train.matmul %x, %dk {transpose_lhs} : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.concat {{.*}}mpc.precision.decision = #amp.decision<"pin.parameter-gradient">{{.*}} -> tensor<64x128xf32>
  %2 = train.concat %0, %1 {axis = 1 : i64} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x128xf32>
  // CHECK-NOT: amp.cast
  // CHECK: train.pack
  %p = train.pack %2 {mpc.gradients, offsets = array<i64: 0>} : (tensor<64x128xf32>) -> tensor<8x1024xf32>
  train.write @m, %p : tensor<8x1024xf32>
  return
}
train.state @m optimizer : tensor<8x1024xf32>

// -----

// One product reads several concatenated weights, one of which is frozen: its part of
// the gradient is unused.
// CHECK-LABEL: func.func @concatenated_weights
func.func @concatenated_weights(%x: tensor<32x64xf32>, %dy: tensor<32x192xf32>) {
  // CHECK: train.matmul {{.*}} -> tensor<64x192xf32>
  %0 = train.matmul %x, %dy {transpose_lhs} : (tensor<32x64xf32>, tensor<32x192xf32>) -> tensor<64x192xf32>
  // CHECK: train.split {{.*}}"pin.parameter-gradient"{{.*}} -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>)
  %1:3 = train.split %0 {axis = 1 : i64, sizes = array<i64: 64, 64, 64>} : (tensor<64x192xf32>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>)
  // CHECK: train.transpose {{.*}}"pin.parameter-gradient"{{.*}} -> tensor<64x64xf32>
  %2 = train.transpose %1#2 {permutation = array<i64: 1, 0>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK-NOT: amp.cast
  // CHECK: train.pack
  %p = train.pack %1#0, %2 {mpc.gradients, offsets = array<i64: 0, 4096>} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<8x1024xf32>
  train.write @m, %p : tensor<8x1024xf32>
  return
}
train.state @m optimizer : tensor<8x1024xf32>

// -----

// CHECK-LABEL: func.func @scaled_weight
func.func @scaled_weight(%x: tensor<32x64xf32>, %dy: tensor<32x64xf32>) {
  %half = train.constant dense<0.5> : tensor<f32> : tensor<f32>
  // CHECK: train.matmul {{.*}} -> tensor<64x64xf32>
  %0 = train.matmul %x, %dy {transpose_lhs} : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.mul {{.*}}"pin.parameter-gradient"{{.*}} -> tensor<64x64xf32>
  %1 = train.mul %0, %half : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  // CHECK: train.pack
  %p = train.pack %1 {mpc.gradients, offsets = array<i64: 0>} : (tensor<64x64xf32>) -> tensor<4x1024xf32>
  train.write @m, %p : tensor<4x1024xf32>
  return
}
train.state @m optimizer : tensor<4x1024xf32>

// -----

// A tied embedding: rows looked up, and the product at the end.
// CHECK-LABEL: func.func @tied_embedding
func.func @tied_embedding(%x: tensor<32x64xf32>, %dy: tensor<32x96xf32>, %ids: tensor<32xi64>) {
  %w = train.read @w : tensor<96x64xf32>
  // CHECK: train.matmul {{.*}} -> tensor<32x64x[[TYPE:.*]]>
  %dx = train.matmul %dy, %w : (tensor<32x96xf32>, tensor<96x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.embedding_grad {{.*}} -> tensor<96x64xf32>
  %0 = train.embedding_grad %dx, %ids {rows = 96 : i64} : (tensor<32x64xf32>, tensor<32xi64>) -> tensor<96x64xf32>
  // CHECK: train.matmul {{.*}} -> tensor<64x96xf32>
  %1 = train.matmul %x, %dy {transpose_lhs} : (tensor<32x64xf32>, tensor<32x96xf32>) -> tensor<64x96xf32>
  // CHECK: train.transpose {{.*}} -> tensor<96x64xf32>
  %2 = train.transpose %1 {permutation = array<i64: 1, 0>} : (tensor<64x96xf32>) -> tensor<96x64xf32>
  // CHECK: train.add {{.*}}"pin.parameter-gradient"{{.*}} -> tensor<96x64xf32>
  %3 = train.add %0, %2 : (tensor<96x64xf32>, tensor<96x64xf32>) -> tensor<96x64xf32>
  // CHECK: train.pack
  %p = train.pack %3 {mpc.gradients, offsets = array<i64: 0>} : (tensor<96x64xf32>) -> tensor<6x1024xf32>
  train.write @m, %p : tensor<6x1024xf32>
  return
}
train.state @w parameter : tensor<96x64xf32>
train.state @m optimizer : tensor<6x1024xf32>

// -----

// LoRA, w + a b: the gradient of the sum goes to the pack for w, and into two
// products for a and b, for which alone it is rounded.
// CHECK-LABEL: func.func @product_of_weights
func.func @product_of_weights(%x: tensor<32x64xf32>, %dy: tensor<32x64xf32>) {
  %a = train.read @a : tensor<64x16xf32>
  %b = train.read @b : tensor<16x64xf32>
  // CHECK: %[[DW:.*]] = train.matmul {{.*}} -> tensor<64x64xf32>
  %dw = train.matmul %x, %dy {transpose_lhs} : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.reshape %[[DW]] {{.*}}"pin.parameter-gradient"{{.*}} -> tensor<64x64xf32>
  %v = train.reshape %dw : (tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: amp.cast
  // CHECK: train.matmul {{.*}} -> tensor<64x16xf32>
  %da = train.matmul %v, %b {transpose_rhs} : (tensor<64x64xf32>, tensor<16x64xf32>) -> tensor<64x16xf32>
  // CHECK: train.matmul {{.*}} -> tensor<16x64xf32>
  %db = train.matmul %a, %v {transpose_lhs} : (tensor<64x16xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
  // CHECK-NOT: amp.cast
  // CHECK: train.pack
  %p = train.pack %v, %da, %db {mpc.gradients, offsets = array<i64: 0, 4096, 5120>} : (tensor<64x64xf32>, tensor<64x16xf32>, tensor<16x64xf32>) -> tensor<6x1024xf32>
  train.write @m, %p : tensor<6x1024xf32>
  return
}
train.state @a parameter : tensor<64x16xf32>
train.state @b parameter : tensor<16x64xf32>
train.state @m optimizer : tensor<6x1024xf32>

// -----

// A parameter that is added to activations of its own shape has their gradient. It is
// stored in f32 and rounded for products; the ops before it do not compute gradients of
// parameters.
// CHECK-LABEL: func.func @gradient_of_both
func.func @gradient_of_both(%x: tensor<32x64xf32>, %dy: tensor<32x64xf32>) {
  %w = train.read @w : tensor<64x64xf32>
  %s = train.read @s : tensor<64xf32>
  // CHECK: train.matmul {{.*}} -> tensor<32x64x[[LOW:b?f16]]>
  %0 = train.matmul %dy, %w {transpose_rhs} : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.tanh {{.*}} -> tensor<32x64x[[LOW]]>
  %1 = train.tanh %0 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  // CHECK: %[[DX:.*]] = train.mul {{.*}}"pin.parameter-gradient"{{.*}} -> tensor<32x64xf32>
  %dx = train.mul %1, %s : (tensor<32x64xf32>, tensor<64xf32>) -> tensor<32x64xf32>
  // CHECK: amp.cast %[[DX]]
  // CHECK: train.matmul
  %2 = train.matmul %x, %dx {transpose_lhs} : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.pack
  %p = train.pack %2, %dx {mpc.gradients, offsets = array<i64: 0, 4096>} : (tensor<64x64xf32>, tensor<32x64xf32>) -> tensor<6x1024xf32>
  train.write @m, %p : tensor<6x1024xf32>
  return
}
train.state @w parameter : tensor<64x64xf32>
train.state @s parameter : tensor<64xf32>
train.state @m optimizer : tensor<6x1024xf32>

// -----

// The same gradient of activations is summed for a bias instead of moved: it may be 16
// bit, as the user requests; a view of it keeps its type.
// CHECK-LABEL: func.func @summed_and_viewed
func.func @summed_and_viewed(%x: tensor<32x64xf32>, %dy: tensor<32x64xf32>) {
  %w = train.read @w : tensor<64x64xf32>
  %0 = train.matmul %dy, %w {transpose_rhs} : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %1 = train.mul %0, %dy : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %2 = train.reshape %1 : (tensor<32x64xf32>) -> tensor<2x16x64xf32>
  %3 = train.reshape %2 : (tensor<2x16x64xf32>) -> tensor<32x64xf32>
  %4 = train.matmul %x, %3 {transpose_lhs} : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.reduce_sum {{.*}} -> tensor<64xf32>
  %5 = train.reduce_sum %1 {axes = array<i64: 0>} : (tensor<32x64xf32>) -> tensor<64xf32>
  // CHECK: train.pack
  %p = train.pack %4, %5, %2 {mpc.gradients, offsets = array<i64: 0, 4096, 5120>} : (tensor<64x64xf32>, tensor<64xf32>, tensor<2x16x64xf32>) -> tensor<7x1024xf32>
  train.write @m, %p : tensor<7x1024xf32>
  return
}
train.state @w parameter : tensor<64x64xf32>
train.state @m optimizer : tensor<7x1024xf32>

// -----

// An average of the weights is packed but is not a gradient; it is part of the update,
// where the user's rules do not apply.
// CHECK-LABEL: func.func @average_of_weights
func.func @average_of_weights(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %w = train.read @w : tensor<64x64xf32>
  %a = train.read @average : tensor<4x1024xf32>
  %share = train.constant dense<0.01> : tensor<f32> : tensor<f32>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.mul {{.*}} -> tensor<64x64xf32>
  %1 = train.mul %w, %share : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %p = train.pack %1 {offsets = array<i64: 0>} : (tensor<64x64xf32>) -> tensor<4x1024xf32>
  // CHECK: train.add {{.*}} -> tensor<4x1024xf32>
  %2 = train.add %a, %p : (tensor<4x1024xf32>, tensor<4x1024xf32>) -> tensor<4x1024xf32>
  train.write @average, %2 : tensor<4x1024xf32>
  return %0 : tensor<32x64xf32>
}
train.state @w parameter : tensor<64x64xf32>
train.state @average optimizer : tensor<4x1024xf32>

// -----

// A bias gets its sum in f32; the gradient of the activations that is summed may be
// 16-bit, because a product also reads it.
// CHECK-LABEL: func.func @bias
func.func @bias(%x: tensor<32x64xf32>, %dy: tensor<32x64xf32>) {
  %w = train.read @w : tensor<64x64xf32>
  // CHECK: train.matmul {{.*}} -> tensor<32x64x[[LOW:b?f16]]>
  %0 = train.matmul %dy, %w {transpose_rhs} : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.matmul
  %1 = train.matmul %x, %0 {transpose_lhs} : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.reduce_sum {{.*}} : (tensor<32x64x[[LOW]]>) -> tensor<64xf32>
  %2 = train.reduce_sum %0 {axes = array<i64: 0>} : (tensor<32x64xf32>) -> tensor<64xf32>
  // CHECK: train.pack
  %p = train.pack %1, %2 {mpc.gradients, offsets = array<i64: 0, 4096>} : (tensor<64x64xf32>, tensor<64xf32>) -> tensor<5x1024xf32>
  train.write @m, %p : tensor<5x1024xf32>
  return
}
train.state @w parameter : tensor<64x64xf32>
train.state @m optimizer : tensor<5x1024xf32>
