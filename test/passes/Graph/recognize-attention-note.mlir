// RUN: mpc-opt %s --mpc-recognize-attention --split-input-file | FileCheck %s

// A note names the products of a softmax that do not become attention, by reason.
// CHECK: mpc.notes = ["product 'one' and 1 more of a softmax: attention not recognised, so scores are stored: probabilities have several dropouts", "product 'three' of a softmax: attention not recognised, so scores are stored: scores have several soft caps (tanh)", "product 'four' of a softmax: attention not recognised, so scores are stored: scores have a soft cap (tanh) of their sum with a mask or bias"]
func.func @reasons(%q: tensor<2x5x8xf32>, %f0: tensor<5x5xf32>) -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>) {
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %p = train.softmax %s {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %d = train.dropout %p {ratio = 0.5 : f32} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %e = train.dropout %d {ratio = 0.25 : f32} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y = train.matmul %e, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32> loc("one")
  %u = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %r = train.softmax %u {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %f = train.dropout %r {ratio = 0.5 : f32} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %g = train.dropout %f {ratio = 0.5 : f32} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %x = train.matmul %g, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32> loc("two")
  %t = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %b = train.tanh %t : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %b2 = train.tanh %b : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %o = train.softmax %b2 {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %z = train.matmul %o, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32> loc("three")
  %a = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %c = train.add %a, %f0 : (tensor<2x5x5xf32>, tensor<5x5xf32>) -> tensor<2x5x5xf32>
  %h = train.tanh %c : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %i = train.softmax %h {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %w = train.matmul %i, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32> loc("four")
  return %x, %y, %z, %w : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>
}

// -----

// Uses elsewhere, other axes, other heads, and masks that need the scores'
// gradients.
// CHECK: mpc.notes = ["product 'probabilities' of a softmax: {{.*}}: probabilities are used elsewhere", "product 'scores' of a softmax: {{.*}}: scores are used elsewhere", "product 'axis' of a softmax: {{.*}}: the softmax is not along the keys of heads", "product 'heads' of a softmax: {{.*}}: queries, keys and values have different heads", "product 'mask' of a softmax: {{.*}}: a mask replaces scores by a number that does not hide keys", "product 'other' of a softmax: {{.*}}: scores are not a product that is scaled and masked"]
func.func @others(%q: tensor<2x5x8xf32>, %k: tensor<1x5x8xf32>, %m: tensor<5x5xi1>, %r: tensor<2x5x5xf32>) -> (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x5xf32>, tensor<2x5x5xf32>) {
  %weak = train.constant dense<-1.0e+04> : tensor<f32> : tensor<f32>
  %s0 = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %p0 = train.softmax %s0 {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y0 = train.matmul %p0, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32> loc("probabilities")
  %s1 = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %p1 = train.softmax %s1 {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y1 = train.matmul %p1, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32> loc("scores")
  %s2 = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %p2 = train.softmax %s2 {axis = 1 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y2 = train.matmul %p2, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32> loc("axis")
  %s3 = train.matmul %q, %k {transpose_rhs} : (tensor<2x5x8xf32>, tensor<1x5x8xf32>) -> tensor<2x5x5xf32>
  %p3 = train.softmax %s3 {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y3 = train.matmul %p3, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32> loc("heads")
  %s4 = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %m4 = train.select %m, %s4, %weak : (tensor<5x5xi1>, tensor<2x5x5xf32>, tensor<f32>) -> tensor<2x5x5xf32>
  %p4 = train.softmax %m4 {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y4 = train.matmul %p4, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32> loc("mask")
  %p5 = train.softmax %r {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y5 = train.matmul %p5, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32> loc("other")
  return %y0, %y1, %y2, %y3, %y4, %y5, %p0, %s1 : tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x5xf32>, tensor<2x5x5xf32>
}

// -----

// Attention, and a product that has nothing to do with a softmax.
// CHECK-NOT: mpc.notes
func.func @none(%q: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %p = train.softmax %s {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y = train.matmul %p, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  %t = train.matmul %y, %y {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %z = train.matmul %t, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32>
  return %z : tensor<2x5x8xf32>
}

// -----

// CHECK: mpc.notes = ["product 'tiny' of a softmax: {{.*}}: the soft cap (tanh) is not a normal f32"]
func.func @tiny_cap(%q: tensor<2x5x8xf32>) -> tensor<2x5x8xf32> {
  %c = train.constant dense<1.0e-40> : tensor<f32> : tensor<f32>
  %s = train.matmul %q, %q {transpose_rhs} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> tensor<2x5x5xf32>
  %t = train.tanh %s : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %u = train.mul %t, %c : (tensor<2x5x5xf32>, tensor<f32>) -> tensor<2x5x5xf32>
  %p = train.softmax %u {axis = 2 : i64} : (tensor<2x5x5xf32>) -> tensor<2x5x5xf32>
  %y = train.matmul %p, %q : (tensor<2x5x5xf32>, tensor<2x5x8xf32>) -> tensor<2x5x8xf32> loc("tiny")
  return %y : tensor<2x5x8xf32>
}
