//===- GpuOps.h - GPU operations of a thread --------------------*- C++ -*-===//
//
// Functions that create NVVM operations. They keep NVVM's header out of other
// files: it takes longer to compile than all the code that emits kernels.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_CODEGEN_CUDA_GPUOPS_H
#define MPC_PASSES_CODEGEN_CUDA_GPUOPS_H

#include "mlir/IR/Builders.h"

namespace mpc {

/// Registers the dialects that the operations below need.
void registerGpuOps(mlir::DialectRegistry &registry);

/// The index of the thread in its block, and of the block in the grid; i32.
mlir::Value createThreadIndex(mlir::OpBuilder &builder, mlir::Location loc);
mlir::Value createBlockIndex(mlir::OpBuilder &builder, mlir::Location loc);

void createBarrier(mlir::OpBuilder &builder, mlir::Location loc);

/// Returns the i32 `word` of the thread of the warp whose number is this one's
/// XOR `distance`. `all` is the mask of participating threads, and `last` the
/// number of the last one.
mlir::Value createShuffle(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value all, mlir::Value word,
                          mlir::Value distance, mlir::Value last);

/// Rounds two f32 to 8 bit and returns them as an i16, `first` in its lower
/// half: to nearest even, saturating to the largest number of `format`
/// (f8E4M3FN or f8E5M2); NaN becomes 0x7f.
mlir::Value createFp8Pair(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Type format, mlir::Value first,
                          mlir::Value second);

/// The address space of memory that a block shares.
/// Starts to bring the memory at `address` into the L2 cache.
void createPrefetch(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value address);

/// The symbol of the dynamic shared memory of a module's kernels.
inline constexpr llvm::StringLiteral kDynamicShared = "mpc_dynamic_shared";

/// The size of the block's dynamic shared memory in bytes, i32.
mlir::Value createDynamicSharedBytes(mlir::OpBuilder &builder,
                                     mlir::Location loc);

unsigned sharedMemorySpace();

/// Marks a function as a kernel entry, launched in blocks of `threads` threads.
void markAsKernel(mlir::Operation *func, int64_t threads);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_CUDA_GPUOPS_H
