// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @attention_c1(%q: tensor<2x5x8xf32>) {
  // expected-error @+2 {{'train.attention' op query, key and value must have rank 4, but have ranks 3, 3 and 3}}
  // expected-error @+1 {{'train.attention' op failed to infer returned types}}
  %0:2 = train.attention %q, %q, %q {scale = 1.0 : f32} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>) -> (tensor<2x5x8xf32>, tensor<2x5xf32>)
  return
}

// -----

func.func @attention_c2_depth(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x5x6xf32>) {
  // expected-error @+2 {{'train.attention' op a query of [1, 2, 5, 8] needs a key of [1, heads, length, 8] and a value that differs in the last extent at most, but they are [1, 2, 5, 6] and [1, 2, 5, 6]}}
  // expected-error @+1 {{'train.attention' op failed to infer returned types}}
  %0:2 = train.attention %q, %k, %k {scale = 1.0 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x6xf32>, tensor<1x2x5x6xf32>) -> (tensor<1x2x5x6xf32>, tensor<2x1x2x5xf32>)
  return
}

// -----

func.func @attention_c2_length(%q: tensor<1x2x5x8xf32>, %v: tensor<1x2x7x8xf32>) {
  // expected-error @+2 {{but they are [1, 2, 5, 8] and [1, 2, 7, 8]}}
  // expected-error @+1 {{'train.attention' op failed to infer returned types}}
  %0:2 = train.attention %q, %q, %v {scale = 1.0 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x7x8xf32>) -> (tensor<1x2x5x8xf32>, tensor<2x1x2x5xf32>)
  return
}

// -----

func.func @attention_c3(%q: tensor<1x3x5x8xf32>, %k: tensor<1x2x5x8xf32>) {
  // expected-error @+2 {{'train.attention' op the 2 heads of the key must divide those of the query, 3}}
  // expected-error @+1 {{'train.attention' op failed to infer returned types}}
  %0:2 = train.attention %q, %k, %k {scale = 1.0 : f32} : (tensor<1x3x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>) -> (tensor<1x3x5x8xf32>, tensor<2x1x3x5xf32>)
  return
}

// -----

func.func @attention_c4(%q: tensor<1x2x5x8xf32>) {
  // expected-error @+2 {{'train.attention' op 'scale' must be finite}}
  // expected-error @+1 {{'train.attention' op failed to infer returned types}}
  %0:2 = train.attention %q, %q, %q {scale = 0x7F800000 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>) -> (tensor<1x2x5x8xf32>, tensor<2x1x2x5xf32>)
  return
}

// -----

func.func @attention_grad_sums(%q: tensor<1x2x5x8xf32>, %s: tensor<2x1x2x4xf32>) {
  // expected-error @+2 {{'train.attention_grad' op 'log_sum_exp' must have shape [2, 1, 2, 5], but has [2, 1, 2, 4]}}
  // expected-error @+1 {{'train.attention_grad' op failed to infer returned types}}
  %0:3 = train.attention_grad %q, %q, %q, %q, %q, %s {scale = 1.0 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<2x1x2x4xf32>) -> (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>)
  return
}

// -----

func.func @attention_c5(%q: tensor<1x2x5x8xf32>, %b: tensor<1x2x4x5xf32>) {
  // expected-error @+2 {{'train.attention' op a bias must have the extents of the scores, [1, 2, 5, 5], or 1 except for the last, but has [1, 2, 4, 5]}}
  // expected-error @+1 {{'train.attention' op failed to infer returned types}}
  %0:2 = train.attention %q, %q, %q, %b {scale = 1.0 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x4x5xf32>) -> (tensor<1x2x5x8xf32>, tensor<2x1x2x5xf32>)
  return
}

// -----

func.func @attention_c5_last(%q: tensor<1x2x5x8xf32>, %b: tensor<1x2x5x1xf32>) {
  // expected-error @+2 {{but has [1, 2, 5, 1]}}
  // expected-error @+1 {{'train.attention' op failed to infer returned types}}
  %0:2 = train.attention %q, %q, %q, %b {scale = 1.0 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x1xf32>) -> (tensor<1x2x5x8xf32>, tensor<2x1x2x5xf32>)
  return
}

// -----

func.func @attention_c6(%q: tensor<1x2x5x8xf32>, %b: tensor<1x1x1x5xf32>) {
  // expected-error @+2 {{'train.attention' op has at most two biases, but found 3}}
  // expected-error @+1 {{'train.attention' op failed to infer returned types}}
  %0:2 = train.attention %q, %q, %q, %b, %b, %b {scale = 1.0 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x1x1x5xf32>, tensor<1x1x1x5xf32>, tensor<1x1x1x5xf32>) -> (tensor<1x2x5x8xf32>, tensor<2x1x2x5xf32>)
  return
}

// -----

func.func @attention_grad_c1(%q: tensor<1x2x5x8xf32>, %s: tensor<2x1x2x5xf32>) {
  // expected-error @+2 {{'train.attention_grad' op 'needs_bias' requires a bias}}
  // expected-error @+1 {{'train.attention_grad' op failed to infer returned types}}
  %0:4 = train.attention_grad %q, %q, %q, %q, %q, %s {needs_bias, scale = 1.0 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<2x1x2x5xf32>) -> (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x5xf32>)
  return
}

// -----

func.func @attention_c2_bshd(%q: tensor<1x5x2x8xf32>, %v: tensor<1x7x2x8xf32>) {
  // expected-error @+2 {{'train.attention' op a query of [1, 5, 2, 8] needs a key of [1, length, heads, 8] and a value that differs in the last extent at most, but they are [1, 5, 2, 8] and [1, 7, 2, 8]}}
  // expected-error @+1 {{'train.attention' op failed to infer returned types}}
  %0:2 = train.attention %q, %q, %v {bshd, scale = 1.0 : f32} : (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x7x2x8xf32>) -> (tensor<1x5x2x8xf32>, tensor<2x1x2x5xf32>)
  return
}

// -----

func.func @attention_c7(%q: tensor<1x5x2x8xf32>, %b: tensor<1x1x1x5xf32>) {
  // expected-error @+2 {{'train.attention' op 'bshd' excludes biases}}
  // expected-error @+1 {{'train.attention' op failed to infer returned types}}
  %0:2 = train.attention %q, %q, %q, %b {bshd, scale = 1.0 : f32} : (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x1x1x5xf32>) -> (tensor<1x5x2x8xf32>, tensor<2x1x2x5xf32>)
  return
}

// -----

func.func @attention_grad_bshd(%q: tensor<1x5x2x8xf32>, %g: tensor<1x2x5x8xf32>, %s: tensor<2x1x2x5xf32>) {
  // expected-error @+2 {{'train.attention_grad' op 'grad' must have shape [1, 5, 2, 8], but has [1, 2, 5, 8]}}
  // expected-error @+1 {{'train.attention_grad' op failed to infer returned types}}
  %0:3 = train.attention_grad %g, %q, %q, %q, %q, %s {bshd, scale = 1.0 : f32} : (tensor<1x2x5x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<2x1x2x5xf32>) -> (tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>, tensor<1x5x2x8xf32>)
  return
}

// -----

func.func @attention_c8(%q: tensor<1x2x5x8xf32>) {
  // expected-error @+2 {{'train.attention' op 'dropout' must lie in [0, 1)}}
  // expected-error @+1 {{'train.attention' op failed to infer returned types}}
  %0:2 = train.attention %q, %q, %q {dropout = 1.0 : f32, scale = 1.0 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>) -> (tensor<1x2x5x8xf32>, tensor<2x1x2x5xf32>)
  return
}

// -----

func.func @attention_c9(%q: tensor<1x2x5x8xf32>) {
  // expected-error @+2 {{'train.attention' op 'softcap' must be a positive normal number}}
  // expected-error @+1 {{'train.attention' op failed to infer returned types}}
  %0:2 = train.attention %q, %q, %q {scale = 1.0 : f32, softcap = 0.0 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>) -> (tensor<1x2x5x8xf32>, tensor<2x1x2x5xf32>)
  return
}

// -----

func.func @attention_c10(%q: tensor<1x2x5x8xf32>, %b: tensor<1x1x1x5xf32>) {
  // expected-error @+2 {{'train.attention' op 'replacing' must be the number of one of the 1 biases, but is 1}}
  // expected-error @+1 {{'train.attention' op failed to infer returned types}}
  %0:2 = train.attention %q, %q, %q, %b {replacing = 1 : i64, scale = 1.0 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x1x1x5xf32>) -> (tensor<1x2x5x8xf32>, tensor<2x1x2x5xf32>)
  return
}

// -----

func.func @attention_dropout_c1(%q: tensor<2x5x8xf32>, %n: tensor<i64>) {
  // expected-error @+2 {{'train.attention_dropout' op query, key and value must have rank 4, but have ranks 3, 3 and 3}}
  // expected-error @+1 {{'train.attention_dropout' op failed to infer returned types}}
  %0:2 = train.attention_dropout %q, %q, %q, %n, %n {index = 0 : i64, ratio = 0.5 : f32, scale = 1.0 : f32} : (tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<i64>, tensor<i64>) -> (tensor<2x5x8xf32>, tensor<2x5xf32>)
  return
}

// -----

func.func @attention_dropout_c2(%q: tensor<1x2x5x8xf32>, %n: tensor<i64>) {
  // expected-error @+2 {{'train.attention_dropout' op 'ratio' must lie in [0, 1)}}
  // expected-error @+1 {{'train.attention_dropout' op failed to infer returned types}}
  %0:2 = train.attention_dropout %q, %q, %q, %n, %n {index = 0 : i64, ratio = -0.5 : f32, scale = 1.0 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<i64>, tensor<i64>) -> (tensor<1x2x5x8xf32>, tensor<2x1x2x5xf32>)
  return
}

// -----

func.func @attention_dropout_c3(%q: tensor<1x2x5x8xf32>, %n: tensor<i64>, %m: tensor<i32>) {
  // expected-error @+2 {{'train.attention_dropout' op 'seed' and 'step' must be i64 of rank 0, but one is 'tensor<i32>'}}
  // expected-error @+1 {{'train.attention_dropout' op failed to infer returned types}}
  %0:2 = train.attention_dropout %q, %q, %q, %n, %m {index = 0 : i64, ratio = 0.5 : f32, scale = 1.0 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<i64>, tensor<i32>) -> (tensor<1x2x5x8xf32>, tensor<2x1x2x5xf32>)
  return
}

// -----

func.func @attention_dropout_grad_c1(%q: tensor<1x2x5x8xf32>, %s: tensor<2x1x2x5xf32>, %n: tensor<i64>) {
  // expected-error @+2 {{'train.attention_dropout_grad' op 'ratio' must lie in [0, 1)}}
  // expected-error @+1 {{'train.attention_dropout_grad' op failed to infer returned types}}
  %0:3 = train.attention_dropout_grad %q, %q, %q, %q, %q, %s, %n, %n {index = 0 : i64, ratio = 0x7FC00000 : f32, scale = 1.0 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<2x1x2x5xf32>, tensor<i64>, tensor<i64>) -> (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>)
  return
}
