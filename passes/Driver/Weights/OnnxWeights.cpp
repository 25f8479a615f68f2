//===- OnnxWeights.cpp - The weights of an ONNX model ---------------------===//

#include "passes/Driver/Weights/OnnxWeights.h"

#include "compiler/Import/File/ModelError.h"
#include "compiler/Import/ReadInitializers.h"

#include <optional>

using namespace mpc;

static WeightsError::Kind kindOf(ModelError error) {
  switch (error) {
  case ModelError::Io:
    return WeightsError::Io;
  case ModelError::Limit:
    return WeightsError::Limit;
  default:
    return WeightsError::Invalid;
  }
}

namespace {
/// The initializers of a model; the offset of a tensor is its index.
class OnnxFile final : public WeightsFile {
public:
  explicit OnnxFile(const std::string &path)
      : WeightsFile(path, /*isModel=*/true) {
    llvm::Error error =
        readInitializers(path, [&](const InitializerView &view) {
          if (!view.dtype) // No state has another type.
            return;
          tensors.push_back({view.name.str(), *view.dtype, view.shape.vec(),
                             contents.size(), view.bytes.size()});
          contents.emplace_back(view.bytes.begin(), view.bytes.end());
        });
    std::optional<WeightsError> failure;
    llvm::handleAllErrors(std::move(error), [&](const ModelFileError &info) {
      failure.emplace(kindOf(info.kind), info.message);
    });
    if (failure)
      throw *failure;
  }

  std::vector<char> read(const StoredWeight &tensor) const override {
    return contents[tensor.offset];
  }

private:
  std::vector<std::vector<char>> contents;
};
} // namespace

std::unique_ptr<WeightsFile> mpc::openOnnxWeights(const std::string &path) {
  return std::make_unique<OnnxFile>(path);
}
