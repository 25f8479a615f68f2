//===- Json.cpp - JSON from untrusted files -------------------------------===//

#include "compiler/Support/UserInput/Json.h"

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

std::vector<std::pair<llvm::StringRef, llvm::StringRef>>
mpc::splitJson(llvm::StringRef json) {
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> parts;
  json = json.trim().drop_front().drop_back();
  llvm::StringRef key;
  size_t begin = 0, depth = 0;
  bool inString = false;
  auto add = [&](size_t end) {
    llvm::StringRef value = json.slice(begin, end).trim();
    if (!value.empty())
      parts.emplace_back(key, value);
    key = "";
    begin = end + 1;
  };
  for (size_t i = 0; i < json.size(); ++i) {
    char c = json[i];
    if (inString && c == '\\') {
      ++i;
    } else if (c == '"') {
      inString = !inString;
    } else if (!inString) {
      depth += c == '[' || c == '{';
      depth -= c == ']' || c == '}';
      if (depth == 0 && c == ',')
        add(i);
      if (depth == 0 && c == ':') {
        key = json.slice(begin, i).trim().trim('"');
        begin = i + 1;
      }
    }
  }
  add(json.size());
  return parts;
}

std::string mpc::utf8(llvm::StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}
