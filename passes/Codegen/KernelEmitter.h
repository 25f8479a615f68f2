//===- KernelEmitter.h - One kernel as vector code --------------*- C++ -*-===//
#ifndef MPC_PASSES_CODEGEN_KERNELEMITTER_H
#define MPC_PASSES_CODEGEN_KERNELEMITTER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

/// Replaces the body of `kernel`, a function of `linalg.generic` on tensors, by
/// loops over vectors. The function then has the signature of generated code,
/// `(operands: !llvm.ptr, begin: i64, end: i64)`: operands are the former
/// arguments and then the former results. Fails with a diagnostic if the ops
/// of the function have no common domain.
mlir::LogicalResult emitKernel(mlir::func::FuncOp kernel);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_KERNELEMITTER_H
