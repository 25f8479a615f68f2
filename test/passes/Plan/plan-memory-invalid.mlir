// RUN: mpc-opt %s --mpc-plan-memory --split-input-file --verify-diagnostics

func.func @left_over(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{internal error in mpc-plan-memory: is not an instruction; expected mpc-fuse-kernels to take it}}
  %0 = train.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
