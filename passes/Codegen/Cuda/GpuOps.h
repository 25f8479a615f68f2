//===- GpuOps.h - What a thread asks of the GPU -----------------*- C++ -*-===//
//
// NVVM's operations behind functions: its header takes longer to compile than
// all that emits kernels.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_CODEGEN_CUDA_GPUOPS_H
#define MPC_PASSES_CODEGEN_CUDA_GPUOPS_H

#include "mlir/IR/Builders.h"

namespace mpc {

/// For the passes that use what is below.
void registerGpuOps(mlir::DialectRegistry &registry);

/// Which thread of its block runs, and which block of the grid; i32.
mlir::Value createThreadIndex(mlir::OpBuilder &builder, mlir::Location loc);
mlir::Value createBlockIndex(mlir::OpBuilder &builder, mlir::Location loc);

void createBarrier(mlir::OpBuilder &builder, mlir::Location loc);

/// The i32 of the thread of the warp whose number differs in `distance`; `all`
/// threads of the warp take part, and `last` is the number of the last one.
mlir::Value createShuffle(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value all, mlir::Value word,
                          mlir::Value distance, mlir::Value last);

/// Both f32 in 8 bit as an i16, `first` in its lower half: rounded to nearest
/// even, what is too large for `format` (f8E4M3FN or f8E5M2) to its largest
/// number, NaN to 0x7f.
mlir::Value createFp8Pair(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Type format, mlir::Value first,
                          mlir::Value second);

/// The address space of memory that a block shares.
unsigned sharedMemorySpace();

/// Makes a function what starts a grid, of blocks of so many threads.
void markAsKernel(mlir::Operation *func, int64_t threads);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_CUDA_GPUOPS_H
