// RUN: mpc-opt %s --mpc-lower-to-linalg --cse --mpc-fuse-kernels=device=cuda --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-lower-to-linalg --cse --mpc-fuse-kernels --split-input-file | FileCheck %s --check-prefix=CPU

// On a GPU, short sums down the rows of equal matrices share a launch. On a CPU a
// launch takes a microsecond.
// CHECK-LABEL: func.func @short
// CHECK-NEXT:    %[[SUMS:.*]]:3 = call @kernel_0(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<256x768xf32>, tensor<256x768xf32>, tensor<256x768xf32>)
// CHECK-NEXT:    %[[OTHER:.*]] = call @kernel_1
// CHECK-NEXT:    return %[[SUMS]]#0, %[[SUMS]]#1, %[[SUMS]]#2, %[[OTHER]]
// CPU-LABEL:   func.func @short
// CPU-COUNT-4:   call @kernel_
func.func @short(%x: tensor<256x768xf32>, %y: tensor<256x768xf32>, %z: tensor<256x768xf32>, %w: tensor<256x512xf32>)
    -> (tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<512xf32>) {
  %0 = train.reduce_sum %x {axes = array<i64: 0>} : (tensor<256x768xf32>) -> tensor<768xf32>
  %1 = train.reduce_sum %y {axes = array<i64: 0>} : (tensor<256x768xf32>) -> tensor<768xf32>
  %2 = train.reduce_sum %z {axes = array<i64: 0>} : (tensor<256x768xf32>) -> tensor<768xf32>
  %3 = train.reduce_sum %w {axes = array<i64: 0>} : (tensor<256x512xf32>) -> tensor<512xf32>
  return %0, %1, %2, %3 : tensor<768xf32>, tensor<768xf32>, tensor<768xf32>, tensor<512xf32>
}

// -----

// Four long sums share a kernel, which has registers for so many.
// CHECK-LABEL: func.func @long
// CHECK-NEXT:    call @kernel_0{{.*}} -> (tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>)
// CHECK-NEXT:    call @kernel_1{{.*}} -> tensor<2x1024xf32>
// CHECK-NEXT:    return
func.func @long(%a: tensor<2x1024x1024xf32>, %b: tensor<2x1024x1024xf32>, %c: tensor<2x1024x1024xf32>, %d: tensor<2x1024x1024xf32>, %e: tensor<2x1024x1024xf32>)
    -> (tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>) {
  %0 = train.reduce_sum %a {axes = array<i64: 1>} : (tensor<2x1024x1024xf32>) -> tensor<2x1024xf32>
  %1 = train.reduce_sum %b {axes = array<i64: 1>} : (tensor<2x1024x1024xf32>) -> tensor<2x1024xf32>
  %2 = train.reduce_sum %c {axes = array<i64: 1>} : (tensor<2x1024x1024xf32>) -> tensor<2x1024xf32>
  %3 = train.reduce_sum %d {axes = array<i64: 1>} : (tensor<2x1024x1024xf32>) -> tensor<2x1024xf32>
  %4 = train.reduce_sum %e {axes = array<i64: 1>} : (tensor<2x1024x1024xf32>) -> tensor<2x1024xf32>
  return %0, %1, %2, %3, %4 : tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>, tensor<2x1024xf32>
}

// -----

// A kernel that stores more than sums stays alone.
// CHECK-LABEL: func.func @more
// CHECK-NEXT:    call @kernel_0{{.*}} -> (tensor<256x128x768xf32>, tensor<256x768xf32>)
// CHECK-NEXT:    call @kernel_1{{.*}} -> tensor<256x768xf32>
func.func @more(%x: tensor<256x128x768xf32>, %y: tensor<256x128x768xf32>) -> (tensor<256x128x768xf32>, tensor<256x768xf32>, tensor<256x768xf32>) {
  %0 = train.relu %x : (tensor<256x128x768xf32>) -> tensor<256x128x768xf32>
  %1 = train.reduce_sum %0 {axes = array<i64: 1>} : (tensor<256x128x768xf32>) -> tensor<256x768xf32>
  %2 = train.reduce_sum %y {axes = array<i64: 1>} : (tensor<256x128x768xf32>) -> tensor<256x768xf32>
  return %0, %1, %2 : tensor<256x128x768xf32>, tensor<256x768xf32>, tensor<256x768xf32>
}
