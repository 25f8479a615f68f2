// RUN: mpc-opt %s --mpc-emit-kernels --split-input-file --verify-diagnostics

#id8 = affine_map<(d0) -> (d0)>
// expected-error @+1 {{internal error in mpc-emit-kernels: the ops of 'strangers' have no common domain: walks another number of elements}}
func.func private @strangers(%x: tensor<8xf32>, %y: tensor<9xf32>) -> (tensor<8xf32>, tensor<9xf32>) attributes {mpc.kernel} {
  %e8 = tensor.empty() : tensor<8xf32>
  %0 = linalg.generic {indexing_maps = [#id8, #id8], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%e8 : tensor<8xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<8xf32>
  %e9 = tensor.empty() : tensor<9xf32>
  %1 = linalg.generic {indexing_maps = [#id8, #id8], iterator_types = ["parallel"]}
      ins(%y : tensor<9xf32>) outs(%e9 : tensor<9xf32>) {
  ^bb0(%in: f32, %out: f32):
    linalg.yield %in : f32
  } -> tensor<9xf32>
  return %0, %1 : tensor<8xf32>, tensor<9xf32>
}

// -----

// The second sum of a row walks it again, after the store to what it reads.
#full = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
// expected-error @+1 {{internal error in mpc-emit-kernels: result 0 of 'walksTwice' takes the place of operand 0, but the code reads its elements after writing there}}
func.func private @walksTwice(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>) attributes {mpc.kernel} {
  %e = tensor.empty() : tensor<4x8xf32>
  %kept = linalg.generic {indexing_maps = [#full, #full], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.negf %in : f32
    linalg.yield %n : f32
  } -> tensor<4x8xf32>
  %zero = arith.constant 0.0 : f32
  %r = tensor.empty() : tensor<4xf32>
  %z = linalg.fill ins(%zero : f32) outs(%r : tensor<4xf32>) -> tensor<4xf32>
  %first = linalg.generic {indexing_maps = [#full, #row], iterator_types = ["parallel", "reduction"]}
      ins(%kept : tensor<4x8xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%in: f32, %out: f32):
    %s = arith.addf %out, %in : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  %second = linalg.generic {indexing_maps = [#full, #row, #row], iterator_types = ["parallel", "reduction"]}
      ins(%kept, %first : tensor<4x8xf32>, tensor<4xf32>) outs(%z : tensor<4xf32>) {
  ^bb0(%in: f32, %sum: f32, %out: f32):
    %p = arith.mulf %in, %sum : f32
    %s = arith.addf %out, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %kept, %second : tensor<4x8xf32>, tensor<4xf32>
}
exec.entry @step inputs = [] outputs = [] {
  exec.launch @walksTwice items 4 grain 1 [#exec.buffer<arena + 0 : tensor<4x8xf32>>, #exec.buffer<arena + 0 : tensor<4x8xf32>>, #exec.buffer<arena + 128 : tensor<4xf32>>]
}
