// RUN: mpc-opt %s --mpc-verify-fusion --split-input-file --verify-diagnostics

// The output of the stage is accepted: kernels and their calls, catalog kernels,
// views, access to states.
#id = affine_map<(d0) -> (d0)>
train.state @w parameter : tensor<8xf32>
func.func @good(%x: tensor<2x4xf32>) -> tensor<2x2xf32> {
  %w = train.read @w : tensor<8xf32>
  %0 = tensor.collapse_shape %x [[0, 1]] : tensor<2x4xf32> into tensor<8xf32>
  %1 = call @kernel_0(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = train.unpack %w {offset = 0 : i64} : (tensor<8xf32>) -> tensor<2x4xf32>
  %3 = tensor.expand_shape %1 [[0, 1]] output_shape [4, 2] : tensor<8xf32> into tensor<4x2xf32>
  %4 = train.matmul %2, %3 : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  %5 = train.pack %4, %4 {offsets = array<i64: 0, 4>} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<8xf32>
  train.write @w, %5 : tensor<8xf32>
  return %4 : tensor<2x2xf32>
}
func.func private @kernel_0(%x: tensor<8xf32>) -> tensor<8xf32> attributes {mpc.kernel} {
  %empty = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @constant() -> tensor<8xf32> {
  // expected-error @+2 {{a constant must be inside a kernel}}
  // expected-note @+1 {{expected mpc-lower-to-linalg to prevent this}}
  %0 = arith.constant dense<0.0> : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @outside(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{'tensor.empty' must be inside a kernel}}
  // expected-note @+1 {{expected mpc-fuse-kernels to prevent this}}
  %empty = tensor.empty() : tensor<8xf32>
  // expected-error @+2 {{'linalg.generic' must be inside a kernel}}
  // expected-note @+1 {{expected mpc-fuse-kernels to prevent this}}
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%empty : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @not_lowered(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{'train.relu' is neither a kernel nor access to memory}}
  // expected-note @+1 {{expected mpc-lower-to-linalg to prevent this}}
  %0 = train.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

func.func @stranger(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+2 {{calls 'same', which is not a kernel}}
  // expected-note @+1 {{expected mpc-fuse-kernels to prevent this}}
  %0 = call @same(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @same(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

func.func private @kernel_0(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) -> tensor<4x2xf32> attributes {mpc.kernel} {
  // expected-error @+2 {{'train.matmul' cannot be part of a kernel}}
  // expected-note @+1 {{expected mpc-fuse-kernels to prevent this}}
  %0 = train.matmul %a, %b : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
// expected-error @+2 {{the ops of 'kernel_0' have no common domain: walks another number of elements}}
// expected-note @+1 {{expected mpc-fuse-kernels to prevent this}}
func.func private @kernel_0(%x: tensor<8xf32>, %y: tensor<9xf32>) -> (tensor<8xf32>, tensor<9xf32>) attributes {mpc.kernel} {
  %e8 = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e8 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8xf32>
  %e9 = tensor.empty() : tensor<9xf32>
  %1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%y : tensor<9xf32>) outs(%e9 : tensor<9xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<9xf32>
  return %0, %1 : tensor<8xf32>, tensor<9xf32>
}
