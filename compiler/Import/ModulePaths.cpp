//===- ModulePaths.cpp - Modules that exporters wrote down ----------------===//

#include "compiler/Import/ModulePaths.h"

#include "compiler/Import/NewerFields.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

using namespace mpc;
using llvm::StringRef;

/// `metadata_props` of a NodeProto.
static constexpr int kNodeMetadata = 9;

/// The strings of a Python list of them: "['', 'm', 'm.h.0', 'linear']".
static llvm::SmallVector<StringRef> parseList(StringRef text) {
  llvm::SmallVector<StringRef> items;
  while (true) {
    size_t begin = text.find_first_of("'\"");
    if (begin == StringRef::npos)
      return items;
    size_t end = text.find(text[begin], begin + 1);
    if (end == StringRef::npos)
      return items;
    items.push_back(text.slice(begin + 1, end));
    text = text.drop_front(end + 1);
  }
}

/// The last scope is the op itself.
static std::optional<std::string> modulePath(const onnx::NodeProto &node) {
  for (const auto &entry :
       readNewerField<onnx::StringStringEntryProto>(node, kNodeMetadata)) {
    if (entry.key() != "pkg.torch.onnx.name_scopes")
      continue;
    llvm::SmallVector<StringRef> scopes = parseList(entry.value());
    if (scopes.size() > 1)
      return scopes[scopes.size() - 2].str();
  }
  return std::nullopt;
}

std::map<std::string, std::string>
mpc::readModulePaths(const onnx::GraphProto &graph) {
  std::map<std::string, std::string> modules;
  for (const onnx::NodeProto &node : graph.node())
    if (std::optional<std::string> path = modulePath(node))
      if (!node.name().empty() || node.output_size() > 0)
        modules[node.name().empty() ? node.output(0) : node.name()] = *path;
  return modules;
}
