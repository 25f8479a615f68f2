// RUN: mpc-opt %s -split-input-file -mpc-assign-precision="residual=fp32 minimum-gain=0" -verify-diagnostics | FileCheck %s
// RUN: mpc-opt %s -split-input-file -mpc-assign-precision="minimum-gain=0" | FileCheck %s --check-prefix=LOW

// x + f(x) is f32 with --residual=fp32; other sums are not affected.
// CHECK-LABEL: func.func @stream
// LOW-LABEL: func.func @stream
func.func @stream(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %a = train.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %f = train.matmul %a, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // CHECK: train.add {{.*}}"residual=fp32"{{.*}} -> tensor<64x64xf32>
  // LOW: train.add {{.*}} -> tensor<64x64xbf16>
  %y = train.add %a, %f : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %g = train.matmul %y, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %h = train.matmul %y, %w {transpose_rhs} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  // The sum of two products of one tensor is not a residual stream.
  // CHECK: train.add {{.*}} -> tensor<64x64xbf16>
  // LOW: train.add {{.*}} -> tensor<64x64xbf16>
  %z = train.add %g, %h : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = train.matmul %z, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}

// -----

// A sum with a scaled copy is not a residual either.
// expected-error @below {{option 'residual'=fp32: the model has no residual stream}}
module {
  func.func @none(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %a = train.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %b = train.relu %a : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %c = train.add %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %d = train.matmul %c, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %d : tensor<64x64xf32>
  }
}
