// RUN: mpc-opt %s --mpc-recognize-attention --canonicalize --split-input-file | FileCheck %s

// The key as PyTorch's newer exporter transposes it: heads are merged, and
// separated again.
// CHECK-LABEL: func.func @merged_key
// CHECK-SAME: (%[[Q:.*]]: tensor<2x3x5x8xf32>, %[[K:.*]]: tensor<2x3x7x8xf32>, %[[V:.*]]: tensor<2x3x7x4xf32>)
func.func @merged_key(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>, %v: tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32> {
  // CHECK-NEXT: %[[Y:.*]], %{{.*}} = train.attention %[[Q]], %[[K]], %[[V]] {scale = 2.500000e-01 : f32}
  // CHECK-NEXT: return %[[Y]]
  %half = train.constant dense<0.5> : tensor<f32> : tensor<f32>
  %m = train.reshape %k : (tensor<2x3x7x8xf32>) -> tensor<6x7x8xf32>
  %t = train.transpose %m {permutation = array<i64: 0, 2, 1>} : (tensor<6x7x8xf32>) -> tensor<6x8x7xf32>
  %kt = train.reshape %t : (tensor<6x8x7xf32>) -> tensor<2x3x8x7xf32>
  %qs = train.mul %q, %half : (tensor<2x3x5x8xf32>, tensor<f32>) -> tensor<2x3x5x8xf32>
  %ks = train.mul %kt, %half : (tensor<2x3x8x7xf32>, tensor<f32>) -> tensor<2x3x8x7xf32>
  %s = train.matmul %qs, %ks : (tensor<2x3x5x8xf32>, tensor<2x3x8x7xf32>) -> tensor<2x3x5x7xf32>
  %p = train.softmax %s {axis = 3 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = train.matmul %p, %v : (tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// -----

// Each head of the keys serves two heads of the queries, without copies.
// CHECK-LABEL: func.func @groups
// CHECK-SAME: (%[[Q:.*]]: tensor<2x6x5x8xf32>, %[[K:.*]]: tensor<2x3x5x8xf32>)
func.func @groups(%q: tensor<2x6x5x8xf32>, %k: tensor<2x3x5x8xf32>) -> tensor<2x6x5x8xf32> {
  // CHECK-NEXT: %[[Y:.*]], %{{.*}} = train.attention %[[Q]], %[[K]], %[[K]] {scale = 1.000000e+00 : f32}
  // CHECK-NEXT: return %[[Y]]
  %u = train.reshape %k : (tensor<2x3x5x8xf32>) -> tensor<2x3x1x5x8xf32>
  %b = train.broadcast_to %u : (tensor<2x3x1x5x8xf32>) -> tensor<2x3x2x5x8xf32>
  %r = train.reshape %b : (tensor<2x3x2x5x8xf32>) -> tensor<2x6x5x8xf32>
  %s = train.matmul %q, %r {transpose_rhs} : (tensor<2x6x5x8xf32>, tensor<2x6x5x8xf32>) -> tensor<2x6x5x5xf32>
  %p = train.softmax %s {axis = 3 : i64} : (tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xf32>
  %y = train.matmul %p, %r : (tensor<2x6x5x5xf32>, tensor<2x6x5x8xf32>) -> tensor<2x6x5x8xf32>
  return %y : tensor<2x6x5x8xf32>
}

// -----

// torch.repeat_interleave has another dimension of extent 1, and the products
// broadcast one head themselves.
// CHECK-LABEL: func.func @repeated
// CHECK-COUNT-2: train.attention {{.*}} : (tensor<2x4x5x8xf32>, tensor<2x{{[12]}}x5x8xf32>, tensor<2x{{[12]}}x5x8xf32>)
func.func @repeated(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x5x8xf32>, %one: tensor<2x1x5x8xf32>) -> (tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) {
  %u = train.reshape %k : (tensor<2x2x5x8xf32>) -> tensor<2x2x1x1x5x8xf32>
  %b = train.broadcast_to %u : (tensor<2x2x1x1x5x8xf32>) -> tensor<2x2x2x1x5x8xf32>
  %r = train.reshape %b : (tensor<2x2x2x1x5x8xf32>) -> tensor<2x4x5x8xf32>
  %s = train.matmul %q, %r {transpose_rhs} : (tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x5x5xf32>
  %p = train.softmax %s {axis = 3 : i64} : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %y = train.matmul %p, %r : (tensor<2x4x5x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x5x8xf32>
  %t = train.matmul %q, %one {transpose_rhs} : (tensor<2x4x5x8xf32>, tensor<2x1x5x8xf32>) -> tensor<2x4x5x5xf32>
  %o = train.softmax %t {axis = 3 : i64} : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %z = train.matmul %o, %one : (tensor<2x4x5x5xf32>, tensor<2x1x5x8xf32>) -> tensor<2x4x5x8xf32>
  return %y, %z : tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>
}

// -----

// Keys are repeated, values are not.
// CHECK-LABEL: func.func @unequal_repeats
// CHECK-NOT: train.attention
func.func @unequal_repeats(%q: tensor<2x4x5x8xf32>, %k: tensor<2x1x5x8xf32>) -> tensor<2x4x5x8xf32> {
  %s = train.matmul %q, %k {transpose_rhs} : (tensor<2x4x5x8xf32>, tensor<2x1x5x8xf32>) -> tensor<2x4x5x5xf32>
  %p = train.softmax %s {axis = 3 : i64} : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %y = train.matmul %p, %q : (tensor<2x4x5x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x5x8xf32>
  return %y : tensor<2x4x5x8xf32>
}

// -----

// A repetition of whole groups, [0, 1, 0, 1], is not that of consecutive heads.
// CHECK-LABEL: func.func @other_order
// CHECK: train.attention {{.*}} : (tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>)
func.func @other_order(%q: tensor<2x4x5x8xf32>, %k: tensor<2x2x5x8xf32>) -> tensor<2x4x5x8xf32> {
  %u = train.reshape %k : (tensor<2x2x5x8xf32>) -> tensor<2x1x2x5x8xf32>
  %b = train.broadcast_to %u : (tensor<2x1x2x5x8xf32>) -> tensor<2x2x2x5x8xf32>
  %r = train.reshape %b : (tensor<2x2x2x5x8xf32>) -> tensor<2x4x5x8xf32>
  %s = train.matmul %q, %r {transpose_rhs} : (tensor<2x4x5x8xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x5x5xf32>
  %p = train.softmax %s {axis = 3 : i64} : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %y = train.matmul %p, %r : (tensor<2x4x5x5xf32>, tensor<2x4x5x8xf32>) -> tensor<2x4x5x8xf32>
  return %y : tensor<2x4x5x8xf32>
}
