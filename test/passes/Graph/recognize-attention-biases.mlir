// RUN: mpc-opt %s --mpc-recognize-attention --canonicalize --split-input-file | FileCheck %s

// A causal mask, repeated for each sample, zeros, and the guard of PyTorch's
// newer exporter, as in its exports of GPT-2.
// CHECK-LABEL: func.func @guarded
// CHECK-SAME: (%[[Q:.*]]: tensor<2x3x2x8xf32>)
func.func @guarded(%q: tensor<2x3x2x8xf32>) -> tensor<2x3x2x8xf32> {
  // CHECK-NEXT: %[[Y:.*]], %{{.*}} = train.attention %[[Q]], %[[Q]], %[[Q]] {causal, scale = 1.000000e+00 : f32}
  // CHECK-NEXT: return %[[Y]]
  %zero = train.constant dense<0.0> : tensor<f32> : tensor<f32>
  %zeros = train.constant dense<0.0> : tensor<2x1x2x2xf32> : tensor<2x1x2x2xf32>
  %mask = train.constant dense<[[[[0.0, -3.40282347E+38], [0.0, 0.0]]], [[[0.0, -3.40282347E+38], [0.0, 0.0]]]]> : tensor<2x1x2x2xf32> : tensor<2x1x2x2xf32>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>) -> tensor<2x3x2x2xf32>
  %z = train.add %s, %zeros : (tensor<2x3x2x2xf32>, tensor<2x1x2x2xf32>) -> tensor<2x3x2x2xf32>
  %m = train.add %z, %mask : (tensor<2x3x2x2xf32>, tensor<2x1x2x2xf32>) -> tensor<2x3x2x2xf32>
  %p = train.softmax %m {axis = 3 : i64} : (tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xf32>
  %e = train.compare %p, %p {comparison = #train<comparison equal>} : (tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xi1>
  %n = train.not %e : (tensor<2x3x2x2xi1>) -> tensor<2x3x2x2xi1>
  %g = train.select %n, %zero, %p : (tensor<2x3x2x2xi1>, tensor<f32>, tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xf32>
  %y = train.matmul %g, %q : (tensor<2x3x2x2xf32>, tensor<2x3x2x8xf32>) -> tensor<2x3x2x8xf32>
  return %y : tensor<2x3x2x8xf32>
}

// -----

// A guard that gives 1 is none.
// CHECK-LABEL: func.func @other_guard
// CHECK-NOT: train.attention
func.func @other_guard(%q: tensor<2x3x2x8xf32>) -> tensor<2x3x2x8xf32> {
  %one = train.constant dense<1.0> : tensor<f32> : tensor<f32>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>) -> tensor<2x3x2x2xf32>
  %p = train.softmax %s {axis = 3 : i64} : (tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xf32>
  %e = train.compare %p, %p {comparison = #train<comparison equal>} : (tensor<2x3x2x2xf32>, tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xi1>
  %g = train.select %e, %p, %one : (tensor<2x3x2x2xi1>, tensor<2x3x2x2xf32>, tensor<f32>) -> tensor<2x3x2x2xf32>
  %y = train.matmul %g, %q : (tensor<2x3x2x2xf32>, tensor<2x3x2x8xf32>) -> tensor<2x3x2x8xf32>
  return %y : tensor<2x3x2x8xf32>
}

// -----

// A mask of data in a conjunction with a causal one. Minus infinity lets both be
// separate: one is an attribute, the other has no rows.
// CHECK-LABEL: func.func @causal_and_padding
// CHECK-SAME: (%[[Q:.*]]: tensor<2x3x2x8xf32>, %[[M:.*]]: tensor<2x1x1x2xi1>)
func.func @causal_and_padding(%q: tensor<2x3x2x8xf32>, %mask: tensor<2x1x1x2xi1>) -> tensor<2x3x2x8xf32> {
  // CHECK-DAG: %[[ZERO:.*]] = train.constant dense<0.000000e+00>
  // CHECK-DAG: %[[HIDDEN:.*]] = train.constant dense<0xFF800000>
  // CHECK: %[[B:.*]] = train.select %[[M]], %[[ZERO]], %[[HIDDEN]]
  // CHECK: train.attention %[[Q]], %[[Q]], %[[Q]], %[[B]] {causal, scale = 1.000000e+00 : f32} : ({{.*}}, tensor<2x1x1x2xf32>)
  %causal = train.constant dense<[[[[true, false], [true, true]]]]> : tensor<1x1x2x2xi1> : tensor<1x1x2x2xi1>
  %hidden = train.constant dense<0xFF800000> : tensor<f32> : tensor<f32>
  %both = train.and %causal, %mask : (tensor<1x1x2x2xi1>, tensor<2x1x1x2xi1>) -> tensor<2x1x2x2xi1>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>) -> tensor<2x3x2x2xf32>
  %m = train.select %both, %s, %hidden : (tensor<2x1x2x2xi1>, tensor<2x3x2x2xf32>, tensor<f32>) -> tensor<2x3x2x2xf32>
  %p = train.softmax %m {axis = 3 : i64} : (tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xf32>
  %y = train.matmul %p, %q : (tensor<2x3x2x2xf32>, tensor<2x3x2x8xf32>) -> tensor<2x3x2x8xf32>
  return %y : tensor<2x3x2x8xf32>
}

// -----

// The importer repeats large masks for each sample.
// CHECK-LABEL: func.func @repeated
// CHECK-SAME: (%[[Q:.*]]: tensor<2x3x2x8xf32>, %[[M:.*]]: tensor<2x1x1x2xi1>)
// CHECK: %[[B:.*]] = train.select %[[M]]
// CHECK: train.attention %[[Q]], %[[Q]], %[[Q]], %[[B]] {causal, scale = 1.000000e+00 : f32}
// CHECK: train.attention %[[Q]], %[[Q]], %[[Q]] {causal, scale = 1.000000e+00 : f32}
func.func @repeated(%q: tensor<2x3x2x8xf32>, %mask: tensor<2x1x1x2xi1>) -> (tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>) {
  %one = train.constant dense<[[[[true, false], [true, true]]]]> : tensor<1x1x2x2xi1> : tensor<1x1x2x2xi1>
  %causal = train.broadcast_to %one : (tensor<1x1x2x2xi1>) -> tensor<2x1x2x2xi1>
  %hidden = train.constant dense<0xFF800000> : tensor<f32> : tensor<f32>
  %both = train.and %causal, %mask : (tensor<2x1x2x2xi1>, tensor<2x1x1x2xi1>) -> tensor<2x1x2x2xi1>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>) -> tensor<2x3x2x2xf32>
  %m = train.select %both, %s, %hidden : (tensor<2x1x2x2xi1>, tensor<2x3x2x2xf32>, tensor<f32>) -> tensor<2x3x2x2xf32>
  %p = train.softmax %m {axis = 3 : i64} : (tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xf32>
  %y = train.matmul %p, %q : (tensor<2x3x2x2xf32>, tensor<2x3x2x8xf32>) -> tensor<2x3x2x8xf32>
  %t = train.matmul %q, %q {transpose_rhs} : (tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>) -> tensor<2x3x2x2xf32>
  %n = train.select %causal, %t, %hidden : (tensor<2x1x2x2xi1>, tensor<2x3x2x2xf32>, tensor<f32>) -> tensor<2x3x2x2xf32>
  %r = train.softmax %n {axis = 3 : i64} : (tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xf32>
  %z = train.matmul %r, %q : (tensor<2x3x2x2xf32>, tensor<2x3x2x8xf32>) -> tensor<2x3x2x8xf32>
  return %y, %z : tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>
}

// -----

// With the lowest number, a fully masked row is the mean of all values, not only
// of those that a causal mask shows.
// CHECK-LABEL: func.func @lowest_number
// CHECK: %[[BOTH:.*]] = train.and
// CHECK: train.select %[[BOTH]]
// CHECK: train.attention {{.*}} {scale = 1.000000e+00 : f32} : ({{.*}}, tensor<2x1x2x2xf32>)
func.func @lowest_number(%q: tensor<2x3x2x8xf32>, %mask: tensor<2x1x1x2xi1>) -> tensor<2x3x2x8xf32> {
  %causal = train.constant dense<[[[[true, false], [true, true]]]]> : tensor<1x1x2x2xi1> : tensor<1x1x2x2xi1>
  %zero = train.constant dense<0.0> : tensor<f32> : tensor<f32>
  %lowest = train.constant dense<-3.40282347E+38> : tensor<f32> : tensor<f32>
  %both = train.and %causal, %mask : (tensor<1x1x2x2xi1>, tensor<2x1x1x2xi1>) -> tensor<2x1x2x2xi1>
  %b = train.select %both, %zero, %lowest : (tensor<2x1x2x2xi1>, tensor<f32>, tensor<f32>) -> tensor<2x1x2x2xf32>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>) -> tensor<2x3x2x2xf32>
  %m = train.add %s, %b : (tensor<2x3x2x2xf32>, tensor<2x1x2x2xf32>) -> tensor<2x3x2x2xf32>
  %p = train.softmax %m {axis = 3 : i64} : (tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xf32>
  %y = train.matmul %p, %q : (tensor<2x3x2x2xf32>, tensor<2x3x2x8xf32>) -> tensor<2x3x2x8xf32>
  return %y : tensor<2x3x2x8xf32>
}

// -----

// Such a number that replaces scores stops their gradients, also in a fully masked
// row. A bias does not, so queries without a key become zeros.
// CHECK-LABEL: func.func @replaced_by_data
// CHECK-SAME: (%[[Q:.*]]: tensor<2x3x2x8xf32>, %[[M:.*]]: tensor<2x1x1x2xi1>)
// CHECK: %[[B:.*]] = train.select %[[M]]
// CHECK: %[[L:.*]] = train.reduce_max %[[B]] {axes = array<i64: 3>, keepdims}
// CHECK: %[[S:.*]] = train.compare %{{.*}}, %[[L]] {comparison = #train<comparison less>}
// CHECK: %[[C:.*]] = train.select %[[S]], %[[Q]], %{{.*}} : (tensor<2x1x1x1xi1>, tensor<2x3x2x8xf32>, tensor<f32>)
// CHECK: train.attention %[[C]], %[[Q]], %[[Q]], %[[B]] {scale = 1.000000e+00 : f32}
func.func @replaced_by_data(%q: tensor<2x3x2x8xf32>, %mask: tensor<2x1x1x2xi1>) -> tensor<2x3x2x8xf32> {
  %lowest = train.constant dense<-3.40282347E+38> : tensor<f32> : tensor<f32>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x3x2x8xf32>, tensor<2x3x2x8xf32>) -> tensor<2x3x2x2xf32>
  %m = train.select %mask, %s, %lowest : (tensor<2x1x1x2xi1>, tensor<2x3x2x2xf32>, tensor<f32>) -> tensor<2x3x2x2xf32>
  %p = train.softmax %m {axis = 3 : i64} : (tensor<2x3x2x2xf32>) -> tensor<2x3x2x2xf32>
  %y = train.matmul %p, %q : (tensor<2x3x2x2xf32>, tensor<2x3x2x8xf32>) -> tensor<2x3x2x8xf32>
  return %y : tensor<2x3x2x8xf32>
}

// -----

// A window of two keys: causal, and a bias for what else it hides. The same for
// all samples and heads.
// CHECK-LABEL: func.func @window
// CHECK: %[[B:.*]] = train.constant dense<{{.*}}[0xFF800000, 0.000000e+00, 0.000000e+00]{{.*}}> : tensor<1x1x3x3xf32>
// CHECK: train.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[B]] {causal, scale = 1.000000e+00 : f32}
func.func @window(%q: tensor<2x3x3x8xf32>) -> tensor<2x3x3x8xf32> {
  %mask = train.constant dense<[[[[true, false, false], [true, true, false], [false, true, true]]], [[[true, false, false], [true, true, false], [false, true, true]]]]> : tensor<2x1x3x3xi1> : tensor<2x1x3x3xi1>
  %hidden = train.constant dense<0xFF800000> : tensor<f32> : tensor<f32>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x3x3x8xf32>, tensor<2x3x3x8xf32>) -> tensor<2x3x3x3xf32>
  %m = train.select %mask, %s, %hidden : (tensor<2x1x3x3xi1>, tensor<2x3x3x3xf32>, tensor<f32>) -> tensor<2x3x3x3xf32>
  %p = train.softmax %m {axis = 3 : i64} : (tensor<2x3x3x3xf32>) -> tensor<2x3x3x3xf32>
  %y = train.matmul %p, %q : (tensor<2x3x3x3xf32>, tensor<2x3x3x8xf32>) -> tensor<2x3x3x8xf32>
  return %y : tensor<2x3x3x8xf32>
}

// -----

// A learned bias for all samples and a mask for each stay separate, because
// their sum is large. The bias is scaled with the scores.
// CHECK-LABEL: func.func @two_biases
// CHECK-SAME: (%[[Q:.*]]: tensor<4x3x5x8xf32>, %[[T:.*]]: tensor<3x5x5xf32>, %[[M:.*]]: tensor<4x1x1x5xf32>)
func.func @two_biases(%q: tensor<4x3x5x8xf32>, %table: tensor<3x5x5xf32>, %mask: tensor<4x1x1x5xf32>) -> tensor<4x3x5x8xf32> {
  // CHECK: %[[R:.*]] = train.reshape %[[T]] : (tensor<3x5x5xf32>) -> tensor<1x3x5x5xf32>
  // CHECK: %[[B:.*]] = train.mul %[[R]], %{{.*}} : (tensor<1x3x5x5xf32>, tensor<f32>)
  // CHECK: train.attention %[[Q]], %[[Q]], %[[Q]], %{{.*}} {scale = 2.000000e+00 : f32} : ({{.*}}, tensor<1x3x5x5xf32>, tensor<4x1x1x5xf32>)
  %two = train.constant dense<2.0> : tensor<f32> : tensor<f32>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<4x3x5x8xf32>, tensor<4x3x5x8xf32>) -> tensor<4x3x5x5xf32>
  %b = train.add %s, %table : (tensor<4x3x5x5xf32>, tensor<3x5x5xf32>) -> tensor<4x3x5x5xf32>
  %d = train.mul %b, %two : (tensor<4x3x5x5xf32>, tensor<f32>) -> tensor<4x3x5x5xf32>
  %m = train.add %mask, %d : (tensor<4x1x1x5xf32>, tensor<4x3x5x5xf32>) -> tensor<4x3x5x5xf32>
  %p = train.softmax %m {axis = 3 : i64} : (tensor<4x3x5x5xf32>) -> tensor<4x3x5x5xf32>
  %y = train.matmul %p, %q : (tensor<4x3x5x5xf32>, tensor<4x3x5x8xf32>) -> tensor<4x3x5x8xf32>
  return %y : tensor<4x3x5x8xf32>
}

// -----

// Batch and heads in one dimension, with a bias there (ALiBi), and separate for
// the mask; windows of an image, whose mask repeats over the images (Swin).
// CHECK-LABEL: func.func @joined
// CHECK: train.attention {{.*}} : (tensor<2x6x5x8xf32>, tensor<2x6x5x8xf32>, tensor<2x6x5x8xf32>, tensor<2x6x1x5xf32>, tensor<2x1x5x5xf32>)
// CHECK-LABEL: func.func @windows
// CHECK: %[[W:.*]] = train.broadcast_to %{{.*}} -> tensor<2x2x1x5x5xf32>
// CHECK: %[[B:.*]] = train.reshape %[[W]] : (tensor<2x2x1x5x5xf32>) -> tensor<4x1x5x5xf32>
// CHECK: train.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[B]]
func.func @joined(%q: tensor<12x5x8xf32>, %alibi: tensor<12x1x5xf32>, %mask: tensor<2x1x5x5xf32>) -> tensor<12x5x8xf32> {
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<12x5x8xf32>, tensor<12x5x8xf32>) -> tensor<12x5x5xf32>
  %b = train.sub %s, %alibi : (tensor<12x5x5xf32>, tensor<12x1x5xf32>) -> tensor<12x5x5xf32>
  %r = train.reshape %b : (tensor<12x5x5xf32>) -> tensor<2x6x5x5xf32>
  %m = train.add %r, %mask : (tensor<2x6x5x5xf32>, tensor<2x1x5x5xf32>) -> tensor<2x6x5x5xf32>
  %p = train.softmax %m {axis = 3 : i64} : (tensor<2x6x5x5xf32>) -> tensor<2x6x5x5xf32>
  %o = train.reshape %p : (tensor<2x6x5x5xf32>) -> tensor<12x5x5xf32>
  %y = train.matmul %o, %q : (tensor<12x5x5xf32>, tensor<12x5x8xf32>) -> tensor<12x5x8xf32>
  return %y : tensor<12x5x8xf32>
}
func.func @windows(%q: tensor<4x3x5x8xf32>, %mask: tensor<2x5x5xf32>) -> tensor<4x3x5x8xf32> {
  %u = train.reshape %mask : (tensor<2x5x5xf32>) -> tensor<1x2x1x5x5xf32>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<4x3x5x8xf32>, tensor<4x3x5x8xf32>) -> tensor<4x3x5x5xf32>
  %w = train.reshape %s : (tensor<4x3x5x5xf32>) -> tensor<2x2x3x5x5xf32>
  %m = train.add %w, %u : (tensor<2x2x3x5x5xf32>, tensor<1x2x1x5x5xf32>) -> tensor<2x2x3x5x5xf32>
  %r = train.reshape %m : (tensor<2x2x3x5x5xf32>) -> tensor<4x3x5x5xf32>
  %p = train.softmax %r {axis = 3 : i64} : (tensor<4x3x5x5xf32>) -> tensor<4x3x5x5xf32>
  %y = train.matmul %p, %q : (tensor<4x3x5x5xf32>, tensor<4x3x5x8xf32>) -> tensor<4x3x5x8xf32>
  return %y : tensor<4x3x5x8xf32>
}
