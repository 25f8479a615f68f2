// RUN: mpc-opt %s --mpc-lower-kernels --split-input-file | FileCheck %s --check-prefixes=CHECK,PLAIN
// RUN: mpc-opt %s --mpc-lower-kernels=features=avx512f,avx512dq --split-input-file | FileCheck %s --check-prefixes=CHECK,AVX512
// RUN: mpc-opt %s --mpc-lower-kernels=features=avx512f,avx512dq,avx512bf16 --split-input-file | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: mpc-opt %s --mpc-lower-kernels=libm --split-input-file | FileCheck %s --check-prefix=LIBM


// exp on f32 vectors is a polynomial without a call. With libm it is an intrinsic for
// which LLVM calls expf.
// LIBM-LABEL: llvm.func @exp_f32
// LIBM:         llvm.intr.exp
// CHECK-LABEL: llvm.func @exp_f32
// CHECK-NOT:     call
// CHECK:         llvm.intr.fma
// CHECK:         llvm.return
// CHECK-NOT:   arith.
func.func @exp_f32(%p: !llvm.ptr) attributes {mpc.kernel} {
  %0 = llvm.load %p : !llvm.ptr -> vector<16xf32>
  %1 = math.exp %0 : vector<16xf32>
  llvm.store %1, %p : vector<16xf32>, !llvm.ptr
  return
}

// -----

// The same holds for exp2; AVX-512 has instructions for its parts, for whole vectors.
// CHECK-LABEL:  llvm.func @exp2_f32
// PLAIN-NOT:      call
// AVX512:         llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"
// AVX512-COUNT-6: llvm.intr.fma
// AVX512:         llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"
// AVX512-NOT:     call
// CHECK:          llvm.return
func.func @exp2_f32(%p: !llvm.ptr) attributes {mpc.kernel} {
  %0 = llvm.load %p : !llvm.ptr -> vector<16xf32>
  %1 = math.exp2 %0 : vector<16xf32>
  llvm.store %1, %p : vector<16xf32>, !llvm.ptr
  %2 = llvm.load %p : !llvm.ptr -> f32
  %3 = math.exp2 %2 : f32
  llvm.store %3, %p : f32, !llvm.ptr
  return
}

// -----

// erf is a quotient of two polynomials of the square.
// CHECK-LABEL:   llvm.func @erf_f32
// CHECK-COUNT-10:  llvm.intr.fma
// CHECK:           llvm.fdiv
// CHECK-NOT:       call
// CHECK:           llvm.return
func.func @erf_f32(%p: !llvm.ptr) attributes {mpc.kernel} {
  %0 = llvm.load %p : !llvm.ptr -> vector<16xf32>
  %1 = math.erf %0 : vector<16xf32>
  llvm.store %1, %p : vector<16xf32>, !llvm.ptr
  return
}

// -----

// The factor of gelu is a single quotient, without a separate erf.
// CHECK-LABEL:   llvm.func @normal_cdf
// CHECK-NOT:       5.000000e-01
// CHECK:           %[[HALF:.*]] = llvm.mlir.constant(dense<5.000000e-01>
// CHECK:           %[[PART:.*]] = llvm.fdiv
// CHECK-NEXT:      llvm.fadd %[[PART]], %[[HALF]]
// CHECK-NOT:       llvm.fmul
// CHECK:           llvm.return
func.func @normal_cdf(%p: !llvm.ptr) attributes {mpc.kernel} {
  %half = arith.constant dense<0.5> : vector<16xf32>
  %rsqrt2 = arith.constant dense<0.707106769> : vector<16xf32>
  %0 = llvm.load %p : !llvm.ptr -> vector<16xf32>
  %1 = arith.mulf %rsqrt2, %0 : vector<16xf32>
  %2 = math.erf %1 : vector<16xf32>
  %3 = arith.mulf %half, %2 : vector<16xf32>
  %4 = arith.addf %half, %3 : vector<16xf32>
  llvm.store %4, %p : vector<16xf32>, !llvm.ptr
  return
}

// -----

// In f64, which only gradient checks use, functions call libm lane by lane.
// CHECK-LABEL: llvm.func @erf_f64
// CHECK-COUNT-2: llvm.call @erf(%{{.*}}) : (f64) -> f64
func.func @erf_f64(%p: !llvm.ptr) attributes {mpc.kernel} {
  %0 = llvm.load %p : !llvm.ptr -> vector<2xf64>
  %1 = math.erf %0 : vector<2xf64>
  llvm.store %1, %p : vector<2xf64>, !llvm.ptr
  return
}

// -----

// Loops become branches; the attribute that marks kernels is kept.
// CHECK-LABEL: llvm.func @loop
// CHECK-SAME:    attributes {mpc.kernel}
// CHECK:         llvm.cond_br
// CHECK-NOT:   scf.
func.func @loop(%p: !llvm.ptr, %begin: i64, %end: i64) attributes {mpc.kernel} {
  %one = arith.constant 1 : i64
  scf.for %i = %begin to %end step %one : i64 {
    %q = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %one, %q : i64, !llvm.ptr
  }
  return
}

// -----

// The pass does not change states and entry points.
// CHECK:       train.state @w parameter : tensor<4xf32>
// CHECK:       exec.entry @e
// CHECK:         exec.call "zero"
train.state @w parameter : tensor<4xf32>
exec.entry @e inputs = [] outputs = [] {
  exec.call "zero" [] [#exec.buffer<state + 0 : tensor<4xf32>>]
}

// -----

// Only AVX512_BF16 has instructions that round to bf16, and only with it does LLVM
// support vectors of bf16: elsewhere they are integers.
// CHECK-LABEL: llvm.func @round_bf16
// PLAIN-NOT:     bf16
// AVX512-NOT:    bf16
// PLAIN:         %[[NAN:.*]] = llvm.fcmp "uno"
// PLAIN:         %[[WIDE:.*]] = llvm.select %[[NAN]]
// PLAIN:         %[[HIGH:.*]] = llvm.lshr %[[WIDE]]
// PLAIN:         llvm.trunc %[[HIGH]] : vector<16xi32> to vector<16xi16>
// AVX512:        llvm.trunc {{.*}} : vector<16xi32> to vector<16xi16>
// BF16:          llvm.fptrunc {{.*}} vector<16xf32> to vector<16xbf16>
// PLAIN-NOT:     bf16
// AVX512-NOT:    bf16
// CHECK:         llvm.return
func.func @round_bf16(%p: !llvm.ptr) attributes {mpc.kernel} {
  %0 = llvm.load %p : !llvm.ptr -> vector<16xf32>
  %1 = arith.truncf %0 : vector<16xf32> to vector<16xbf16>
  llvm.store %1, %p : vector<16xbf16>, !llvm.ptr
  return
}

// -----

// The same for ops that only move them. 1.5 is 0x3fc0, 16320.
// CHECK-LABEL: llvm.func @move_bf16
// PLAIN-NOT:     bf16
// AVX512-NOT:    bf16
// BF16:          llvm.mlir.constant(dense<1.500000e+00> : vector<16xbf16>)
// PLAIN:         llvm.mlir.constant(dense<16320> : vector<16xi16>)
// PLAIN:         llvm.select {{.*}} vector<16xi1>, vector<16xi16>
// PLAIN:         llvm.zext {{.*}} : vector<16xi16> to vector<16xi32>
// PLAIN:         llvm.shl
// PLAIN-NOT:     bf16
// AVX512-NOT:    bf16
// CHECK:         llvm.return
func.func @move_bf16(%p: !llvm.ptr, %n: i64) attributes {mpc.kernel} {
  %one = arith.constant 1 : i64
  %constant = arith.constant dense<1.5> : vector<16xbf16>
  %first = llvm.load %p : !llvm.ptr -> bf16
  %all = vector.broadcast %first : bf16 to vector<16xbf16>
  %last = scf.for %i = %one to %n step %one iter_args(%x = %all) -> (vector<16xbf16>) : i64 {
    %y = llvm.load %p : !llvm.ptr -> vector<16xbf16>
    %mask = llvm.load %p : !llvm.ptr -> vector<16xi1>
    %z = arith.select %mask, %y, %constant : vector<16xi1>, vector<16xbf16>
    llvm.intr.masked.store %x, %p, %mask {alignment = 2 : i32} : vector<16xbf16>, vector<16xi1> into !llvm.ptr
    scf.yield %z : vector<16xbf16>
  }
  %wide = arith.extf %last : vector<16xbf16> to vector<16xf32>
  llvm.store %wide, %p : vector<16xf32>, !llvm.ptr
  return
}
