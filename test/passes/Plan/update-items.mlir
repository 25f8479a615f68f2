// RUN: mpc-opt %s --mpc-add-optimizer="clip-norm=1.0 data-parallel" --mpc-guard-states --mpc-lower-to-linalg --cse --mpc-split-reductions --mpc-fuse-kernels --mpc-verify-fusion --mpc-plan-memory --mpc-verify-plan | FileCheck %s
// RUN: mpc-opt %s --mpc-add-optimizer="clip-norm=1.0 data-parallel" --mpc-guard-states --mpc-lower-to-linalg --cse --mpc-split-reductions=device=cuda --mpc-fuse-kernels=device=cuda --mpc-plan-memory=device=cuda | FileCheck %s --check-prefix=CUDA

// Ranks can share the update and the sums of rows for the norm: item i has elements
// [1024 i, 1024 (i + 1)) of weights, gradients and moments, and a sum or a flag of its own.
// All items read the rate. What combines the rows is for all of them.
// CHECK-LABEL: exec.entry @accumulate
// CHECK-NOT:     item_elements
// CHECK-LABEL: exec.entry @apply
// CHECK:         exec.launch @{{.*}} items 8192 {{.*}} tensor<8192x1024xf32>>, #exec.buffer<arena + {{[0-9]+}} : tensor<8192xf64>>] {item_elements = array<i64: 1024, 1>, {{.*}}results = 1 : i64
// CHECK:         exec.launch @{{.*}} items 1 {{.*}} tensor<8192xf64>>
// CHECK-NOT:     item_elements
// CHECK:         exec.launch @{{.*}} items 8192
// CHECK-SAME:    {item_elements = array<i64: 1024, 0, 1024, 1024, 1024, 0, 0, 0, 0, 1024, 1024, 1024, 1>, {{.*}}results = 4 : i64
// CHECK:         exec.launch @{{.*}} items 1 {{.*}} tensor<8192xf32>>

// Blocks of a GPU are not such items.
// CUDA-NOT: item_elements
module attributes {mpc.precision = "fp32"} {
  train.state @w parameter : tensor<8192x1024xf32>
  func.func @train() -> (tensor<f32> {mpc.name = "loss"}, tensor<8192x1024xf32> {mpc.gradient_of = "w"}) attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<8192x1024xf32>
    %0 = train.reduce_sum %w {axes = array<i64: 0, 1>} : (tensor<8192x1024xf32>) -> tensor<f32>
    %one = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
    %dw = train.broadcast_to %one : (tensor<f32>) -> tensor<8192x1024xf32>
    return %0, %dw : tensor<f32>, tensor<8192x1024xf32>
  }
}
