// RUN: mpc-opt %s --mpc-share-joins | FileCheck %s

// Each concatenation is built on the longest earlier one that it begins with.
// CHECK-LABEL: func.func @dense
// CHECK-SAME:    %[[A:[^:]*]]: tensor<2x1x4xf32>, %[[B:[^:]*]]: tensor<2x2x4xf32>, %[[C:[^:]*]]: tensor<2x3x4xf32>, %[[D:[^:]*]]: tensor<2x4x4xf32>
// CHECK:         %[[AB:.*]] = train.concat %[[A]], %[[B]] {axis = 1 : i64}
// CHECK:         %[[ABC:.*]] = train.concat %[[AB]], %[[C]] {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x6x4xf32>
// CHECK:         %[[ABCD:.*]] = train.concat %[[ABC]], %[[D]] {axis = 1 : i64}
// CHECK:         %[[ABDC:.*]] = train.concat %[[AB]], %[[D]], %[[C]] {axis = 1 : i64}
// CHECK:         return %[[AB]], %[[ABC]], %[[ABCD]], %[[ABDC]]
func.func @dense(%a: tensor<2x1x4xf32>, %b: tensor<2x2x4xf32>, %c: tensor<2x3x4xf32>, %d: tensor<2x4x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x6x4xf32>, tensor<2x10x4xf32>, tensor<2x10x4xf32>) {
  %0 = train.concat %a, %b {axis = 1 : i64} : (tensor<2x1x4xf32>, tensor<2x2x4xf32>) -> tensor<2x3x4xf32>
  %1 = train.concat %a, %b, %c {axis = 1 : i64} : (tensor<2x1x4xf32>, tensor<2x2x4xf32>, tensor<2x3x4xf32>) -> tensor<2x6x4xf32>
  %2 = train.concat %a, %b, %c, %d {axis = 1 : i64} : (tensor<2x1x4xf32>, tensor<2x2x4xf32>, tensor<2x3x4xf32>, tensor<2x4x4xf32>) -> tensor<2x10x4xf32>
  %3 = train.concat %a, %b, %d, %c {axis = 1 : i64} : (tensor<2x1x4xf32>, tensor<2x2x4xf32>, tensor<2x4x4xf32>, tensor<2x3x4xf32>) -> tensor<2x10x4xf32>
  return %0, %1, %2, %3 : tensor<2x3x4xf32>, tensor<2x6x4xf32>, tensor<2x10x4xf32>, tensor<2x10x4xf32>
}

// Not along other dimensions, in other types, behind the first operand, or from a later
// one.
// CHECK-LABEL: func.func @others
// CHECK-SAME:    %[[A:[^:]*]]: tensor<2x2xf32>, %[[B:[^:]*]]: tensor<2x2xf32>
// CHECK-COUNT-3: train.concat %[[A]], %[[B]], %[[A]]
// CHECK:         train.concat %[[B]], %[[A]], %[[B]]
// CHECK:         train.concat %[[A]], %[[B]] {axis = 1
func.func @others(%a: tensor<2x2xf32>, %b: tensor<2x2xf32>) -> (tensor<2x6xf32>, tensor<6x2xf32>, tensor<2x6xbf16>, tensor<2x6xf32>, tensor<2x4xf32>) {
  %0 = train.concat %a, %b, %a {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x6xf32>
  %1 = train.concat %a, %b, %a {axis = 0 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<6x2xf32>
  %2 = train.concat %a, %b, %a {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x6xbf16>
  %3 = train.concat %b, %a, %b {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x6xf32>
  %4 = train.concat %a, %b {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  return %0, %1, %2, %3, %4 : tensor<2x6xf32>, tensor<6x2xf32>, tensor<2x6xbf16>, tensor<2x6xf32>, tensor<2x4xf32>
}
