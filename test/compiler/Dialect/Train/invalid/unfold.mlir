// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @unfold_c1_rank(%x: tensor<4x5xf32>) {
  // expected-error @+2 {{'train.unfold' op the image must have rank 3 or more, but has rank 2}}
  // expected-error @+1 {{'train.unfold' op failed to infer returned types}}
  %0 = train.unfold %x {kernel_shape = array<i64>, strides = array<i64>, dilations = array<i64>, pads_begin = array<i64>, pads_end = array<i64>} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @unfold_c1_length(%x: tensor<2x3x9xf32>) {
  // expected-error @+2 {{'train.unfold' op 'kernel_shape' must have one entry per spatial dimension, 1, but has 2}}
  // expected-error @+1 {{'train.unfold' op failed to infer returned types}}
  %0 = train.unfold %x {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>} : (tensor<2x3x9xf32>) -> tensor<2x3x3x7xf32>
  return
}

// -----

func.func @unfold_c1_stride(%x: tensor<2x3x9xf32>) {
  // expected-error @+2 {{'train.unfold' op 'strides' must be at least 1 and below 2^31, but holds 0}}
  // expected-error @+1 {{'train.unfold' op failed to infer returned types}}
  %0 = train.unfold %x {kernel_shape = array<i64: 3>, strides = array<i64: 0>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>} : (tensor<2x3x9xf32>) -> tensor<2x3x3x7xf32>
  return
}

// -----

// Padding that cuts off part of the image is a slice.
func.func @unfold_c1_pads(%x: tensor<2x3x9xf32>) {
  // expected-error @+2 {{'train.unfold' op 'pads_begin' must be at least 0 and below 2^31, but holds -1}}
  // expected-error @+1 {{'train.unfold' op failed to infer returned types}}
  %0 = train.unfold %x {kernel_shape = array<i64: 3>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: -1>, pads_end = array<i64: 0>} : (tensor<2x3x9xf32>) -> tensor<2x3x3x6xf32>
  return
}

// -----

func.func @unfold_c1_fit(%x: tensor<2x3x8x4xf32>) {
  // expected-error @+2 {{'train.unfold' op the window must fit into the padded image, but in spatial dimension 1 it spans 7 of 6}}
  // expected-error @+1 {{'train.unfold' op failed to infer returned types}}
  %0 = train.unfold %x {kernel_shape = array<i64: 1, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 3>, pads_begin = array<i64: 0, 1>, pads_end = array<i64: 0, 1>} : (tensor<2x3x8x4xf32>) -> tensor<2x3x1x3x8x1xf32>
  return
}

// -----

func.func @fold_c1(%x: tensor<2x3x3x7xf32>) {
  // expected-error @+2 {{'train.fold' op 'image_shape' unfolds to [2, 3, 3, 8], but the input has shape [2, 3, 3, 7]}}
  // expected-error @+1 {{'train.fold' op failed to infer returned types}}
  %0 = train.fold %x {image_shape = array<i64: 2, 3, 10>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>} : (tensor<2x3x3x7xf32>) -> tensor<2x3x10xf32>
  return
}

// -----

func.func @fold_c1_rank(%x: tensor<2x3x3x7xf32>) {
  // expected-error @+2 {{'train.fold' op an image of shape [2, 3, 9, 9] does not unfold to a tensor of shape [2, 3, 3, 7]}}
  // expected-error @+1 {{'train.fold' op failed to infer returned types}}
  %0 = train.fold %x {image_shape = array<i64: 2, 3, 9, 9>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x3x3x7xf32>) -> tensor<2x3x9x9xf32>
  return
}

// -----

func.func @fold_c1_positive(%x: tensor<2x3x3x7xf32>) {
  // expected-error @+2 {{'train.fold' op an image of shape [2, 3, -9] does not unfold to a tensor of shape [2, 3, 3, 7]}}
  // expected-error @+1 {{'train.fold' op failed to infer returned types}}
  %0 = train.fold %x {image_shape = array<i64: 2, 3, -9>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>} : (tensor<2x3x3x7xf32>) -> tensor<2x3x9xf32>
  return
}

// -----

func.func @fold_c1_geometry(%x: tensor<2x3x3x7xf32>) {
  // expected-error @+2 {{'train.fold' op the window must fit into the padded image, but in spatial dimension 0 it spans 3 of 2}}
  // expected-error @+1 {{'train.fold' op failed to infer returned types}}
  %0 = train.fold %x {image_shape = array<i64: 2, 3, 2>, strides = array<i64: 1>, dilations = array<i64: 1>, pads_begin = array<i64: 0>, pads_end = array<i64: 0>} : (tensor<2x3x3x7xf32>) -> tensor<2x3x2xf32>
  return
}
