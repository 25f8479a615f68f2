// RUN: mpc-opt %s --mpc-fuse-into-products --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-fuse-into-products="device=cuda features=sm_80" --split-input-file | FileCheck %s --check-prefixes=CHECK,CUDA

// Gradients of two weights and a bias are added to those of earlier micro-batches, each
// where it is computed. The state is read first.
// CHECK-LABEL: func.func @accumulate
// CHECK-SAME:    %[[X:[^:]*]]: tensor<8x4xf32>, %[[DY:[^:]*]]: tensor<8x6xf32>
// CHECK-NEXT:    %[[OLD:.*]] = train.read @gradients
// CHECK-DAG:     %[[OLD_W:.*]] = train.unpack %[[OLD]] {offset = 0 : i64} : (tensor<1x64xf32>) -> tensor<4x6xf32>
// CHECK-DAG:     %[[OLD_B:.*]] = train.unpack %[[OLD]] {offset = 24 : i64} : (tensor<1x64xf32>) -> tensor<6xf32>
// CHECK-DAG:     %[[OLD_V:.*]] = train.unpack %[[OLD]] {offset = 40 : i64} : (tensor<1x64xf32>) -> tensor<4x6xf32>
// CHECK:         %[[W:.*]] = train.matmul_add %[[X]], %[[DY]], %[[OLD_W]] {note = "kept", transpose_lhs} : (tensor<8x4xf32>, tensor<8x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK:         %[[DB:.*]] = train.reduce_sum %[[DY]]
// CHECK-NEXT:    %[[B:.*]] = train.add %[[OLD_B]], %[[DB]]
// CHECK:         %[[V:.*]] = train.matmul_add %[[X]], %[[DY]], %[[OLD_V]] {transpose_lhs}
// CHECK-NEXT:    %[[FLAT:.*]] = train.reshape %[[V]] : (tensor<4x6xf32>) -> tensor<24xf32>
// CHECK:         %[[NEW:.*]] = train.pack %[[W]], %[[B]], %[[FLAT]] {offsets = array<i64: 0, 24, 40>} : (tensor<4x6xf32>, tensor<6xf32>, tensor<24xf32>) -> tensor<1x64xf32>
// CHECK-NEXT:    train.write @gradients, %[[NEW]]
// CHECK-NEXT:    return
train.state @gradients optimizer : tensor<1x64xf32>
func.func @accumulate(%x: tensor<8x4xf32>, %dy: tensor<8x6xf32>) {
  %w = train.matmul %x, %dy {note = "kept", transpose_lhs, weight_gradient} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32> layer "fc"
  %b = train.reduce_sum %dy {axes = array<i64: 0>} : (tensor<8x6xf32>) -> tensor<6xf32>
  %v = train.matmul %x, %dy {transpose_lhs, weight_gradient} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %flat = train.reshape %v : (tensor<4x6xf32>) -> tensor<24xf32>
  %g = train.pack %w, %b, %flat {offsets = array<i64: 0, 24, 40>} : (tensor<4x6xf32>, tensor<6xf32>, tensor<24xf32>) -> tensor<1x64xf32>
  %old = train.read @gradients : tensor<1x64xf32>
  %sum = train.add %old, %g : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
  train.write @gradients, %sum : tensor<1x64xf32>
  return
}

// -----

// Without a product, gradients are added by one kernel on a GPU.
// CHECK-LABEL: func.func @no_product
// CUDA:          %[[PACK:.*]] = train.pack
// CUDA:          train.add %{{.*}}, %[[PACK]]
train.state @gradients optimizer : tensor<1x64xf32>
func.func @no_product(%dy: tensor<8x6xf32>) {
  %b = train.reduce_sum %dy {axes = array<i64: 0>} : (tensor<8x6xf32>) -> tensor<6xf32>
  %g = train.pack %b {offsets = array<i64: 0>} : (tensor<6xf32>) -> tensor<1x64xf32>
  %old = train.read @gradients : tensor<1x64xf32>
  %sum = train.add %old, %g : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
  train.write @gradients, %sum : tensor<1x64xf32>
  return
}

// -----

// Gradients that are read elsewhere, or added to another state, stay packed.
// CHECK-LABEL: func.func @packed
// CHECK-COUNT-3: train.add %{{.*}} : (tensor<1x64xf32>, tensor<1x64xf32>)
train.state @gradients optimizer : tensor<1x64xf32>
train.state @others optimizer : tensor<1x64xf32>
func.func @packed(%x: tensor<8x4xf32>, %dy: tensor<8x6xf32>) -> tensor<1x64xf32> {
  %w = train.matmul %x, %dy {transpose_lhs, weight_gradient} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %g = train.pack %w {offsets = array<i64: 0>} : (tensor<4x6xf32>) -> tensor<1x64xf32>
  %old = train.read @gradients : tensor<1x64xf32>
  %sum = train.add %old, %g : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
  %h = train.pack %w {offsets = array<i64: 0>} : (tensor<4x6xf32>) -> tensor<1x64xf32>
  %twice = train.add %old, %h : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
  train.write @others, %twice : tensor<1x64xf32>
  train.write @gradients, %sum : tensor<1x64xf32>
  %again = train.add %g, %g : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
  return %again : tensor<1x64xf32>
}

// -----

// Chunks of rows: each product adds to the sum of those before it. Barriers do not count
// as readers of a sum.
// CHECK-LABEL: func.func @chunks
// CHECK:         %[[A:.*]] = train.matmul %{{.*}}, %{{.*}} {transpose_lhs, weight_gradient}
// CHECK:         %[[AB:.*]] = train.matmul_add %{{.*}}, %{{.*}}, %[[A]] {transpose_lhs}
// CHECK:         %[[Z:.*]] = train.remat_barrier %{{.*}} after %[[AB]]
// CHECK:         %[[ABC:.*]] = train.matmul_add %[[Z]], %{{.*}}, %[[AB]] {transpose_lhs}
// CHECK-NEXT:    return %[[ABC]]
func.func @chunks(%x: tensor<8x4xf32>, %y: tensor<8x4xf32>, %z: tensor<8x4xf32>, %dy: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %a = train.matmul %x, %dy {transpose_lhs, weight_gradient} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %b = train.matmul %y, %dy {transpose_lhs, weight_gradient} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %ab = train.add %a, %b : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %later = train.remat_barrier %z after %ab : tensor<8x4xf32> after tensor<4x6xf32>
  %c = train.matmul %later, %dy {transpose_lhs, weight_gradient} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %abc = train.add %c, %ab : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %abc : tensor<4x6xf32>
}

// -----

// Not: a product that is no gradient of a weight, one that is read elsewhere, an addend
// that comes later, that is read elsewhere, or that has another shape.
// CHECK-LABEL: func.func @kept
// CHECK-NOT:     train.matmul_add
func.func @kept(%x: tensor<4x4xf32>, %r: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %first = train.relu %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p0 = train.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %0 = train.add %first, %p0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %other = train.relu %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %p1 = train.matmul %x, %x {weight_gradient} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = train.add %other, %p1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %p2 = train.matmul %x, %1 {weight_gradient} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %after = train.relu %1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = train.add %after, %p2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %p3 = train.matmul %x, %2 {weight_gradient} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = train.add %2, %p3 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %row = train.relu %r : (tensor<4xf32>) -> tensor<4xf32>
  %p4 = train.matmul %x, %3 {weight_gradient} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = train.add %row, %p4 : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %p1, %1, %2, %3, %4 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// bf16 factors: on a GPU only.
// CHECK-LABEL: func.func @narrow
// CUDA:          train.matmul_add {{.*}} (tensor<8x4xbf16>, tensor<8x6xbf16>, tensor<4x6xf32>) -> tensor<4x6xf32>
func.func @narrow(%x: tensor<8x4xbf16>, %dy: tensor<8x6xbf16>, %r: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %before = train.relu %r : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %p = train.matmul %x, %dy {transpose_lhs, weight_gradient} : (tensor<8x4xbf16>, tensor<8x6xbf16>) -> tensor<4x6xf32>
  %sum = train.add %before, %p : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %sum : tensor<4x6xf32>
}
