// RUN: mpc-opt %s --mpc-differentiate --split-input-file | FileCheck %s

// A bias gets the sum over the dimensions along which it was broadcast. A weight for a
// whole batch gets one product over all rows, marked as the gradient of a parameter;
// the input gets no gradient, because none is needed.
// CHECK-LABEL: func.func @train
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3x4xf32>)
// CHECK:         %[[G:.*]] = train.broadcast_to
// CHECK:         %[[DB:.*]] = train.reduce_sum %[[G]] {axes = array<i64: 0, 1>} : (tensor<2x3x6xf32>) -> tensor<6xf32>
// CHECK:         %[[ROWS:.*]] = train.reshape %[[X]] : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
// CHECK:         %[[GROWS:.*]] = train.reshape %[[G]] : (tensor<2x3x6xf32>) -> tensor<6x6xf32>
// CHECK:         %[[DW:.*]] = train.matmul %[[ROWS]], %[[GROWS]] {transpose_lhs, weight_gradient}
// CHECK-NOT:     train.matmul
// CHECK:         return %{{.*}}, %[[DW]], %[[DB]]
train.state @w parameter : tensor<4x6xf32>
train.state @b parameter : tensor<6xf32>
func.func @train(%x: tensor<2x3x4xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %w = train.read @w : tensor<4x6xf32>
  %b = train.read @b : tensor<6xf32>
  %0 = train.matmul %x, %w : (tensor<2x3x4xf32>, tensor<4x6xf32>) -> tensor<2x3x6xf32>
  %1 = train.add %0, %b : (tensor<2x3x6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
  %2 = train.reduce_sum %1 {axes = array<i64: 0, 1, 2>} : (tensor<2x3x6xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// A transposed weight gets a transposed gradient, by flags only. The gradient for the
// previous layer is not marked as that of a parameter.
// CHECK-LABEL: func.func @train
// CHECK-SAME:    (%[[X:.*]]: tensor<3x4xf32>)
// CHECK:         %[[V:.*]] = train.read @v
// CHECK:         %[[H:.*]] = train.relu
// CHECK:         %[[G:.*]] = train.broadcast_to
// CHECK:         %[[DH:.*]] = train.matmul %[[G]], %[[V]] : (tensor<3x6xf32>, tensor<6x5xf32>) -> tensor<3x5xf32>
// CHECK:         %[[DV:.*]] = train.matmul %[[G]], %[[H]] {transpose_lhs, weight_gradient} : (tensor<3x6xf32>, tensor<3x5xf32>) -> tensor<6x5xf32>
// CHECK:         %[[DR:.*]] = train.relu_grad %[[DH]], %[[H]]
// CHECK:         %[[DW:.*]] = train.matmul %[[DR]], %[[X]] {transpose_lhs, weight_gradient} : (tensor<3x5xf32>, tensor<3x4xf32>) -> tensor<5x4xf32>
// CHECK-NOT:     train.transpose
// CHECK:         return
train.state @w parameter : tensor<5x4xf32>
train.state @v parameter : tensor<6x5xf32>
func.func @train(%x: tensor<3x4xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %w = train.read @w : tensor<5x4xf32>
  %v = train.read @v : tensor<6x5xf32>
  %0 = train.matmul %x, %w {transpose_rhs} : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  %1 = train.relu %0 : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %2 = train.matmul %1, %v {transpose_rhs} : (tensor<3x5xf32>, tensor<6x5xf32>) -> tensor<3x6xf32>
  %3 = train.reduce_sum %2 {axes = array<i64: 0, 1>} : (tensor<3x6xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// -----

// A view of a parameter counts as a parameter.
// CHECK-LABEL: func.func @train
// CHECK:         train.matmul %{{.*}} {transpose_lhs, weight_gradient}
train.state @w parameter : tensor<20xf32>
func.func @train(%x: tensor<3x4xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %w = train.read @w : tensor<20xf32>
  %0 = train.reshape %w : (tensor<20xf32>) -> tensor<5x4xf32>
  %1 = train.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %2 = train.matmul %x, %1 : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %3 = train.reduce_sum %2 {axes = array<i64: 0, 1>} : (tensor<3x5xf32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// -----

// -(a/b)/b, summed before it is negated.
// CHECK-LABEL: func.func @train
// CHECK-SAME:    (%[[X:.*]]: tensor<3x4xf32>)
// CHECK:         %[[W:.*]] = train.read @w
// CHECK:         %[[Y:.*]] = train.div %[[X]], %[[W]]
// CHECK:         %[[G:.*]] = train.broadcast_to
// CHECK:         %[[Q:.*]] = train.div %[[G]], %[[W]]
// CHECK:         %[[P:.*]] = train.mul %[[Q]], %[[Y]]
// CHECK:         %[[S:.*]] = train.reduce_sum %[[P]] {axes = array<i64: 0>}
// CHECK:         train.neg %[[S]] : (tensor<4xf32>) -> tensor<4xf32>
train.state @w parameter : tensor<4xf32>
func.func @train(%x: tensor<3x4xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %w = train.read @w : tensor<4xf32>
  %0 = train.div %x, %w : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %1 = train.reduce_sum %0 {axes = array<i64: 0, 1>} : (tensor<3x4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Each operand of a concatenation gets its piece.
// CHECK-LABEL: func.func @train
// CHECK:         train.slice %{{.*}} {offsets = array<i64: 3>} : (tensor<7xf32>) -> tensor<4xf32>
// CHECK-NOT:     train.slice
train.state @w parameter : tensor<4xf32>
func.func @train(%x: tensor<3xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %w = train.read @w : tensor<4xf32>
  %0 = train.concat %x, %w {axis = 0 : i64} : (tensor<3xf32>, tensor<4xf32>) -> tensor<7xf32>
  %1 = train.mul %0, %0 : (tensor<7xf32>, tensor<7xf32>) -> tensor<7xf32>
  %2 = train.reduce_mean %1 {axes = array<i64: 0>} : (tensor<7xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// The gradient drops the same elements: no mask is kept.
// CHECK-LABEL: func.func @train
// CHECK:         %[[SEED:.*]] = train.read @random_seed
// CHECK:         %[[STEP:.*]] = train.read @step_count
// CHECK:         train.dropout_training %{{.*}}, %[[SEED]], %[[STEP]] {index = 5 : i64, ratio = 5.000000e-01 : f32}
// CHECK:         %[[G:.*]] = train.broadcast_to
// CHECK:         train.dropout_training %[[G]], %[[SEED]], %[[STEP]] {index = 5 : i64, ratio = 5.000000e-01 : f32}
train.state @random_seed random_seed : tensor<i64>
train.state @step_count step_count : tensor<i64>
train.state @w parameter : tensor<4xf32>
func.func @train(%x: tensor<4xf32>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %w = train.read @w : tensor<4xf32>
  %seed = train.read @random_seed : tensor<i64>
  %step = train.read @step_count : tensor<i64>
  %0 = train.dropout_training %w, %seed, %step {index = 5 : i64, ratio = 0.5 : f32} : (tensor<4xf32>, tensor<i64>, tensor<i64>) -> tensor<4xf32>
  %1 = train.reduce_mean %0 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// A table gets the gradients of its rows in one op; the indices get none. A weight that
// is also the matrix of a product gets the sum of both.
// CHECK-LABEL: func.func @train
// CHECK-SAME:    (%[[I:.*]]: tensor<2x3xi64>)
// CHECK:         %[[DP:.*]] = train.matmul {{.*}}weight_gradient
// CHECK:         %[[DE:.*]] = train.embedding_grad %{{.*}}, %[[I]] {rows = 7 : i64} : (tensor<2x3x4xf32>, tensor<2x3xi64>) -> tensor<7x4xf32>
// CHECK:         %[[D:.*]] = train.add %{{.*}}, %[[DE]]
// CHECK:         return %{{.*}}, %[[D]]
train.state @w parameter : tensor<7x4xf32>
func.func @train(%i: tensor<2x3xi64>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %w = train.read @w : tensor<7x4xf32>
  %0 = train.embedding %w, %i : (tensor<7x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  %1 = train.matmul %0, %w {transpose_rhs} : (tensor<2x3x4xf32>, tensor<7x4xf32>) -> tensor<2x3x7xf32>
  %2 = train.reduce_sum %1 {axes = array<i64: 0, 1, 2>} : (tensor<2x3x7xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// The gradient of a split is the concatenation of the gradients of its parts; unused
// parts have a gradient of zero.
// CHECK-LABEL: func.func @train
// CHECK:         %[[P:.*]]:3 = train.split
// CHECK:         %[[ZERO:.*]] = train.constant dense<0.000000e+00> : tensor<1xf32>
// CHECK:         train.concat %{{.*}}, %[[ZERO]], %{{.*}} {axis = 0 : i64} : (tensor<3xf32>, tensor<1xf32>, tensor<3xf32>) -> tensor<7xf32>
// CHECK-NOT:     train.add
// CHECK:         return
train.state @w parameter : tensor<7xf32>
func.func @train() -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %w = train.read @w : tensor<7xf32>
  %0:3 = train.split %w {axis = 0 : i64, sizes = array<i64: 3, 1, 3>} : (tensor<7xf32>) -> (tensor<3xf32>, tensor<1xf32>, tensor<3xf32>)
  %1 = train.mul %0#0, %0#2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  %2 = train.reduce_sum %1 {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

// The gradient of a slice is padded with zeros, dimension by dimension.
// CHECK-LABEL: func.func @train
// CHECK:         %[[ROWS:.*]] = train.concat %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
// CHECK:         train.concat %{{.*}}, %[[ROWS]], %{{.*}} {axis = 1 : i64} : (tensor<4x1xf32>, tensor<4x3xf32>, tensor<4x1xf32>) -> tensor<4x5xf32>
train.state @w parameter : tensor<4x5xf32>
func.func @train() -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %w = train.read @w : tensor<4x5xf32>
  %0 = train.slice %w {offsets = array<i64: 0, 1>} : (tensor<4x5xf32>) -> tensor<2x3xf32>
  %1 = train.reduce_sum %0 {axes = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// The operand that was not selected gets zero, never a product with the mask.
// CHECK-LABEL: func.func @train
// CHECK-SAME:    (%[[M:.*]]: tensor<2x1xi1>)
// CHECK:         %[[G:.*]] = train.broadcast_to
// CHECK:         %[[ZERO:.*]] = train.constant dense<0.000000e+00> : tensor<f32>
// CHECK:         %[[DA:.*]] = train.select %[[M]], %[[G]], %[[ZERO]]
// CHECK:         %[[DB:.*]] = train.select %[[M]], %[[ZERO]], %[[G]]
// CHECK:         %[[SUM:.*]] = train.reduce_sum %[[DB]]
// CHECK:         return %{{.*}}, %[[DA]], %[[SUM]]
train.state @a parameter : tensor<2x3xf32>
train.state @b parameter : tensor<f32>
func.func @train(%m: tensor<2x1xi1>) -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %a = train.read @a : tensor<2x3xf32>
  %b = train.read @b : tensor<f32>
  %0 = train.select %m, %a, %b : (tensor<2x1xi1>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %1 = train.reduce_sum %0 {axes = array<i64: 0, 1>} : (tensor<2x3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// Half the reciprocal of the root, computed from the output.
// CHECK-LABEL: func.func @train
// CHECK:         %[[Y:.*]] = train.sqrt
// CHECK:         %[[TWICE:.*]] = train.add %[[Y]], %[[Y]]
// CHECK:         train.div %{{.*}}, %[[TWICE]]
train.state @w parameter : tensor<3xf32>
func.func @train() -> tensor<f32> attributes {train.entry = #train.entry<train>} {
  %w = train.read @w : tensor<3xf32>
  %0 = train.sqrt %w : (tensor<3xf32>) -> tensor<3xf32>
  %1 = train.reduce_sum %0 {axes = array<i64: 0>} : (tensor<3xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
