//===- ShareStates.h - Make devices share states ----------------*- C++ -*-===//
#ifndef MPC_PASSES_DRIVER_SHARESTATES_H
#define MPC_PASSES_DRIVER_SHARESTATES_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/ArrayRef.h"

namespace mpc {

/// `modules` are one model with formats chosen for different devices or batch
/// sizes; call this before any pass creates more constants. If one module
/// stores a constant of the model rounded and another reads it in f32, the
/// first gets a working copy instead. Fails, with a diagnostic, if the name of
/// the working copy is taken.
llvm::LogicalResult agreeOnConstants(llvm::ArrayRef<mlir::ModuleOp> modules);

/// Gives each module the states of all modules, in one order, so that a
/// checkpoint of any device fits any other. A device ignores states that it
/// does not use, such as working copies, which the runtime computes again, or
/// the FP8 magnitude history. Fails, with a usage error, if two modules use one
/// name for different states; `where` is for its message.
llvm::LogicalResult shareStates(llvm::ArrayRef<mlir::ModuleOp> modules,
                                llvm::StringRef where = "on all devices");

} // namespace mpc

#endif // MPC_PASSES_DRIVER_SHARESTATES_H
