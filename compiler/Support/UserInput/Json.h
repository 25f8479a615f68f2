//===- Json.h - JSON that anybody wrote -------------------------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_USERINPUT_JSON_H
#define MPC_COMPILER_SUPPORT_USERINPUT_JSON_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <utility>
#include <vector>

namespace mpc {

/// True if `json` nests deeper than any file of ours. LLVM's parser calls
/// itself for what is nested: such text must never reach it.
bool nestsDeeply(llvm::StringRef json);

/// `text` as a string of JSON can hold it: names come from the user's file and
/// may be any bytes.
std::string utf8(llvm::StringRef text);

/// The values of a JSON array or object as text, those of an object with their
/// keys. `json` must be valid and its keys free of escapes, as in JSON that mpc
/// wrote. Unlike llvm::json::Value, whose objects take 4 KB each, this needs
/// next to no memory.
std::vector<std::pair<llvm::StringRef, llvm::StringRef>>
splitJson(llvm::StringRef json);

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_USERINPUT_JSON_H
