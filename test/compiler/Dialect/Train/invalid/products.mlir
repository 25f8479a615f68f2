// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @matmul_bias_c1(%x: tensor<5x2x4xbf16>, %y: tensor<4x3xbf16>, %t: tensor<3xbf16>) {
  // expected-error @+2 {{'train.matmul_bias' op factors must be matrices, but are 'tensor<5x2x4xbf16>' and 'tensor<4x3xbf16>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.matmul_bias %x, %y, %t : (tensor<5x2x4xbf16>, tensor<4x3xbf16>, tensor<3xbf16>) -> tensor<5x2x3xbf16>
  return
}

// -----

func.func @matmul_bias_c2(%x: tensor<2x4xbf16>, %y: tensor<5x3xbf16>, %t: tensor<3xbf16>) {
  // expected-error @+2 {{'train.matmul_bias' op inner dimensions do not match: 4 in 'tensor<2x4xbf16>' and 5 in 'tensor<5x3xbf16>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.matmul_bias %x, %y, %t : (tensor<2x4xbf16>, tensor<5x3xbf16>, tensor<3xbf16>) -> tensor<2x3xbf16>
  return
}

// -----

func.func @matmul_bias_c3(%x: tensor<2x4xbf16>, %y: tensor<4x3xbf16>, %t: tensor<2x3xbf16>) {
  // expected-error @+2 {{'train.matmul_bias' op the factors 'tensor<2x4xbf16>' and 'tensor<4x3xbf16>' need a bias 'tensor<3xbf16>' of their type, but it is 'tensor<2x3xbf16>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.matmul_bias %x, %y, %t : (tensor<2x4xbf16>, tensor<4x3xbf16>, tensor<2x3xbf16>) -> tensor<2x3xbf16>
  return
}

// -----

func.func @matmul_gelu_c1(%x: tensor<5x2x4xbf16>, %y: tensor<4x3xbf16>, %t: tensor<3xbf16>) {
  // expected-error @+2 {{'train.matmul_gelu' op factors must be matrices, but are 'tensor<5x2x4xbf16>' and 'tensor<4x3xbf16>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.matmul_gelu %x, %y, %t : (tensor<5x2x4xbf16>, tensor<4x3xbf16>, tensor<3xbf16>) -> (tensor<5x2x3xbf16>, tensor<5x2x3xbf16>)
  return
}

// -----

func.func @matmul_gelu_c2(%x: tensor<2x4xbf16>, %y: tensor<5x3xbf16>, %t: tensor<3xbf16>) {
  // expected-error @+2 {{'train.matmul_gelu' op inner dimensions do not match: 4 in 'tensor<2x4xbf16>' and 5 in 'tensor<5x3xbf16>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.matmul_gelu %x, %y, %t : (tensor<2x4xbf16>, tensor<5x3xbf16>, tensor<3xbf16>) -> (tensor<2x3xbf16>, tensor<2x3xbf16>)
  return
}

// -----

func.func @matmul_gelu_c3(%x: tensor<2x4xbf16>, %y: tensor<4x3xbf16>, %t: tensor<3xf32>) {
  // expected-error @+2 {{'train.matmul_gelu' op the factors 'tensor<2x4xbf16>' and 'tensor<4x3xbf16>' need a bias 'tensor<3xbf16>' of their type, but it is 'tensor<3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0:2 = train.matmul_gelu %x, %y, %t : (tensor<2x4xbf16>, tensor<4x3xbf16>, tensor<3xf32>) -> (tensor<2x3xbf16>, tensor<2x3xbf16>)
  return
}

// -----

func.func @matmul_gelu_grad_c1(%x: tensor<5x2x4xbf16>, %y: tensor<4x3xbf16>, %t: tensor<2x3xbf16>) {
  // expected-error @+2 {{'train.matmul_gelu_grad' op factors must be matrices, but are 'tensor<5x2x4xbf16>' and 'tensor<4x3xbf16>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.matmul_gelu_grad %x, %y, %t : (tensor<5x2x4xbf16>, tensor<4x3xbf16>, tensor<2x3xbf16>) -> tensor<5x2x3xbf16>
  return
}

// -----

func.func @matmul_gelu_grad_c2(%x: tensor<2x4xbf16>, %y: tensor<5x3xbf16>, %t: tensor<2x3xbf16>) {
  // expected-error @+2 {{'train.matmul_gelu_grad' op inner dimensions do not match: 4 in 'tensor<2x4xbf16>' and 5 in 'tensor<5x3xbf16>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.matmul_gelu_grad %x, %y, %t : (tensor<2x4xbf16>, tensor<5x3xbf16>, tensor<2x3xbf16>) -> tensor<2x3xbf16>
  return
}

// -----

func.func @matmul_gelu_grad_c3(%x: tensor<2x4xbf16>, %y: tensor<4x3xbf16>, %t: tensor<2x3xf32>) {
  // expected-error @+2 {{'train.matmul_gelu_grad' op the factors 'tensor<2x4xbf16>' and 'tensor<4x3xbf16>' need an argument 'tensor<2x3xbf16>' of their type, but it is 'tensor<2x3xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %0 = train.matmul_gelu_grad %x, %y, %t : (tensor<2x4xbf16>, tensor<4x3xbf16>, tensor<2x3xf32>) -> tensor<2x3xbf16>
  return
}
