// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @observe_c1(%x: tensor<4xf32>) {
  // expected-error @+1 {{'train.observe' op result must be tensor<80xf64>, but is 'tensor<8xf64>'}}
  %row = train.observe %x : (tensor<4xf32>) -> tensor<8xf64>
  return
}

// -----

func.func @observe_integers(%x: tensor<4xi64>) {
  // expected-error @+1 {{'train.observe' op operand #0 must be statically shaped tensor of}}
  %row = train.observe %x : (tensor<4xi64>) -> tensor<80xf64>
  return
}

// -----

func.func @rounding_c1(%x: tensor<4xf32>, %g: tensor<3xf32>) {
  // expected-error @+1 {{'train.rounding' op operands must have one shape, but are 'tensor<4xf32>' and 'tensor<3xf32>'}}
  %sums = train.rounding %x, %g : (tensor<4xf32>, tensor<3xf32>) -> tensor<8xf64>
  return
}

// -----

func.func @rounding_c2(%x: tensor<4xf32>) {
  // expected-error @+1 {{'train.rounding' op result must be tensor<8xf64>, but is 'tensor<3xf64>'}}
  %sums = train.rounding %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<3xf64>
  return
}

// -----

func.func @inject_type(%x: tensor<4xf32>, %place: tensor<i32>, %fault: tensor<f32>) {
  // expected-error @+1 {{'train.inject' op failed to verify that all of {input, result} have same type}}
  %y = "train.inject"(%x, %place, %fault) {index = 0 : i64} : (tensor<4xf32>, tensor<i32>, tensor<f32>) -> tensor<4xbf16>
  return
}
