//===- Json.h - JSON that anybody wrote -------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_JSON_H
#define MPC_COMPILER_SUPPORT_JSON_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mpc {

/// True if `json` nests deeper than any file of ours. LLVM's parser calls
/// itself for what is nested: such text must never reach it.
bool nestsDeeply(llvm::StringRef json);

/// `text` as a string of JSON can hold it: names come from the user's file and
/// may be any bytes.
std::string utf8(llvm::StringRef text);

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_JSON_H
