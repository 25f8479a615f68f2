// RUN: mpc-opt %s --mpc-zero-masked-rows --split-input-file | FileCheck %s

// There is one note for all rows that may be fully masked.
// CHECK: mpc.notes = ["softmax 'attn' and 1 more: fully masked rows (all -inf) produce zeros and zero gradients instead of ONNX's NaN"]
module {
  func.func @predict(%s: tensor<2x4xf32>, %seen: tensor<2x4xi1>, %m: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) attributes {train.entry = #train.entry<predict>} {
    %inf = train.constant dense<0xFF800000> : tensor<f32> : tensor<f32>
    %c = train.clip %s {high = 8.0 : f64, low = -8.0 : f64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %0 = train.select %seen, %c, %inf : (tensor<2x4xi1>, tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %p0 = train.softmax %0 {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("attn"("Softmax"))
    %1 = train.add %c, %m : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %p1 = train.softmax %1 {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("other"("Softmax"))
    return %p0, %p1 : tensor<2x4xf32>, tensor<2x4xf32>
  }
}

// -----

// For constant masks it is known that no row is fully masked: masks that are added, as
// a tensor of the file or of the graph, or that select, also if they are repeated.
// CHECK-LABEL: @causal
// CHECK-NOT: mpc.notes
// CHECK: zero_empty
module @causal {
  train.state @mask constant : tensor<2x2xf32> = dense_resource<mask> : tensor<2x2xf32>
  func.func @predict(%s: tensor<3x2x2xf32>) -> (tensor<3x2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>) attributes {train.entry = #train.entry<predict>} {
    %c = train.clip %s {high = 8.0 : f64, low = -8.0 : f64} : (tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
    %m = train.constant dense<[[0.0, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32> : tensor<2x2xf32>
    %0 = train.add %c, %m : (tensor<3x2x2xf32>, tensor<2x2xf32>) -> tensor<3x2x2xf32>
    %p0 = train.softmax %0 {axis = 2 : i64} : (tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
    %r = train.read @mask : tensor<2x2xf32>
    %1 = train.add %c, %r : (tensor<3x2x2xf32>, tensor<2x2xf32>) -> tensor<3x2x2xf32>
    %p1 = train.softmax %1 {axis = 2 : i64} : (tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
    %seen = train.constant dense<[[true, false], [true, true]]> : tensor<2x2xi1> : tensor<2x2xi1>
    %inf = train.constant dense<0xFF800000> : tensor<f32> : tensor<f32>
    %2 = train.select %seen, %c, %inf : (tensor<2x2xi1>, tensor<3x2x2xf32>, tensor<f32>) -> tensor<3x2x2xf32>
    %p2 = train.softmax %2 {axis = 2 : i64} : (tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
    %all = train.broadcast_to %seen : (tensor<2x2xi1>) -> tensor<3x2x2xi1>
    %3 = train.select %all, %c, %inf : (tensor<3x2x2xi1>, tensor<3x2x2xf32>, tensor<f32>) -> tensor<3x2x2xf32>
    %p3 = train.softmax %3 {axis = 2 : i64} : (tensor<3x2x2xf32>) -> tensor<3x2x2xf32>
    return %p0, %p1, %p2, %p3 : tensor<3x2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>, tensor<3x2x2xf32>
  }
}
{-#
  dialect_resources: { builtin: { mask: "0x0400000000000000000080FF0000000000000000" } }
#-}

// -----

// There is a note for a constant that fully masks a row.
// CHECK: mpc.notes = ["softmax 'row'
module {
  func.func @predict(%s: tensor<2x2xf32>) -> tensor<2x2xf32> attributes {train.entry = #train.entry<predict>} {
    %c = train.clip %s {high = 8.0 : f64, low = -8.0 : f64} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %m = train.constant dense<[[0.0, 0.0], [0xFF800000, 0xFF800000]]> : tensor<2x2xf32> : tensor<2x2xf32>
    %0 = train.add %c, %m : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %p = train.softmax %0 {axis = 1 : i64} : (tensor<2x2xf32>) -> tensor<2x2xf32> loc("row"("Softmax"))
    return %p : tensor<2x2xf32>
  }
}

// -----

// A bias of attention may mask rows as well, unless it is a constant that shows
// each query a key.
// CHECK: mpc.notes = ["attention 'one': fully masked rows (all -inf) produce zeros and zero gradients instead of ONNX's NaN"]
module {
  func.func @predict(%q: tensor<1x1x2x4xf32>, %seen: tensor<1x1x1x2xi1>) -> (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) attributes {train.entry = #train.entry<predict>} {
    %zero = train.constant dense<0.0> : tensor<f32> : tensor<f32>
    %inf = train.constant dense<0xFF800000> : tensor<f32> : tensor<f32>
    %b = train.select %seen, %zero, %inf : (tensor<1x1x1x2xi1>, tensor<f32>, tensor<f32>) -> tensor<1x1x1x2xf32>
    %m = train.constant dense<[[[[0.0, 0xFF800000], [0xFF800000, 0.0]]]]> : tensor<1x1x2x2xf32> : tensor<1x1x2x2xf32>
    %y, %s = train.attention %q, %q, %q, %b {scale = 1.0 : f32} : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x1x2xf32>) -> (tensor<1x1x2x4xf32>, tensor<2x1x1x2xf32>) loc("one")
    %z, %t = train.attention %q, %q, %q, %m {scale = 1.0 : f32} : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x2xf32>) -> (tensor<1x1x2x4xf32>, tensor<2x1x1x2xf32>) loc("two")
    return %y, %z : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>
  }
}
