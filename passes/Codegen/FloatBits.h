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

/// Rounds two f32, whose bytes become one i16 with `first` in its lower half,
/// by an instruction of the target: to nearest even, saturating, NaN to 0x7f.
using Fp8PairRounding = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::Type format,
    mlir::Value first, mlir::Value second)>;

/// Without f8E4M3FN and f8E5M2. Rounding is to nearest even; beyond the largest
/// number f8E4M3FN has NaN and f8E5M2 infinity. NaN is 0x7f, without a sign.
/// `roundPair`, if the target has such an instruction, rounds what is bounded.
void keepFp8AsBits(mlir::func::FuncOp kernel,
                   Fp8PairRounding roundPair = nullptr);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_FLOATBITS_H
