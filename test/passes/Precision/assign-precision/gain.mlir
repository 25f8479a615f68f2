// RUN: mpc-opt %s --mpc-assign-precision=precision=bf16 | FileCheck %s
// RUN: mpc-opt %s --mpc-assign-precision="precision=bf16 minimum-gain=1000000" | FileCheck %s --check-prefix=NONE

// Rounding must be worth its cost: values between the products of a small batch stay
// f32, those of a large one do not.
// CHECK-LABEL: func.func @small
// NONE-LABEL: func.func @small
func.func @small(%x: tensor<4x64xf32>, %w: tensor<64x64xf32>) -> tensor<4x64xf32> {
  // CHECK: train.matmul {{.*}} -> tensor<4x64xf32>
  %0 = train.matmul %x, %w : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  // CHECK: train.gelu {{.*}}"cut.reads-f32"{{.*}} -> tensor<4x64xf32>
  %1 = train.gelu %0 : (tensor<4x64xf32>) -> tensor<4x64xf32>
  // CHECK: train.softmax {{.*}}"cut.moves-more", "16 bit", 1024{{.*}} -> tensor<4x64xf32>
  %s = train.softmax %1 {axis = 1 : i64} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %r = train.add %s, %1 : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  // CHECK: amp.cast
  %2 = train.matmul %r, %w : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  return %2 : tensor<4x64xf32>
}

// CHECK-LABEL: func.func @large
// NONE-LABEL: func.func @large
func.func @large(%x: tensor<512x64xf32>, %w: tensor<64x64xf32>) -> tensor<512x64xf32> {
  // CHECK: train.matmul {{.*}} -> tensor<512x64xbf16>
  // NONE: train.matmul {{.*}} -> tensor<512x64xf32>
  %0 = train.matmul %x, %w : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  // CHECK: train.gelu {{.*}} -> tensor<512x64xbf16>
  // NONE: train.gelu {{.*}} -> tensor<512x64xf32>
  %1 = train.gelu %0 : (tensor<512x64xf32>) -> tensor<512x64xf32>
  %2 = train.matmul %1, %w : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  return %2 : tensor<512x64xf32>
}
