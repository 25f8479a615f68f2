// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @conv_c1_weight(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3xf32>) {
  // expected-error @+2 {{'train.conv' op input and weight must both have rank 3 or 4, but have ranks 4 and 3}}
  // expected-error @+1 {{'train.conv' op failed to infer returned types}}
  %0 = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>, tensor<6x4x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

// Three spatial dimensions have no kernel.
func.func @conv_c1_volume(%x: tensor<2x4x8x8x8xf32>, %w: tensor<6x4x3x3x3xf32>) {
  // expected-error @+2 {{'train.conv' op input and weight must both have rank 3 or 4, but have ranks 5 and 5}}
  // expected-error @+1 {{'train.conv' op failed to infer returned types}}
  %0 = train.conv %x, %w {strides = array<i64: 1, 1, 1>, dilations = array<i64: 1, 1, 1>, pads_begin = array<i64: 0, 0, 0>, pads_end = array<i64: 0, 0, 0>} : (tensor<2x4x8x8x8xf32>, tensor<6x4x3x3x3xf32>) -> tensor<2x6x6x6x6xf32>
  return
}

// -----

func.func @conv_c2_channels(%x: tensor<2x4x8x8xf32>, %w: tensor<6x3x3x3xf32>) {
  // expected-error @+2 {{'train.conv' op the input must have 1 x 3 channels (groups times the weight's second extent), but has 4}}
  // expected-error @+1 {{'train.conv' op failed to infer returned types}}
  %0 = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>, tensor<6x3x3x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c2_group(%x: tensor<2x4x8x8xf32>, %w: tensor<6x1x3x3xf32>) {
  // expected-error @+2 {{'train.conv' op 'group' must divide the output channels, 6, but is 4}}
  // expected-error @+1 {{'train.conv' op failed to infer returned types}}
  %0 = train.conv %x, %w {group = 4 : i64, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>, tensor<6x1x3x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c2_no_group(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'train.conv' op 'group' must divide the output channels, 6, but is 0}}
  // expected-error @+1 {{'train.conv' op failed to infer returned types}}
  %0 = train.conv %x, %w {group = 0 : i64, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c2_bias(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>, %b: tensor<4xf32>) {
  // expected-error @+2 {{'train.conv' op 'bias' must have shape [6], but has [4]}}
  // expected-error @+1 {{'train.conv' op failed to infer returned types}}
  %0 = train.conv %x, %w, %b {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>, tensor<4xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c3_length(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'train.conv' op 'strides' must have one entry per spatial dimension, 2, but has 1}}
  // expected-error @+1 {{'train.conv' op failed to infer returned types}}
  %0 = train.conv %x, %w {strides = array<i64: 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c3_stride(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'train.conv' op 'strides' must be at least 1 and below 2^31, but holds 0}}
  // expected-error @+1 {{'train.conv' op failed to infer returned types}}
  %0 = train.conv %x, %w {strides = array<i64: 1, 0>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c3_dilation(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'train.conv' op 'dilations' must be at least 1 and below 2^31, but holds -1}}
  // expected-error @+1 {{'train.conv' op failed to infer returned types}}
  %0 = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: -1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

// Extents must not overflow.
func.func @conv_c3_huge_dilation(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'train.conv' op 'dilations' must be at least 1 and below 2^31, but holds 9223372036854775807}}
  // expected-error @+1 {{'train.conv' op failed to infer returned types}}
  %0 = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 9223372036854775807>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c3_pad(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'train.conv' op 'pads_end' must be at least 0 and below 2^31, but holds -1}}
  // expected-error @+1 {{'train.conv' op failed to infer returned types}}
  %0 = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, -1>} : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c3_empty(%x: tensor<2x4x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'train.conv' op the window must fit into the padded image, but in spatial dimension 1 it spans 9 of 8}}
  // expected-error @+1 {{'train.conv' op failed to infer returned types}}
  %0 = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 4>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x6x6xf32>
  return
}

// -----

func.func @conv_c3_grad_input(%g: tensor<2x6x8x8xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'train.conv_grad_input' op 'grad' must have shape [2, 6, 6, 6], but has [2, 6, 8, 8]}}
  // expected-error @+1 {{'train.conv_grad_input' op failed to infer returned types}}
  %0 = train.conv_grad_input %g, %w {input_shape = array<i64: 2, 4, 8, 8>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x6x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x4x8x8xf32>
  return
}

// -----

func.func @conv_grad_input_shape(%g: tensor<2x6x6x6xf32>, %w: tensor<6x4x3x3xf32>) {
  // expected-error @+2 {{'train.conv_grad_input' op 'input_shape' must be positive, but is [2, 4, 0, 8]}}
  // expected-error @+1 {{'train.conv_grad_input' op failed to infer returned types}}
  %0 = train.conv_grad_input %g, %w {input_shape = array<i64: 2, 4, 0, 8>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x6x6x6xf32>, tensor<6x4x3x3xf32>) -> tensor<2x4x8x8xf32>
  return
}

// -----

func.func @conv_c1_grad_weight(%g: tensor<2x6x6xf32>, %x: tensor<2x4x8x8xf32>) {
  // expected-error @+2 {{'train.conv_grad_weight' op grad and input must both have rank 3 or 4, but have ranks 3 and 4}}
  // expected-error @+1 {{'train.conv_grad_weight' op failed to infer returned types}}
  %0 = train.conv_grad_weight %g, %x {kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x6x6xf32>, tensor<2x4x8x8xf32>) -> tensor<6x4x3x3xf32>
  return
}

// -----

func.func @conv_c2_grad_weight(%g: tensor<2x6x6x6xf32>, %x: tensor<2x4x8x8xf32>) {
  // expected-error @+2 {{'train.conv_grad_weight' op 'group' must be at least 1, but is 0}}
  // expected-error @+1 {{'train.conv_grad_weight' op failed to infer returned types}}
  %0 = train.conv_grad_weight %g, %x {group = 0 : i64, kernel_shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x6x6x6xf32>, tensor<2x4x8x8xf32>) -> tensor<6x4x3x3xf32>
  return
}

// -----

func.func @conv_c3_grad_weight(%g: tensor<2x6x6x6xf32>, %x: tensor<2x4x8x8xf32>) {
  // expected-error @+2 {{'train.conv_grad_weight' op 'grad' must have shape [2, 6, 4, 4], but has [2, 6, 6, 6]}}
  // expected-error @+1 {{'train.conv_grad_weight' op failed to infer returned types}}
  %0 = train.conv_grad_weight %g, %x {kernel_shape = array<i64: 5, 5>, strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x6x6x6xf32>, tensor<2x4x8x8xf32>) -> tensor<6x4x5x5xf32>
  return
}
