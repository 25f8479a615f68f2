// RUN: mpc-opt %s --split-input-file --mpc-use-packed-attention='device=cuda features=sm_80' | FileCheck %s
// RUN: mpc-opt %s --split-input-file --mpc-use-packed-attention='device=cpu' | FileCheck %s --check-prefix=CPU
// RUN: mpc-opt %s --split-input-file --mpc-use-packed-attention='device=cuda features=sm_75' | FileCheck %s --check-prefix=OTHER

// Devices without the kernels keep the parts.
// OTHER-NOT: packed_attention

// As GPT-2 has it: parts of rows are reshaped and transposed, and the gradients
// are transposed, reshaped and joined.
// CHECK-LABEL: func.func @rows
// CHECK-SAME:    (%[[X:.*]]: tensor<2x5x72xbf16>, %[[G:.*]]: tensor<2x5x24xbf16>)
// CHECK-DAG:     %[[HEADS:.*]] = train.reshape %[[X]] : (tensor<2x5x72xbf16>) -> tensor<2x5x9x8xbf16>
// CHECK:         %[[Y:.*]], %[[SUMS:.*]] = train.packed_attention %[[HEADS]] {causal, key_heads = 3 : i64, scale = 1.000000e+00 : f32} : (tensor<2x5x9x8xbf16>) -> (tensor<2x5x3x8xbf16>, tensor<2x2x3x5xf32>)
// CHECK-NEXT:    %[[Z:.*]] = train.reshape %[[Y]]
// CHECK-NEXT:    %[[GRAD:.*]] = train.reshape %[[G]] : (tensor<2x5x24xbf16>) -> tensor<2x5x3x8xbf16>
// CHECK-NEXT:    %[[SAME:.*]] = train.reshape %[[X]] : (tensor<2x5x72xbf16>) -> tensor<2x5x9x8xbf16>
// CHECK-NEXT:    %[[D:.*]] = train.packed_attention_grad %[[GRAD]], %[[SAME]], %[[Y]], %[[SUMS]] {causal, key_heads = 3 : i64, scale = 1.000000e+00 : f32}
// CHECK-NEXT:    %[[DX:.*]] = train.reshape %[[D]] : (tensor<2x5x9x8xbf16>) -> tensor<2x5x72xbf16>
// CHECK-NEXT:    return %[[Z]], %[[DX]]
func.func @rows(%x: tensor<2x5x72xbf16>, %g: tensor<2x5x24xbf16>) -> (tensor<2x5x24xbf16>, tensor<2x5x72xbf16>) {
  %s:3 = train.split %x {axis = 2 : i64, sizes = array<i64: 24, 24, 24>} : (tensor<2x5x72xbf16>) -> (tensor<2x5x24xbf16>, tensor<2x5x24xbf16>, tensor<2x5x24xbf16>)
  %q = train.reshape %s#0 : (tensor<2x5x24xbf16>) -> tensor<2x5x3x8xbf16>
  %qt = train.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %k = train.reshape %s#1 : (tensor<2x5x24xbf16>) -> tensor<2x5x3x8xbf16>
  %kt = train.transpose %k {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %v = train.reshape %s#2 : (tensor<2x5x24xbf16>) -> tensor<2x5x3x8xbf16>
  %vt = train.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %y, %sums = train.attention %qt, %kt, %vt {causal, scale = 1.0 : f32} : (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>) -> (tensor<2x3x5x8xbf16>, tensor<2x2x3x5xf32>)
  %yt = train.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xbf16>) -> tensor<2x5x3x8xbf16>
  %z = train.reshape %yt : (tensor<2x5x3x8xbf16>) -> tensor<2x5x24xbf16>
  %gr = train.reshape %g : (tensor<2x5x24xbf16>) -> tensor<2x5x3x8xbf16>
  %gt = train.transpose %gr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %d:3 = train.attention_grad %gt, %qt, %kt, %vt, %y, %sums {causal, scale = 1.0 : f32} : (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x2x3x5xf32>) -> (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>)
  %dqt = train.transpose %d#0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xbf16>) -> tensor<2x5x3x8xbf16>
  %dq = train.reshape %dqt : (tensor<2x5x3x8xbf16>) -> tensor<2x5x24xbf16>
  %dkt = train.transpose %d#1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xbf16>) -> tensor<2x5x3x8xbf16>
  %dk = train.reshape %dkt : (tensor<2x5x3x8xbf16>) -> tensor<2x5x24xbf16>
  %dvt = train.transpose %d#2 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xbf16>) -> tensor<2x5x3x8xbf16>
  %dv = train.reshape %dvt : (tensor<2x5x3x8xbf16>) -> tensor<2x5x24xbf16>
  %dx = train.concat %dq, %dk, %dv {axis = 2 : i64} : (tensor<2x5x24xbf16>, tensor<2x5x24xbf16>, tensor<2x5x24xbf16>) -> tensor<2x5x72xbf16>
  return %z, %dx : tensor<2x5x24xbf16>, tensor<2x5x72xbf16>
}

// -----

// As vision transformers have it: parts of one transpose.
// CHECK-LABEL: func.func @images
// CHECK-SAME:    (%[[X:.*]]: tensor<2x5x72xf16>, %[[G:.*]]: tensor<2x3x5x8xf16>)
// CHECK-NOT:     train.split
// CHECK-NOT:     train.concat
// CHECK:         train.packed_attention
// CHECK:         %[[D:.*]] = train.packed_attention_grad
// CHECK-NEXT:    %[[R:.*]] = train.reshape %[[D]] : (tensor<2x5x9x8xf16>) -> tensor<2x5x3x3x8xf16>
// CHECK-NEXT:    %[[DX:.*]] = train.reshape %[[R]] : (tensor<2x5x3x3x8xf16>) -> tensor<2x5x72xf16>
// CHECK:         return %{{.*}}, %[[DX]]
func.func @images(%x: tensor<2x5x72xf16>, %g: tensor<2x3x5x8xf16>) -> (tensor<2x3x5x8xf16>, tensor<2x5x72xf16>) {
  %r = train.reshape %x : (tensor<2x5x72xf16>) -> tensor<2x5x3x3x8xf16>
  %t = train.transpose %r {permutation = array<i64: 2, 0, 3, 1, 4>} : (tensor<2x5x3x3x8xf16>) -> tensor<3x2x3x5x8xf16>
  %s:3 = train.split %t {axis = 0 : i64, sizes = array<i64: 1, 1, 1>} : (tensor<3x2x3x5x8xf16>) -> (tensor<1x2x3x5x8xf16>, tensor<1x2x3x5x8xf16>, tensor<1x2x3x5x8xf16>)
  %q = train.reshape %s#0 : (tensor<1x2x3x5x8xf16>) -> tensor<2x3x5x8xf16>
  %k = train.reshape %s#1 : (tensor<1x2x3x5x8xf16>) -> tensor<2x3x5x8xf16>
  %v = train.reshape %s#2 : (tensor<1x2x3x5x8xf16>) -> tensor<2x3x5x8xf16>
  %y, %sums = train.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>) -> (tensor<2x3x5x8xf16>, tensor<2x2x3x5xf32>)
  %d:3 = train.attention_grad %g, %q, %k, %v, %y, %sums {scale = 1.0 : f32} : (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x2x3x5xf32>) -> (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>)
  %dq = train.reshape %d#0 : (tensor<2x3x5x8xf16>) -> tensor<1x2x3x5x8xf16>
  %dk = train.reshape %d#1 : (tensor<2x3x5x8xf16>) -> tensor<1x2x3x5x8xf16>
  %dv = train.reshape %d#2 : (tensor<2x3x5x8xf16>) -> tensor<1x2x3x5x8xf16>
  %j = train.concat %dq, %dk, %dv {axis = 0 : i64} : (tensor<1x2x3x5x8xf16>, tensor<1x2x3x5x8xf16>, tensor<1x2x3x5x8xf16>) -> tensor<3x2x3x5x8xf16>
  %b = train.transpose %j {permutation = array<i64: 1, 3, 0, 2, 4>} : (tensor<3x2x3x5x8xf16>) -> tensor<2x5x3x3x8xf16>
  %dx = train.reshape %b : (tensor<2x5x3x3x8xf16>) -> tensor<2x5x72xf16>
  return %y, %dx : tensor<2x3x5x8xf16>, tensor<2x5x72xf16>
}

// -----

// The exporter of timm's models splits the batches of query, key and value, which
// no single stride describes.
// CHECK-LABEL: func.func @batches
// CHECK-SAME:    (%[[X:.*]]: tensor<2x5x72xf16>, %[[G:.*]]: tensor<2x3x5x8xf16>)
// CHECK-NOT:     train.split
// CHECK-NOT:     train.concat
// CHECK:         train.packed_attention
// CHECK:         %[[D:.*]] = train.packed_attention_grad
// CHECK-NEXT:    %[[R:.*]] = train.reshape %[[D]] : (tensor<2x5x9x8xf16>) -> tensor<2x5x3x3x8xf16>
// CHECK:         return %{{.*}}, %[[R]]
func.func @batches(%x: tensor<2x5x72xf16>, %g: tensor<2x3x5x8xf16>) -> (tensor<2x3x5x8xf16>, tensor<2x5x3x3x8xf16>) {
  %r = train.reshape %x : (tensor<2x5x72xf16>) -> tensor<2x5x3x3x8xf16>
  %t = train.transpose %r {permutation = array<i64: 2, 0, 3, 1, 4>} : (tensor<2x5x3x3x8xf16>) -> tensor<3x2x3x5x8xf16>
  %m = train.reshape %t : (tensor<3x2x3x5x8xf16>) -> tensor<6x3x5x8xf16>
  %s:3 = train.split %m {axis = 0 : i64, sizes = array<i64: 2, 2, 2>} : (tensor<6x3x5x8xf16>) -> (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>)
  %y, %sums = train.attention %s#0, %s#1, %s#2 {scale = 1.0 : f32} : (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>) -> (tensor<2x3x5x8xf16>, tensor<2x2x3x5xf32>)
  %d:3 = train.attention_grad %g, %s#0, %s#1, %s#2, %y, %sums {scale = 1.0 : f32} : (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x2x3x5xf32>) -> (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>)
  %j = train.concat %d#0, %d#1, %d#2 {axis = 0 : i64} : (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>) -> tensor<6x3x5x8xf16>
  %k = train.reshape %j : (tensor<6x3x5x8xf16>) -> tensor<3x2x3x5x8xf16>
  %b = train.transpose %k {permutation = array<i64: 1, 3, 0, 2, 4>} : (tensor<3x2x3x5x8xf16>) -> tensor<2x5x3x3x8xf16>
  return %y, %b : tensor<2x3x5x8xf16>, tensor<2x5x3x3x8xf16>
}

// -----

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

// Two heads of keys and values for six of queries; no gradient.
// CHECK-LABEL: func.func @groups
// CHECK:         train.packed_attention %{{.*}} {key_heads = 2 : i64, scale = 1.000000e+00 : f32} : (tensor<1x7x10x4xbf16>) -> (tensor<1x7x6x4xbf16>, tensor<2x1x6x7xf32>)
// CHECK-NOT:     train.split
func.func @groups(%x: tensor<7x40xbf16>) -> tensor<1x6x7x4xbf16> {
  %s:3 = train.split %x {axis = 1 : i64, sizes = array<i64: 24, 8, 8>} : (tensor<7x40xbf16>) -> (tensor<7x24xbf16>, tensor<7x8xbf16>, tensor<7x8xbf16>)
  %q = train.reshape %s#0 : (tensor<7x24xbf16>) -> tensor<1x7x6x4xbf16>
  %qt = train.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x6x4xbf16>) -> tensor<1x6x7x4xbf16>
  %k = train.reshape %s#1 : (tensor<7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %kt = train.transpose %k {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %v = train.reshape %s#2 : (tensor<7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %vt = train.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %y, %sums = train.attention %qt, %kt, %vt {scale = 1.0 : f32} : (tensor<1x6x7x4xbf16>, tensor<1x2x7x4xbf16>, tensor<1x2x7x4xbf16>) -> (tensor<1x6x7x4xbf16>, tensor<2x1x6x7xf32>)
  return %y : tensor<1x6x7x4xbf16>
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

// Parts of two tensors; four parts; a softcap, biases, dropout.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     packed_attention
func.func @others(%x: tensor<1x7x40xbf16>, %y: tensor<1x7x40xbf16>, %z: tensor<1x7x48xbf16>, %b: tensor<1x1x7x7xf32>) -> (tensor<1x6x7x4xbf16>, tensor<1x6x7x4xbf16>, tensor<1x6x7x4xbf16>, tensor<1x6x7x4xbf16>) {
  %s:3 = train.split %x {axis = 2 : i64, sizes = array<i64: 24, 8, 8>} : (tensor<1x7x40xbf16>) -> (tensor<1x7x24xbf16>, tensor<1x7x8xbf16>, tensor<1x7x8xbf16>)
  %t:3 = train.split %y {axis = 2 : i64, sizes = array<i64: 24, 8, 8>} : (tensor<1x7x40xbf16>) -> (tensor<1x7x24xbf16>, tensor<1x7x8xbf16>, tensor<1x7x8xbf16>)
  %u:4 = train.split %z {axis = 2 : i64, sizes = array<i64: 24, 8, 8, 8>} : (tensor<1x7x48xbf16>) -> (tensor<1x7x24xbf16>, tensor<1x7x8xbf16>, tensor<1x7x8xbf16>, tensor<1x7x8xbf16>)
  %q = train.reshape %s#0 : (tensor<1x7x24xbf16>) -> tensor<1x7x6x4xbf16>
  %qt = train.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x6x4xbf16>) -> tensor<1x6x7x4xbf16>
  %k = train.reshape %s#1 : (tensor<1x7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %kt = train.transpose %k {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %v = train.reshape %s#2 : (tensor<1x7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %vt = train.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %w = train.reshape %t#2 : (tensor<1x7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %wt = train.transpose %w {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %0:2 = train.attention %qt, %kt, %wt {scale = 1.0 : f32} : (tensor<1x6x7x4xbf16>, tensor<1x2x7x4xbf16>, tensor<1x2x7x4xbf16>) -> (tensor<1x6x7x4xbf16>, tensor<2x1x6x7xf32>)
  %1:2 = train.attention %qt, %kt, %vt {scale = 1.0 : f32, softcap = 2.0 : f32} : (tensor<1x6x7x4xbf16>, tensor<1x2x7x4xbf16>, tensor<1x2x7x4xbf16>) -> (tensor<1x6x7x4xbf16>, tensor<2x1x6x7xf32>)
  %2:2 = train.attention %qt, %kt, %vt, %b {scale = 1.0 : f32} : (tensor<1x6x7x4xbf16>, tensor<1x2x7x4xbf16>, tensor<1x2x7x4xbf16>, tensor<1x1x7x7xf32>) -> (tensor<1x6x7x4xbf16>, tensor<2x1x6x7xf32>)
  %uq = train.reshape %u#0 : (tensor<1x7x24xbf16>) -> tensor<1x7x6x4xbf16>
  %uqt = train.transpose %uq {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x6x4xbf16>) -> tensor<1x6x7x4xbf16>
  %uk = train.reshape %u#1 : (tensor<1x7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %ukt = train.transpose %uk {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %uv = train.reshape %u#2 : (tensor<1x7x8xbf16>) -> tensor<1x7x2x4xbf16>
  %uvt = train.transpose %uv {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x7x2x4xbf16>) -> tensor<1x2x7x4xbf16>
  %3:2 = train.attention %uqt, %ukt, %uvt {scale = 1.0 : f32} : (tensor<1x6x7x4xbf16>, tensor<1x2x7x4xbf16>, tensor<1x2x7x4xbf16>) -> (tensor<1x6x7x4xbf16>, tensor<2x1x6x7xf32>)
  return %0#0, %1#0, %2#0, %3#0 : tensor<1x6x7x4xbf16>, tensor<1x6x7x4xbf16>, tensor<1x6x7x4xbf16>, tensor<1x6x7x4xbf16>
}

// -----

// CPUs have a kernel for f32, GPUs none.
// CHECK-LABEL: func.func @f32
// CHECK-NOT:     packed_attention
// CPU-LABEL:   func.func @f32
// CPU:           train.packed_attention
func.func @f32(%x: tensor<2x5x72xf32>) -> tensor<2x3x5x8xf32> {
  %r = train.reshape %x : (tensor<2x5x72xf32>) -> tensor<2x5x3x3x8xf32>
  %t = train.transpose %r {permutation = array<i64: 2, 0, 3, 1, 4>} : (tensor<2x5x3x3x8xf32>) -> tensor<3x2x3x5x8xf32>
  %s:3 = train.split %t {axis = 0 : i64, sizes = array<i64: 1, 1, 1>} : (tensor<3x2x3x5x8xf32>) -> (tensor<1x2x3x5x8xf32>, tensor<1x2x3x5x8xf32>, tensor<1x2x3x5x8xf32>)
  %q = train.reshape %s#0 : (tensor<1x2x3x5x8xf32>) -> tensor<2x3x5x8xf32>
  %k = train.reshape %s#1 : (tensor<1x2x3x5x8xf32>) -> tensor<2x3x5x8xf32>
  %v = train.reshape %s#2 : (tensor<1x2x3x5x8xf32>) -> tensor<2x3x5x8xf32>
  %y, %sums = train.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>) -> (tensor<2x3x5x8xf32>, tensor<2x2x3x5xf32>)
  return %y : tensor<2x3x5x8xf32>
}
