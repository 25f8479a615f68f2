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
