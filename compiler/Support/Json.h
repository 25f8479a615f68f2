//===- Json.h - JSON that anybody wrote -------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_JSON_H
#define MPC_COMPILER_SUPPORT_JSON_H

#include "llvm/ADT/StringRef.h"

namespace mpc {

/// True if `json` nests deeper than any file of ours. LLVM's parser calls
/// itself for what is nested: such text must never reach it.
bool nestsDeeply(llvm::StringRef json);

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_JSON_H
