// RUN: mpc-opt %s --mpc-decompose-kernels='device=cuda features=sm_80' | FileCheck %s
// RUN: mpc-opt %s --mpc-decompose-kernels='device=cpu' | FileCheck %s --check-prefix=CPU
// RUN: mpc-opt %s --mpc-decompose-kernels='device=reference' | FileCheck %s --check-prefix=CPU

// CUDA has no kernel for recurrent layers: each step has one product.
// CPU-LABEL: func.func @lstm
// CPU: train.lstm %
// CPU: train.lstm_grad %
// CHECK-LABEL: func.func @lstm
// CHECK-NOT: train.lstm
func.func @lstm(%x: tensor<2x3x20xf32>, %r: tensor<20x5xf32>, %b: tensor<20xf32>, %h: tensor<3x5xf32>, %c: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<2x3x20xf32>) {
  // CHECK: %[[X:.*]] = train.add %arg0, %arg2
  // CHECK-DAG: train.matmul %arg3, %arg1 {transpose_rhs}
  // CHECK-DAG: train.slice %[[X]] {offsets = array<i64: 0, 0, 0>}
  // CHECK: train.split
  // CHECK: train.tanh
  // CHECK: %[[TANH:.*]] = train.tanh
  // CHECK: %[[H:.*]] = train.mul %{{.*}}, %[[TANH]]
  // CHECK-DAG: train.matmul %[[H]], %arg1 {transpose_rhs}
  // CHECK-DAG: train.slice %[[X]] {offsets = array<i64: 1, 0, 0>}
  // CHECK: train.split
  // CHECK: %[[CELL:.*]] = train.add
  // CHECK: train.concat {{.*}} {axis = 0 : i64} : (tensor<1x3x5xf32>, tensor<1x3x5xf32>) -> tensor<2x3x5xf32>
  %y, %last, %gates, %cells = train.lstm %x, %r, %b, %h, %c : (tensor<2x3x20xf32>, tensor<20x5xf32>, tensor<20xf32>, tensor<3x5xf32>, tensor<3x5xf32>) -> (tensor<2x3x5xf32>, tensor<3x5xf32>, tensor<2x3x20xf32>, tensor<2x3x5xf32>)
  // The last step first.
  // CHECK: train.slice %{{.*}} {offsets = array<i64: 1, 0, 0>} : (tensor<2x3x5xf32>)
  // CHECK: %[[GRAD:.*]] = train.concat {{.*}} {axis = 1 : i64} : ({{.*}}) -> tensor<3x20xf32>
  // CHECK: train.matmul %[[GRAD]], %arg1 : (tensor<3x20xf32>, tensor<20x5xf32>)
  // CHECK: %[[DX:.*]] = train.concat {{.*}} -> tensor<2x3x20xf32>
  // CHECK: return %[[CELL]], %[[DX]]
  %d:3 = train.lstm_grad %y, %last, %r, %c, %gates, %cells : (tensor<2x3x5xf32>, tensor<3x5xf32>, tensor<20x5xf32>, tensor<3x5xf32>, tensor<2x3x20xf32>, tensor<2x3x5xf32>) -> (tensor<2x3x20xf32>, tensor<3x5xf32>, tensor<3x5xf32>)
  return %last, %d#0 : tensor<3x5xf32>, tensor<2x3x20xf32>
}

// With `reverse`, step 1 comes before step 0.
// CPU-LABEL: func.func @gru
// CPU: train.gru %
// CPU: train.gru_grad %
// CHECK-LABEL: func.func @gru
// CHECK-NOT: train.gru
func.func @gru(%x: tensor<2x3x15xf32>, %r: tensor<15x5xf32>, %b: tensor<20xf32>, %h: tensor<3x5xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x15xf32>) {
  // CHECK: train.slice %[[X:.*]] {offsets = array<i64: 1, 0, 0>} : (tensor<2x3x15xf32>)
  // CHECK: train.matmul %arg3, %arg1 {transpose_rhs}
  // CHECK: train.slice %[[X]] {offsets = array<i64: 0, 0, 0>} : (tensor<2x3x15xf32>)
  // CHECK: %[[Y:.*]] = train.concat {{.*}} -> tensor<2x3x5xf32>
  %y, %gates, %products = train.gru %x, %r, %b, %h {reverse} : (tensor<2x3x15xf32>, tensor<15x5xf32>, tensor<20xf32>, tensor<3x5xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x15xf32>, tensor<2x3x5xf32>)
  // CHECK: train.slice %{{.*}} {offsets = array<i64: 0, 0, 0>} : (tensor<2x3x5xf32>)
  // CHECK: train.matmul %{{.*}}, %arg1 : (tensor<3x15xf32>, tensor<15x5xf32>)
  // CHECK: %[[DX:.*]] = train.concat {{.*}} -> tensor<2x3x15xf32>
  // CHECK: return %[[Y]], %[[DX]]
  %d:3 = train.gru_grad %y, %r, %h, %y, %gates, %products {reverse} : (tensor<2x3x5xf32>, tensor<15x5xf32>, tensor<3x5xf32>, tensor<2x3x5xf32>, tensor<2x3x15xf32>, tensor<2x3x5xf32>) -> (tensor<2x3x15xf32>, tensor<2x3x15xf32>, tensor<3x5xf32>)
  return %y, %d#0 : tensor<2x3x5xf32>, tensor<2x3x15xf32>
}

// Other kernels are not decomposed.
// CHECK-LABEL: func.func @product
// CPU-LABEL: func.func @product
func.func @product(%x: tensor<2x3xf32>, %w: tensor<3x4xf32>) -> tensor<2x4xf32> {
  // CHECK: train.matmul %arg0, %arg1
  // CPU: train.matmul %arg0, %arg1
  %0 = train.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
