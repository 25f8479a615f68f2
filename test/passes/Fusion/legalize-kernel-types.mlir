// RUN: mpc-opt %s --mpc-legalize-kernel-types --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-legalize-kernel-types='device=cuda features=sm_75,sm_80' --split-input-file | FileCheck %s --check-prefix=CUDA
// RUN: mpc-opt %s --mpc-legalize-kernel-types='device=cuda features=sm_75' --split-input-file | FileCheck %s --check-prefix=TURING
// RUN: mpc-opt %s --mpc-legalize-kernel-types='device=cuda features=sm_80,sm_89' --split-input-file | FileCheck %s --check-prefix=ADA

// CPU kernels accept f16, whatever instructions the CPU has, and so do GPU kernels.
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

// The same applies to bf16 on CPUs and on GPUs from sm_80 on. On older GPUs operands
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

// Wide types and ops without a catalog kernel are unchanged.
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

// -----

// An FP8 product removes its scales itself if the device multiplies FP8, and reads
// both operands along the sum; the factors of all scales in a state are computed at
// once. On other devices the operands are widened to bf16.
// ADA-LABEL:  func.func @scaled
// ADA-SAME:     (%[[X:.*]]: tensor<32x16xf8E4M3FN>, %[[W:.*]]: tensor<16x48xf8E4M3FN>, %[[G:.*]]: tensor<32x48xf8E5M2>)
// ADA:          %[[ALL:.*]] = train.read @scales
// ADA-NEXT:     %[[ONE:.*]] = train.constant dense<1.0
// ADA-NEXT:     %[[INVERSE:.*]] = train.div %[[ONE]], %[[ALL]]
// ADA-DAG:      %[[FX:.*]] = train.unpack %[[INVERSE]] {offset = 0 : i64}
// ADA-DAG:      %[[FW:.*]] = train.unpack %[[INVERSE]] {offset = 16 : i64}
// ADA-DAG:      %[[FG:.*]] = train.unpack %[[INVERSE]] {offset = 32 : i64}
// ADA-NOT:      train.div
// ADA:          %[[WT:.*]] = train.transpose %[[W]]
// ADA:          %[[Y:.*]] = train.scaled_matmul %[[X]], %[[WT]], %[[FX]], %[[FW]] {transpose_rhs} : {{.*}} -> tensor<32x48xbf16>
// ADA:          %[[D:.*]] = train.scaled_matmul %[[G]], %[[W]], %[[FG]], %[[FW]] {transpose_rhs} : {{.*}} -> tensor<32x16xf32>
// ADA-NOT:      amp.dequantize
// ADA:          return %[[Y]], %[[D]]
// CHECK-LABEL:  func.func @scaled
// CHECK-NOT:    train.scaled_matmul
// CHECK-COUNT-2: amp.dequantize
// CUDA-LABEL:   func.func @scaled
// CUDA-NOT:     train.scaled_matmul
// CUDA:         amp.cast %{{.*}} : tensor<32x16xf8E4M3FN> to tensor<32x16xbf16>
// CUDA-COUNT-2: amp.dequantize
train.state @scales optimizer : tensor<3x16xf32>
func.func @scaled(%x: tensor<32x16xf8E4M3FN>, %w: tensor<16x48xf8E4M3FN>, %g: tensor<32x48xf8E5M2>) -> (tensor<32x48xbf16>, tensor<32x16xf32>) {
  %all = train.read @scales : tensor<3x16xf32>
  %sx = train.unpack %all {offset = 0 : i64} : (tensor<3x16xf32>) -> tensor<f32>
  %sw = train.unpack %all {offset = 16 : i64} : (tensor<3x16xf32>) -> tensor<f32>
  %sg = train.unpack %all {offset = 32 : i64} : (tensor<3x16xf32>) -> tensor<f32>
  %0 = train.matmul %x, %w : (tensor<32x16xf8E4M3FN>, tensor<16x48xf8E4M3FN>) -> tensor<32x48xbf16>
  %1 = amp.dequantize %0 by %sx, %sw : tensor<32x48xbf16>
  %2 = train.matmul %g, %w {transpose_rhs} : (tensor<32x48xf8E5M2>, tensor<16x48xf8E4M3FN>) -> tensor<32x16xf32>
  %3 = amp.dequantize %2 by %sg, %sw : tensor<32x16xf32>
  return %1, %3 : tensor<32x48xbf16>, tensor<32x16xf32>
}

// -----

// A scale that has just been computed has its own factor, computed once, also for
// recomputed ops; there the product, or what it is recalled from, has no scale to
// remove.
// ADA-LABEL: func.func @again
// ADA-SAME:    (%[[X:.*]]: tensor<32x16xf8E4M3FN>, %[[W:.*]]: tensor<48x16xf8E4M3FN>, %[[SX:[^:]*]]: tensor<f32>, %[[SW:[^:]*]]: tensor<f32>,
// ADA-COUNT-2: train.div
// ADA-NOT:     train.div
// ADA:         %[[Y:.*]] = train.scaled_matmul %[[X]], %[[W]], %[[FX:.*]], %[[FW:.*]] {transpose_rhs}
// ADA:         %[[R:.*]] = train.remat_barrier %[[Y]]
// ADA:         %[[Z:.*]] = train.scaled_matmul %[[X]], %[[W]], %[[FX]], %[[FW]] {mpc.recomputed, transpose_rhs}
// ADA:         train.remat_barrier %[[SW]] after %[[Z]]
// ADA-NOT:     amp.dequantize
// ADA:         return %[[Y]], %[[R]], %[[Z]]
func.func @again(%x: tensor<32x16xf8E4M3FN>, %w: tensor<48x16xf8E4M3FN>, %sx: tensor<f32>, %sw: tensor<f32>, %g: tensor<4xf32>) -> (tensor<32x48xbf16>, tensor<32x48xbf16>, tensor<32x48xbf16>) {
  %0 = train.matmul %x, %w {transpose_rhs} : (tensor<32x16xf8E4M3FN>, tensor<48x16xf8E4M3FN>) -> tensor<32x48xbf16>
  %1 = amp.dequantize %0 by %sx, %sw : tensor<32x48xbf16>
  %2 = train.remat_barrier %0 after %g : tensor<32x48xbf16> after tensor<4xf32>
  %3 = train.remat_barrier %sx after %g : tensor<f32> after tensor<4xf32>
  %same = amp.scale_of %3 for %3 else %3 {mpc.recomputed} : tensor<f32>
  %4 = amp.dequantize %2 by %same, %sw : tensor<32x48xbf16>
  %5 = train.matmul %x, %w {mpc.recomputed, transpose_rhs} : (tensor<32x16xf8E4M3FN>, tensor<48x16xf8E4M3FN>) -> tensor<32x48xbf16>
  %6 = train.remat_barrier %sw after %5 : tensor<f32> after tensor<32x48xbf16>
  %7 = amp.dequantize %5 by %3, %6 : tensor<32x48xbf16>
  return %1, %4, %7 : tensor<32x48xbf16>, tensor<32x48xbf16>, tensor<32x48xbf16>
}

// -----

// Without scales the factors are ones.
// ADA-LABEL: func.func @unscaled
// ADA:         %[[ONE:.*]] = train.constant dense<1.0
// ADA:         train.scaled_matmul %{{.*}}, %{{.*}}, %[[ONE]], %[[ONE]]
func.func @unscaled(%x: tensor<32x16xf8E4M3FN>, %w: tensor<48x16xf8E4M3FN>) -> tensor<32x48xf32> {
  %0 = train.matmul %x, %w {transpose_rhs} : (tensor<32x16xf8E4M3FN>, tensor<48x16xf8E4M3FN>) -> tensor<32x48xf32>
  return %0 : tensor<32x48xf32>
}
