//===- Json.cpp - JSON that anybody wrote ---------------------------------===//

#include "compiler/Support/Json.h"

#include "llvm/Support/JSON.h"

bool mpc::nestsDeeply(llvm::StringRef json) {
  constexpr size_t kMaxDepth = 256;
  size_t depth = 0;
  bool inString = false;
  for (size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (inString && c == '\\')
      ++i;
    else if (c == '"')
      inString = !inString;
    else if (!inString && (c == '[' || c == '{') && ++depth > kMaxDepth)
      return true;
    else if (!inString && (c == ']' || c == '}') && depth > 0)
      --depth;
  }
  return false;
}

std::string mpc::utf8(llvm::StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}
