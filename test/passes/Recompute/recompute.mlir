// RUN: mpc-opt %s --mpc-recompute=recompute=selective --mpc-verify-recompute --cse | FileCheck %s
// RUN: mpc-opt %s --mpc-recompute=recompute=full --mpc-verify-recompute --cse | FileCheck %s --check-prefix=FULL
// RUN: mpc-opt %s --mpc-recompute=recompute=none | FileCheck %s --check-prefix=NONE
// RUN: mpc-opt %s --mpc-recompute=memory-budget=100%% | FileCheck %s --check-prefix=NONE
// RUN: mpc-opt %s --mpc-recompute=memory-budget=5kB --mpc-verify-recompute | FileCheck %s --check-prefix=FULL
// RUN: mpc-opt %s --mpc-recompute=memory-budget=0.7 --mpc-verify-recompute | FileCheck %s
// RUN: mpc-opt %s --mpc-recompute=memory-budget=9000 --mpc-verify-recompute | FileCheck %s --check-prefix=PART
// RUN: not mpc-opt %s --mpc-recompute=memory-budget=10B 2>&1 | FileCheck %s --check-prefix=LEAST
// RUN: not mpc-opt %s --mpc-recompute=memory-budget=many 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not mpc-opt %s --mpc-recompute=memory-budget=0%% 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not mpc-opt %s --mpc-recompute=memory-budget=120%% 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not mpc-opt %s --mpc-recompute=memory-budget=1e30GB 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: not mpc-opt %s --mpc-recompute="recompute=full memory-budget=50%%" 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: not mpc-opt %s --mpc-recompute=recompute=some 2>&1 | FileCheck %s --check-prefix=MODE

// Two products and gelus before the last product. Of what they make 10 kB are
// kept: the products for the gradients of gelu, the results of gelu for those of
// the weights, and the output.

// Recomputed ops read through rematerialisation barriers, so that CSE does not merge them.
// CHECK:       mpc.notes = ["recomputation: 'step' saves 6.1 kB for the backward pass instead of 10.2 kB; recomputes 2 ops, 13.0 % more FLOP"]
// What is kept op by op, after and before: of the five tensors all behind the
// forward pass, each up to the last that reads it.
// CHECK-SAME:  mpc.recompute_report = "[{\22after\22:{\22kept_bytes\22:[0,0,2048,2048,4096,4096,6144,6144,6144,4096,4096,6144,6144,4096,2048,2048,4096,4096,2048,0,0],\22kept_stride\22:1,\22ops\22:21},
// CHECK-SAME:  \22before\22:{\22kept_bytes\22:[0,0,2048,4096,6144,8192,10240,10240,10240,8192,8192,6144,4096,4096,2048,0,0],\22kept_stride\22:1,\22ops\22:17},
// CHECK-SAME:  \22flops\22:14336,\22flops_16bit\22:0,\22forward_ops\22:8,\22function\22:\22step\22,\22ops\22:2}]"
// CHECK-LABEL: func.func @step
// CHECK:       %[[H1:.*]] = train.matmul %arg0
// CHECK:       %[[H2:.*]] = train.matmul
// CHECK:       train.element_loss_grad
// CHECK-NEXT:  %[[FIRST:.*]] = train.matmul
// CHECK-NEXT:  %[[R2:.*]] = train.remat_barrier %[[H2]] after %[[FIRST]] :
// CHECK-NEXT:  %[[A2:.*]] = train.gelu %[[R2]] {mpc.recomputed}
// CHECK-NEXT:  train.matmul %[[A2]]
// CHECK-NEXT:  train.gelu_grad %[[FIRST]], %[[R2]]
// CHECK-NEXT:  %[[SECOND:.*]] = train.matmul
// CHECK-NEXT:  %[[R1:.*]] = train.remat_barrier %[[H1]] after %[[SECOND]] :
// CHECK-NEXT:  %[[A1:.*]] = train.gelu %[[R1]] {mpc.recomputed}
// CHECK-NEXT:  train.matmul %[[A1]]
// CHECK-NEXT:  train.gelu_grad %[[SECOND]], %[[R1]]

// The second product is the checkpoint; the first is recomputed from the input.
// FULL:       saves 4.1 kB for the backward pass instead of 10.2 kB; recomputes 3 ops, 20.4 % more FLOP
// FULL-LABEL: func.func @step
// FULL:       train.gelu %{{.*}} {mpc.recomputed}
// FULL:       %[[H:.*]] = train.matmul %{{.*}} {mpc.recomputed}
// FULL-NEXT:  train.gelu %[[H]] {mpc.recomputed}
// FULL-NOT:   mpc.recomputed

// If one op suffices, the first is recomputed, because it would be kept the longest.
// PART:       saves 8.2 kB for the backward pass instead of 10.2 kB; recomputes 1 op,
// PART-LABEL: func.func @step
// PART:       %[[H1:.*]] = train.matmul %arg0
// PART:       %[[R1:.*]] = train.remat_barrier %[[H1]]
// PART-NEXT:  train.gelu %[[R1]] {mpc.recomputed}
// PART-NOT:   mpc.recomputed

// NONE-LABEL: func.func @step
// NONE-NOT:   train.remat_barrier
// NONE-NOT:   mpc.recomputed

// LEAST: error: option 'memory-budget': 'step' saves at least {{.*}} for the backward pass, {{.*}} % of the {{.*}} without recomputation, but may save only 10 B; raise the budget or use a smaller batch
// MANY: error: option 'memory-budget' must be a number of bytes, such as 512MB, or a share of what is saved without it, such as 60%, but is '
// BOTH: error: option 'memory-budget' chooses what to recompute; omit option 'recompute'
// MODE: error: option 'recompute' must be none, selective or full, but is 'some'
train.state @w parameter : tensor<8x8xf32>
func.func @step(%x: tensor<64x8xf32>, %t: tensor<64x8xf32>) -> (tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) attributes {train.entry = #train.entry<step>} {
  %seed = train.constant {mpc.loss_seed} dense<1.0> : tensor<f32> : tensor<f32>
  %w = train.read @w : tensor<8x8xf32>
  %h1 = train.matmul %x, %w : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %a1 = train.gelu %h1 : (tensor<64x8xf32>) -> tensor<64x8xf32>
  %h2 = train.matmul %a1, %w : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %a2 = train.gelu %h2 : (tensor<64x8xf32>) -> tensor<64x8xf32>
  %y = train.matmul %a2, %w : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %loss = train.element_loss %y, %t {kind = #train<element_loss mse>, reduction = #train<reduction mean>} : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<f32>
  %gy = train.element_loss_grad %seed, %y, %t {kind = #train<element_loss mse>, reduction = #train<reduction mean>} : (tensor<f32>, tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  %ga2 = train.matmul %gy, %w {transpose_rhs} : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %dw3 = train.matmul %a2, %gy {transpose_lhs} : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %gh2 = train.gelu_grad %ga2, %h2 : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  %ga1 = train.matmul %gh2, %w {transpose_rhs} : (tensor<64x8xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %dw2 = train.matmul %a1, %gh2 {transpose_lhs} : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %gh1 = train.gelu_grad %ga1, %h1 : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
  %dw1 = train.matmul %x, %gh1 {transpose_lhs} : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  return %loss, %dw1, %dw2, %dw3 : tensor<f32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
