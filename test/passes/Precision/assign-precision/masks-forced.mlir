// RUN: mpc-opt %s --mpc-assign-precision="precision=fp16 minimum-gain=0 force-low=select|maximum" | FileCheck %s

// Masks that the user forces to 16 bit saturate to the largest number, because a row of
// -inf has no softmax. Infinite values of the model stay infinite, and so do operands
// of products.
// CHECK-LABEL: func.func @masks
func.func @masks(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>, %m: tensor<64xi1>) -> tensor<32x64xf32> {
  // CHECK: train.constant dense<6.550400e+04> : tensor<64x64xf16>
  %large = train.constant dense<1.0e+06> : tensor<64x64xf32> : tensor<64x64xf32>
  %0 = train.matmul %x, %large : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  // CHECK: %[[MASK:.*]] = train.constant dense<-6.550400e+04> : tensor<f32>
  %low = train.constant dense<-3.40282347e+38> : tensor<f32> : tensor<f32>
  // CHECK: train.select %{{.*}}, %[[MASK]], {{.*}} -> tensor<32x64xf16>
  %1 = train.select %m, %low, %0 : (tensor<64xi1>, tensor<f32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  // CHECK: %[[INF:.*]] = train.constant dense<0xFF800000> : tensor<f32>
  %inf = train.constant dense<0xFF800000> : tensor<f32> : tensor<f32>
  // CHECK-NEXT: train.maximum %{{.*}}, %[[INF]] {{.*}} -> tensor<32x64xf16>
  %2 = train.maximum %1, %inf : (tensor<32x64xf32>, tensor<f32>) -> tensor<32x64xf32>
  %3 = train.softmax %2 {axis = 1 : i64} : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %4 = train.matmul %3, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %4 : tensor<32x64xf32>
}
