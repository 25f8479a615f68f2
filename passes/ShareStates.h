//===- ShareStates.h - Devices that keep the same states --------*- C++ -*-===//
#ifndef MPC_PASSES_SHARESTATES_H
#define MPC_PASSES_SHARESTATES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

namespace mpc {

/// Gives each of `modules`, which are one model with a format for each value
/// that suits its device, the states of all, in one order: a checkpoint goes
/// from any device to any other. What a device has no use for it leaves alone,
/// such as a working copy of weights, which the runtime makes anew, or what FP8
/// remembers of magnitudes. Fails, with a diagnostic, if two devices mean
/// something else by one name.
llvm::LogicalResult shareStates(llvm::ArrayRef<mlir::ModuleOp> modules);

} // namespace mpc

#endif // MPC_PASSES_SHARESTATES_H
