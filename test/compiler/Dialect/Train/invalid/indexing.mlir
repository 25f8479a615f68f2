// RUN: mpc-opt %s --split-input-file --verify-diagnostics

func.func @flat_index_c1_count(%i: tensor<4x3xi64>) {
  // expected-error @+2 {{'train.flat_index' op must have an operand for each of its axes, but has 1 for 2}}
  // expected-error @+1 {{'train.flat_index' op failed to infer returned types}}
  %0 = train.flat_index %i {axes = array<i64: 0, 1>, extents = array<i64: 4, 5>} : (tensor<4x3xi64>) -> tensor<4x3xi64>
  return
}

// -----

func.func @flat_index_c1_none() {
  // expected-error @+2 {{'train.flat_index' op must have an operand for each of its axes, but has 0 for 0}}
  // expected-error @+1 {{'train.flat_index' op failed to infer returned types}}
  %0 = train.flat_index {axes = array<i64>, extents = array<i64>} : () -> tensor<i64>
  return
}

// -----

func.func @flat_index_c1_broadcast(%i: tensor<4x3xi64>, %j: tensor<4xi32>) {
  // expected-error @+2 {{'train.flat_index' op operands must broadcast, but one has shape [4]}}
  // expected-error @+1 {{'train.flat_index' op failed to infer returned types}}
  %0 = train.flat_index %i, %j {axes = array<i64: 0, 1>, extents = array<i64: 4, 5>} : (tensor<4x3xi64>, tensor<4xi32>) -> tensor<4x3xi64>
  return
}

// -----

func.func @flat_index_c2_range(%i: tensor<4x3xi64>) {
  // expected-error @+2 {{'train.flat_index' op 'axes' must be distinct, sorted and in [0, 2), but are [2]}}
  // expected-error @+1 {{'train.flat_index' op failed to infer returned types}}
  %0 = train.flat_index %i {axes = array<i64: 2>, extents = array<i64: 4, 5>} : (tensor<4x3xi64>) -> tensor<4x3xi64>
  return
}

// -----

func.func @flat_index_c2_order(%i: tensor<4x3xi64>) {
  // expected-error @+2 {{'train.flat_index' op 'axes' must be distinct, sorted and in [0, 2), but are [1, 0]}}
  // expected-error @+1 {{'train.flat_index' op failed to infer returned types}}
  %0 = train.flat_index %i, %i {axes = array<i64: 1, 0>, extents = array<i64: 4, 5>} : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64>
  return
}

// -----

func.func @flat_index_c2_distinct(%i: tensor<4x3xi64>) {
  // expected-error @+2 {{'train.flat_index' op 'axes' must be distinct, sorted and in [0, 2), but are [1, 1]}}
  // expected-error @+1 {{'train.flat_index' op failed to infer returned types}}
  %0 = train.flat_index %i, %i {axes = array<i64: 1, 1>, extents = array<i64: 4, 5>} : (tensor<4x3xi64>, tensor<4x3xi64>) -> tensor<4x3xi64>
  return
}

// -----

// Five positions are not whole rows of four.
func.func @flat_index_c3_extent(%i: tensor<5x3xi64>) {
  // expected-error @+2 {{'train.flat_index' op dimension 0 of 'extents' must be one of the result, which is no larger; the result has shape [5, 3]}}
  // expected-error @+1 {{'train.flat_index' op failed to infer returned types}}
  %0 = train.flat_index %i {axes = array<i64: 1>, extents = array<i64: 4, 5>} : (tensor<5x3xi64>) -> tensor<5x3xi64>
  return
}

// -----

func.func @flat_index_c3_rank(%i: tensor<4xi64>) {
  // expected-error @+2 {{'train.flat_index' op dimension 1 of 'extents' must be one of the result, which is no larger; the result has shape [4]}}
  // expected-error @+1 {{'train.flat_index' op failed to infer returned types}}
  %0 = train.flat_index %i {axes = array<i64: 0>, extents = array<i64: 4, 5>} : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @gather_c1(%t: tensor<i64>, %i: tensor<4xi64>) {
  // expected-error @+2 {{'train.gather' op the table must have rank 1 or more, but has rank 0}}
  // expected-error @+1 {{'train.gather' op failed to infer returned types}}
  %0 = train.gather %t, %i : (tensor<i64>, tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @gather_shape(%t: tensor<7x3xf32>, %i: tensor<4xi64>) {
  // expected-error @+2 {{'train.gather' op inferred type(s) 'tensor<4x3xf32>' are incompatible with return type(s) of operation 'tensor<4x2xf32>'}}
  // expected-error @+1 {{'train.gather' op failed to infer returned types}}
  %0 = train.gather %t, %i : (tensor<7x3xf32>, tensor<4xi64>) -> tensor<4x2xf32>
  return
}

// -----

func.func @scatter_reduce_c1(%x: tensor<7x2xf32>, %i: tensor<3xi64>, %u: tensor<4x2xf32>) {
  // expected-error @+2 {{'train.scatter_reduce' op 'indices' must be flat and 'updates' have a row of 'init' for each, but the shapes are [3], [4, 2] and [7, 2]}}
  // expected-error @+1 {{'train.scatter_reduce' op failed to infer returned types}}
  %0 = train.scatter_reduce %x, %i, %u {kind = #train<integer_operation max>} : (tensor<7x2xf32>, tensor<3xi64>, tensor<4x2xf32>) -> tensor<7x2xf32>
  return
}

// -----

func.func @scatter_reduce_c2(%x: tensor<7xf32>, %i: tensor<3xi64>, %u: tensor<3xi64>) {
  // expected-error @+2 {{'train.scatter_reduce' op 'init' and 'updates' must have one element type, but have 'f32' and 'i64'}}
  // expected-error @+1 {{'train.scatter_reduce' op failed to infer returned types}}
  %0 = train.scatter_reduce %x, %i, %u {kind = #train<integer_operation max>} : (tensor<7xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<7xf32>
  return
}

// -----

func.func @scatter_reduce_c3(%x: tensor<7xf32>, %i: tensor<3xi64>, %u: tensor<3xf32>) {
  // expected-error @+2 {{'train.scatter_reduce' op 'kind' must be add, mul, max or min, but is sub}}
  // expected-error @+1 {{'train.scatter_reduce' op failed to infer returned types}}
  %0 = train.scatter_reduce %x, %i, %u {kind = #train<integer_operation sub>} : (tensor<7xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @scatter_reduce_c4(%x: tensor<7xf32>, %i: tensor<4xi64>, %u: tensor<4xf32>) {
  // expected-error @+2 {{'train.scatter_reduce' op 'groups' and 'lanes', 1 and 2, must divide 7 rows and 4 indices}}
  // expected-error @+1 {{'train.scatter_reduce' op failed to infer returned types}}
  %0 = train.scatter_reduce %x, %i, %u {kind = #train<integer_operation add>, lanes = 2 : i64} : (tensor<7xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<7xf32>
  return
}

// -----

func.func @last_index_c1(%i: tensor<4x3xi64>) {
  // expected-error @+2 {{'train.last_index' op 'indices' must have rank 1, but has shape [4, 3]}}
  // expected-error @+1 {{'train.last_index' op failed to infer returned types}}
  %0 = train.last_index %i {rows = 7 : i64} : (tensor<4x3xi64>) -> tensor<7xi64>
  return
}

// -----

func.func @last_index_c2(%i: tensor<4xi64>) {
  // expected-error @+2 {{'train.last_index' op 'rows' must be at least 1, but is 0}}
  // expected-error @+1 {{'train.last_index' op failed to infer returned types}}
  %0 = train.last_index %i {rows = 0 : i64} : (tensor<4xi64>) -> tensor<1xi64>
  return
}

// -----

func.func @last_index_c3(%i: tensor<4xi64>) {
  // expected-error @+2 {{'train.last_index' op 'groups' and 'lanes', 3 and 1, must divide 6 rows and 4 indices}}
  // expected-error @+1 {{'train.last_index' op failed to infer returned types}}
  %0 = train.last_index %i {rows = 6 : i64, groups = 3 : i64} : (tensor<4xi64>) -> tensor<6xi64>
  return
}

// -----

func.func @resample_c1(%x: tensor<4x5xf32>) {
  %places = train.constant dense<0> : tensor<2x1xi64> : tensor<2x1xi64>
  // expected-error @+2 {{'train.resample' op 'axis' must lie in [0, 2), but is 2}}
  // expected-error @+1 {{'train.resample' op failed to infer returned types}}
  %0 = train.resample %x, %places {axis = 2 : i64} : (tensor<4x5xf32>, tensor<2x1xi64>) -> tensor<4x5xf32>
  return
}

// -----

func.func @resample_c2_rank(%x: tensor<4x5xf32>) {
  %places = train.constant dense<0> : tensor<2xi64> : tensor<2xi64>
  // expected-error @+2 {{'train.resample' op 'places' must have rank 2, but has shape [2]}}
  // expected-error @+1 {{'train.resample' op failed to infer returned types}}
  %0 = train.resample %x, %places {axis = 0 : i64} : (tensor<4x5xf32>, tensor<2xi64>) -> tensor<2x5xf32>
  return
}

// -----

func.func @resample_c2_constant(%x: tensor<4x5xf32>, %places: tensor<2x1xi64>) {
  // expected-error @+1 {{'train.resample' op 'places' must be a constant}}
  %0 = train.resample %x, %places {axis = 0 : i64} : (tensor<4x5xf32>, tensor<2x1xi64>) -> tensor<2x5xf32>
  return
}

// -----

func.func @resample_c2_below(%x: tensor<4x5xf32>) {
  %places = train.constant dense<[[-1], [-2]]> : tensor<2x1xi64> : tensor<2x1xi64>
  // expected-error @+1 {{'train.resample' op places must lie in [-1, 4), but one is -2}}
  %0 = train.resample %x, %places {axis = 0 : i64} : (tensor<4x5xf32>, tensor<2x1xi64>) -> tensor<2x5xf32>
  return
}

// -----

func.func @resample_c2_beyond(%x: tensor<4x5xf32>) {
  %places = train.constant dense<[[3], [4]]> : tensor<2x1xi64> : tensor<2x1xi64>
  // expected-error @+1 {{'train.resample' op places must lie in [-1, 4), but one is 4}}
  %0 = train.resample %x, %places {axis = 0 : i64} : (tensor<4x5xf32>, tensor<2x1xi64>) -> tensor<2x5xf32>
  return
}

// -----

func.func @resample_c3_shape(%x: tensor<4x5xf32>) {
  %places = train.constant dense<0> : tensor<2x3xi64> : tensor<2x3xi64>
  %weights = train.constant dense<0.5> : tensor<2x1xf32> : tensor<2x1xf32>
  // expected-error @+2 {{'train.resample' op 'weights' must have the shape of 'places', [2, 3], but has [2, 1]}}
  // expected-error @+1 {{'train.resample' op failed to infer returned types}}
  %0 = train.resample %x, %places, %weights {axis = 0 : i64} : (tensor<4x5xf32>, tensor<2x3xi64>, tensor<2x1xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @resample_c3_constant(%x: tensor<4x5xf32>, %weights: tensor<2x1xf32>) {
  %places = train.constant dense<0> : tensor<2x1xi64> : tensor<2x1xi64>
  // expected-error @+1 {{'train.resample' op 'weights' must be a constant}}
  %0 = train.resample %x, %places, %weights {axis = 0 : i64} : (tensor<4x5xf32>, tensor<2x1xi64>, tensor<2x1xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @resample_c3_sum(%x: tensor<4x5xi64>) {
  %places = train.constant dense<0> : tensor<2x3xi64> : tensor<2x3xi64>
  // expected-error @+1 {{'train.resample' op only floats can be added up, but the elements are 'i64'}}
  %0 = train.resample %x, %places {axis = 0 : i64} : (tensor<4x5xi64>, tensor<2x3xi64>) -> tensor<2x5xi64>
  return
}

// -----

func.func @resample_c3_weights(%x: tensor<4x5xi1>) {
  %places = train.constant dense<0> : tensor<2x1xi64> : tensor<2x1xi64>
  %weights = train.constant dense<0.5> : tensor<2x1xf32> : tensor<2x1xf32>
  // expected-error @+1 {{'train.resample' op only floats can be added up, but the elements are 'i1'}}
  %0 = train.resample %x, %places, %weights {axis = 0 : i64} : (tensor<4x5xi1>, tensor<2x1xi64>, tensor<2x1xf32>) -> tensor<2x5xi1>
  return
}

// -----

func.func @cumsum_c1(%x: tensor<4x5xf32>) {
  // expected-error @+2 {{'train.cumsum' op 'axis' must lie in [0, 2), but is -1}}
  // expected-error @+1 {{'train.cumsum' op failed to infer returned types}}
  %0 = train.cumsum %x {axis = -1 : i64} : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @arg_extreme_c1(%x: tensor<f32>) {
  // expected-error @+2 {{'train.arg_extreme' op 'axis' must lie in [0, 0), but is 0}}
  // expected-error @+1 {{'train.arg_extreme' op failed to infer returned types}}
  %0 = train.arg_extreme %x {axis = 0 : i64} : (tensor<f32>) -> tensor<i64>
  return
}

// -----

func.func @top_indices_c1(%x: tensor<4x5xf32>) {
  // expected-error @+2 {{'train.top_indices' op 'axis' must lie in [0, 2), but is 2}}
  // expected-error @+1 {{'train.top_indices' op failed to infer returned types}}
  %0 = train.top_indices %x {axis = 2 : i64, k = 1 : i64} : (tensor<4x5xf32>) -> tensor<4x5xi64>
  return
}

// -----

func.func @top_indices_c2_none(%x: tensor<4x5xf32>) {
  // expected-error @+2 {{'train.top_indices' op 'k' must lie in [1, 5], but is 0}}
  // expected-error @+1 {{'train.top_indices' op failed to infer returned types}}
  %0 = train.top_indices %x {axis = 1 : i64, k = 0 : i64} : (tensor<4x5xf32>) -> tensor<4x1xi64>
  return
}

// -----

func.func @top_indices_c2_beyond(%x: tensor<4x5xf32>) {
  // expected-error @+2 {{'train.top_indices' op 'k' must lie in [1, 5], but is 6}}
  // expected-error @+1 {{'train.top_indices' op failed to infer returned types}}
  %0 = train.top_indices %x {axis = 1 : i64, k = 6 : i64} : (tensor<4x5xf32>) -> tensor<4x6xi64>
  return
}

// -----

func.func @cumsum_empty(%x: tensor<4x0xf32>) {
  // expected-error@+2 {{'train.cumsum' op dimension 1 must have elements, but has extent 0}}
  // expected-error@+1 {{'train.cumsum' op failed to infer returned types}}
  %0 = train.cumsum %x {axis = 1 : i64} : (tensor<4x0xf32>) -> tensor<4x0xf32>
  return
}
