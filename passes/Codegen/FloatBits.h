//===- FloatBits.h - Narrow floats as integers ------------------*- C++ -*-===//
#ifndef MPC_PASSES_CODEGEN_FLOATBITS_H
#define MPC_PASSES_CODEGEN_FLOATBITS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

// These functions remove a float type for which the target has no instructions
// from a kernel: values become integers that hold their bits, and rounding
// becomes integer arithmetic. Kernels compute in f32, so narrow types are only
// rounded, widened and moved.

/// Replaces bf16 in this way, for CPUs.
void keepBf16AsBits(mlir::func::FuncOp kernel);

/// Rounds two f32 to 8 bit with an instruction of the target, to one i16 with
/// `first` in its lower half: to nearest even, saturating, NaN to 0x7f. Returns
/// null if the target has no instruction for `format`.
using Fp8PairRounding = llvm::function_ref<mlir::Value(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::Type format,
    mlir::Value first, mlir::Value second)>;

/// Replaces 8-bit floats in this way. Rounding is to nearest even; values
/// beyond the largest number become infinity, or NaN in formats without
/// infinities. NaN is 0x7f, without a sign. `roundPair`, if the target has such
/// an instruction, rounds values that are known to be in range.
void keepFp8AsBits(mlir::func::FuncOp kernel,
                   Fp8PairRounding roundPair = nullptr);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_FLOATBITS_H
