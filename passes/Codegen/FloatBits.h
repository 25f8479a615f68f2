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

/// Without f8E4M3FN and f8E5M2. Rounding is to nearest even; beyond the largest
/// number f8E4M3FN has NaN and f8E5M2 infinity.
void keepFp8AsBits(mlir::func::FuncOp kernel);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_FLOATBITS_H
