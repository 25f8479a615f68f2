//===- KernelEmitter.h - Emit one kernel for a GPU --------------*- C++ -*-===//
#ifndef MPC_PASSES_CODEGEN_CUDA_KERNELEMITTER_H
#define MPC_PASSES_CODEGEN_CUDA_KERNELEMITTER_H

#include "passes/Codegen/AccessOrder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

/// Replaces the body of `kernel`, a function of `linalg.generic` on tensors, by
/// the code of one thread of a grid (GpuSchedule.h). The parameters of the
/// function are the addresses of the operands, multiples of 16; the attribute
/// `mpc.threads` is the number of threads of a block. Fails under the same
/// conditions as emitKernel (passes/Codegen/Cpu/KernelEmitter.h).
mlir::LogicalResult emitGpuKernel(mlir::func::FuncOp kernel,
                                  llvm::ArrayRef<SharedBuffer> sharedBuffers);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_CUDA_KERNELEMITTER_H
