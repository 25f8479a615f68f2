// RUN: mpc-opt %s --mpc-recognize-norms --canonicalize --split-input-file | FileCheck %s

// Llama: w (x rsqrt(...)), whose root others may read; T5: x rsqrt(...) w, Gemma:
// times 1 + w.
// CHECK-LABEL: func.func @rms_norm
func.func @rms_norm(%x: tensor<2x3x8xf32>, %y: tensor<2x3x8xf32>, %z: tensor<2x3x8xf32>, %w: tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x1xf32>) {
  // CHECK-DAG: %[[ONE:.*]] = train.constant dense<1.000000e+00> : tensor<f32>
  // CHECK: %[[A:.*]], %{{.*}} = train.rms_norm %arg0, %arg3 {axis = 2 : i64, epsilon = 9.99999997E-7 : f32}
  // CHECK: %[[B:.*]], %{{.*}} = train.rms_norm %arg1, %arg3 {axis = 2
  // CHECK: %[[W:.*]] = train.add %[[ONE]], %arg3
  // CHECK: %[[C:.*]], %{{.*}} = train.rms_norm %arg2, %[[W]] {axis = 2
  // CHECK: return %[[A]], %[[B]], %[[C]], %
  %eps = train.constant dense<1.0e-06> : tensor<f32> : tensor<f32>
  %one = train.constant dense<1.0> : tensor<f32> : tensor<f32>
  %xq = train.mul %x, %x : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %xv = train.reduce_mean %xq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %xe = train.add %xv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %xr = train.sqrt %xe : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %xi = train.div %one, %xr : (tensor<f32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %xn = train.mul %x, %xi : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %a = train.mul %w, %xn : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %yq = train.mul %y, %y : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %yv = train.reduce_mean %yq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %ye = train.add %yv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %yr = train.sqrt %ye : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %yi = train.div %one, %yr : (tensor<f32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %yn = train.mul %yi, %y : (tensor<2x3x1xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %b = train.mul %yn, %w : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  %zq = train.mul %z, %z : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %zv = train.reduce_mean %zq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %ze = train.add %zv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %zr = train.sqrt %ze : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %zn = train.div %z, %zr : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %w1 = train.add %one, %w : (tensor<f32>, tensor<8xf32>) -> tensor<8xf32>
  %c = train.mul %zn, %w1 : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %a, %b, %c, %xi : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x1xf32>
}

// -----

// The scale is applied before the quotient, or merged with the inverse; a scalar and a
// scale per row stay outside, and so does a second scale.
// CHECK-LABEL: func.func @rms_norm_orders
func.func @rms_norm_orders(%x: tensor<2x3x8xf32>, %y: tensor<2x3x8xf32>, %z: tensor<2x3x8xf32>, %w: tensor<8xf32>, %s: tensor<2x3x1xf32>, %u: tensor<8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  // CHECK-DAG: %[[ONES:.*]] = train.constant dense<1.000000e+00> : tensor<8xf32>
  // CHECK: %[[A:.*]], %{{.*}} = train.rms_norm %arg0, %arg3 {axis = 2
  // CHECK: %[[B:.*]], %{{.*}} = train.rms_norm %arg1, %[[ONES]] {axis = 2
  // CHECK: %[[B2:.*]] = train.mul %[[B]], %arg4
  // CHECK: %[[C:.*]], %{{.*}} = train.rms_norm %arg2, %[[ONES]] {axis = 2
  // CHECK: %[[D:.*]] = train.mul %[[C]], %arg3
  // CHECK: %[[E:.*]] = train.mul %[[C]], %arg5
  // CHECK: return %[[A]], %[[B2]], %[[D]], %[[E]]
  %eps = train.constant dense<1.0e-06> : tensor<f32> : tensor<f32>
  %one = train.constant dense<1.0> : tensor<f32> : tensor<f32>
  %xq = train.mul %x, %x : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %xv = train.reduce_mean %xq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %xe = train.add %xv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %xr = train.sqrt %xe : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %xn = train.mul %w, %x : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %a = train.div %xn, %xr : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %yq = train.mul %y, %y : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %yv = train.reduce_mean %yq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %ye = train.add %yv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %yr = train.sqrt %ye : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %yi = train.div %s, %yr : (tensor<2x3x1xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %b = train.mul %y, %yi : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %zq = train.mul %z, %z : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %zv = train.reduce_mean %zq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %ze = train.add %zv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %zr = train.sqrt %ze : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %zn = train.div %z, %zr : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %c = train.mul %zn, %w : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  %d = train.mul %zn, %u : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %a, %b, %c, %d : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// -----

// With scale and bias, the scale first or last; centred twice and with nothing.
// CHECK-LABEL: func.func @layer_norm
func.func @layer_norm(%x: tensor<2x3x8xf32>, %y: tensor<2x3x8xf32>, %z: tensor<2x3x8xf32>, %w: tensor<8xf32>, %b: tensor<1x1x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  // CHECK-DAG: %[[ONES:.*]] = train.constant dense<1.000000e+00> : tensor<8xf32>
  // CHECK: %[[BIAS:.*]] = train.reshape %arg4 : (tensor<1x1x8xf32>) -> tensor<8xf32>
  // CHECK: %[[A:.*]], %{{.*}}, %{{.*}} = train.layer_norm %arg0, %arg3, %[[BIAS]] {axis = 2 : i64, epsilon = 9.99999997E-7 : f32}
  // CHECK: %[[B:.*]], %{{.*}}, %{{.*}} = train.layer_norm %arg1, %arg3, %arg3 {axis = 2
  // CHECK: %[[C:.*]], %{{.*}}, %{{.*}} = train.layer_norm %arg2, %[[ONES]] {axis = 2
  // CHECK: return %[[A]], %[[B]], %[[C]]
  %eps = train.constant dense<1.0e-06> : tensor<f32> : tensor<f32>
  %one = train.constant dense<1.0> : tensor<f32> : tensor<f32>
  %xm = train.reduce_mean %x {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %xc = train.sub %x, %xm : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %xq = train.mul %xc, %xc : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %xv = train.reduce_mean %xq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %xe = train.add %xv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %xr = train.sqrt %xe : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %xn = train.div %xc, %xr : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %xs = train.mul %xn, %w : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  %a0 = train.add %xs, %b : (tensor<2x3x8xf32>, tensor<1x1x8xf32>) -> tensor<2x3x8xf32>
  %ym = train.reduce_mean %y {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %yc = train.sub %y, %ym : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %yq = train.mul %yc, %yc : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %yv = train.reduce_mean %yq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %ye = train.add %yv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %yr = train.sqrt %ye : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %yi = train.div %one, %yr : (tensor<f32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %ys = train.mul %w, %yc : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %yn = train.mul %ys, %yi : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %b0 = train.add %w, %yn : (tensor<8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %zm = train.reduce_mean %z {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %zc = train.sub %z, %zm : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %km = train.reduce_mean %z {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %kc = train.sub %z, %km : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %kq = train.mul %kc, %kc : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %kv = train.reduce_mean %kq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %ke = train.add %kv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %kr = train.sqrt %ke : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %c0 = train.div %zc, %kr : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  return %a0, %b0, %c0 : tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// -----

// Over two dimensions; a scale of only the last one stays outside.
// CHECK-LABEL: func.func @two_dimensions
func.func @two_dimensions(%x: tensor<2x3x8xf32>, %w: tensor<8xf32>) -> tensor<2x3x8xf32> {
  // CHECK: %[[A:.*]], %{{.*}} = train.rms_norm %arg0, %{{.*}} {axis = 1 : i64
  // CHECK: train.mul %[[A]], %arg1
  %eps = train.constant dense<1.0e-06> : tensor<f32> : tensor<f32>
  %q = train.mul %x, %x : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = train.reduce_mean %q {axes = array<i64: 1, 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x1x1xf32>
  %e = train.add %v, %eps : (tensor<2x1x1xf32>, tensor<f32>) -> tensor<2x1x1xf32>
  %r = train.sqrt %e : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %n = train.div %x, %r : (tensor<2x3x8xf32>, tensor<2x1x1xf32>) -> tensor<2x3x8xf32>
  %a = train.mul %n, %w : (tensor<2x3x8xf32>, tensor<8xf32>) -> tensor<2x3x8xf32>
  return %a : tensor<2x3x8xf32>
}

// -----

// The centred value has other uses: an RMS norm of it.
// CHECK-LABEL: func.func @used_centred
// CHECK-NOT: train.layer_norm
func.func @used_centred(%x: tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  // CHECK: %[[C:.*]] = train.sub %arg0
  // CHECK: train.rms_norm %[[C]],
  %eps = train.constant dense<1.0e-06> : tensor<f32> : tensor<f32>
  %xm = train.reduce_mean %x {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %xc = train.sub %x, %xm : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %xq = train.mul %xc, %xc : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %xv = train.reduce_mean %xq {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %xe = train.add %xv, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %xr = train.sqrt %xe : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %a = train.div %xc, %xr : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  return %a, %xc : tensor<2x3x8xf32>, tensor<2x3x8xf32>
}

// -----

// As PyTorch writes a biased variance with a separate mean: without the reduced
// dimension, and as a sum divided by a number.
// CHECK-LABEL: func.func @other_means_of_last
func.func @other_means_of_last(%x: tensor<2x3x8xf32>, %y: tensor<2x3x8xf32>) -> (tensor<2x3x8xf32>, tensor<2x3x8xf32>) {
  // CHECK: %[[A:.*]], %{{.*}}, %{{.*}} = train.layer_norm %arg0, %{{.*}} {axis = 2
  // CHECK: %[[B:.*]], %{{.*}} = train.rms_norm %arg1, %{{.*}} {axis = 2
  // CHECK: return %[[A]], %[[B]]
  %eps = train.constant dense<1.0e-06> : tensor<f32> : tensor<f32>
  %eight = train.constant dense<8.0> : tensor<f32> : tensor<f32>
  %xm = train.reduce_mean %x {axes = array<i64: 2>, keepdims} : (tensor<2x3x8xf32>) -> tensor<2x3x1xf32>
  %xc = train.sub %x, %xm : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %q = train.mul %xc, %xc : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v = train.reduce_mean %q {axes = array<i64: 2>} : (tensor<2x3x8xf32>) -> tensor<2x3xf32>
  %k = train.reshape %v : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
  %e = train.add %k, %eps : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %r = train.sqrt %e : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %t = train.reduce_sum %x {axes = array<i64: 2>} : (tensor<2x3x8xf32>) -> tensor<2x3xf32>
  %u = train.reshape %t : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
  %m = train.div %u, %eight : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
  %c = train.sub %x, %m : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %a = train.div %c, %r : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  %q1 = train.mul %y, %y : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %v1 = train.reduce_mean %q1 {axes = array<i64: 2>} : (tensor<2x3x8xf32>) -> tensor<2x3xf32>
  %e1 = train.add %v1, %eps : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %r1 = train.sqrt %e1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %k1 = train.reshape %r1 : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
  %b = train.div %y, %k1 : (tensor<2x3x8xf32>, tensor<2x3x1xf32>) -> tensor<2x3x8xf32>
  return %a, %b : tensor<2x3x8xf32>, tensor<2x3x8xf32>
}
