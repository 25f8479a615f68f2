//===- KernelEmitter.h - Emit one kernel for a CPU --------------*- C++ -*-===//
#ifndef MPC_PASSES_CODEGEN_CPU_KERNELEMITTER_H
#define MPC_PASSES_CODEGEN_CPU_KERNELEMITTER_H

#include "passes/Codegen/AccessOrder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

/// Replaces the body of `kernel`, a function of `linalg.generic` on tensors, by
/// loops over vectors. The function then has the signature of generated
/// kernels, `(operands: !llvm.ptr, begin: i64, end: i64)`: operands are the
/// former arguments followed by the former results. Fails with a diagnostic if
/// the ops of the function have no common domain, or if a result that shares
/// the memory of an operand (`sharedBuffers`) is written before that operand is
/// read. Vectors have at most `maxLanes` elements.
mlir::LogicalResult emitKernel(mlir::func::FuncOp kernel,
                               llvm::ArrayRef<SharedBuffer> sharedBuffers,
                               unsigned maxLanes);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_CPU_KERNELEMITTER_H
