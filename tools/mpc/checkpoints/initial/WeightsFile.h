//===- WeightsFile.h - A file with weights ----------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_INITIAL_WEIGHTSFILE_H
#define MPC_TOOLS_MPC_CHECKPOINTS_INITIAL_WEIGHTSFILE_H

#include "tools/mpc/Command.h"

#include "runtime/src/checkpoint/checkpoint.h"

#include <memory>
#include <string>
#include <vector>

namespace mpc::tool {

/// The tensors of a safetensors file or of an ONNX model.
class WeightsFile {
public:
  virtual ~WeightsFile() = default;

  /// The elements of one of `tensors`.
  virtual std::vector<char> read(const runtime::StoredTensor &tensor) const = 0;

  const std::string path;
  const bool isModel; ///< It has constants besides the weights.
  std::vector<runtime::StoredTensor> tensors;

protected:
  WeightsFile(const std::string &path, bool isModel)
      : path(path), isModel(isModel) {}
};

/// Opens a file. `readOnnx` is null in an mpc without the compiler, which
/// cannot read ONNX.
std::unique_ptr<WeightsFile> openWeights(const std::string &path,
                                         ReadOnnxWeights *readOnnx);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_INITIAL_WEIGHTSFILE_H
