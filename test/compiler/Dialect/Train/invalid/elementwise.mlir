// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @binary_c1(%x: tensor<4x3xf32>, %y: tensor<2xf32>) {
  // expected-error @+2 {{'train.add' op shapes must broadcast, but are 'tensor<4x3xf32>' and 'tensor<2xf32>'}}
  // expected-error @+1 {{'train.add' op failed to infer returned types}}
  %0 = train.add %x, %y : (tensor<4x3xf32>, tensor<2xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @unary_grad_c1(%x: tensor<4x3xf32>, %y: tensor<4xf32>) {
  // expected-error @+2 {{'train.gelu_grad' op operands must have one shape, but are 'tensor<4x3xf32>' and 'tensor<4xf32>'}}
  // expected-error @+1 {{'train.gelu_grad' op failed to infer returned types}}
  %0 = train.gelu_grad %x, %y : (tensor<4x3xf32>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @result_shape(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{'train.relu' op inferred type(s) 'tensor<4x3xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @+1 {{'train.relu' op failed to infer returned types}}
  %0 = train.relu %x : (tensor<4x3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @cast_c1(%x: tensor<4xf32>) {
  // expected-error @+2 {{'train.cast' op 'to' must be an element type, but is 'none'}}
  // expected-error @+1 {{'train.cast' op failed to infer returned types}}
  %0 = train.cast %x {to = none} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @cast_c1_result(%x: tensor<4xf32>) {
  // expected-error @+2 {{'train.cast' op inferred type(s) 'tensor<4xi64>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @+1 {{'train.cast' op failed to infer returned types}}
  %0 = train.cast %x {to = i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @round_to_c1(%x: tensor<4xf32>) {
  // expected-error @+1 {{'train.round_to' op 'to' must be f16 or bf16, but is 'f32'}}
  %0 = train.round_to %x {to = f32} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @stop_gradient_c1(%x: tensor<4xf32>) {
  // expected-error @+2 {{'train.stop_gradient' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<3xf32>'}}
  // expected-error @+1 {{'train.stop_gradient' op failed to infer returned types}}
  %0 = train.stop_gradient %x : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @select_c1(%c: tensor<3xi1>, %x: tensor<4xf32>) {
  // expected-error @+2 {{'train.select' op shapes must broadcast, but are 'tensor<3xi1>' and 'tensor<4xf32>' and 'tensor<4xf32>'}}
  // expected-error @+1 {{'train.select' op failed to infer returned types}}
  %0 = train.select %c, %x, %x : (tensor<3xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_c2(%c: tensor<i1>, %x: tensor<4xf32>, %y: tensor<4xi64>) {
  // expected-error @+2 {{'train.select' op must select between elements of one type, but they are 'f32' and 'i64'}}
  // expected-error @+1 {{'train.select' op failed to infer returned types}}
  %0 = train.select %c, %x, %y : (tensor<i1>, tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @compare_c1(%x: tensor<4x3xf32>, %y: tensor<2xf32>) {
  // expected-error @+2 {{'train.compare' op shapes must broadcast, but are 'tensor<4x3xf32>' and 'tensor<2xf32>'}}
  // expected-error @+1 {{'train.compare' op failed to infer returned types}}
  %0 = train.compare %x, %y {comparison = #train<comparison less>} : (tensor<4x3xf32>, tensor<2xf32>) -> tensor<4x3xi1>
  return
}

// -----

func.func @compare_c2(%x: tensor<4xf32>, %y: tensor<4xi64>) {
  // expected-error @+1 {{'train.compare' op must compare elements of one type, but they are 'f32' and 'i64'}}
  %0 = train.compare %x, %y {comparison = #train<comparison less>} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xi1>
  return
}

// -----

func.func @compare_c3(%x: tensor<4xi1>) {
  // expected-error @+1 {{'train.compare' op must compare bools for equality only}}
  %0 = train.compare %x, %x {comparison = #train<comparison less>} : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @function_grad_c1(%x: tensor<4xf32>) {
  // expected-error @+1 {{'train.function_grad' op 'function' must be the name of a function with a derivative, but is 'gelu'}}
  %0 = train.function_grad %x, %x {function = "gelu", parameters = array<f64>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @function_grad_c1_zero(%x: tensor<4xf32>) {
  // expected-error @+1 {{'train.function_grad' op 'function' must be the name of a function with a derivative, but is 'floor'}}
  %0 = train.function_grad %x, %x {function = "floor", parameters = array<f64>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @function_grad_c2(%x: tensor<4xf32>) {
  // expected-error @+1 {{'train.function_grad' op 'train.elu' has 3 parameters, but 'parameters' has 1}}
  %0 = train.function_grad %x, %x {function = "elu", parameters = array<f64: 1.0>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @function_grad_c3(%x: tensor<4x3xf32>, %y: tensor<4xf32>) {
  // expected-error @+2 {{'train.function_grad' op operands must have one shape, but are 'tensor<4x3xf32>' and 'tensor<4xf32>'}}
  // expected-error @+1 {{'train.function_grad' op failed to infer returned types}}
  %0 = train.function_grad %x, %y {function = "exp", parameters = array<f64>} : (tensor<4x3xf32>, tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @gradient_order(%x: tensor<4xf32>) {
  // expected-error @+1 {{'train.gelu_grad' op attribute 'order' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 1 whose maximum value is 4}}
  %0 = train.gelu_grad %x, %x {order = 5 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
