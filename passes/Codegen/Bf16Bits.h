//===- Bf16Bits.h - bf16 as integers of 16 bit ------------------*- C++ -*-===//
#ifndef MPC_PASSES_CODEGEN_BF16BITS_H
#define MPC_PASSES_CODEGEN_BF16BITS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

/// Writes a kernel without bf16, for CPUs that have no instructions for it:
/// values are their bits, and rounding is integer arithmetic. Kernels compute
/// in f32, so that rounding, widening and moving is all there is.
void keepBf16AsBits(mlir::func::FuncOp kernel);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_BF16BITS_H
