// RUN: mpc-opt %s --mpc-recognize-norms --canonicalize --split-input-file | FileCheck %s

// Over a dimension that is not the last, over the first two of three, and without
// keeping it, which broadcasts along others.
// CHECK-LABEL: func.func @other_axes
// CHECK-NOT: train.{{rms|layer}}_norm
func.func @other_axes(%x: tensor<2x3x8xf32>, %y: tensor<2x3x8xf32>, %z: tensor<8x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<8x8xf32>) {
  %eps = train.constant dense<1.0e-06> : tensor<f32> : tensor<f32>
  %q = train.mul %x, %x : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = train.reduce_mean %q {axes = array<i64: 1>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x1x8xf32>
  %e = train.add %v, %eps : (tensor<2x1x8xf32>, tensor<f32>) -> tensor<2x1x8xf32>
  %r = train.sqrt %e : (tensor<2x1x8xf32>) -> tensor<2x1x8xf32>
  %a = train.div %x, %r : (tensor<2x3x8xf32>, tensor<2x1x8xf32>) -> tensor<2x3x8xf32>
  %q1 = train.mul %y, %y : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v1 = train.reduce_mean %q1 {axes = array<i64: 0, 1>, keepdims} : (tensor<2x3x8xf32>) -> tensor<1x1x8xf32>
  %e1 = train.add %v1, %eps : (tensor<1x1x8xf32>, tensor<f32>) -> tensor<1x1x8xf32>
  %r1 = train.sqrt %e1 : (tensor<1x1x8xf32>) -> tensor<1x1x8xf32>
  %b = train.div %y, %r1 : (tensor<2x3x8xf32>, tensor<1x1x8xf32>) -> tensor<2x3x8xf32>
  %q2 = train.mul %z, %z : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %v2 = train.reduce_mean %q2 {axes = array<i64: 1>} : (tensor<8x8xf32>) -> tensor<8xf32>
  %e2 = train.add %v2, %eps : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %r2 = train.sqrt %e2 : (tensor<8xf32>) -> tensor<8xf32>
  %c = train.div %z, %r2 : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8x8xf32>
  return %a, %b, %c : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<8x8xf32>
}

// -----

// A sum divided by a number other than the count, as in an unbiased variance;
// deviations that are broadcast along another dimension.
// CHECK-LABEL: func.func @other_counts
// CHECK-NOT: train.{{rms|layer}}_norm
func.func @other_counts(%x: tensor<2x3x8xf32>, %y: tensor<1x4x8xf32>) -> (tensor<2x3x8xf32>, tensor<4x4x8xf32>) {
  %eps = train.constant dense<1.0e-06> : tensor<f32> : tensor<f32>
  %seven = train.constant dense<7.0> : tensor<f32> : tensor<f32>
  %q = train.mul %x, %x : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %t = train.reduce_sum %q {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %v = train.div %t, %seven : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %e = train.add %v, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r = train.sqrt %e : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %a = train.div %x, %r : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %q1 = train.mul %y, %y : (tensor<1x4x8xf32>, tensor<1x4x8xf32>) -> tensor<1x4x8xf32>
  %v1 = train.reduce_mean %q1 {axes = array<i64: 2>, keepdims} : (tensor<1x4x8xf32>) -> tensor<1x4x1xf32>
  %e1 = train.add %v1, %eps : (tensor<1x4x1xf32>, tensor<f32>) -> tensor<1x4x1xf32>
  %r1 = train.sqrt %e1 : (tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %k1 = train.reshape %r1 : (tensor<1x4x1xf32>) -> tensor<4x1x1xf32>
  %b = train.div %y, %k1 : (tensor<1x4x8xf32>, tensor<4x1x1xf32>) -> tensor<4x4x8xf32>
  return %a, %b : tensor<2x3x8xf32>, tensor<4x4x8xf32>
}

// -----

// Epsilon outside of the root, or none; the mean of |x| y; x over the variance;
// the deviation of another value; the deviation over x.
// CHECK-LABEL: func.func @other_deviations
// CHECK-NOT: train.{{rms|layer}}_norm
func.func @other_deviations(%x: tensor<2x3x8xf32>, %y: tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  %eps = train.constant dense<1.0e-06> : tensor<f32> : tensor<f32>
  %q = train.mul %x, %x : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = train.reduce_mean %q {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %r = train.sqrt %v : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %e = train.add %r, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %a = train.div %x, %e : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %b = train.div %x, %r : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %p = train.mul %x, %y : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %pv = train.reduce_mean %p {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %pe = train.add %pv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %pr = train.sqrt %pe : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %c = train.div %x, %pr : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %ve = train.add %v, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %d = train.div %x, %ve : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %s = train.sqrt %ve : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %f = train.div %y, %s : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %g = train.div %s, %x : (tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  return %a, %b, %c, %d, %f, %g : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// -----

// Centred by the mean of another value or over another dimension, or with the
// opposite sign: an RMS norm of the difference, not a layer norm.
// CHECK-LABEL: func.func @other_means
// CHECK-NOT: train.layer_norm
func.func @other_means(%x: tensor<2x3x8xf32>, %y: tensor<2x3x8xf32>, %z: tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  %eps = train.constant dense<1.0e-06> : tensor<f32> : tensor<f32>
  %m = train.reduce_mean %y {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %c = train.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %cq = train.mul %c, %c : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %cv = train.reduce_mean %cq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %ce = train.add %cv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %cr = train.sqrt %ce : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %a = train.div %c, %cr : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %n = train.reduce_mean %y {axes = array<i64: 1>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x1x8xf32>
  %d = train.sub %y, %n : (tensor<2x3x8xf32>, tensor<2x1x8xf32>) -> tensor<2x3x8xf32>
  %dq = train.mul %d, %d : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %dv = train.reduce_mean %dq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %de = train.add %dv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %dr = train.sqrt %de : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %b = train.div %d, %dr : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %o = train.reduce_mean %z {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %f = train.sub %o, %z : (tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %fq = train.mul %f, %f : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %fv = train.reduce_mean %fq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %fe = train.add %fv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %fr = train.sqrt %fe : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %g = train.div %f, %fr : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  return %a, %b, %g : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// -----

// The deviation of the centred value divides a value that is not centred; squares
// with other uses; a deviation with a stopped gradient.
// CHECK-LABEL: func.func @other_uses
// CHECK-NOT: train.{{rms|layer}}_norm
func.func @other_uses(%x: tensor<2x3x8xf32>, %y: tensor<2x3x8xf32>, %z: tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  %eps = train.constant dense<1.0e-06> : tensor<f32> : tensor<f32>
  %xm = train.reduce_mean %x {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %xc = train.sub %x, %xm : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %xq = train.mul %xc, %xc : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %xv = train.reduce_mean %xq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %xe = train.add %xv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %xr = train.sqrt %xe : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %a = train.div %x, %xr : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %yq = train.mul %y, %y : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %yv = train.reduce_mean %yq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %ye = train.add %yv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %yr = train.sqrt %ye : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %b = train.div %y, %yr : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %zq = train.mul %z, %z : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %zv = train.reduce_mean %zq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %ze = train.add %zv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %zr = train.sqrt %ze : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %zs = train.stop_gradient %zr : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %c = train.div %z, %zs : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  return %a, %b, %c, %yq : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>
}
