// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @reshape_c1(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{'train.reshape' op must keep the number and type of the elements, but changes 'tensor<4x3xf32>' to 'tensor<5xf32>'}}
  %0 = train.reshape %x : (tensor<4x3xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{'train.transpose' op 'permutation' must permute the 2 dimensions of the operand, but is [0, 0]}}
  // expected-error @+1 {{'train.transpose' op failed to infer returned types}}
  %0 = train.transpose %x {permutation = array<i64: 0, 0>} : (tensor<4x3xf32>) -> tensor<4x4xf32>
  return
}

// -----

// A reshape does not convert integers to floats.
func.func @transpose_element_type(%x: tensor<4x3xi64>) {
  // expected-error @+2 {{'train.transpose' op inferred type(s) 'tensor<3x4xi64>' are incompatible with return type(s) of operation 'tensor<3x4xf32>'}}
  // expected-error @+1 {{'train.transpose' op failed to infer returned types}}
  %0 = train.transpose %x {permutation = array<i64: 1, 0>} : (tensor<4x3xi64>) -> tensor<3x4xf32>
  return
}

// -----

func.func @broadcast_to_c1(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{'train.broadcast_to' op operand must broadcast to the result, but they are 'tensor<4x3xf32>' and 'tensor<1x3xf32>'}}
  %0 = train.broadcast_to %x : (tensor<4x3xf32>) -> tensor<1x3xf32>
  return
}

// -----

func.func @concat_c1_empty() {
  // expected-error @+2 {{'train.concat' op needs an operand}}
  // expected-error @+1 {{'train.concat' op failed to infer returned types}}
  %0 = train.concat {axis = 0 : i64} : () -> tensor<4x3xf32>
  return
}

// -----

func.func @concat_c1_axis(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{'train.concat' op 'axis' must lie in [0, 2), but is 2}}
  // expected-error @+1 {{'train.concat' op failed to infer returned types}}
  %0 = train.concat %x {axis = 2 : i64} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @concat_c2_extent(%x: tensor<4x3xf32>, %y: tensor<5x3xf32>) {
  // expected-error @+2 {{'train.concat' op operands must agree except in dimension 1, but are 'tensor<4x3xf32>' and 'tensor<5x3xf32>'}}
  // expected-error @+1 {{'train.concat' op failed to infer returned types}}
  %0 = train.concat %x, %y {axis = 1 : i64} : (tensor<4x3xf32>, tensor<5x3xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @concat_c2_rank(%x: tensor<4x3xf32>, %y: tensor<4xf32>) {
  // expected-error @+2 {{'train.concat' op operands must agree except in dimension 1, but are 'tensor<4x3xf32>' and 'tensor<4xf32>'}}
  // expected-error @+1 {{'train.concat' op failed to infer returned types}}
  %0 = train.concat %x, %y {axis = 1 : i64} : (tensor<4x3xf32>, tensor<4xf32>) -> tensor<4x6xf32>
  return
}

// -----

func.func @concat_c2_type(%x: tensor<4xf32>, %y: tensor<4xi64>) {
  // expected-error @+2 {{'train.concat' op operands must agree except in dimension 0, but are 'tensor<4xf32>' and 'tensor<4xi64>'}}
  // expected-error @+1 {{'train.concat' op failed to infer returned types}}
  %0 = train.concat %x, %y {axis = 0 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<8xf32>
  return
}

// -----

func.func @slice_c1_offsets(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{'train.slice' op needs one offset per dimension, but has 1 for 2}}
  %0 = train.slice %x {offsets = array<i64: 0>} : (tensor<4x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @slice_c1_rank(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{'train.slice' op must keep rank and element type, but goes from 'tensor<4x3xf32>' to 'tensor<2xf32>'}}
  %0 = train.slice %x {offsets = array<i64: 0, 0>} : (tensor<4x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @slice_c1_box(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{'train.slice' op must lie inside the operand, but takes elements 2 to 4 of dimension 1 of 'tensor<4x3xf32>'}}
  %0 = train.slice %x {offsets = array<i64: 0, 2>} : (tensor<4x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @reduce_c1_order(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{'train.reduce_sum' op 'axes' must be distinct, sorted and in [0, 2), but are [1, 0]}}
  // expected-error @+1 {{'train.reduce_sum' op failed to infer returned types}}
  %0 = train.reduce_sum %x {axes = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<f32>
  return
}

// -----

func.func @reduce_c1_range(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{'train.reduce_mean' op 'axes' must be distinct, sorted and in [0, 2), but are [-1]}}
  // expected-error @+1 {{'train.reduce_mean' op failed to infer returned types}}
  %0 = train.reduce_mean %x {axes = array<i64: -1>} : (tensor<4x3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @matmul_c1(%x: tensor<4x3xf32>, %y: tensor<3xf32>) {
  // expected-error @+2 {{'train.matmul' op operands must have rank 2 or more, but are 'tensor<4x3xf32>' and 'tensor<3xf32>'}}
  // expected-error @+1 {{'train.matmul' op failed to infer returned types}}
  %0 = train.matmul %x, %y : (tensor<4x3xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @matmul_c2(%x: tensor<4x3xf32>, %y: tensor<3x5xf32>) {
  // expected-error @+2 {{'train.matmul' op inner dimensions do not match: 3 in 'tensor<4x3xf32>' and 5 in 'tensor<3x5xf32>'}}
  // expected-error @+1 {{'train.matmul' op failed to infer returned types}}
  %0 = train.matmul %x, %y {transpose_rhs} : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @matmul_c3(%x: tensor<2x4x3xf32>, %y: tensor<5x3x4xf32>) {
  // expected-error @+2 {{'train.matmul' op leading dimensions must broadcast, but are 'tensor<2x4x3xf32>' and 'tensor<5x3x4xf32>'}}
  // expected-error @+1 {{'train.matmul' op failed to infer returned types}}
  %0 = train.matmul %x, %y : (tensor<2x4x3xf32>, tensor<5x3x4xf32>) -> tensor<2x4x4xf32>
  return
}

// -----

func.func @matmul_c4(%x: tensor<2x4xf8E4M3FN>, %y: tensor<4x4xbf16>) {
  // expected-error @+1 {{'train.matmul' op must read FP8 on both sides or on none, but reads 'f8E4M3FN' and 'bf16'}}
  %0 = train.matmul %x, %y : (tensor<2x4xf8E4M3FN>, tensor<4x4xbf16>) -> tensor<2x4xbf16>
  return
}

// -----

func.func @matmul_c4(%x: tensor<2x4xf8E5M2>) {
  // expected-error @+1 {{'train.matmul' op must not read formats for gradients on both sides ('f8E5M2' and 'f8E5M2'), which no matrix unit multiplies}}
  %0 = train.matmul %x, %x {transpose_rhs} : (tensor<2x4xf8E5M2>, tensor<2x4xf8E5M2>) -> tensor<2x2xbf16>
  return
}

// -----

func.func @matmul_add_c1(%x: tensor<4xf32>, %y: tensor<4x4xf32>, %a: tensor<4xf32>) {
  // expected-error @+2 {{'train.matmul_add' op operands must have rank 2 or more, but are 'tensor<4xf32>' and 'tensor<4x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.matmul_add %x, %y, %a : (tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @matmul_add_c2(%x: tensor<2x4xf32>, %y: tensor<8x4xf32>, %a: tensor<2x4xf32>) {
  // expected-error @+2 {{'train.matmul_add' op inner dimensions do not match: 4 in 'tensor<2x4xf32>' and 8 in 'tensor<8x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.matmul_add %x, %y, %a : (tensor<2x4xf32>, tensor<8x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @matmul_add_c3(%x: tensor<2x2x4xf32>, %y: tensor<3x4x4xf32>, %a: tensor<3x2x4xf32>) {
  // expected-error @+2 {{'train.matmul_add' op leading dimensions must broadcast, but are 'tensor<2x2x4xf32>' and 'tensor<3x4x4xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.matmul_add %x, %y, %a : (tensor<2x2x4xf32>, tensor<3x4x4xf32>, tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
  return
}

// -----

func.func @matmul_add_c4(%x: tensor<2x4xbf16>, %y: tensor<4x3xbf16>, %a: tensor<2x3xbf16>) {
  // expected-error @+2 {{'train.matmul_add' op the addend must be 'tensor<2x3xf32>', but is 'tensor<2x3xbf16>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.matmul_add %x, %y, %a : (tensor<2x4xbf16>, tensor<4x3xbf16>, tensor<2x3xbf16>) -> tensor<2x3xf32>
  return
}

// -----

func.func @scaled_matmul_c1(%x: tensor<4xf8E4M3FN>, %y: tensor<4x4xf8E4M3FN>, %f: tensor<f32>) {
  // expected-error @+2 {{'train.scaled_matmul' op operands must have rank 2 or more, but are 'tensor<4xf8E4M3FN>' and 'tensor<4x4xf8E4M3FN>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.scaled_matmul %x, %y, %f, %f : (tensor<4xf8E4M3FN>, tensor<4x4xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<4xbf16>
  return
}

// -----

func.func @scaled_matmul_c2(%x: tensor<2x4xf8E4M3FN>, %y: tensor<8x4xf8E4M3FN>, %f: tensor<f32>) {
  // expected-error @+2 {{'train.scaled_matmul' op inner dimensions do not match: 4 in 'tensor<2x4xf8E4M3FN>' and 8 in 'tensor<8x4xf8E4M3FN>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.scaled_matmul %x, %y, %f, %f : (tensor<2x4xf8E4M3FN>, tensor<8x4xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<2x4xbf16>
  return
}

// -----

func.func @scaled_matmul_c3(%x: tensor<2x2x4xf8E4M3FN>, %y: tensor<3x4x4xf8E4M3FN>, %f: tensor<f32>) {
  // expected-error @+2 {{'train.scaled_matmul' op leading dimensions must broadcast, but are 'tensor<2x2x4xf8E4M3FN>' and 'tensor<3x4x4xf8E4M3FN>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.scaled_matmul %x, %y, %f, %f : (tensor<2x2x4xf8E4M3FN>, tensor<3x4x4xf8E4M3FN>, tensor<f32>, tensor<f32>) -> tensor<2x2x4xbf16>
  return
}

// -----

func.func @scaled_matmul_c4(%x: tensor<2x4xf8E5M2>, %f: tensor<f32>) {
  // expected-error @+1 {{'train.scaled_matmul' op must not read formats for gradients on both sides ('f8E5M2' and 'f8E5M2'), which no matrix unit multiplies}}
  %0 = train.scaled_matmul %x, %x, %f, %f {transpose_rhs} : (tensor<2x4xf8E5M2>, tensor<2x4xf8E5M2>, tensor<f32>, tensor<f32>) -> tensor<2x2xbf16>
  return
}

// -----

func.func @scaled_matmul_factor(%x: tensor<2x4xf8E4M3FN>, %f: tensor<1xf32>) {
  // expected-error @+1 {{'train.scaled_matmul' op operand #2 must be 0D tensor of 32-bit float values, but got 'tensor<1xf32>'}}
  %0 = train.scaled_matmul %x, %x, %f, %f {transpose_rhs} : (tensor<2x4xf8E4M3FN>, tensor<2x4xf8E4M3FN>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x2xbf16>
  return
}

// -----

func.func @scaled_matmul_wide(%x: tensor<2x4xbf16>, %f: tensor<f32>) {
  // expected-error @+1 {{'train.scaled_matmul' op operand #0 must be statically shaped tensor of }}
  %0 = train.scaled_matmul %x, %x, %f, %f {transpose_rhs} : (tensor<2x4xbf16>, tensor<2x4xbf16>, tensor<f32>, tensor<f32>) -> tensor<2x2xbf16>
  return
}

// -----

func.func @split_c1_axis(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{'train.split' op 'axis' must lie in [0, 2), but is 2}}
  // expected-error @+1 {{'train.split' op failed to infer returned types}}
  %0:2 = train.split %x {axis = 2 : i64, sizes = array<i64: 4>} : (tensor<4x3xf32>) -> (tensor<1x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @split_c1_sum(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{'train.split' op 'sizes' must be positive and add up to 4, the extent of dimension 0, but are [1, 2]}}
  // expected-error @+1 {{'train.split' op failed to infer returned types}}
  %0:2 = train.split %x {axis = 0 : i64, sizes = array<i64: 1, 2>} : (tensor<4x3xf32>) -> (tensor<1x3xf32>, tensor<2x3xf32>)
  return
}

// -----

func.func @split_c1_positive(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{'train.split' op 'sizes' must be positive and add up to 4, the extent of dimension 0, but are [4, 0]}}
  // expected-error @+1 {{'train.split' op failed to infer returned types}}
  %0:2 = train.split %x {axis = 0 : i64, sizes = array<i64: 4, 0>} : (tensor<4x3xf32>) -> (tensor<1x3xf32>, tensor<2x3xf32>)
  return
}
