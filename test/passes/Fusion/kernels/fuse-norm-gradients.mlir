// RUN: mpc-opt %s --mpc-lower-to-linalg --cse --mpc-split-reductions=device=cuda --mpc-fuse-kernels=device=cuda --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-lower-to-linalg --cse --mpc-split-reductions --mpc-fuse-kernels --split-input-file | FileCheck %s --check-prefix=CPU

// The gradients of a norm's input (%dx), of its parameters (%scale, %shift), and of
// the bias in front of it (%bias, the sum of what is computed here) take one walk.
// On a GPU that takes many blocks, because only a few threads of a block share a row.
// CHECK-LABEL: func.func @norm
// CHECK-NEXT:    %[[R:.*]]:4 = call @kernel_0{{.*}} -> (tensor<32768x768xf32>, tensor<1024x768xf32>, tensor<1024x768xf32>, tensor<1024x768xf32>)
// CHECK-NEXT:    %[[SUMS:.*]]:3 = call @kernel_1{{.*}} -> (tensor<768xf32>, tensor<768xf32>, tensor<768xf32>)
// CHECK-NEXT:    return
// CPU-LABEL: func.func @norm
// CPU-NEXT:    call @kernel_1{{.*}} -> (tensor<32768x768xf32>, tensor<64x768xf32>, tensor<64x768xf32>, tensor<64x768xf32>)
func.func @norm(%dy: tensor<32768x768xf32>, %x: tensor<32768x768xf32>, %dz: tensor<32768x768xf32>, %s: tensor<768xf32>) -> (tensor<32768x768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>) {
  %0 = train.mul %dy, %s : (tensor<32768x768xf32>, tensor<768xf32>) -> tensor<32768x768xf32>
  %1 = train.reduce_sum %0 {axes = array<i64: 1>, keepdims} : (tensor<32768x768xf32>) -> tensor<32768x1xf32>
  %2 = train.sub %0, %1 : (tensor<32768x768xf32>, tensor<32768x1xf32>) -> tensor<32768x768xf32>
  %dx = train.add %2, %dz : (tensor<32768x768xf32>, tensor<32768x768xf32>) -> tensor<32768x768xf32>
  %3 = train.mul %dy, %x : (tensor<32768x768xf32>, tensor<32768x768xf32>) -> tensor<32768x768xf32>
  %scale = train.reduce_sum %3 {axes = array<i64: 0>} : (tensor<32768x768xf32>) -> tensor<768xf32>
  %shift = train.reduce_sum %dy {axes = array<i64: 0>} : (tensor<32768x768xf32>) -> tensor<768xf32>
  %bias = train.reduce_sum %dx {axes = array<i64: 0>} : (tensor<32768x768xf32>) -> tensor<768xf32>
  return %dx, %scale, %shift, %bias : tensor<32768x768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<768xf32>
}

// -----

// Without sums along the rows, fewer blocks have less to add up.
// CHECK-LABEL: func.func @bias
// CHECK:         call @kernel_0{{.*}} -> tensor<256x768xf32>
// CPU-LABEL: func.func @bias
func.func @bias(%dy: tensor<32768x768xf32>) -> tensor<768xf32> {
  %0 = train.reduce_sum %dy {axes = array<i64: 0>} : (tensor<32768x768xf32>) -> tensor<768xf32>
  return %0 : tensor<768xf32>
}

// -----

// Too few rows for more blocks: the sums stay apart.
// CHECK-LABEL: func.func @few
// CHECK:         call @kernel_0{{.*}} -> tensor<4096x768xf32>
// CHECK:         call @kernel_1{{.*}} -> tensor<256x768xf32>
// CPU-LABEL: func.func @few
func.func @few(%dy: tensor<4096x768xf32>, %s: tensor<768xf32>) -> (tensor<4096x768xf32>, tensor<768xf32>) {
  %0 = train.mul %dy, %s : (tensor<4096x768xf32>, tensor<768xf32>) -> tensor<4096x768xf32>
  %1 = train.reduce_sum %0 {axes = array<i64: 1>, keepdims} : (tensor<4096x768xf32>) -> tensor<4096x1xf32>
  %2 = train.sub %0, %1 : (tensor<4096x768xf32>, tensor<4096x1xf32>) -> tensor<4096x768xf32>
  %3 = train.reduce_sum %dy {axes = array<i64: 0>} : (tensor<4096x768xf32>) -> tensor<768xf32>
  return %2, %3 : tensor<4096x768xf32>, tensor<768xf32>
}

// -----

// Sums along rows of another length, here of heads, cannot share the walk.
// CHECK-LABEL: func.func @heads
// CHECK:         -> tensor<256x768xf32>
// CPU-LABEL: func.func @heads
func.func @heads(%dy: tensor<32768x768xf32>) -> (tensor<32768x12xf32>, tensor<768xf32>) {
  %0 = train.reshape %dy : (tensor<32768x768xf32>) -> tensor<32768x12x64xf32>
  %1 = train.reduce_sum %0 {axes = array<i64: 2>} : (tensor<32768x12x64xf32>) -> tensor<32768x12xf32>
  %2 = train.reduce_sum %dy {axes = array<i64: 0>} : (tensor<32768x768xf32>) -> tensor<768xf32>
  return %1, %2 : tensor<32768x12xf32>, tensor<768xf32>
}
