//===- SimulateThreads.h - GPU kernels for the host simulator ---*- C++ -*-===//
#ifndef MPC_PASSES_CODEGEN_CUDA_SIMULATETHREADS_H
#define MPC_PASSES_CODEGEN_CUDA_SIMULATETHREADS_H

#include "mlir/IR/BuiltinOps.h"

namespace mpc {

/// Replaces what the kernels of `module` (functions with `mpc.kernel`) know of
/// other threads by calls of test/device_sim/abi.h, and their parameters by the
/// one `void *const *parameters` of a launch.
void simulateThreads(mlir::ModuleOp module);

} // namespace mpc

#endif // MPC_PASSES_CODEGEN_CUDA_SIMULATETHREADS_H
