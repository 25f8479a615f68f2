// RUN: mpc-opt %s --mpc-fold-slices-to-views --split-input-file | FileCheck %s

// The steps of a sequence are contiguous.
// CHECK-LABEL: func.func @steps
// CHECK-SAME:    (%[[X:.*]]: tensor<3x2x16xf32>)
// CHECK-DAG:     %[[FLAT:.*]] = train.reshape %[[X]] : (tensor<3x2x16xf32>) -> tensor<96xf32>
// CHECK-DAG:     train.unpack %{{.*}} {offset = 0 : i64} : (tensor<96xf32>) -> tensor<1x2x16xf32>
// CHECK-DAG:     train.unpack %{{.*}} {offset = 32 : i64} : (tensor<96xf32>) -> tensor<2x2x16xf32>
// CHECK-NOT:     train.split
func.func @steps(%x: tensor<3x2x16xf32>) -> (tensor<1x2x16xf32>, tensor<2x2x16xf32>) {
  %0:2 = train.split %x {axis = 0 : i64, sizes = array<i64: 1, 2>} : (tensor<3x2x16xf32>) -> (tensor<1x2x16xf32>, tensor<2x2x16xf32>)
  return %0#0, %0#1 : tensor<1x2x16xf32>, tensor<2x2x16xf32>
}

// -----

// A row of a row, and all of a dimension of one.
// CHECK-LABEL: func.func @rows
// CHECK:         train.unpack %{{.*}} {offset = 80 : i64} : (tensor<96xi64>) -> tensor<1x1x8xi64>
// CHECK:         train.unpack %{{.*}} {offset = 64 : i64} : (tensor<96xi1>) -> tensor<1x1x32xi1>
// CHECK-NOT:     train.slice
func.func @rows(%x: tensor<3x4x8xi64>, %y: tensor<1x3x32xi1>) -> (tensor<1x1x8xi64>, tensor<1x1x32xi1>) {
  %0 = train.slice %x {offsets = array<i64: 2, 2, 0>} : (tensor<3x4x8xi64>) -> tensor<1x1x8xi64>
  %1 = train.slice %y {offsets = array<i64: 0, 2, 0>} : (tensor<1x3x32xi1>) -> tensor<1x1x32xi1>
  return %0, %1 : tensor<1x1x8xi64>, tensor<1x1x32xi1>
}

// -----

// Columns are not contiguous, nor are two rows of two matrices.
// CHECK-LABEL: func.func @columns
// CHECK-NOT:     train.unpack
// CHECK:         train.slice
// CHECK:         train.slice
func.func @columns(%x: tensor<4x32xf32>, %y: tensor<2x4x16xf32>) -> (tensor<4x16xf32>, tensor<2x2x16xf32>) {
  %0 = train.slice %x {offsets = array<i64: 0, 16>} : (tensor<4x32xf32>) -> tensor<4x16xf32>
  %1 = train.slice %y {offsets = array<i64: 0, 0, 0>} : (tensor<2x4x16xf32>) -> tensor<2x2x16xf32>
  return %0, %1 : tensor<4x16xf32>, tensor<2x2x16xf32>
}

// -----

// Kernels take operands that begin at multiples of 64 bytes: the first part
// does, the second one begins at byte 60.
// CHECK-LABEL: func.func @unaligned
// CHECK-SAME:    (%[[X:.*]]: tensor<4x15xf32>)
// CHECK-DAG:     %[[SPLIT:.*]]:2 = train.split %[[X]]
// CHECK-DAG:     %[[FIRST:.*]] = train.unpack %{{.*}} {offset = 0 : i64}
// CHECK:         return %[[FIRST]], %[[SPLIT]]#1
func.func @unaligned(%x: tensor<4x15xf32>) -> (tensor<1x15xf32>, tensor<3x15xf32>) {
  %0:2 = train.split %x {axis = 0 : i64, sizes = array<i64: 1, 3>} : (tensor<4x15xf32>) -> (tensor<1x15xf32>, tensor<3x15xf32>)
  return %0#0, %0#1 : tensor<1x15xf32>, tensor<3x15xf32>
}

// -----

// A transpose reads directly from the source.
// CHECK-LABEL: func.func @moved
// CHECK-NOT:     train.unpack
// CHECK:         train.slice
func.func @moved(%x: tensor<16x4xf32>) -> tensor<1x16xf32> {
  %0 = train.transpose %x {permutation = array<i64: 1, 0>} : (tensor<16x4xf32>) -> tensor<4x16xf32>
  %1 = train.slice %0 {offsets = array<i64: 1, 0>} : (tensor<4x16xf32>) -> tensor<1x16xf32>
  return %1 : tensor<1x16xf32>
}

// -----

// States of a recurrent network, in sequence.
// CHECK-LABEL: func.func @stack
// CHECK-SAME:    (%[[A:.*]]: tensor<1x2x16xf32>, %[[B:.*]]: tensor<2x2x16xf32>)
// CHECK:         %[[PACK:.*]] = train.pack %[[A]], %[[B]] {offsets = array<i64: 0, 32>} : (tensor<1x2x16xf32>, tensor<2x2x16xf32>) -> tensor<96xf32>
// CHECK:         train.reshape %[[PACK]] : (tensor<96xf32>) -> tensor<3x2x16xf32>
// CHECK-NOT:     train.concat
func.func @stack(%a: tensor<1x2x16xf32>, %b: tensor<2x2x16xf32>) -> tensor<3x2x16xf32> {
  %0 = train.concat %a, %b {axis = 0 : i64} : (tensor<1x2x16xf32>, tensor<2x2x16xf32>) -> tensor<3x2x16xf32>
  return %0 : tensor<3x2x16xf32>
}

// -----

// Adjacent columns are not contiguous, an operand with an unaligned begin cannot be
// made in place, and a value that is rounded in between is not the same memory.
// CHECK-LABEL: func.func @joins
// CHECK-NOT:     train.pack
// CHECK-COUNT-3: train.concat
func.func @joins(%a: tensor<2x16xf32>, %b: tensor<2x15xf32>, %c: tensor<2x16xbf16>) -> (tensor<2x32xf32>, tensor<60xf32>, tensor<4x16xf32>) {
  %0 = train.concat %a, %a {axis = 1 : i64} : (tensor<2x16xf32>, tensor<2x16xf32>) -> tensor<2x32xf32>
  %1 = train.reshape %b : (tensor<2x15xf32>) -> tensor<30xf32>
  %2 = train.concat %1, %1 {axis = 0 : i64} : (tensor<30xf32>, tensor<30xf32>) -> tensor<60xf32>
  %3 = train.concat %a, %c {axis = 0 : i64} : (tensor<2x16xf32>, tensor<2x16xbf16>) -> tensor<4x16xf32>
  return %0, %2, %3 : tensor<2x32xf32>, tensor<60xf32>, tensor<4x16xf32>
}
