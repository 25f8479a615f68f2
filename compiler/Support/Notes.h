//===- Notes.h - Decisions that mpc tells the user --------------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_NOTES_H
#define MPC_COMPILER_SUPPORT_NOTES_H

#include "compiler/Attributes/Attributes.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace mpc {

/// Adds a line to the notes that the driver prints.
void addNote(mlir::ModuleOp module, const llvm::Twine &text);

/// Removes the notes from the module and returns them, the oldest first.
std::vector<std::string> takeNotes(mlir::ModuleOp module);

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_NOTES_H
