// RUN: mpc-opt %s --mpc-assign-precision="precision=bf16 minimum-gain=0" --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-assign-precision="precision=fp16 minimum-gain=0" --mpc-elide-casts --mpc-use-working-copy --split-input-file | mpc-opt --mpc-verify-precision --split-input-file

// Numbers that become indices, and the values before them back to the product, are f32:
// 16 bit would select other elements. The elements that are read need not be.
// CHECK-LABEL: func.func @sampled
func.func @sampled(%x: tensor<32x64xf32>, %t: tensor<512x64xf32>) -> tensor<32x64x64xf32> {
  %w = train.read @w : tensor<64x64xf32>
  %half = train.constant dense<0.5> : tensor<f32> : tensor<f32>
  // CHECK: %[[TABLE:.*]] = train.matmul {{.*}} -> tensor<512x64xbf16>
  %table = train.matmul %t, %w : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  // CHECK: %[[OFFSETS:.*]] = train.matmul {{.*}} : (tensor<32x64xbf16>, tensor<64x64xbf16>) -> tensor<32x64xf32>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.tanh %[[OFFSETS]] {{.*}} -> tensor<32x64xf32>
  %1 = train.tanh %0 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.mul {{.*}}"pin.place"{{.*}} -> tensor<32x64xf32>
  %2 = train.mul %1, %half : (tensor<32x64xf32>, tensor<f32>) -> tensor<32x64xf32>
  %3 = train.floor %2 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  // The weight of an element is the fraction removed by floor.
  // CHECK: train.sub {{.*}} -> tensor<32x64xf32>
  %4 = train.sub %2, %3 : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %5 = train.cast %3 {to = i64} : (tensor<32x64xf32>) -> tensor<32x64xi64>
  %6 = train.flat_index %5 {axes = array<i64: 0>, extents = array<i64: 512>} : (tensor<32x64xi64>) -> tensor<32x64xi64>
  // CHECK: train.embedding %[[TABLE]], {{.*}} -> tensor<32x64x64xbf16>
  %7 = train.embedding %table, %6 : (tensor<512x64xf32>, tensor<32x64xi64>) -> tensor<32x64x64xf32>
  %8 = train.reshape %4 : (tensor<32x64xf32>) -> tensor<32x64x1xf32>
  // CHECK: train.mul {{.*}} : (tensor<32x64x64xbf16>, tensor<32x64x1xf32>) -> tensor<32x64x64xbf16>
  %9 = train.mul %7, %8 : (tensor<32x64x64xf32>, tensor<32x64x1xf32>) -> tensor<32x64x64xf32>
  %10 = train.matmul %9, %w : (tensor<32x64x64xf32>, tensor<64x64xf32>) -> tensor<32x64x64xf32>
  return %10 : tensor<32x64x64xf32>
}
train.state @w parameter : tensor<64x64xf32>

// -----

// The index of a maximum is not computed from its value.
// CHECK-LABEL: func.func @largest
func.func @largest(%x: tensor<32x64xf32>, %t: tensor<64x64xf32>) -> (tensor<32x64xf32>, tensor<32x64xf32>) {
  %w = train.read @w : tensor<64x64xf32>
  // CHECK: train.matmul {{.*}} -> tensor<32x64xbf16>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.relu {{.*}} -> tensor<32x64xbf16>
  %1 = train.relu %0 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %2 = train.matmul %1, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %3 = train.relu %2 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.arg_extreme
  %4 = train.arg_extreme %1 {axis = 1 : i64} : (tensor<32x64xf32>) -> tensor<32xi64>
  %5 = train.gather %t, %4 : (tensor<64x64xf32>, tensor<32xi64>) -> tensor<32x64xf32>
  %6 = train.matmul %3, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %5, %6 : tensor<32x64xf32>, tensor<32x64xf32>
}
train.state @w parameter : tensor<64x64xf32>

// -----

// The same chain without an index.
// CHECK-LABEL: func.func @plain
func.func @plain(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %w = train.read @w : tensor<64x64xf32>
  %half = train.constant dense<0.5> : tensor<f32> : tensor<f32>
  // CHECK: train.matmul {{.*}} -> tensor<32x64xbf16>
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.tanh {{.*}} -> tensor<32x64xbf16>
  %1 = train.tanh %0 : (tensor<32x64xf32>) -> tensor<32x64xf32>
  // CHECK: train.mul {{.*}} -> tensor<32x64xbf16>
  %2 = train.mul %1, %half : (tensor<32x64xf32>, tensor<f32>) -> tensor<32x64xf32>
  %3 = train.matmul %2, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %3 : tensor<32x64xf32>
}
train.state @w parameter : tensor<64x64xf32>
