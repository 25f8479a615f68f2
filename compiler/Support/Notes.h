//===- Notes.h - Decisions that the user should hear of ---------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_NOTES_H
#define MPC_COMPILER_SUPPORT_NOTES_H

#include "compiler/Attributes/Attributes.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace mpc {

/// Appends one line to what the driver says.
void addNote(mlir::ModuleOp module, const llvm::Twine &text);

/// Takes them from the module, the oldest first.
std::vector<std::string> takeNotes(mlir::ModuleOp module);

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_NOTES_H
