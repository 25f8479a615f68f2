// RUN: mpc-opt %s --mpc-recognize-attention --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @plain
// CHECK-SAME: (%[[Q:.*]]: tensor<2x3x5x8xf32>, %[[K:.*]]: tensor<2x3x7x8xf32>, %[[V:.*]]: tensor<2x3x7x4xf32>)
func.func @plain(%q: tensor<2x3x5x8xf32>, %k: tensor<2x3x7x8xf32>, %v: tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32> {
  // CHECK-NEXT: %[[Y:.*]], %{{.*}} = train.attention %[[Q]], %[[K]], %[[V]] {scale = 1.250000e-01 : f32}
  // CHECK-NEXT: return %[[Y]]
  %eight = train.constant dense<8.0> : tensor<f32> : tensor<f32>
  %s = train.matmul %q, %k {transpose_rhs} : (tensor<2x3x5x8xf32>, tensor<2x3x7x8xf32>) -> tensor<2x3x5x7xf32>
  %d = train.div %s, %eight : (tensor<2x3x5x7xf32>, tensor<f32>) -> tensor<2x3x5x7xf32>
  %p = train.softmax %d {axis = 3 : i64} : (tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32>
  %y = train.matmul %p, %v : (tensor<2x3x5x7xf32>, tensor<2x3x7x4xf32>) -> tensor<2x3x5x4xf32>
  return %y : tensor<2x3x5x4xf32>
}

// -----

// As PyTorch's exporter writes it: the root of the scale on both sides, keys
// transposed from [batch, length, heads, depth], and an additive mask.
// CHECK-LABEL: func.func @exported
// CHECK-SAME: (%[[Q:.*]]: tensor<2x3x3x8xf32>, %[[K:.*]]: tensor<2x3x3x8xf32>, %[[V:.*]]: tensor<2x3x3x4xf32>)
func.func @exported(%q: tensor<2x3x3x8xf32>, %k: tensor<2x3x3x8xf32>, %v: tensor<2x3x3x4xf32>) -> tensor<2x3x3x4xf32> {
  // CHECK: %[[KH:.*]] = train.transpose %[[K]] {permutation = array<i64: 0, 2, 1, 3>}
  // CHECK-NEXT: %[[Y:.*]], %{{.*}} = train.attention %[[Q]], %[[KH]], %[[V]] {causal, scale = 2.500000e-01 : f32}
  // CHECK-NEXT: return %[[Y]]
  %half = train.constant dense<0.5> : tensor<f32> : tensor<f32>
  %mask = train.constant dense<[[0.0, 0xFF800000, -3.0e+38], [0.0, 0.0, 0xFF800000], [-0.0, 0.0, 0.0]]> : tensor<3x3xf32> : tensor<3x3xf32>
  %kt = train.transpose %k {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x3x3x8xf32>) -> tensor<2x3x8x3xf32>
  %qs = train.mul %q, %half : (tensor<2x3x3x8xf32>, tensor<f32>) -> tensor<2x3x3x8xf32>
  %ks = train.mul %half, %kt : (tensor<f32>, tensor<2x3x8x3xf32>) -> tensor<2x3x8x3xf32>
  %s = train.matmul %qs, %ks : (tensor<2x3x3x8xf32>, tensor<2x3x8x3xf32>) -> tensor<2x3x3x3xf32>
  %m = train.add %s, %mask : (tensor<2x3x3x3xf32>, tensor<3x3xf32>) -> tensor<2x3x3x3xf32>
  %p = train.softmax %m {axis = 3 : i64} : (tensor<2x3x3x3xf32>) -> tensor<2x3x3x3xf32>
  %y = train.matmul %p, %v : (tensor<2x3x3x3xf32>, tensor<2x3x3x4xf32>) -> tensor<2x3x3x4xf32>
  return %y : tensor<2x3x3x4xf32>
}

// -----

// One head without a head dimension.
// CHECK-LABEL: func.func @one_head
func.func @one_head(%q: tensor<2x5x8xf32>, %k: tensor<2x8x7xf32>, %v: tensor<2x4x7xf32>) -> tensor<2x5x4xf32> {
  // CHECK-DAG: %[[Q:.*]] = train.reshape %arg0 : (tensor<2x5x8xf32>) -> tensor<2x1x5x8xf32>
  // CHECK-DAG: train.transpose %arg1 {permutation = array<i64: 0, 2, 1>}
  // CHECK-DAG: train.transpose %arg2 {permutation = array<i64: 0, 2, 1>}
  // CHECK: %[[Y:.*]], %{{.*}} = train.attention %[[Q]], %{{.*}}, %{{.*}} {scale = 1.000000e+00 : f32} : (tensor<2x1x5x8xf32>, tensor<2x1x7x8xf32>, tensor<2x1x7x4xf32>)
  // CHECK: train.reshape %[[Y]] : (tensor<2x1x5x4xf32>) -> tensor<2x5x4xf32>
  %s = train.matmul %q, %k : (tensor<2x5x8xf32>, tensor<2x8x7xf32>) -> tensor<2x5x7xf32>
  %p = train.softmax %s {axis = 2 : i64} : (tensor<2x5x7xf32>) -> tensor<2x5x7xf32>
  %y = train.matmul %p, %v {transpose_rhs} : (tensor<2x5x7xf32>, tensor<2x4x7xf32>) -> tensor<2x5x4xf32>
  return %y : tensor<2x5x4xf32>
}

// -----

// Masks that select visible or hidden positions.
// CHECK-LABEL: func.func @selected
func.func @selected(%q: tensor<2x2x8xf32>) -> (tensor<2x2x8xf32>, tensor<2x2x8xf32>) {
  // CHECK: train.attention {{.*}} {causal, scale = 2.000000e+00 : f32}
  // CHECK: train.attention {{.*}} {causal, scale = 1.000000e+00 : f32}
  // CHECK-NOT: train.select
  %two = train.constant dense<2.0> : tensor<f32> : tensor<f32>
  %low = train.constant dense<-1.0e+30> : tensor<f32> : tensor<f32>
  %seen = train.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1> : tensor<2x2xi1>
  %hidden = train.constant dense<[[[false, true], [false, false]]]> : tensor<1x2x2xi1> : tensor<1x2x2xi1>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x2x8xf32>, tensor<2x2x8xf32>) -> tensor<2x2x2xf32>
  %d = train.mul %s, %two : (tensor<2x2x2xf32>, tensor<f32>) -> tensor<2x2x2xf32>
  %m = train.select %seen, %d, %low : (tensor<2x2xi1>, tensor<2x2x2xf32>, tensor<f32>) -> tensor<2x2x2xf32>
  %p = train.softmax %m {axis = 2 : i64} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %y = train.matmul %p, %q : (tensor<2x2x2xf32>, tensor<2x2x8xf32>) -> tensor<2x2x8xf32>
  %t = train.matmul %q, %q {transpose_rhs} : (tensor<2x2x8xf32>, tensor<2x2x8xf32>) -> tensor<2x2x2xf32>
  %n = train.select %hidden, %low, %t : (tensor<1x2x2xi1>, tensor<f32>, tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %o = train.softmax %n {axis = 2 : i64} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %z = train.matmul %o, %q : (tensor<2x2x2xf32>, tensor<2x2x8xf32>) -> tensor<2x2x8xf32>
  return %y, %z : tensor<2x2x8xf32>, tensor<2x2x8xf32>
}

// -----

// The selection hides the past, which is a bias.
// CHECK-LABEL: func.func @other_selection
// CHECK: %[[B:.*]] = train.constant dense<{{.*}}[0.000000e+00, 0.000000e+00], [-1.000000e+30, 0.000000e+00]{{.*}}> : tensor<1x1x2x2xf32>
// CHECK: train.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[B]] {scale = 1.000000e+00 : f32}
// CHECK-NOT: train.softmax
func.func @other_selection(%q: tensor<2x2x8xf32>) -> tensor<2x2x8xf32> {
  %low = train.constant dense<-1.0e+30> : tensor<f32> : tensor<f32>
  %seen = train.constant dense<[[true, true], [false, true]]> : tensor<2x2xi1> : tensor<2x2xi1>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x2x8xf32>, tensor<2x2x8xf32>) -> tensor<2x2x2xf32>
  %m = train.select %seen, %s, %low : (tensor<2x2xi1>, tensor<2x2x2xf32>, tensor<f32>) -> tensor<2x2x2xf32>
  %p = train.softmax %m {axis = 2 : i64} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %y = train.matmul %p, %q : (tensor<2x2x2xf32>, tensor<2x2x8xf32>) -> tensor<2x2x8xf32>
  return %y : tensor<2x2x8xf32>
}

// -----

// The probabilities are an output.
// CHECK-LABEL: func.func @used_probabilities
// CHECK-NOT: train.attention
func.func @used_probabilities(%q: tensor<2x5x8xf32>) -> (tensor<2x5x8xf32>, tensor<2x5x5xf32>) {
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %p = train.softmax %s {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y = train.matmul %p, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  return %y, %p : tensor<2x5x8xf32>, tensor<2x5x5xf32>
}

// -----

// CHECK-LABEL: func.func @used_scores
// CHECK-NOT: train.attention
func.func @used_scores(%q: tensor<2x5x8xf32>) -> (tensor<2x5x8xf32>, tensor<2x5x5xf32>) {
  %two = train.constant dense<2.0> : tensor<f32> : tensor<f32>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %d = train.mul %s, %two : (tensor<2x5x5xf32>, tensor<f32>) -> tensor<2x5x5xf32>
  %p = train.softmax %d {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y = train.matmul %p, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  return %y, %d : tensor<2x5x8xf32>, tensor<2x5x5xf32>
}

// -----

// CHECK-LABEL: func.func @other_axis
// CHECK-NOT: train.attention
func.func @other_axis(%q: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %p = train.softmax %s {axis = 1 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y = train.matmul %p, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// It hides the past, and -1 hides nothing: both are biases.
// CHECK-LABEL: func.func @other_masks
// CHECK-COUNT-2: train.attention {{.*}} {scale = 1.000000e+00 : f32} : (tensor<2x1x2x8xf32>, tensor<2x1x2x8xf32>, tensor<2x1x2x8xf32>, tensor<1x1x2x2xf32>)
// CHECK-NOT: train.softmax
func.func @other_masks(%q: tensor<2x2x8xf32>) -> (tensor<2x2x8xf32>, tensor<2x2x8xf32>) {
  %past = train.constant dense<[[0.0, 0.0], [0xFF800000, 0.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
  %weak = train.constant dense<[[0.0, -1.0], [0.0, 0.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x2x8xf32>, tensor<2x2x8xf32>) -> tensor<2x2x2xf32>
  %m = train.add %s, %past : (tensor<2x2x2xf32>, tensor<2x2xf32>) -> tensor<2x2x2xf32>
  %p = train.softmax %m {axis = 2 : i64} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %y = train.matmul %p, %q : (tensor<2x2x2xf32>, tensor<2x2x8xf32>) -> tensor<2x2x8xf32>
  %t = train.matmul %q, %q {transpose_rhs} : (tensor<2x2x8xf32>, tensor<2x2x8xf32>) -> tensor<2x2x2xf32>
  %n = train.add %t, %weak : (tensor<2x2x2xf32>, tensor<2x2xf32>) -> tensor<2x2x2xf32>
  %o = train.softmax %n {axis = 2 : i64} : (tensor<2x2x2xf32>) -> tensor<2x2x2xf32>
  %z = train.matmul %o, %q : (tensor<2x2x2xf32>, tensor<2x2x8xf32>) -> tensor<2x2x8xf32>
  return %y, %z : tensor<2x2x8xf32>, tensor<2x2x8xf32>
}

// -----

// One key for all queries of the batch.
// CHECK-LABEL: func.func @shared
// CHECK-NOT: train.attention
func.func @shared(%q: tensor<2x5x8xf32>, %k: tensor<1x5x8xf32>) -> tensor<2x5x8xf32> {
  %s = train.matmul %q, %k {transpose_rhs} : (tensor<2x5x8xf32>, tensor<1x5x8xf32>) -> tensor<2x5x5xf32>
  %p = train.softmax %s {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y = train.matmul %p, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}

// -----

// Dropout of the probabilities, and softcapping of the scores.
// CHECK-LABEL: func.func @dropped_out
// CHECK: train.attention {{.*}} {dropout = 5.000000e-01 : f32, scale = 1.000000e+00 : f32}
// CHECK: train.attention {{.*}} {scale = 1.000000e+00 : f32, softcap = 1.000000e+00 : f32}
// CHECK-NOT: train.dropout
func.func @dropped_out(%q: tensor<2x5x8xf32>) -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>) {
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %p = train.softmax %s {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %d = train.dropout %p {ratio = 0.5 : f32} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y = train.matmul %d, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  %t = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %b = train.tanh %t : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %o = train.softmax %b {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %z = train.matmul %o, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  return %y, %z : tensor<2x5x8xf32>, tensor<2x5x8xf32>
}

// -----

// The probabilities of a model in bf16, whose softmax is in f32.
// CHECK-LABEL: func.func @rounded
// CHECK: train.attention
// CHECK-NOT: train.round_to
func.func @rounded(%q: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %p = train.softmax %s {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %r = train.round_to %p {to = bf16} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y = train.matmul %r, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  return %y : tensor<2x5x8xf32>
}
