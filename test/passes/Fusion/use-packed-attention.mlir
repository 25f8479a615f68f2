// RUN: mpc-opt %s --split-input-file --mpc-use-packed-attention='device=cuda features=sm_80' | FileCheck %s
// RUN: mpc-opt %s --split-input-file --mpc-use-packed-attention='device=cpu' | FileCheck %s --check-prefix=CPU
// RUN: mpc-opt %s --split-input-file --mpc-use-packed-attention='device=cuda features=sm_75' | FileCheck %s --check-prefix=OTHER

// Devices without the kernels keep the parts; CPUs have none for 16 bit.
// OTHER-NOT: packed_attention
// CPU-NOT:   packed_attention

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
// CHECK:         train.packed_attention
// CHECK-NOT:     train.concat
// CHECK:         %[[D:.*]] = train.packed_attention_grad
// CHECK-NEXT:    %[[R:.*]] = train.reshape %[[D]] : (tensor<2x5x9x8xf16>) -> tensor<2x5x3x3x8xf16>
// CHECK-NEXT:    %[[DX:.*]] = train.reshape %[[R]] : (tensor<2x5x3x3x8xf16>) -> tensor<2x5x72xf16>
// CHECK-NEXT:    return %{{.*}}, %[[DX]]
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
// CHECK:         train.packed_attention
// CHECK-NOT:     train.concat
// CHECK:         %[[D:.*]] = train.packed_attention_grad
// CHECK-NEXT:    %[[R:.*]] = train.reshape %[[D]] : (tensor<2x5x9x8xf16>) -> tensor<2x5x3x3x8xf16>
// CHECK-NEXT:    return %{{.*}}, %[[R]]
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

// As PyTorch's layers have it: the sequence lies in front of the batch.
// CHECK-LABEL: func.func @sequence_first
// CHECK-SAME:    (%[[X:.*]]: tensor<5x2x72xf16>, %[[G:.*]]: tensor<10x24xf16>)
// CHECK-NEXT:    %[[HEADS:.*]] = train.reshape %[[X]] : (tensor<5x2x72xf16>) -> tensor<5x2x9x8xf16>
// CHECK-NEXT:    %[[Y:.*]], %[[SUMS:.*]] = train.packed_attention %[[HEADS]] {key_heads = 3 : i64, scale = 1.000000e+00 : f32, sequence_first} : (tensor<5x2x9x8xf16>) -> (tensor<5x2x3x8xf16>, tensor<2x2x3x5xf32>)
// CHECK-NEXT:    %[[Z:.*]] = train.reshape %[[Y]] : (tensor<5x2x3x8xf16>) -> tensor<10x24xf16>
// CHECK-NEXT:    %[[GRAD:.*]] = train.reshape %[[G]] : (tensor<10x24xf16>) -> tensor<5x2x3x8xf16>
// CHECK-NEXT:    %[[SAME:.*]] = train.reshape %[[X]] : (tensor<5x2x72xf16>) -> tensor<5x2x9x8xf16>
// CHECK-NEXT:    %[[D:.*]] = train.packed_attention_grad %[[GRAD]], %[[SAME]], %[[Y]], %[[SUMS]] {key_heads = 3 : i64, scale = 1.000000e+00 : f32, sequence_first}
// CHECK-NEXT:    %[[R:.*]] = train.reshape %[[D]] : (tensor<5x2x9x8xf16>) -> tensor<5x2x3x1x24xf16>
// CHECK-NEXT:    %[[DX:.*]] = train.reshape %[[R]] : (tensor<5x2x3x1x24xf16>) -> tensor<5x2x72xf16>
// CHECK-NEXT:    return %[[Z]], %[[DX]]
func.func @sequence_first(%x: tensor<5x2x72xf16>, %g: tensor<10x24xf16>) -> (tensor<10x24xf16>, tensor<5x2x72xf16>) {
  %r = train.reshape %x : (tensor<5x2x72xf16>) -> tensor<1x5x2x3x24xf16>
  %t = train.transpose %r {permutation = array<i64: 3, 1, 2, 0, 4>} : (tensor<1x5x2x3x24xf16>) -> tensor<3x5x2x1x24xf16>
  %m = train.reshape %t : (tensor<3x5x2x1x24xf16>) -> tensor<15x6x8xf16>
  %s:3 = train.split %m {axis = 0 : i64, sizes = array<i64: 5, 5, 5>} : (tensor<15x6x8xf16>) -> (tensor<5x6x8xf16>, tensor<5x6x8xf16>, tensor<5x6x8xf16>)
  %qt = train.transpose %s#0 {permutation = array<i64: 1, 0, 2>} : (tensor<5x6x8xf16>) -> tensor<6x5x8xf16>
  %q = train.reshape %qt : (tensor<6x5x8xf16>) -> tensor<2x3x5x8xf16>
  %kt = train.transpose %s#1 {permutation = array<i64: 1, 0, 2>} : (tensor<5x6x8xf16>) -> tensor<6x5x8xf16>
  %k = train.reshape %kt : (tensor<6x5x8xf16>) -> tensor<2x3x5x8xf16>
  %vt = train.transpose %s#2 {permutation = array<i64: 1, 0, 2>} : (tensor<5x6x8xf16>) -> tensor<6x5x8xf16>
  %v = train.reshape %vt : (tensor<6x5x8xf16>) -> tensor<2x3x5x8xf16>
  %y, %sums = train.attention %q, %k, %v {scale = 1.0 : f32} : (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>) -> (tensor<2x3x5x8xf16>, tensor<2x2x3x5xf32>)
  %yt = train.transpose %y {permutation = array<i64: 2, 0, 1, 3>} : (tensor<2x3x5x8xf16>) -> tensor<5x2x3x8xf16>
  %z = train.reshape %yt : (tensor<5x2x3x8xf16>) -> tensor<10x24xf16>
  %gr = train.reshape %g : (tensor<10x24xf16>) -> tensor<5x2x3x8xf16>
  %gt = train.transpose %gr {permutation = array<i64: 1, 2, 0, 3>} : (tensor<5x2x3x8xf16>) -> tensor<2x3x5x8xf16>
  %d:3 = train.attention_grad %gt, %q, %k, %v, %y, %sums {scale = 1.0 : f32} : (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x2x3x5xf32>) -> (tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>, tensor<2x3x5x8xf16>)
  %dqr = train.reshape %d#0 : (tensor<2x3x5x8xf16>) -> tensor<6x5x8xf16>
  %dq = train.transpose %dqr {permutation = array<i64: 1, 0, 2>} : (tensor<6x5x8xf16>) -> tensor<5x6x8xf16>
  %dkr = train.reshape %d#1 : (tensor<2x3x5x8xf16>) -> tensor<6x5x8xf16>
  %dk = train.transpose %dkr {permutation = array<i64: 1, 0, 2>} : (tensor<6x5x8xf16>) -> tensor<5x6x8xf16>
  %dvr = train.reshape %d#2 : (tensor<2x3x5x8xf16>) -> tensor<6x5x8xf16>
  %dv = train.transpose %dvr {permutation = array<i64: 1, 0, 2>} : (tensor<6x5x8xf16>) -> tensor<5x6x8xf16>
  %j = train.concat %dq, %dk, %dv {axis = 0 : i64} : (tensor<5x6x8xf16>, tensor<5x6x8xf16>, tensor<5x6x8xf16>) -> tensor<15x6x8xf16>
  %jr = train.reshape %j : (tensor<15x6x8xf16>) -> tensor<3x5x2x1x24xf16>
  %jt = train.transpose %jr {permutation = array<i64: 1, 2, 0, 3, 4>} : (tensor<3x5x2x1x24xf16>) -> tensor<5x2x3x1x24xf16>
  %dx = train.reshape %jt : (tensor<5x2x3x1x24xf16>) -> tensor<5x2x72xf16>
  return %z, %dx : tensor<10x24xf16>, tensor<5x2x72xf16>
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

// CPUs have a kernel for f32 alone, GPUs none for it.
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
