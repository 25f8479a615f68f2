//===- FloatBits.h - Narrow floats as integers ------------------*- C++ -*-===//
#ifndef MPC_PASSES_CODEGEN_FLOATBITS_H
#define MPC_PASSES_CODEGEN_FLOATBITS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

// Both write a kernel without a type for which the target has no instructions:
// values are their bits, and rounding is integer arithmetic. Kernels compute in
// f32, so that rounding, widening and moving is all there is.

/// Without bf16, for CPUs.
void keepBf16AsBits(mlir::func::FuncOp kernel);

/// Who rounds to FP8.
enum class Fp8Rounding {
  Integers,    ///< Integer arithmetic, on every target.
  Instruction, ///< That of GPUs from sm_89 on, two elements at a time. It
               ///< saturates: only what is bounded is left to it.
};

/// Without f8E4M3FN and f8E5M2. Rounding is to nearest even; beyond the largest
/// number f8E4M3FN has NaN and f8E5M2 infinity. NaN is 0x7f, without a sign.
void keepFp8AsBits(mlir::func::FuncOp kernel,
                   Fp8Rounding rounding = Fp8Rounding::Integers);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_FLOATBITS_H
