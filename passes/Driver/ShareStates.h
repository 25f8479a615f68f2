//===- ShareStates.h - Devices that keep the same states --------*- C++ -*-===//
#ifndef MPC_PASSES_DRIVER_SHARESTATES_H
#define MPC_PASSES_DRIVER_SHARESTATES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

namespace mpc {

/// For `modules` that are one model with a format for each value that suits its
/// device, before any other constant is made of them: where one keeps a
/// constant of the model rounded and another reads it in f32, the first gets a
/// working copy. Fails, with a diagnostic, if the name of that is taken.
llvm::LogicalResult agreeOnConstants(llvm::ArrayRef<mlir::ModuleOp> modules);

/// Gives each of them the states of all, in one order: a checkpoint goes from
/// any device to any other. What a device has no use for it leaves alone, such
/// as a working copy of weights, which the runtime makes anew, or what FP8
/// remembers of magnitudes. Fails, with a diagnostic, if two devices mean
/// something else by one name.
llvm::LogicalResult shareStates(llvm::ArrayRef<mlir::ModuleOp> modules);

} // namespace mpc

#endif // MPC_PASSES_DRIVER_SHARESTATES_H
