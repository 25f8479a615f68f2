// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @integer_c1(%i: tensor<4x3xi64>, %j: tensor<2xi64>) {
  // expected-error @+2 {{'train.integer' op shapes must broadcast, but are [4, 3] and [2]}}
  // expected-error @+1 {{'train.integer' op failed to infer returned types}}
  %0 = train.integer %i, %j {kind = #train<integer_operation add>} : (tensor<4x3xi64>, tensor<2xi64>) -> tensor<4x3xi64>
  return
}

// -----

func.func @integer_c2(%i: tensor<4xi64>, %j: tensor<4xi32>) {
  // expected-error @+2 {{'train.integer' op operands must have one element type, but have 'i64' and 'i32'}}
  // expected-error @+1 {{'train.integer' op failed to infer returned types}}
  %0 = train.integer %i, %j {kind = #train<integer_operation div>} : (tensor<4xi64>, tensor<4xi32>) -> tensor<4xi64>
  return
}

// -----

func.func @integer_floats(%x: tensor<4xf32>) {
  // expected-error @+1 {{'train.integer' op operand #0 must be statically shaped tensor of 32-bit signless integer or 64-bit signless integer values, but got 'tensor<4xf32>'}}
  %0 = train.integer %x, %x {kind = #train<integer_operation add>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi64>
  return
}

// -----

func.func @reduce_by_c1_order(%i: tensor<4x3xi64>) {
  // expected-error @+2 {{'train.reduce_by' op 'axes' must be distinct, sorted and in [0, 2), but are [1, 0]}}
  // expected-error @+1 {{'train.reduce_by' op failed to infer returned types}}
  %0 = train.reduce_by %i {axes = array<i64: 1, 0>, kind = #train<integer_operation add>} : (tensor<4x3xi64>) -> tensor<i64>
  return
}

// -----

func.func @reduce_by_c1_range(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{'train.reduce_by' op 'axes' must be distinct, sorted and in [0, 2), but are [-1]}}
  // expected-error @+1 {{'train.reduce_by' op failed to infer returned types}}
  %0 = train.reduce_by %x {axes = array<i64: -1>, kind = #train<integer_operation mul>} : (tensor<4x3xf32>) -> tensor<4xf32>
  return
}

// -----

// Sums of floats are reduce_sum.
func.func @reduce_by_c2_floats(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{'train.reduce_by' op 'kind' cannot be add for elements of 'f32'}}
  // expected-error @+1 {{'train.reduce_by' op failed to infer returned types}}
  %0 = train.reduce_by %x {axes = array<i64: 1>, kind = #train<integer_operation add>} : (tensor<4x3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @reduce_by_c2_kind(%i: tensor<4x3xi32>) {
  // expected-error @+2 {{'train.reduce_by' op 'kind' cannot be sub for elements of 'i32'}}
  // expected-error @+1 {{'train.reduce_by' op failed to infer returned types}}
  %0 = train.reduce_by %i {axes = array<i64: 1>, kind = #train<integer_operation sub>} : (tensor<4x3xi32>) -> tensor<4xi32>
  return
}

// -----

func.func @product_of_others_c1_range(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{'train.product_of_others' op 'axes' must be distinct, sorted and in [0, 2), but are [0, 2]}}
  // expected-error @+1 {{'train.product_of_others' op failed to infer returned types}}
  %0 = train.product_of_others %x {axes = array<i64: 0, 2>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @product_of_others_c1_distinct(%x: tensor<4x3xf32>) {
  // expected-error @+2 {{'train.product_of_others' op 'axes' must be distinct, sorted and in [0, 2), but are [1, 1]}}
  // expected-error @+1 {{'train.product_of_others' op failed to infer returned types}}
  %0 = train.product_of_others %x {axes = array<i64: 1, 1>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}
