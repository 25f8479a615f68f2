// RUN: mpc-opt %s --mpc-widen-kernels --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-widen-kernels='device=cuda features=sm_75,sm_80' --split-input-file | FileCheck %s --check-prefix=CUDA
// RUN: mpc-opt %s --mpc-widen-kernels='device=cuda features=sm_75' --split-input-file | FileCheck %s --check-prefix=TURING

// A CPU's kernels take f16, whatever its instructions are, and so do GPUs.
// CHECK-LABEL:  func.func @half
// CHECK-NOT:    amp.cast
// CUDA-LABEL:   func.func @half
// CUDA-NOT:     amp.cast
// TURING-LABEL: func.func @half
// TURING-NOT:   amp.cast
func.func @half(%a: tensor<4x8xf16>, %b: tensor<8x2xf16>) -> tensor<4x2xf16> {
  %0 = train.matmul %a, %b : (tensor<4x8xf16>, tensor<8x2xf16>) -> tensor<4x2xf16>
  return %0 : tensor<4x2xf16>
}

// -----

// A result that is f32 already needs no cast back.
// TURING-LABEL: func.func @wide_result
// TURING-COUNT-2: amp.cast
// TURING:         %[[C:.*]] = train.matmul
// TURING-NEXT:    return %[[C]]
func.func @wide_result(%a: tensor<4x8xbf16>, %b: tensor<8x2xbf16>) -> tensor<4x2xf32> {
  %0 = train.matmul %a, %b : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

// So it is for bf16 on CPUs and on GPUs from sm_80 on. On older ones operands
// are widened and the result is rounded.
// CHECK-LABEL:  func.func @brain
// CHECK-NOT:    amp.cast
// CUDA-LABEL:   func.func @brain
// CUDA-NOT:     amp.cast
// TURING-LABEL: func.func @brain
// TURING-SAME:    (%[[A:.*]]: tensor<4x8xbf16>, %[[B:.*]]: tensor<8x2xbf16>)
// TURING:         %[[WA:.*]] = amp.cast %[[A]] : tensor<4x8xbf16> to tensor<4x8xf32>
// TURING:         %[[WB:.*]] = amp.cast %[[B]] : tensor<8x2xbf16> to tensor<8x2xf32>
// TURING:         %[[C:.*]] = train.matmul %[[WA]], %[[WB]] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
// TURING:         %[[R:.*]] = amp.cast %[[C]] : tensor<4x2xf32> to tensor<4x2xbf16>
// TURING:         return %[[R]]
func.func @brain(%a: tensor<4x8xbf16>, %b: tensor<8x2xbf16>) -> tensor<4x2xbf16> {
  %0 = train.matmul %a, %b : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  return %0 : tensor<4x2xbf16>
}

// -----

// Wide types and what is no kernel of the catalog stay.
// CHECK-LABEL: func.func @stays
// CHECK-NOT:     amp.cast
// TURING-LABEL: func.func @stays
// TURING-NOT:     amp.cast
func.func @stays(%a: tensor<4x8xf64>, %b: tensor<8x2xf64>, %h: tensor<4xf16>) -> (tensor<4x2xf64>, tensor<4xf16>) {
  %0 = train.matmul %a, %b : (tensor<4x8xf64>, tensor<8x2xf64>) -> tensor<4x2xf64>
  %1 = train.add %h, %h : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %0, %1 : tensor<4x2xf64>, tensor<4xf16>
}

// -----

// GPUs before sm_80 and CPUs have no TF32.
// CHECK-LABEL:  func.func @tf32
// CHECK-NOT:    mpc.tf32
// CUDA-LABEL:   func.func @tf32
// CUDA:         train.matmul %{{.*}} {mpc.tf32}
// TURING-LABEL: func.func @tf32
// TURING-NOT:   mpc.tf32
func.func @tf32(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) -> tensor<4x2xf32> {
  %0 = train.matmul %a, %b {mpc.tf32} : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
