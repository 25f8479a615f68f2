// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @packed_attention_c1(%x: tensor<5x9x8xf32>) {
  // expected-error @+2 {{'train.packed_attention' op 'heads' must have rank 4, but has rank 3}}
  // expected-error @+1 {{'train.packed_attention' op failed to infer returned types}}
  %0:2 = train.packed_attention %x {key_heads = 3 : i64, scale = 1.0 : f32} : (tensor<5x9x8xf32>) -> (tensor<1x5x3x8xf32>, tensor<2x1x3x5xf32>)
  return
}

// -----

func.func @packed_attention_c2(%x: tensor<1x5x9x8xf32>) {
  // expected-error @+2 {{'train.packed_attention' op [1, 5, 9, 8] must have heads for 'key_heads' = 2, as many for the value, and a multiple for the query}}
  // expected-error @+1 {{'train.packed_attention' op failed to infer returned types}}
  %0:2 = train.packed_attention %x {key_heads = 2 : i64, scale = 1.0 : f32} : (tensor<1x5x9x8xf32>) -> (tensor<1x5x5x8xf32>, tensor<2x1x5x5xf32>)
  return
}

// -----

func.func @packed_attention_c2_no_query(%x: tensor<1x5x8x8xf32>) {
  // expected-error @+2 {{'train.packed_attention' op [1, 5, 8, 8] must have heads for 'key_heads' = 4}}
  // expected-error @+1 {{'train.packed_attention' op failed to infer returned types}}
  %0:2 = train.packed_attention %x {key_heads = 4 : i64, scale = 1.0 : f32} : (tensor<1x5x8x8xf32>) -> (tensor<1x5x0x8xf32>, tensor<2x1x0x5xf32>)
  return
}

// -----

func.func @packed_attention_c2_no_key(%x: tensor<1x5x8x8xf32>) {
  // expected-error @+2 {{'train.packed_attention' op [1, 5, 8, 8] must have heads for 'key_heads' = 0}}
  // expected-error @+1 {{'train.packed_attention' op failed to infer returned types}}
  %0:2 = train.packed_attention %x {key_heads = 0 : i64, scale = 1.0 : f32} : (tensor<1x5x8x8xf32>) -> (tensor<1x5x8x8xf32>, tensor<2x1x8x5xf32>)
  return
}

// -----

func.func @packed_attention_c3(%x: tensor<1x5x9x8xf32>) {
  // expected-error @+2 {{'train.packed_attention' op 'scale' must be finite}}
  // expected-error @+1 {{'train.packed_attention' op failed to infer returned types}}
  %0:2 = train.packed_attention %x {key_heads = 3 : i64, scale = 0x7f800000 : f32} : (tensor<1x5x9x8xf32>) -> (tensor<1x5x3x8xf32>, tensor<2x1x3x5xf32>)
  return
}

// -----

func.func @packed_attention_grad_c1(%x: tensor<1x5x9x8xf32>, %g: tensor<1x5x4x8xf32>, %y: tensor<1x5x3x8xf32>, %s: tensor<2x1x3x5xf32>) {
  // expected-error @+2 {{'train.packed_attention_grad' op 'grad' must have shape [1, 5, 3, 8], but has [1, 5, 4, 8]}}
  // expected-error @+1 {{'train.packed_attention_grad' op failed to infer returned types}}
  %0 = train.packed_attention_grad %g, %x, %y, %s {key_heads = 3 : i64, scale = 1.0 : f32} : (tensor<1x5x4x8xf32>, tensor<1x5x9x8xf32>, tensor<1x5x3x8xf32>, tensor<2x1x3x5xf32>) -> tensor<1x5x9x8xf32>
  return
}
