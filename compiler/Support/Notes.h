//===- Notes.h - Decisions that the user should hear of ---------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_NOTES_H
#define MPC_COMPILER_SUPPORT_NOTES_H

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace mpc {

/// Of the module, until the driver takes them: lines of text.
inline constexpr llvm::StringLiteral kNotesAttr = "mpc.notes";

/// Appends one line to what the driver says.
void addNote(mlir::ModuleOp module, const llvm::Twine &text);

/// Takes them from the module, the oldest first.
std::vector<std::string> takeNotes(mlir::ModuleOp module);

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_NOTES_H
