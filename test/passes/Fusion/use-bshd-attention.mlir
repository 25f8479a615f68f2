// RUN: mpc-opt %s --split-input-file --mpc-use-bshd-attention='device=cuda features=sm_80' | FileCheck %s
// RUN: mpc-opt %s --split-input-file --mpc-use-bshd-attention='device=cuda features=sm_75' | FileCheck %s --check-prefix=OTHER
// RUN: mpc-opt %s --split-input-file --mpc-use-bshd-attention='device=cpu' | FileCheck %s --check-prefix=OTHER

// Devices without the kernels keep their layout.
// OTHER-NOT: bshd

// Both ops of a layer change, and no transpose is left.
// CHECK-LABEL: func.func @layer
// CHECK-SAME:    (%[[Q:.*]]: tensor<2x5x3x8xbf16>, %[[K:.*]]: tensor<2x5x3x8xbf16>, %[[V:.*]]: tensor<2x5x3x8xbf16>, %[[G:.*]]: tensor<2x5x3x8xbf16>)
// CHECK-NEXT:    %[[Y:.*]], %[[SUMS:.*]] = train.attention %[[Q]], %[[K]], %[[V]] {bshd, causal, scale = 1.000000e+00 : f32} : (tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>) -> (tensor<2x5x3x8xbf16>, tensor<2x2x3x5xf32>)
// CHECK-NEXT:    %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = train.attention_grad %[[G]], %[[Q]], %[[K]], %[[V]], %[[Y]], %[[SUMS]] {bshd, causal,
// CHECK-NEXT:    return %[[Y]], %[[DQ]], %[[DK]], %[[DV]]
func.func @layer(%q: tensor<2x5x3x8xbf16>, %k: tensor<2x5x3x8xbf16>, %v: tensor<2x5x3x8xbf16>, %g: tensor<2x5x3x8xbf16>) -> (tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>) {
  %qt = train.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %kt = train.transpose %k {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %vt = train.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %y, %sums = train.attention %qt, %kt, %vt {causal, scale = 1.0 : f32} : (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>) -> (tensor<2x3x5x8xbf16>, tensor<2x2x3x5xf32>)
  %z = train.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xbf16>) -> tensor<2x5x3x8xbf16>
  %gt = train.transpose %g {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %d:3 = train.attention_grad %gt, %qt, %kt, %vt, %y, %sums {causal, scale = 1.0 : f32} : (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x2x3x5xf32>) -> (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>)
  %dq = train.transpose %d#0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xbf16>) -> tensor<2x5x3x8xbf16>
  %dk = train.transpose %d#1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xbf16>) -> tensor<2x5x3x8xbf16>
  %dv = train.transpose %d#2 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xbf16>) -> tensor<2x5x3x8xbf16>
  return %z, %dq, %dk, %dv : tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>
}

// -----

// One operand is computed as [B, H, T, D]. It needs a transpose; three others and
// that of the result disappear.
// CHECK-LABEL: func.func @mostly
// CHECK:         %[[Q:.*]] = train.neg
// CHECK-NEXT:    %[[T:.*]] = train.transpose %[[Q]]
// CHECK-NEXT:    train.attention %[[T]], %{{.*}}, %{{.*}} {bshd,
// CHECK-NEXT:    return
func.func @mostly(%q: tensor<2x5x3x8xbf16>, %k: tensor<2x5x3x8xbf16>, %v: tensor<2x5x3x8xbf16>) -> tensor<2x5x3x8xbf16> {
  %qt = train.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %n = train.neg %qt : (tensor<2x3x5x8xbf16>) -> tensor<2x3x5x8xbf16>
  %kt = train.transpose %k {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %vt = train.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %y, %sums = train.attention %n, %kt, %vt {scale = 1.0 : f32} : (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>) -> (tensor<2x3x5x8xbf16>, tensor<2x2x3x5xf32>)
  %z = train.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xbf16>) -> tensor<2x5x3x8xbf16>
  return %z : tensor<2x5x3x8xbf16>
}

// -----

// Two operands are computed as [B, H, T, D], as with rotary embeddings: as many
// transposes would be added as removed.
// CHECK-LABEL: func.func @balanced
// CHECK-NOT:     bshd
func.func @balanced(%q: tensor<2x5x3x8xbf16>, %k: tensor<2x5x3x8xbf16>, %v: tensor<2x5x3x8xbf16>) -> tensor<2x5x3x8xbf16> {
  %qt = train.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %kt = train.transpose %k {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %n = train.neg %qt : (tensor<2x3x5x8xbf16>) -> tensor<2x3x5x8xbf16>
  %m = train.neg %kt : (tensor<2x3x5x8xbf16>) -> tensor<2x3x5x8xbf16>
  %vt = train.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %y, %sums = train.attention %n, %m, %vt {scale = 1.0 : f32} : (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>) -> (tensor<2x3x5x8xbf16>, tensor<2x2x3x5xf32>)
  %z = train.transpose %y {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xbf16>) -> tensor<2x5x3x8xbf16>
  return %z : tensor<2x5x3x8xbf16>
}

// -----

// Something else reads each transpose, so none disappears.
// CHECK-LABEL: func.func @shared
// CHECK-NOT:     bshd
func.func @shared(%q: tensor<2x5x3x8xbf16>) -> (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>) {
  %qt = train.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %y, %sums = train.attention %qt, %qt, %qt {scale = 1.0 : f32} : (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>) -> (tensor<2x3x5x8xbf16>, tensor<2x2x3x5xf32>)
  return %qt, %y : tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>
}

// -----

// Biases are [B, H, T, S]: their kernels have one layout. And f32 has no kernel.
// CHECK-LABEL: func.func @others
// CHECK-NOT:     bshd
func.func @others(%q: tensor<2x5x3x8xbf16>, %b: tensor<1x1x5x5xf32>, %w: tensor<2x5x3x8xf32>) -> (tensor<2x5x3x8xbf16>, tensor<2x5x3x8xf32>) {
  %qt = train.transpose %q {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %y:2 = train.attention %qt, %qt, %qt, %b {scale = 1.0 : f32} : (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<1x1x5x5xf32>) -> (tensor<2x3x5x8xbf16>, tensor<2x2x3x5xf32>)
  %z = train.transpose %y#0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xbf16>) -> tensor<2x5x3x8xbf16>
  %wt = train.transpose %w {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xf32>) -> tensor<2x3x5x8xf32>
  %x:2 = train.attention %wt, %wt, %wt {scale = 1.0 : f32} : (tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>, tensor<2x3x5x8xf32>) -> (tensor<2x3x5x8xf32>, tensor<2x2x3x5xf32>)
  %u = train.transpose %x#0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xf32>) -> tensor<2x5x3x8xf32>
  return %z, %u : tensor<2x5x3x8xbf16>, tensor<2x5x3x8xf32>
}

// -----

// Barriers of rematerialisation move to the other side of the transposes: the one
// from which the result is read again, and those of recomputed operands. That
// something runs after an op does not make it a reader.
// CHECK-LABEL: func.func @recomputed
// CHECK-SAME:    (%[[X:.*]]: tensor<2x5x3x8xbf16>, %[[G:.*]]: tensor<2x5x3x8xbf16>)
// CHECK-NEXT:    %[[Y:.*]], %[[SUMS:.*]] = train.attention %[[X]], %[[X]], %[[X]] {bshd,
// CHECK-NEXT:    %[[AGAIN:.*]] = train.remat_barrier %[[Y]] after %[[G]]
// CHECK-NEXT:    %[[D:.*]], %{{.*}}, %{{.*}} = train.attention_grad %[[G]], %[[X]], %[[X]], %[[X]], %{{.*}}, %[[SUMS]] {bshd,
// CHECK-NEXT:    %[[LATER:.*]] = train.remat_barrier %[[X]] after %[[D]]
// CHECK-NEXT:    return %[[AGAIN]], %[[D]], %[[LATER]]
func.func @recomputed(%x: tensor<2x5x3x8xbf16>, %g: tensor<2x5x3x8xbf16>) -> (tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>) {
  %t = train.transpose %x {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %y, %sums = train.attention %t, %t, %t {scale = 1.0 : f32} : (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>) -> (tensor<2x3x5x8xbf16>, tensor<2x2x3x5xf32>)
  %again = train.remat_barrier %y after %g : tensor<2x3x5x8xbf16> after tensor<2x5x3x8xbf16>
  %z = train.transpose %again {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xbf16>) -> tensor<2x5x3x8xbf16>
  %gt = train.transpose %g {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x8xbf16>) -> tensor<2x3x5x8xbf16>
  %d:3 = train.attention_grad %gt, %t, %t, %t, %again, %sums {scale = 1.0 : f32} : (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x2x3x5xf32>) -> (tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>, tensor<2x3x5x8xbf16>)
  %dx = train.transpose %d#0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x3x5x8xbf16>) -> tensor<2x5x3x8xbf16>
  %later = train.remat_barrier %x after %d#0 : tensor<2x5x3x8xbf16> after tensor<2x3x5x8xbf16>
  return %z, %dx, %later : tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>, tensor<2x5x3x8xbf16>
}
