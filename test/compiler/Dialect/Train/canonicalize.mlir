// RUN: mpc-opt %s --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @reshape_chain
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3x4xf32>)
func.func @reshape_chain(%x: tensor<2x3x4xf32>) -> (tensor<4x6xf32>, tensor<2x3x4xf32>) {
  %0 = train.reshape %x : (tensor<2x3x4xf32>) -> tensor<24xf32>
  %1 = train.reshape %0 : (tensor<24xf32>) -> tensor<4x6xf32>
  %2 = train.reshape %1 : (tensor<4x6xf32>) -> tensor<2x3x4xf32>
  // CHECK: %[[R:.*]] = train.reshape %[[X]] : (tensor<2x3x4xf32>) -> tensor<4x6xf32>
  // CHECK: return %[[R]], %[[X]]
  return %1, %2 : tensor<4x6xf32>, tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @reshape_constant
func.func @reshape_constant() -> tensor<2x2xf32> {
  // CHECK: train.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]>
  // CHECK-NOT: train.reshape
  %c = train.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32> : tensor<4xf32>
  %0 = train.reshape %c : (tensor<4xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: func.func @transposes_merge
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3x4xf32>)
func.func @transposes_merge(%x: tensor<2x3x4xf32>) -> tensor<3x2x4xf32> {
  %0 = train.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = train.transpose %0 {permutation = array<i64: 2, 1, 0>} : (tensor<4x2x3xf32>) -> tensor<3x2x4xf32>
  // CHECK: train.transpose %[[X]] {permutation = array<i64: 1, 0, 2>}
  // CHECK-NOT: train.transpose
  return %1 : tensor<3x2x4xf32>
}

// -----

// CHECK-LABEL: func.func @transposes_cancel
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3xf32>)
func.func @transposes_cancel(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = train.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = train.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  // CHECK: return %[[X]]
  return %1 : tensor<2x3xf32>
}

// -----

// Moving dimensions of extent 1 moves no element.
// CHECK-LABEL: func.func @transpose_is_view
func.func @transpose_is_view(%x: tensor<2x3x1x1xf32>) -> tensor<2x1x1x3xf32> {
  // CHECK: train.reshape
  // CHECK-NOT: train.transpose
  %0 = train.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x3x1x1xf32>) -> tensor<2x1x1x3xf32>
  return %0 : tensor<2x1x1x3xf32>
}

// -----

// CHECK-LABEL: func.func @neutral
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
func.func @neutral(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %one = train.constant dense<1.0> : tensor<f32> : tensor<f32>
  %zero = train.constant dense<0.0> : tensor<f32> : tensor<f32>
  %minus_zero = train.constant dense<-0.0> : tensor<f32> : tensor<f32>
  %0 = train.mul %one, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = train.div %x, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = train.sub %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = train.add %x, %minus_zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK: return %[[X]], %[[X]], %[[X]], %[[X]]
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// -0 + 0 is 0, so this is not the identity.
// CHECK-LABEL: func.func @add_zero_stays
func.func @add_zero_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = train.constant dense<0.0> : tensor<f32> : tensor<f32>
  // CHECK: train.add
  %0 = train.add %x, %zero : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A factor of one that broadcasts is not the identity.
// CHECK-LABEL: func.func @broadcast_stays
func.func @broadcast_stays(%x: tensor<4xf32>) -> tensor<2x4xf32> {
  %ones = train.constant dense<1.0> : tensor<2x1xf32> : tensor<2x1xf32>
  // CHECK: train.mul
  %0 = train.mul %x, %ones : (tensor<4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// CHECK-LABEL: func.func @constants
func.func @constants() -> tensor<2x2xf32> {
  // CHECK-NEXT: train.constant dense<{{\[\[}}1.100000e+01, 1.200000e+01], [2.100000e+01, 2.200000e+01]]>
  // CHECK-NEXT: return
  %a = train.constant dense<[[10.0], [20.0]]> : tensor<2x1xf32> : tensor<2x1xf32>
  %b = train.constant dense<[1.0, 2.0]> : tensor<2xf32> : tensor<2xf32>
  %0 = train.add %a, %b : (tensor<2x1xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  return %0 : tensor<2x2xf32>
}

// -----

// Ops without effect are removed.
// CHECK-LABEL: func.func @nothing
// CHECK-SAME:    (%[[X:.*]]: tensor<4x3xf32>)
func.func @nothing(%x: tensor<4x3xf32>) -> tensor<4x3xf32> {
  %0 = train.broadcast_to %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = train.slice %0 {offsets = array<i64: 0, 0>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %2 = train.concat %1 {axis = 0 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %3 = train.reduce_sum %2 {axes = array<i64>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %4 = train.cast %3 {to = f32} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: return %[[X]]
  return %4 : tensor<4x3xf32>
}

// -----

// Stopping a gradient twice is the same as once; the stop itself is kept.
// CHECK-LABEL: func.func @stop_gradient
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
func.func @stop_gradient(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[STOP:.*]] = train.stop_gradient %[[X]]
  // CHECK: train.mul %[[X]], %[[STOP]]
  %0 = train.stop_gradient %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = train.stop_gradient %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = train.mul %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Selecting between equal values is the identity, unless it broadcasts.
// CHECK-LABEL: func.func @select_same
// CHECK-SAME:    (%[[C:.*]]: tensor<4x1xi1>, %[[X:.*]]: tensor<3xf32>, %[[Y:.*]]: tensor<4x3xf32>)
func.func @select_same(%c: tensor<4x1xi1>, %x: tensor<3xf32>, %y: tensor<4x3xf32>) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  // CHECK: %[[GROWN:.*]] = train.select %[[C]], %[[X]], %[[X]]
  // CHECK: return %[[GROWN]], %[[Y]]
  %0 = train.select %c, %x, %x : (tensor<4x1xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = train.select %c, %y, %y : (tensor<4x1xi1>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// Rounding twice to one type rounds once; to two types it rounds twice.
// CHECK-LABEL: func.func @round_twice
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32>)
func.func @round_twice(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[A:.*]] = train.round_to %[[X]] {to = f16}
  // CHECK: %[[B:.*]] = train.round_to %[[A]] {to = bf16}
  // CHECK: return %[[A]], %[[B]]
  %0 = train.round_to %x {to = f16} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = train.round_to %0 {to = f16} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = train.round_to %1 {to = bf16} : (tensor<4xf32>) -> tensor<4xf32>
  return %1, %2 : tensor<4xf32>, tensor<4xf32>
}

// -----

// To even on ties (2049 lies between 2048 and 2050), to infinity out of range.
// CHECK-LABEL: func.func @round_constant
func.func @round_constant() -> tensor<4xf32> {
  // CHECK: train.constant dense<[2.048000e+03, 0x7F800000, 1.000000e+00, 0.000000e+00]>
  // CHECK-NOT: train.round_to
  %c = train.constant dense<[2049.0, 65520.0, 1.0001, 2.0e-8]> : tensor<4xf32> : tensor<4xf32>
  %0 = train.round_to %c {to = f16} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Slices that partition one dimension become one op; gaps between them become unused
// parts.
// CHECK-LABEL: func.func @slices
// CHECK-SAME:    (%[[X:.*]]: tensor<2x9xf32>)
func.func @slices(%x: tensor<2x9xf32>) -> (tensor<2x4xf32>, tensor<2x2xf32>) {
  // CHECK: %[[P:.*]]:4 = train.split %[[X]] {axis = 1 : i64, sizes = array<i64: 1, 2, 2, 4>}
  // CHECK-NOT: train.slice
  // CHECK: return %[[P]]#3, %[[P]]#1
  %0 = train.slice %x {offsets = array<i64: 0, 5>} : (tensor<2x9xf32>) -> tensor<2x4xf32>
  %1 = train.slice %x {offsets = array<i64: 0, 1>} : (tensor<2x9xf32>) -> tensor<2x2xf32>
  %2 = train.slice %0 {offsets = array<i64: 0, 0>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2, %1 : tensor<2x4xf32>, tensor<2x2xf32>
}

// -----

// Not if they overlap or partition different dimensions.
// CHECK-LABEL: func.func @slices_apart
// CHECK-NOT:     train.split
func.func @slices_apart(%x: tensor<4x9xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x9xf32>) {
  %0 = train.slice %x {offsets = array<i64: 0, 0>} : (tensor<4x9xf32>) -> tensor<4x4xf32>
  %1 = train.slice %x {offsets = array<i64: 0, 3>} : (tensor<4x9xf32>) -> tensor<4x4xf32>
  %2 = train.slice %x {offsets = array<i64: 1, 0>} : (tensor<4x9xf32>) -> tensor<2x9xf32>
  return %0, %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<2x9xf32>
}

// -----

// Heads are split after the reshape, which is a view of the whole; also with fewer
// heads for keys and values.
// CHECK-LABEL: func.func @heads
// CHECK-SAME:    (%[[X:.*]]: tensor<2x5x16xf32>)
func.func @heads(%x: tensor<2x5x16xf32>) -> (tensor<2x5x4x2xf32>, tensor<2x5x2x2xf32>, tensor<2x5x2x2xf32>) {
  // CHECK: %[[R:.*]] = train.reshape %[[X]] : (tensor<2x5x16xf32>) -> tensor<2x5x8x2xf32>
  // CHECK: %[[P:.*]]:3 = train.split %[[R]] {axis = 2 : i64, sizes = array<i64: 4, 2, 2>}
  // CHECK: return %[[P]]#0, %[[P]]#1, %[[P]]#2
  %0:3 = train.split %x {axis = 2 : i64, sizes = array<i64: 8, 4, 4>} : (tensor<2x5x16xf32>) -> (tensor<2x5x8xf32>, tensor<2x5x4xf32>, tensor<2x5x4xf32>)
  %1 = train.reshape %0#0 : (tensor<2x5x8xf32>) -> tensor<2x5x4x2xf32>
  %2 = train.reshape %0#1 : (tensor<2x5x4xf32>) -> tensor<2x5x2x2xf32>
  %3 = train.reshape %0#2 : (tensor<2x5x4xf32>) -> tensor<2x5x2x2xf32>
  return %1, %2, %3 : tensor<2x5x4x2xf32>, tensor<2x5x2x2xf32>, tensor<2x5x2x2xf32>
}

// -----

// Not if the parts would mix, or if one has other uses.
// CHECK-LABEL: func.func @no_heads
// CHECK:         train.split
// CHECK-COUNT-2: train.reshape
// CHECK:         train.split
// CHECK:         train.reshape
func.func @no_heads(%x: tensor<2x6xf32>) -> (tensor<6xf32>, tensor<6xf32>, tensor<2x3x1xf32>, tensor<2x3xf32>) {
  %0:2 = train.split %x {axis = 1 : i64, sizes = array<i64: 3, 3>} : (tensor<2x6xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  %1 = train.reshape %0#0 : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = train.reshape %0#1 : (tensor<2x3xf32>) -> tensor<6xf32>
  %y = train.relu %x : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %3:2 = train.split %y {axis = 1 : i64, sizes = array<i64: 3, 3>} : (tensor<2x6xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
  %4 = train.reshape %3#0 : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
  return %1, %2, %4, %3#1 : tensor<6xf32>, tensor<6xf32>, tensor<2x3x1xf32>, tensor<2x3xf32>
}

// -----

// A single part is the whole.
// CHECK-LABEL: func.func @split_of_one
// CHECK-SAME:    (%[[X:.*]]: tensor<2x6xf32>)
// CHECK-NEXT:    return %[[X]]
func.func @split_of_one(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  %0 = train.split %x {axis = 1 : i64, sizes = array<i64: 6>} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}

// -----

// A product reads transposed operands directly, on either side; two transposes cancel.
// CHECK-LABEL: func.func @transposed_operands
// CHECK-SAME:    (%[[X:.*]]: tensor<2x4x8xf32>, %[[W:.*]]: tensor<6x8xf32>, %[[V:.*]]: tensor<8x4xf32>)
// CHECK-NOT:     train.transpose
// CHECK:         train.matmul %[[X]], %[[W]] {transpose_rhs} : (tensor<2x4x8xf32>, tensor<6x8xf32>) -> tensor<2x4x6xf32>
// CHECK:         train.matmul %[[V]], %[[W]] {transpose_lhs, transpose_rhs}
// CHECK:         train.matmul %[[X]], %[[X]] {transpose_rhs} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>)
// CHECK:         train.matmul %[[W]], %[[V]] :
func.func @transposed_operands(%x: tensor<2x4x8xf32>, %w: tensor<6x8xf32>, %v: tensor<8x4xf32>) -> (tensor<2x4x6xf32>, tensor<4x6xf32>, tensor<2x4x4xf32>, tensor<6x4xf32>) {
  %wt = train.transpose %w {permutation = array<i64: 1, 0>} : (tensor<6x8xf32>) -> tensor<8x6xf32>
  %0 = train.matmul %x, %wt : (tensor<2x4x8xf32>, tensor<8x6xf32>) -> tensor<2x4x6xf32>
  %vt = train.transpose %v {permutation = array<i64: 1, 0>} : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %1 = train.matmul %vt, %wt : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %xt = train.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<2x4x8xf32>) -> tensor<2x8x4xf32>
  %2 = train.matmul %x, %xt : (tensor<2x4x8xf32>, tensor<2x8x4xf32>) -> tensor<2x4x4xf32>
  %3 = train.matmul %wt, %v {transpose_lhs} : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  return %0, %1, %2, %3 : tensor<2x4x6xf32>, tensor<4x6xf32>, tensor<2x4x4xf32>, tensor<6x4xf32>
}

// -----

// Other permutations stay, and so do those that would split the rows of a batch.
// CHECK-LABEL: func.func @moved_operands
// CHECK:         %[[X:.*]] = train.transpose
// CHECK:         train.matmul %[[X]], %{{.*}} :
// CHECK:         %[[Y:.*]] = train.transpose
// CHECK:         train.matmul %[[Y]], %{{.*}} :
func.func @moved_operands(%x: tensor<4x2x8xf32>, %y: tensor<2x8x4xf32>, %w: tensor<8x6xf32>) -> (tensor<2x4x6xf32>, tensor<2x4x6xf32>) {
  %xt = train.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<4x2x8xf32>) -> tensor<2x4x8xf32>
  %0 = train.matmul %xt, %w : (tensor<2x4x8xf32>, tensor<8x6xf32>) -> tensor<2x4x6xf32>
  %yt = train.transpose %y {permutation = array<i64: 0, 2, 1>} : (tensor<2x8x4xf32>) -> tensor<2x4x8xf32>
  %1 = train.matmul %yt, %w : (tensor<2x4x8xf32>, tensor<8x6xf32>) -> tensor<2x4x6xf32>
  return %0, %1 : tensor<2x4x6xf32>, tensor<2x4x6xf32>
}
