//===- SimulateThreads.h - GPU kernels for the host simulator ---*- C++ -*-===//
#ifndef MPC_PASSES_CODEGEN_CUDA_SIMULATETHREADS_H
#define MPC_PASSES_CODEGEN_CUDA_SIMULATETHREADS_H

#include "mlir/IR/BuiltinOps.h"

namespace mpc {

/// Replaces the thread operations in the kernels of `module` (functions with
/// `mpc.kernel`) by calls to test/device_sim/abi.h, and their parameters by one
/// `void *const *parameters`, as a launch passes it.
void simulateThreads(mlir::ModuleOp module);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_CUDA_SIMULATETHREADS_H
