// RUN: mpc-opt %s --mpc-assign-precision="precision=fp16 minimum-gain=0" --split-input-file | FileCheck %s --check-prefixes=CHECK,F16
// RUN: mpc-opt %s --mpc-assign-precision="precision=bf16 minimum-gain=0" --split-input-file | FileCheck %s --check-prefixes=CHECK,BF16

// What f16 does not reach is no reason to keep bf16 out, which reaches as far as
// f32 does.

// Squares, roots and reciprocals leave f16; what divides by them does not.
// CHECK-LABEL: func.func @norm_written_out
func.func @norm_written_out(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %w = train.read @w : tensor<64x64xf32>
  %eps = train.constant dense<1.0e-5> : tensor<f32> : tensor<f32>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // F16: train.mul {{.*}}"class"{{.*}} -> tensor<32x64xf32>
  // BF16: train.mul {{.*}}"cut.{{.*}} -> tensor<32x64xbf16>
  %1 = train.mul %0, %0 : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  // CHECK-NEXT: train.reduce_mean {{.*}} -> tensor<32x1xf32>
  %2 = train.reduce_mean %1 {axes = array<i64: 1>, keepdims} : (tensor<32x64xf32>) -> tensor<32x1xf32>
  // CHECK-NEXT: train.add {{.*}} -> tensor<32x1xf32>
  %3 = train.add %2, %eps : (tensor<32x1xf32>, tensor<f32>) -> tensor<32x1xf32>
  // CHECK-NEXT: train.sqrt {{.*}} -> tensor<32x1xf32>
  %4 = train.sqrt %3 : (tensor<32x1xf32>) -> tensor<32x1xf32>
  // F16-NEXT: train.div {{.*}} : (tensor<32x64xf16>, tensor<32x1xf32>) -> tensor<32x64xf16>
  // BF16-NEXT: train.div {{.*}} : (tensor<32x64xbf16>, tensor<32x1xf32>) -> tensor<32x64xbf16>
  %5 = train.div %0, %4 : (tensor<32x64xf32>, tensor<32x1xf32>) -> tensor<32x64xf32>
  %6 = train.matmul %5, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %6 : tensor<32x64xf32>
}
train.state @w parameter : tensor<64x64xf32>

// -----

// CHECK-LABEL: func.func @roots_and_reciprocals
func.func @roots_and_reciprocals(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %w = train.read @w : tensor<64x64xf32>
  %one = train.constant dense<1.0> : tensor<f32> : tensor<f32>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // F16: train.sqrt {{.*}}"class"{{.*}} -> tensor<32x64xf32>
  // BF16: train.sqrt {{.*}} -> tensor<32x64xbf16>
  %1 = train.sqrt %0 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  // F16-NEXT: train.div {{.*}}"class"{{.*}} -> tensor<32x64xf32>
  // BF16-NEXT: train.div {{.*}} -> tensor<32x64xbf16>
  %2 = train.div %one, %1 : (tensor<f32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %3 = train.matmul %2, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %3 : tensor<32x64xf32>
}
train.state @w parameter : tensor<64x64xf32>

// -----

// An epsilon that f16 would lose: 0 / (0 + epsilon) is 0, and 0 / 0 is not.
// CHECK-LABEL: func.func @epsilon
func.func @epsilon(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %w = train.read @w : tensor<64x64xf32>
  %eps = train.constant dense<1.0e-8> : tensor<f32> : tensor<f32>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %1 = train.relu %0 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  // F16: train.add {{.*}} : (tensor<32x64xf16>, tensor<f32>) -> tensor<32x64xf32>
  // BF16: train.add {{.*}} : (tensor<32x64xbf16>, tensor<f32>) -> tensor<32x64xbf16>
  %2 = train.add %1, %eps : (tensor<32x64xf32>, tensor<f32>) -> tensor<32x64xf32>
  // F16-NEXT: train.div {{.*}} -> tensor<32x64xf32>
  // BF16-NEXT: train.div {{.*}} -> tensor<32x64xbf16>
  %3 = train.div %1, %2 : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %4 = train.matmul %3, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %4 : tensor<32x64xf32>
}
train.state @w parameter : tensor<64x64xf32>

// -----

// The smallest number of f16, and one that rounds to it, are none to lose.
// CHECK-LABEL: func.func @small_but_there
func.func @small_but_there(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %w = train.read @w : tensor<64x64xf32>
  %eps = train.constant dense<3.0e-8> : tensor<f32> : tensor<f32>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // F16: train.add {{.*}} -> tensor<32x64xf16>
  // BF16: train.add {{.*}} -> tensor<32x64xbf16>
  %1 = train.add %0, %eps : (tensor<32x64xf32>, tensor<f32>) -> tensor<32x64xf32>
  %2 = train.matmul %1, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %2 : tensor<32x64xf32>
}
train.state @w parameter : tensor<64x64xf32>
