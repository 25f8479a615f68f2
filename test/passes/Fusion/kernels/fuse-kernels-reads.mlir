// RUN: mpc-opt %s --mpc-lower-to-linalg --cse --mpc-fuse-kernels --split-input-file | FileCheck %s

// Equal first parts of two concats become two again, because each needs its own
// memory. One kernel writes all parts of equal size.
// CHECK-LABEL: func.func @concats
// CHECK-NEXT:    %[[BOTH:.*]]:2 = call @kernel_0(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>)
// CHECK-NEXT:    return %[[BOTH]]#0, %[[BOTH]]#1
func.func @concats(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = train.concat %x, %y {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %1 = train.concat %x, %z {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Parts of other sizes are written by other kernels, one after the other.
// CHECK-LABEL: func.func @parts
// CHECK-NEXT:    %[[FIRST:.*]] = call @kernel_0(%{{.*}}) : (tensor<6xf32>) -> tensor<14xf32>
// CHECK-NEXT:    %[[ALL:.*]] = call @kernel_1(%{{.*}}, %[[FIRST]], %{{.*}})
// CHECK-NEXT:    return %[[ALL]]
// CHECK-LABEL: func.func private @kernel_1
// CHECK-SAME:    %[[ARG:[a-z0-9]*]]: tensor<14xf32>,
// CHECK:         %[[SECOND:.*]] = linalg.generic {{.*}} outs(%[[ARG]] : tensor<14xf32>)
// CHECK:         %[[THIRD:.*]] = linalg.generic {{.*}} outs(%[[SECOND]] : tensor<14xf32>)
// CHECK:         return %[[THIRD]]
func.func @parts(%x: tensor<6xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<14xf32> {
  %0 = train.concat %x, %y, %z {axis = 0 : i64} : (tensor<6xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<14xf32>
  return %0 : tensor<14xf32>
}

// -----

// A kernel writes parts to memory, so what reads the whole is another kernel.
// CHECK-LABEL: func.func @reads_parts
// CHECK-NEXT:    %[[WHOLE:.*]] = call @kernel_0
// CHECK-NEXT:    %[[R:.*]] = call @kernel_1(%[[WHOLE]])
// CHECK-NEXT:    return %[[R]]
func.func @reads_parts(%x: tensor<1x4xf32>, %y: tensor<1x4xf32>) -> tensor<2x4xf32> {
  %0 = train.concat %x, %y {axis = 0 : i64} : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  %1 = train.softmax %0 {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// Ops that read one tensor through views are also one walk: the heads of queries,
// keys and values.
// CHECK-LABEL: func.func @views
// CHECK:         %[[HEADS:.*]]:2 = call @kernel_0(%{{.*}}) : ({{.*}}) -> (tensor<2x2x4x3xf32>, tensor<2x2x4x3xf32>)
// CHECK-NOT:     call
// CHECK:         return %[[HEADS]]#0, %[[HEADS]]#1
#queries = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1 mod 4, d3)>
#keys = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1 + 2, d3)>
#heads = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
func.func @views(%x: tensor<2x4x12xf32>) -> (tensor<2x2x4x3xf32>, tensor<2x2x4x3xf32>) {
  %q = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [2, 4, 4, 3] : tensor<2x4x12xf32> into tensor<2x4x4x3xf32>
  %k = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [2, 4, 4, 3] : tensor<2x4x12xf32> into tensor<2x4x4x3xf32>
  %empty = tensor.empty() : tensor<2x2x4x3xf32>
  %0 = linalg.generic {indexing_maps = [#queries, #heads], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%q : tensor<2x4x4x3xf32>) outs(%empty : tensor<2x2x4x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x3xf32>
  %1 = linalg.generic {indexing_maps = [#keys, #heads], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%k : tensor<2x4x4x3xf32>) outs(%empty : tensor<2x2x4x3xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<2x2x4x3xf32>
  return %0, %1 : tensor<2x2x4x3xf32>, tensor<2x2x4x3xf32>
}

// -----

// A value that an op reads at computed positions is made before, by another kernel. It
// is an operand of the op's kernel, which may include later ops.
// CHECK-LABEL: func.func @reads_where_it_computes
// CHECK-SAME:    (%[[X:.*]]: tensor<64x8xf32>, %[[I:.*]]: tensor<64xi64>)
// CHECK-NEXT:    %[[TABLE:.*]] = call @kernel_0(%[[X]])
// CHECK-NEXT:    %[[R:.*]] = call @kernel_1(%[[I]], %[[TABLE]])
// CHECK-NEXT:    return %[[R]]
// CHECK-LABEL: func.func private @kernel_0
// CHECK:         math.tanh
// CHECK-LABEL: func.func private @kernel_1
// CHECK-SAME:    (%{{.*}}: tensor<64xi64>, %[[READ:.*]]: tensor<64x8xf32>)
// CHECK:         scf.if
// CHECK-NEXT:      tensor.extract %[[READ]]
// CHECK:         arith.maximumf
func.func @reads_where_it_computes(%x: tensor<64x8xf32>, %i: tensor<64xi64>) -> tensor<64x8xf32> {
  %0 = train.tanh %x : (tensor<64x8xf32>) -> tensor<64x8xf32>
  %1 = train.gather %0, %i : (tensor<64x8xf32>, tensor<64xi64>) -> tensor<64x8xf32>
  %2 = train.relu %1 : (tensor<64x8xf32>) -> tensor<64x8xf32>
  return %2 : tensor<64x8xf32>
}

// -----

// A tensor that a kernel reads in both ways is one operand.
// CHECK-LABEL: func.func @reads_both_ways
// CHECK-SAME:    (%[[X:.*]]: tensor<64x8xf32>)
// CHECK-NEXT:    %[[R:.*]] = call @kernel_0(%[[X]])
// CHECK-NEXT:    return %[[R]]
// CHECK-LABEL: func.func private @kernel_0
// CHECK:         scf.for
// CHECK:           scf.if
// CHECK-NEXT:        tensor.extract
// CHECK:         arith.divf
func.func @reads_both_ways(%x: tensor<64x8xf32>) -> tensor<64x8xf32> {
  %0 = train.cumsum %x {axis = 1 : i64} : (tensor<64x8xf32>) -> tensor<64x8xf32>
  %1 = train.div %0, %x : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  return %1 : tensor<64x8xf32>
}

// -----

// A kernel runs whole: %f must not join %a, for it reads %r by way of a view,
// and the kernel of %r needs %a.
// CHECK-LABEL: func.func @view_of_a_late_kernel
// CHECK-COUNT-3: call @kernel
// CHECK:         return
#id = affine_map<(d0, d1) -> (d0, d1)>
#turned = affine_map<(d0, d1) -> (d1, d0)>
func.func @view_of_a_late_kernel(%x: tensor<8x16xf32>, %y: tensor<16x8xf32>) -> (tensor<8x16xf32>, tensor<16x8xf32>) {
  %empty = tensor.empty() : tensor<8x16xf32>
  %turned = tensor.empty() : tensor<16x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<8x16xf32>) outs(%empty : tensor<8x16xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<8x16xf32>
  %flat = tensor.collapse_shape %r [[0, 1]] : tensor<8x16xf32> into tensor<128xf32>
  %k = train.unpack %flat {offset = 0 : i64} : (tensor<128xf32>) -> tensor<16x8xf32>
  %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%y : tensor<16x8xf32>) outs(%turned : tensor<16x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  } -> tensor<16x8xf32>
  %l = linalg.generic {indexing_maps = [#id, #turned, #id], iterator_types = ["parallel", "parallel"]} ins(%r, %a : tensor<8x16xf32>, tensor<16x8xf32>) outs(%empty : tensor<8x16xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %0 = arith.addf %in, %other : f32
    linalg.yield %0 : f32
  } -> tensor<8x16xf32>
  %f = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %k : tensor<16x8xf32>, tensor<16x8xf32>) outs(%turned : tensor<16x8xf32>) {
  ^bb0(%in: f32, %other: f32, %out: f32):
    %0 = arith.mulf %in, %other : f32
    linalg.yield %0 : f32
  } -> tensor<16x8xf32>
  return %l, %f : tensor<8x16xf32>, tensor<16x8xf32>
}
