// RUN: mpc-opt %s --mpc-use-channels-last=report --verify-diagnostics

// expected-remark @+1 {{1 ops now work with channels last, 2 transposes are left}}
func.func @reported(%x: tensor<2x3x8x8xf32>, %w: tensor<5x3x1x1xf32>) -> tensor<2x5x8x8xf32> {
  // expected-remark @+2 {{a transpose of 'tensor<2x8x8x3xf32>' is left}}
  // expected-remark @+1 {{a transpose of 'tensor<2x5x8x8xf32>' is left}}
  %0 = train.conv %x, %w {strides = array<i64: 1, 1>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x3x8x8xf32>, tensor<5x3x1x1xf32>) -> tensor<2x5x8x8xf32>
  return %0 : tensor<2x5x8x8xf32>
}
