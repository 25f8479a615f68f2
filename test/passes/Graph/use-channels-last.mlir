// RUN: mpc-opt %s --mpc-use-channels-last --split-input-file | FileCheck %s

// One channel: the input's layout changes without moving an element. The
// residual sum and the pooling stay inside; the flattening sees one pixel.
// CHECK-LABEL: func.func @whole_network
// CHECK-SAME:    (%[[X:.*]]: tensor<4x1x8x8xf32>)
func.func @whole_network(%x: tensor<4x1x8x8xf32>) -> tensor<4x6xf32> {
  // CHECK-NOT: transpose
  // CHECK: %[[LAST:.*]] = train.reshape %[[X]] {{.*}} -> tensor<4x8x8x1xf32>
  // CHECK: %[[CONV:.*]] = train.conv %[[LAST]], {{.*}} {channels_last{{.*}} -> tensor<4x8x8x6xf32>
  // CHECK: %[[RELU:.*]] = train.relu %[[CONV]]
  // CHECK: %[[MAX:.*]], %{{.*}} = train.max_pool %[[RELU]] {channels_last{{.*}} -> (tensor<4x4x4x6xf32>, tensor<4x4x4x6xi8>)
  // CHECK: %[[SECOND:.*]] = train.conv %[[MAX]], {{.*}} {channels_last
  // CHECK: %[[SUM:.*]] = train.add %[[SECOND]], %[[MAX]]
  // CHECK: %[[MEAN:.*]] = train.global_average_pool %[[SUM]] {channels_last}
  // CHECK: train.reshape %[[MEAN]] {{.*}} -> tensor<4x6xf32>
  // CHECK-NOT: transpose
  %w = train.constant dense<0.5> : tensor<6x1x3x3xf32> : tensor<6x1x3x3xf32>
  %v = train.constant dense<0.5> : tensor<6x6x3x3xf32> : tensor<6x6x3x3xf32>
  %0 = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : (tensor<4x1x8x8xf32>, tensor<6x1x3x3xf32>) -> tensor<4x6x8x8xf32>
  %1 = train.relu %0 : (tensor<4x6x8x8xf32>) -> tensor<4x6x8x8xf32>
  %2:2 = train.max_pool %1 {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<4x6x8x8xf32>) -> (tensor<4x6x4x4xf32>, tensor<4x6x4x4xi8>)
  %3 = train.conv %2#0, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 1, 1>, pads_end = array<i64: 1, 1>} : (tensor<4x6x4x4xf32>, tensor<6x6x3x3xf32>) -> tensor<4x6x4x4xf32>
  %4 = train.add %3, %2#0 : (tensor<4x6x4x4xf32>, tensor<4x6x4x4xf32>) -> tensor<4x6x4x4xf32>
  %5 = train.global_average_pool %4 : (tensor<4x6x4x4xf32>) -> tensor<4x6x1x1xf32>
  %6 = train.reshape %5 : (tensor<4x6x1x1xf32>) -> tensor<4x6xf32>
  return %6 : tensor<4x6xf32>
}

// -----

// Several channels at the input, channels first at the output: one transpose
// each, and none at the weights.
// CHECK-LABEL: func.func @signature_stays
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3x8x8xf32>, %[[W:.*]]: tensor<5x3x1x1xf32>) -> tensor<2x5x8x8xf32>
func.func @signature_stays(%x: tensor<2x3x8x8xf32>, %w: tensor<5x3x1x1xf32>) -> tensor<2x5x8x8xf32> {
  // CHECK: %[[LAST:.*]] = train.transpose %[[X]] {permutation = array<i64: 0, 2, 3, 1>}
  // CHECK: %[[CONV:.*]] = train.conv %[[LAST]], %[[W]] {channels_last
  // CHECK: %[[RELU:.*]] = train.relu %[[CONV]]
  // CHECK: %[[FIRST:.*]] = train.transpose %[[RELU]] {permutation = array<i64: 0, 3, 1, 2>}
  // CHECK: return %[[FIRST]]
  %0 = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x3x8x8xf32>, tensor<5x3x1x1xf32>) -> tensor<2x5x8x8xf32>
  %1 = train.relu %0 : (tensor<2x5x8x8xf32>) -> tensor<2x5x8x8xf32>
  return %1 : tensor<2x5x8x8xf32>
}

// -----

// Scalars are unchanged; a tensor that broadcasts along channels is reshaped.
// CHECK-LABEL: func.func @broadcast_operands
// CHECK-SAME:    %[[SCALAR:[^:]*]]: tensor<f32>, %[[PER_CHANNEL:[^:]*]]: tensor<5x1x1xf32>
func.func @broadcast_operands(%x: tensor<2x5x8x8xf32>, %scalar: tensor<f32>, %c: tensor<5x1x1xf32>) -> tensor<2x5x1x1xf32> {
  // CHECK: %[[ONES:.*]] = train.constant dense<1.000000e+00> : tensor<2x8x8x5xf32>
  // CHECK: %[[POOL:.*]] = train.average_pool
  // CHECK: %[[MUL:.*]] = train.mul %[[POOL]], %[[SCALAR]]
  // CHECK: %[[C:.*]] = train.reshape %[[PER_CHANNEL]] {{.*}} -> tensor<1x1x1x5xf32>
  // CHECK: %[[ADD:.*]] = train.add %[[MUL]], %[[C]]
  // CHECK: %[[SUB:.*]] = train.sub %[[ADD]], %[[ONES]]
  // CHECK: train.global_average_pool %[[SUB]] {channels_last}
  %0 = train.average_pool %x {kernel_shape = array<i64: 1, 1>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x5x8x8xf32>) -> tensor<2x5x8x8xf32>
  %1 = train.mul %0, %scalar : (tensor<2x5x8x8xf32>, tensor<f32>) -> tensor<2x5x8x8xf32>
  %2 = train.add %1, %c : (tensor<2x5x8x8xf32>, tensor<5x1x1xf32>) -> tensor<2x5x8x8xf32>
  %ones = train.constant dense<1.0> : tensor<2x5x8x8xf32> : tensor<2x5x8x8xf32>
  %3 = train.sub %2, %ones : (tensor<2x5x8x8xf32>, tensor<2x5x8x8xf32>) -> tensor<2x5x8x8xf32>
  %4 = train.global_average_pool %3 : (tensor<2x5x8x8xf32>) -> tensor<2x5x1x1xf32>
  return %4 : tensor<2x5x1x1xf32>
}

// -----

// Channels are concatenated in the new layout.
// CHECK-LABEL: func.func @joined_channels
func.func @joined_channels(%x: tensor<2x3x8x8xf32>, %w: tensor<5x3x1x1xf32>, %v: tensor<4x3x1x1xf32>) -> tensor<2x9x1x1xf32> {
  // CHECK: train.concat {{.*}} {axis = 3 : i64} : (tensor<2x8x8x5xf32>, tensor<2x8x8x4xf32>) -> tensor<2x8x8x9xf32>
  // CHECK-NOT: train.transpose
  %0 = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x3x8x8xf32>, tensor<5x3x1x1xf32>) -> tensor<2x5x8x8xf32>
  %1 = train.conv %x, %v {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<2x4x8x8xf32>
  %2 = train.concat %0, %1 {axis = 1 : i64} : (tensor<2x5x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x9x8x8xf32>
  %3 = train.global_average_pool %2 : (tensor<2x9x8x8xf32>) -> tensor<2x9x1x1xf32>
  return %3 : tensor<2x9x1x1xf32>
}

// -----

// Flattening merges dimensions, so it needs channels first.
// CHECK-LABEL: func.func @flattening
func.func @flattening(%x: tensor<2x5x8x8xf32>, %w: tensor<5x5x1x1xf32>) -> tensor<2x40x8xf32> {
  // CHECK: train.conv
  // CHECK: %[[FIRST:.*]] = train.transpose {{.*}} {permutation = array<i64: 0, 3, 1, 2>}
  // CHECK: train.reshape %[[FIRST]]
  %0 = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x5x8x8xf32>, tensor<5x5x1x1xf32>) -> tensor<2x5x8x8xf32>
  %1 = train.reshape %0 : (tensor<2x5x8x8xf32>) -> tensor<2x40x8xf32>
  return %1 : tensor<2x40x8xf32>
}

// -----

// BatchNormalization of rank 2 already has channels last.
// CHECK-LABEL: func.func @no_image
func.func @no_image(%x: tensor<2x5xf32>, %c: tensor<5xf32>) -> tensor<2x5xf32> {
  // CHECK-NOT: transpose
  // CHECK: train.batch_norm {{.*}} {axis = 1 : i64
  %0 = train.batch_norm %x, %c, %c, %c, %c {epsilon = 1.0e-5 : f32, momentum = 0.9 : f32, axis = 1 : i64} : (tensor<2x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// -----

// A reduction reads channels last; its result has no layout.
// CHECK-LABEL: func.func @global_pooling
func.func @global_pooling(%x: tensor<2x8x5xf32>, %w: tensor<6x8x1xf32>) -> tensor<2x6xf32> {
  // CHECK: %[[CONV:.*]] = train.conv {{.*}} {channels_last{{.*}} -> tensor<2x5x6xf32>
  // CHECK: %[[MAX:.*]] = train.reduce_max %[[CONV]] {axes = array<i64: 1>} : (tensor<2x5x6xf32>) -> tensor<2x6xf32>
  // CHECK: return %[[MAX]]
  %0 = train.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>} : (tensor<2x8x5xf32>, tensor<6x8x1xf32>) -> tensor<2x6x5xf32>
  %1 = train.reduce_max %0 {axes = array<i64: 2>} : (tensor<2x6x5xf32>) -> tensor<2x6xf32>
  return %1 : tensor<2x6xf32>
}

// -----

// The result is transposed instead of the operand.
// CHECK-LABEL: func.func @reduced_transpose
// CHECK-SAME:    (%[[X:.*]]: tensor<2x3x4x5xf32>)
func.func @reduced_transpose(%x: tensor<2x3x4x5xf32>) -> (tensor<5x2xf32>, tensor<5x1x3x1xf32>) {
  // CHECK: %[[SUM:.*]] = train.reduce_sum %[[X]] {axes = array<i64: 1, 2>} : (tensor<2x3x4x5xf32>) -> tensor<2x5xf32>
  // CHECK: %[[FIRST:.*]] = train.transpose %[[SUM]] {permutation = array<i64: 1, 0>}
  // CHECK: %[[MEAN:.*]] = train.reduce_mean %[[X]] {axes = array<i64: 0, 2>, keepdims} : (tensor<2x3x4x5xf32>) -> tensor<1x3x1x5xf32>
  // CHECK: %[[SECOND:.*]] = train.transpose %[[MEAN]] {permutation = array<i64: 3, 0, 1, 2>}
  // CHECK: return %[[FIRST]], %[[SECOND]]
  %0 = train.transpose %x {permutation = array<i64: 3, 0, 1, 2>} : (tensor<2x3x4x5xf32>) -> tensor<5x2x3x4xf32>
  %1 = train.reduce_sum %0 {axes = array<i64: 2, 3>} : (tensor<5x2x3x4xf32>) -> tensor<5x2xf32>
  %2 = train.reduce_mean %0 {axes = array<i64: 1, 3>, keepdims} : (tensor<5x2x3x4xf32>) -> tensor<5x1x3x1xf32>
  return %1, %2 : tensor<5x2xf32>, tensor<5x1x3x1xf32>
}
