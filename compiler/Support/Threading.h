//===- Threading.h - Whether MLIR may start threads ------------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_THREADING_H
#define MPC_COMPILER_SUPPORT_THREADING_H

#include "mlir/IR/MLIRContext.h"

namespace mpc {

/// ENABLED if the system gives this process as many threads as MLIR's pool
/// starts, which ends the process where it gets one too few.
mlir::MLIRContext::Threading availableThreading();

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_THREADING_H
