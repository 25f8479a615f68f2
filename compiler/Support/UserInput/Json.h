//===- Json.h - JSON from untrusted files -----------------------*- C++ -*-===//
#ifndef MPC_COMPILER_SUPPORT_USERINPUT_JSON_H
#define MPC_COMPILER_SUPPORT_USERINPUT_JSON_H

#include "llvm/ADT/StringRef.h"

#include <string>
#include <utility>
#include <vector>

namespace mpc {

/// Returns true if `json` nests deeper than any file of mpc. LLVM's parser is
/// recursive: such text must not reach it.
bool nestsDeeply(llvm::StringRef json);

/// Returns `text` as valid UTF-8, which JSON strings must be: names come from
/// the user's file and may be any bytes.
std::string utf8(llvm::StringRef text);

/// Returns the values of a JSON array or object as text, for an object with
/// their keys. `json` must be valid and its keys free of escapes, as in JSON
/// that mpc wrote. It needs hardly any memory, unlike llvm::json::Value, whose
/// objects take 4 KB each.
std::vector<std::pair<llvm::StringRef, llvm::StringRef>>
splitJson(llvm::StringRef json);

} // namespace mpc

#endif // MPC_COMPILER_SUPPORT_USERINPUT_JSON_H
