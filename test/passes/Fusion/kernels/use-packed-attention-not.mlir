// RUN: mpc-opt %s --split-input-file --mpc-use-packed-attention='device=cuda features=sm_80' | FileCheck %s

// What keeps query, key and value apart.

// The key has batches of the query and of itself; and the parts of a gradient
// are joined in another order.
// CHECK-LABEL: func.func @mixed
// CHECK-NOT:     packed_attention
func.func @mixed(%x: tensor<2x5x72xf16>, %z: tensor<2x5x72xf16>, %g: tensor<2x3x5x8xf16>) -> (tensor<2x3x5x8xf16>, tensor<2x5x3x3x8xf16>) {
  %r = train.reshape %x : (tensor<2x5x72xf16>) -> tensor<2x5x3x3x8xf16>
  %t = train.transpose %r {permutation = array<i64: 2, 0, 3, 1, 4>} : (tensor<2x5x3x3x8xf16>) -> tensor<3x2x3x5x8xf16>
  %m = train.reshape %t : (tensor<3x2x3x5x8xf16>) -> tensor<6x3x5x8xf16>
  %q = train.slice %m {offsets = array<i64: 0, 0, 0, 0>} : (tensor<6x3x5x8xf16>) -> tensor<2x3x5x8xf16>
  %o = train.slice %m {offsets = array<i64: 1, 0, 0, 0>} : (tensor<6x3x5x8xf16>) -> tensor<2x3x5x8xf16>
  %v = train.slice %m {offsets = array<i64: 4, 0, 0, 0>} : (tensor<6x3x5x8xf16>) -> tensor<2x3x5x8xf16>
  %y:2 = train.attention %q, %o, %v {scale = 1.0 : f32} : (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>) -> (tensor<2x3x5x8xf16>, tensor<2x2x3x5xf32>)
  %zr = train.reshape %z : (tensor<2x5x72xf16>) -> tensor<2x5x3x3x8xf16>
  %zt = train.transpose %zr {permutation = array<i64: 2, 0, 3, 1, 4>} : (tensor<2x5x3x3x8xf16>) -> tensor<3x2x3x5x8xf16>
  %zm = train.reshape %zt : (tensor<3x2x3x5x8xf16>) -> tensor<6x3x5x8xf16>
  %s:3 = train.split %zm {axis = 0 : i64, sizes = array<i64: 2, 2, 2>} : (tensor<6x3x5x8xf16>) -> (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>)
  %u, %sums = train.attention %s#0, %s#1, %s#2 {scale = 1.0 : f32} : (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>) -> (tensor<2x3x5x8xf16>, tensor<2x2x3x5xf32>)
  %d:3 = train.attention_grad %g, %s#0, %s#1, %s#2, %u, %sums {scale = 1.0 : f32} : (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x2x3x5xf32>) -> (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>)
  %j = train.concat %d#1, %d#0, %d#2 {axis = 0 : i64} : (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>) -> tensor<6x3x5x8xf16>
  %k = train.reshape %j : (tensor<6x3x5x8xf16>) -> tensor<3x2x3x5x8xf16>
  %b = train.transpose %k {permutation = array<i64: 1, 3, 0, 2, 4>} : (tensor<3x2x3x5x8xf16>) -> tensor<2x5x3x3x8xf16>
  return %y#0, %b : tensor<2x3x5x8xf16>, tensor<2x5x3x3x8xf16>
}

// -----

// The value comes in front of the key.
// CHECK-LABEL: func.func @swapped
// CHECK-NOT:     packed_attention
func.func @swapped(%x: tensor<2x5x72xbf16>) -> tensor<2x3x5x8xbf16> {
  %r = train.reshape %x : (tensor<2x5x72xbf16>) -> tensor<2x5x3x3x8xbf16>
  %t = train.transpose %r {permutation = array<i64: 2, 0, 3, 1, 4>} : (tensor<2x5x3x3x8xbf16>) -> tensor<3x2x3x5x8xbf16>
  %s:3 = train.split %t {axis = 0 : i64, sizes = array<i64: 1, 1, 1>} : (tensor<3x2x3x5x8xbf16>) -> (tensor<1x2x3x5x8xbf16>, tensor<1x2x3x5x8xbf16>, tensor<1x2x3x5x8xbf16>)
  %q = train.reshape %s#0 : (tensor<1x2x3x5x8xbf16>) -> tensor<2x3x5x8xbf16>
  %k = train.reshape %s#1 : (tensor<1x2x3x5x8xbf16>) -> tensor<2x3x5x8xbf16>
  %v = train.reshape %s#2 : (tensor<1x2x3x5x8xbf16>) -> tensor<2x3x5x8xbf16>
  %y, %sums = train.attention %q, %v, %k {scale = 1.0 : f32} : (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>) -> (tensor<2x3x5x8xbf16>, tensor<2x2x3x5xf32>)
  return %y : tensor<2x3x5x8xbf16>
}

// -----

// A part of the gradient has another reader, so the gradient keeps its parts,
// and so does the op whose result it reads.
// CHECK-LABEL: func.func @read_elsewhere
// CHECK-NOT:     packed_attention
func.func @read_elsewhere(%x: tensor<2x5x72xbf16>, %g: tensor<2x3x5x8xbf16>) -> (tensor<2x5x3x3x8xbf16>, tensor<2x3x5x8xbf16>) {
  %r = train.reshape %x : (tensor<2x5x72xbf16>) -> tensor<2x5x3x3x8xbf16>
  %t = train.transpose %r {permutation = array<i64: 2, 0, 3, 1, 4>} : (tensor<2x5x3x3x8xbf16>) -> tensor<3x2x3x5x8xbf16>
  %s:3 = train.split %t {axis = 0 : i64, sizes = array<i64: 1, 1, 1>} : (tensor<3x2x3x5x8xbf16>) -> (tensor<1x2x3x5x8xbf16>, tensor<1x2x3x5x8xbf16>, tensor<1x2x3x5x8xbf16>)
  %q = train.reshape %s#0 : (tensor<1x2x3x5x8xbf16>) -> tensor<2x3x5x8xbf16>
  %k = train.reshape %s#1 : (tensor<1x2x3x5x8xbf16>) -> tensor<2x3x5x8xbf16>
  %v = train.reshape %s#2 : (tensor<1x2x3x5x8xbf16>) -> tensor<2x3x5x8xbf16>
  %y, %sums = train.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>) -> (tensor<2x3x5x8xbf16>, tensor<2x2x3x5xf32>)
  %d:3 = train.attention_grad %g, %q, %k, %v, %y, %sums {scale = 1.0 : f32} : (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x2x3x5xf32>) -> (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>)
  %dq = train.reshape %d#0 : (tensor<2x3x5x8xbf16>) -> tensor<1x2x3x5x8xbf16>
  %dk = train.reshape %d#1 : (tensor<2x3x5x8xbf16>) -> tensor<1x2x3x5x8xbf16>
  %dv = train.reshape %d#2 : (tensor<2x3x5x8xbf16>) -> tensor<1x2x3x5x8xbf16>
  %j = train.concat %dq, %dk, %dv {axis = 0 : i64} : (tensor<1x2x3x5x8xbf16>, tensor<1x2x3x5x8xbf16>, tensor<1x2x3x5x8xbf16>) -> tensor<3x2x3x5x8xbf16>
  %b = train.transpose %j {permutation = array<i64: 1, 3, 0, 2, 4>} : (tensor<3x2x3x5x8xbf16>) -> tensor<2x5x3x3x8xbf16>
  return %b, %d#1 : tensor<2x5x3x3x8xbf16>, tensor<2x3x5x8xbf16>
}

// -----

// Parts of two tensors.
// CHECK-LABEL: func.func @two_tensors
// CHECK-NOT:     packed_attention
func.func @two_tensors(%x: tensor<1x7x40xbf16>, %y: tensor<1x7x40xbf16>) -> tensor<1x6x7x4xbf16> {
  %s0:3 = train.split %x {axis = 2 : i64, sizes = array<i64: 24, 8, 8>} : (tensor<1x7x40xbf16>) -> (tensor<1x7x24xbf16>, tensor<1x7x8xbf16>, tensor<1x7x8xbf16>)
  %q0 = train.reshape %s0#0 : (tensor<1x7x24xbf16>) -> tensor<1x7x6x4xbf16>
  %q0t = train.transpose %q0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x6x4xbf16>) -> tensor<1x6x7x4xbf16>
  %k0 = train.reshape %s0#1 : (tensor<1x7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %k0t = train.transpose %k0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %v0 = train.reshape %s0#2 : (tensor<1x7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %v0t = train.transpose %v0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %s1:3 = train.split %y {axis = 2 : i64, sizes = array<i64: 24, 8, 8>} : (tensor<1x7x40xbf16>) -> (tensor<1x7x24xbf16>, tensor<1x7x8xbf16>, tensor<1x7x8xbf16>)
  %q1 = train.reshape %s1#0 : (tensor<1x7x24xbf16>) -> tensor<1x7x6x4xbf16>
  %q1t = train.transpose %q1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x6x4xbf16>) -> tensor<1x6x7x4xbf16>
  %k1 = train.reshape %s1#1 : (tensor<1x7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %k1t = train.transpose %k1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %v1 = train.reshape %s1#2 : (tensor<1x7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %v1t = train.transpose %v1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %r:2 = train.attention %q0t, %k0t, %v1t {scale = 1.0 : f32} : (tensor<1x6x7x4xbf16>, tensor<1x2x7x4xbf16>, tensor<1x2x7x4xbf16>) -> (tensor<1x6x7x4xbf16>, tensor<2x1x6x7xf32>)
  return %r#0 : tensor<1x6x7x4xbf16>
}

// -----

// A soft cap.
// CHECK-LABEL: func.func @softcap
// CHECK-NOT:     packed_attention
func.func @softcap(%x: tensor<1x7x40xbf16>) -> tensor<1x6x7x4xbf16> {
  %s0:3 = train.split %x {axis = 2 : i64, sizes = array<i64: 24, 8, 8>} : (tensor<1x7x40xbf16>) -> (tensor<1x7x24xbf16>, tensor<1x7x8xbf16>, tensor<1x7x8xbf16>)
  %q0 = train.reshape %s0#0 : (tensor<1x7x24xbf16>) -> tensor<1x7x6x4xbf16>
  %q0t = train.transpose %q0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x6x4xbf16>) -> tensor<1x6x7x4xbf16>
  %k0 = train.reshape %s0#1 : (tensor<1x7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %k0t = train.transpose %k0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %v0 = train.reshape %s0#2 : (tensor<1x7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %v0t = train.transpose %v0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %r:2 = train.attention %q0t, %k0t, %v0t {scale = 1.0 : f32, softcap = 2.0 : f32} : (tensor<1x6x7x4xbf16>, tensor<1x2x7x4xbf16>, tensor<1x2x7x4xbf16>) -> (tensor<1x6x7x4xbf16>, tensor<2x1x6x7xf32>)
  return %r#0 : tensor<1x6x7x4xbf16>
}

// -----

// A bias.
// CHECK-LABEL: func.func @biased
// CHECK-NOT:     packed_attention
func.func @biased(%x: tensor<1x7x40xbf16>, %b: tensor<1x1x7x7xf32>) -> tensor<1x6x7x4xbf16> {
  %s0:3 = train.split %x {axis = 2 : i64, sizes = array<i64: 24, 8, 8>} : (tensor<1x7x40xbf16>) -> (tensor<1x7x24xbf16>, tensor<1x7x8xbf16>, tensor<1x7x8xbf16>)
  %q0 = train.reshape %s0#0 : (tensor<1x7x24xbf16>) -> tensor<1x7x6x4xbf16>
  %q0t = train.transpose %q0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x6x4xbf16>) -> tensor<1x6x7x4xbf16>
  %k0 = train.reshape %s0#1 : (tensor<1x7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %k0t = train.transpose %k0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %v0 = train.reshape %s0#2 : (tensor<1x7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %v0t = train.transpose %v0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %r:2 = train.attention %q0t, %k0t, %v0t, %b {scale = 1.0 : f32} : (tensor<1x6x7x4xbf16>, tensor<1x2x7x4xbf16>, tensor<1x2x7x4xbf16>, tensor<1x1x7x7xf32>) -> (tensor<1x6x7x4xbf16>, tensor<2x1x6x7xf32>)
  return %r#0 : tensor<1x6x7x4xbf16>
}

// -----

// Three of four parts.
// CHECK-LABEL: func.func @four_parts
// CHECK-NOT:     packed_attention
func.func @four_parts(%x: tensor<1x7x48xbf16>) -> tensor<1x6x7x4xbf16> {
  %s0:4 = train.split %x {axis = 2 : i64, sizes = array<i64: 24, 8, 8, 8>} : (tensor<1x7x48xbf16>) -> (tensor<1x7x24xbf16>, tensor<1x7x8xbf16>, tensor<1x7x8xbf16>, tensor<1x7x8xbf16>)
  %q0 = train.reshape %s0#0 : (tensor<1x7x24xbf16>) -> tensor<1x7x6x4xbf16>
  %q0t = train.transpose %q0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x6x4xbf16>) -> tensor<1x6x7x4xbf16>
  %k0 = train.reshape %s0#1 : (tensor<1x7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %k0t = train.transpose %k0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %v0 = train.reshape %s0#2 : (tensor<1x7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %v0t = train.transpose %v0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %r:2 = train.attention %q0t, %k0t, %v0t {scale = 1.0 : f32} : (tensor<1x6x7x4xbf16>, tensor<1x2x7x4xbf16>, tensor<1x2x7x4xbf16>) -> (tensor<1x6x7x4xbf16>, tensor<2x1x6x7xf32>)
  return %r#0 : tensor<1x6x7x4xbf16>
}
