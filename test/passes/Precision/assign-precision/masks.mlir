// RUN: mpc-opt %s --mpc-assign-precision="precision=fp16 minimum-gain=0" | FileCheck %s --check-prefixes=CHECK,F16 '-D$LOW=f16'
// RUN: mpc-opt %s --mpc-assign-precision="precision=bf16 minimum-gain=0" | FileCheck %s --check-prefixes=CHECK,BF16 '-D$LOW=bf16'

// A mask of infinities may be 16 bit. A finite number that 16 bit cannot represent must
// stay finite: values selected from it or added to it are f32. bf16 represents -1e9,
// but not the lowest f32.
// CHECK-LABEL: func.func @masks
func.func @masks(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>, %m: tensor<64xi1>)
    -> (tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>) {
  %0 = train.matmul %x, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %inf = train.constant dense<0xFF800000> : tensor<f32> : tensor<f32>
  // CHECK: train.select {{.*}} : (tensor<64xi1>, tensor<f32>, tensor<32x64x[[$LOW]]>) -> tensor<32x64x[[$LOW]]>
  %1 = train.select %m, %inf, %0 : (tensor<64xi1>, tensor<f32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %2 = train.softmax %1 {axis = 1 : i64} : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %3 = train.matmul %2, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>

  %low = train.constant dense<-1.0e+09> : tensor<f32> : tensor<f32>
  // F16: train.select {{.*}} : (tensor<64xi1>, tensor<f32>, tensor<32x64xf16>) -> tensor<32x64xf32>
  // BF16: train.select {{.*}} : (tensor<64xi1>, tensor<f32>, tensor<32x64xbf16>) -> tensor<32x64xbf16>
  %4 = train.select %m, %low, %0 : (tensor<64xi1>, tensor<f32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  %5 = train.softmax %4 {axis = 1 : i64} : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %6 = train.matmul %5, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>

  %bias = train.constant dense<[[-3.40282347e+38, 0.0, 0.0, 0.0]]> : tensor<1x4xf32> : tensor<1x4xf32>
  %r = train.reshape %0 : (tensor<32x64xf32>) -> tensor<512x4xf32>
  // CHECK: train.add {{.*}} : (tensor<512x4x[[$LOW]]>, tensor<1x4xf32>) -> tensor<512x4xf32>
  %7 = train.add %r, %bias : (tensor<512x4xf32>, tensor<1x4xf32>) -> tensor<512x4xf32>
  %8 = train.softmax %7 {axis = 1 : i64} : (tensor<512x4xf32>) -> tensor<512x4xf32>
  %9 = train.reshape %8 : (tensor<512x4xf32>) -> tensor<32x64xf32>
  %10 = train.matmul %9, %w : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %3, %6, %10 : tensor<32x64xf32>, tensor<32x64xf32>, tensor<32x64xf32>
}

// The same if the mask is a tensor of the file.
train.state @mask constant : tensor<64x64xf32> = dense<-1.0e+09> : tensor<64x64xf32>
train.state @table constant : tensor<64x64xf32> = dense<1.0e-30> : tensor<64x64xf32>
// CHECK-LABEL: func.func @initializers
func.func @initializers(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %m = train.read @mask : tensor<64x64xf32>
  %t = train.read @table : tensor<64x64xf32>
  %0 = train.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // F16: train.add {{.*}} -> tensor<64x64xf32>
  // BF16: train.add {{.*}} -> tensor<64x64xbf16>
  %1 = train.add %0, %m : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = train.softmax %1 {axis = 1 : i64} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = train.matmul %2, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // A table may lose its smallest elements.
  // CHECK: train.add {{.*}} -> tensor<64x64x[[$LOW]]>
  %4 = train.add %3, %t : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %5 = train.matmul %4, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %5 : tensor<64x64xf32>
}
