// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @max_pool_c1_rank(%x: tensor<8x8xf32>) {
  // expected-error @+2 {{'train.max_pool' op the image must have rank 3 or 4, but has rank 2}}
  // expected-error @+1 {{'train.max_pool' op failed to infer returned types}}
  %0:2 = train.max_pool %x {kernel_shape = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi8>)
  return
}

// -----

func.func @max_pool_c1_length(%x: tensor<1x2x8x8xf32>) {
  // expected-error @+2 {{'train.max_pool' op 'kernel_shape' must have one entry per spatial dimension, 2, but has 1}}
  // expected-error @+1 {{'train.max_pool' op failed to infer returned types}}
  %0:2 = train.max_pool %x {kernel_shape = array<i64: 2>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi8>)
  return
}

// -----

func.func @max_pool_c1_pad(%x: tensor<1x2x8x8xf32>) {
  // expected-error @+2 {{'train.max_pool' op pads must be smaller than the window, but in spatial dimension 0 they are 2 for a window that spans 2}}
  // expected-error @+1 {{'train.max_pool' op failed to infer returned types}}
  %0:2 = train.max_pool %x {kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 2, 0>, pads_end = array<i64: 0, 0>} : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi8>)
  return
}

// -----

// A dilated window that misses the image has no maximum.
func.func @max_pool_c1_empty_window(%x: tensor<1x2x1x8xf32>) {
  // expected-error @+2 {{'train.max_pool' op each window must cover part of the image, but window 0 of spatial dimension 0 does not}}
  // expected-error @+1 {{'train.max_pool' op failed to infer returned types}}
  %0:2 = train.max_pool %x {kernel_shape = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = array<i64: 2, 1>, pads_begin = array<i64: 1, 0>, pads_end = array<i64: 1, 0>} : (tensor<1x2x1x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi8>)
  return
}

// -----

// Positions in the window are stored as bytes.
func.func @max_pool_c2(%x: tensor<1x2x32x32xf32>) {
  // expected-error @+2 {{'train.max_pool' op the window must have at most 255 elements, but is [16, 16]}}
  // expected-error @+1 {{'train.max_pool' op failed to infer returned types}}
  %0:2 = train.max_pool %x {kernel_shape = array<i64: 16, 16>, strides = array<i64: 16, 16>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<1x2x32x32xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x2x2xi8>)
  return
}

// -----

func.func @max_pool_grad(%g: tensor<1x2x4x4xf32>, %i: tensor<1x2x2x2xi8>) {
  // expected-error @+2 {{'train.max_pool_grad' op 'indices' must have shape [1, 2, 4, 4], but has [1, 2, 2, 2]}}
  // expected-error @+1 {{'train.max_pool_grad' op failed to infer returned types}}
  %0 = train.max_pool_grad %g, %i {input_shape = array<i64: 1, 2, 8, 8>, kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<1x2x4x4xf32>, tensor<1x2x2x2xi8>) -> tensor<1x2x8x8xf32>
  return
}

// -----

func.func @average_pool_c1(%x: tensor<1x2x8x8xf32>) {
  // expected-error @+2 {{'train.average_pool' op pads must be smaller than the window, but in spatial dimension 1 they are 3 for a window that spans 3}}
  // expected-error @+1 {{'train.average_pool' op failed to infer returned types}}
  %0 = train.average_pool %x {kernel_shape = array<i64: 3, 3>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 3>} : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  return
}

// -----

func.func @average_pool_grad(%g: tensor<1x2x8x8xf32>) {
  // expected-error @+2 {{'train.average_pool_grad' op 'grad' must have shape [1, 2, 4, 4], but has [1, 2, 8, 8]}}
  // expected-error @+1 {{'train.average_pool_grad' op failed to infer returned types}}
  %0 = train.average_pool_grad %g {input_shape = array<i64: 1, 2, 8, 8>, kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<1x2x8x8xf32>) -> tensor<1x2x8x8xf32>
  return
}

// -----

func.func @global_average_pool_c1(%x: tensor<8x8xf32>) {
  // expected-error @+2 {{'train.global_average_pool' op the image must have rank 3 or more, but has rank 2}}
  // expected-error @+1 {{'train.global_average_pool' op failed to infer returned types}}
  %0 = train.global_average_pool %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return
}
