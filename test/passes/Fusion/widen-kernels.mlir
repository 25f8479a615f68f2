// RUN: mpc-opt %s --mpc-widen-kernels --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-widen-kernels=features=avx2 --split-input-file | FileCheck %s --check-prefix=OLD
// RUN: mpc-opt %s --mpc-widen-kernels='device=cuda features=sm_75,sm_80' --split-input-file | FileCheck %s --check-prefix=CUDA
// RUN: mpc-opt %s --mpc-widen-kernels='device=cuda features=sm_75' --split-input-file | FileCheck %s --check-prefix=TURING

// No x86 kernel computes in f16: operands are widened, the result rounded.
// CHECK-LABEL: func.func @half
// CHECK-SAME:    (%[[A:.*]]: tensor<4x8xf16>, %[[B:.*]]: tensor<8x2xf16>)
// CHECK:         %[[WA:.*]] = amp.cast %[[A]] : tensor<4x8xf16> to tensor<4x8xf32>
// CHECK:         %[[WB:.*]] = amp.cast %[[B]] : tensor<8x2xf16> to tensor<8x2xf32>
// CHECK:         %[[C:.*]] = train.matmul %[[WA]], %[[WB]] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
// CHECK:         %[[R:.*]] = amp.cast %[[C]] : tensor<4x2xf32> to tensor<4x2xf16>
// CHECK:         return %[[R]]
// GPUs do.
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
// CHECK-LABEL: func.func @wide_result
// CHECK-COUNT-2: amp.cast
// CHECK:         %[[C:.*]] = train.matmul
// CHECK-NEXT:    return %[[C]]
func.func @wide_result(%a: tensor<4x8xf16>, %b: tensor<8x2xf16>) -> tensor<4x2xf32> {
  %0 = train.matmul %a, %b : (tensor<4x8xf16>, tensor<8x2xf16>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

// bf16 runs natively where the CPU has AVX-512 and on GPUs from sm_80 on, and
// is widened elsewhere.
// CHECK-LABEL: func.func @brain
// CHECK-NOT:     amp.cast
// OLD-LABEL:   func.func @brain
// OLD-COUNT-3:   amp.cast
// CUDA-LABEL:   func.func @brain
// CUDA-NOT:     amp.cast
// TURING-LABEL: func.func @brain
// TURING-COUNT-3: amp.cast
func.func @brain(%a: tensor<4x8xbf16>, %b: tensor<8x2xbf16>) -> tensor<4x2xbf16> {
  %0 = train.matmul %a, %b : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  return %0 : tensor<4x2xbf16>
}

// -----

// Wide types and what is no kernel of the catalog stay.
// CHECK-LABEL: func.func @stays
// CHECK-NOT:     amp.cast
// OLD-LABEL:   func.func @stays
// OLD-NOT:       amp.cast
func.func @stays(%a: tensor<4x8xf64>, %b: tensor<8x2xf64>, %h: tensor<4xf16>) -> (tensor<4x2xf64>, tensor<4xf16>) {
  %0 = train.matmul %a, %b : (tensor<4x8xf64>, tensor<8x2xf64>) -> tensor<4x2xf64>
  %1 = train.add %h, %h : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %0, %1 : tensor<4x2xf64>, tensor<4xf16>
}
