//===- NamedWeights.cpp - The weights of a file by name -------------------===//

#include "passes/Weights/NamedWeights.h"

#include <filesystem>
#include <regex>

using namespace mpc;

bool mpc::isModelName(const std::string &path) {
  const std::string extension = std::filesystem::path(path).extension();
  return extension == ".onnx" || extension == ".onnxtxt" ||
         extension == ".textproto";
}

[[noreturn]] static void refuseMap(const std::string &why) {
  throw WeightsError(WeightsError::Usage, "option 'map-names': " + why);
}

namespace {
/// A regular expression and what replaces it.
struct NameMap {
  std::regex from;
  std::string to;
};
} // namespace

static NameMap parseMap(const std::string &text) {
  size_t equals = text.rfind('=');
  if (equals == text.npos || equals == 0)
    refuseMap("'" + text + "' is not REGEX=TEXT");
  try {
    return {std::regex(text.substr(0, equals)), text.substr(equals + 1)};
  } catch (const std::regex_error &error) {
    refuseMap("'" + text.substr(0, equals) +
              "' is not a regular expression: " + error.what());
  }
}

NamedWeights::NamedWeights(std::unique_ptr<WeightsFile> file,
                           const std::vector<std::string> &maps)
    : opened(std::move(file)) {
  std::vector<NameMap> parsed;
  for (const std::string &text : maps)
    parsed.push_back(parseMap(text));
  for (const StoredWeight &tensor : opened->tensors) {
    std::string name = tensor.name;
    for (const NameMap &map : parsed)
      name = std::regex_replace(name, map.from, map.to);
    if (auto [at, isNew] = named.try_emplace(name, &tensor); !isNew)
      refuseMap("'" + tensor.name + "' and '" + at->second->name +
                "' both become '" + name + "'");
  }
}
