//===- Threading.h - Whether MLIR may start threads -------------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_THREADING_H
#define MPC_COMPILER_SUPPORT_THREADING_H

#include "mlir/IR/MLIRContext.h"

namespace mpc {

/// Returns ENABLED if the system lets this process start as many threads as
/// MLIR's pool has. The pool aborts the process if it cannot start one of them.
mlir::MLIRContext::Threading availableThreading();

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_THREADING_H
