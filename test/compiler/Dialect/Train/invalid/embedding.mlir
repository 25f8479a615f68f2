// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @embedding_c1(%t: tensor<f32>, %i: tensor<4xi64>) {
  // expected-error @+2 {{'train.embedding' op the table must have rank 1 or more, but has rank 0}}
  // expected-error @+1 {{'train.embedding' op failed to infer returned types}}
  %y = train.embedding %t, %i : (tensor<f32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @embedding_shape(%t: tensor<7x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+2 {{'train.embedding' op inferred type(s) 'tensor<4x3xf32>' are incompatible with return type(s) of operation 'tensor<4x2xf32>'}}
  // expected-error @+1 {{'train.embedding' op failed to infer returned types}}
  %y = train.embedding %t, %i : (tensor<7x3xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @embedding_indices(%t: tensor<7x3xf32>, %i: tensor<4xf32>) {
  // expected-error @+1 {{'train.embedding' op operand #1 must be statically shaped tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<4xf32>'}}
  %y = train.embedding %t, %i : (tensor<7x3xf32>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @embedding_grad_c1(%g: tensor<5x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+2 {{'train.embedding_grad' op 'grad' must begin with the dimensions of 'indices', [4], but has shape [5, 3]}}
  // expected-error @+1 {{'train.embedding_grad' op failed to infer returned types}}
  %y = train.embedding_grad %g, %i {rows = 7 : i64} : (tensor<5x3xf32>, tensor<4xi64>) -> tensor<7x3xf32>
  return
}

// -----

func.func @embedding_grad_c2(%g: tensor<4x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+2 {{'train.embedding_grad' op 'rows' must be at least 1, but is 0}}
  // expected-error @+1 {{'train.embedding_grad' op failed to infer returned types}}
  %y = train.embedding_grad %g, %i {rows = 0 : i64} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<1x3xf32>
  return
}
