// The optimizer and the norm fill a GPU for any number of rows of the packed
// parameters: a block for each row, and 256 blocks for the sum over rows.

// DEFINE: %{rows} =
// DEFINE: %{check} = sed 's/ROWS/%{rows}/g' %s | mpc-opt --mpc-add-optimizer=clip-norm=1.0 --mpc-guard-states --mpc-lower-to-linalg --cse --mpc-split-reductions=device=cuda --mpc-fuse-kernels=device=cuda --mpc-verify-fusion --mpc-plan-memory=device=cuda --mpc-verify-plan | FileCheck %s -DROWS=%{rows}

// GPT-2 small: 247 is its largest divisor below 257.
// REDEFINE: %{rows} = 121524
// RUN: %{check}
// A prime number.
// REDEFINE: %{rows} = 121523
// RUN: %{check}
// ViT-B: 91 is the largest divisor.
// REDEFINE: %{rows} = 84539
// RUN: %{check}
// Two more prime numbers.
// REDEFINE: %{rows} = 65537
// RUN: %{check}
// REDEFINE: %{rows} = 1000003
// RUN: %{check}

// The loss reads all weights here, followed by the norm and AdamW.
// CHECK-DAG: exec.launch @[[LOSS:.*]] items [[ROWS]] grain 1 threads 64 [#exec.buffer<state + {{[0-9]+}} : tensor<[[ROWS]]x1024xf32>>, #exec.buffer<arena + {{[0-9]+}} : tensor<[[ROWS]]xf32>>]
// CHECK-DAG: exec.launch @[[REST:.*]] items {{2[45][0-9]}} grain 1 threads {{512|1024}} [#exec.buffer<arena + {{[0-9]+}} : tensor<[[ROWS]]xf32>>
// CHECK-DAG: exec.launch @[[NORM:.*]] items [[ROWS]] grain 1 threads 64 [#exec.buffer<arena + {{[0-9]+}} : tensor<[[ROWS]]x1024xf32>>, #exec.buffer<arena + {{[0-9]+}} : tensor<[[ROWS]]xf64>>]
// CHECK-DAG: exec.launch @{{.*}} items {{2[45][0-9]}} grain 1 threads {{512|1024}} [#exec.buffer<arena + {{[0-9]+}} : tensor<[[ROWS]]xf64>>
// CHECK:     exec.launch @[[ADAMW:.*]] items [[ROWS]] grain 1 threads 64 [#exec.buffer<arena + {{[0-9]+}} : tensor<[[ROWS]]x1024xf32>>,
// CHECK:     exec.launch @{{.*}} items {{2[45][0-9]}} grain 1 threads {{512|1024}} [#exec.buffer<arena + {{[0-9]+}} : tensor<[[ROWS]]xf32>>
// CHECK:     exec.launch @{{.*}} items 1 grain 1 threads
// CHECK-NOT: exec.launch
// CHECK:     func.func private @[[ADAMW]](
// CHECK:       math.sqrt
module attributes {mpc.precision = "bf16"} {
  train.state @w parameter : tensor<ROWSx1024xf32>
  func.func @train(%dw: tensor<ROWSx1024xf32>) -> (tensor<f32> {mpc.name = "loss"}, tensor<ROWSx1024xf32> {mpc.gradient_of = "w"}) attributes {train.entry = #train.entry<train>} {
    %w = train.read @w : tensor<ROWSx1024xf32>
    %0 = train.reduce_sum %w {axes = array<i64: 0, 1>} : (tensor<ROWSx1024xf32>) -> tensor<f32>
    return %0, %dw : tensor<f32>, tensor<ROWSx1024xf32>
  }
}
