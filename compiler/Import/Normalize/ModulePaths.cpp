//===- ModulePaths.cpp - Modules recorded by exporters --------------------===//

#include "compiler/Import/Normalize/ModulePaths.h"

#include "compiler/Import/File/NewerFields.h"

#include "llvm/ADT/StringRef.h"

#include <optional>

using namespace mpc;
using llvm::StringRef;

/// `metadata_props` of a NodeProto.
static constexpr int kNodeMetadata = 9;

std::vector<std::string> mpc::parseNames(const std::string &list) {
  std::vector<std::string> items;
  StringRef text = list;
  while (true) {
    size_t begin = text.find_first_of("'\"");
    if (begin == StringRef::npos)
      return items;
    size_t end = text.find(text[begin], begin + 1);
    if (end == StringRef::npos)
      return items;
    items.push_back(text.slice(begin + 1, end).str());
    text = text.drop_front(end + 1);
  }
}

std::string mpc::readNodeMetadata(const onnx::NodeProto &node,
                                  const char *key) {
  for (const auto &entry :
       readNewerField<onnx::StringStringEntryProto>(node, kNodeMetadata))
    if (entry.key() == key)
      return entry.value();
  return "";
}

/// The last scope is the op itself.
static std::optional<std::string> modulePath(const onnx::NodeProto &node) {
  std::vector<std::string> scopes =
      parseNames(readNodeMetadata(node, kNameScopes));
  if (scopes.size() > 1)
    return scopes[scopes.size() - 2];
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
