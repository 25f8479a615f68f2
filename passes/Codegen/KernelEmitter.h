//===- KernelEmitter.h - One kernel as code of a device ---------*- C++ -*-===//
#ifndef MPC_PASSES_CODEGEN_KERNELEMITTER_H
#define MPC_PASSES_CODEGEN_KERNELEMITTER_H

#include "passes/Codegen/AccessOrder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

/// Replaces the body of `kernel`, a function of `linalg.generic` on tensors, by
/// loops over vectors. The function then has the signature of generated code,
/// `(operands: !llvm.ptr, begin: i64, end: i64)`: operands are the former
/// arguments and then the former results. Fails with a diagnostic if the ops
/// of the function have no common domain, or if a result in the place of an
/// operand (`places`) is written before that operand is read.
mlir::LogicalResult emitKernel(mlir::func::FuncOp kernel,
                               llvm::ArrayRef<SharedPlace> places);

/// The same for a GPU: what one thread of a grid does (GpuSchedule.h). The
/// parameters of the function are the addresses of the operands, multiples of
/// 16; the attribute `mpc.threads` says how many threads a block has.
mlir::LogicalResult emitGpuKernel(mlir::func::FuncOp kernel,
                                  llvm::ArrayRef<SharedPlace> places);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_KERNELEMITTER_H
