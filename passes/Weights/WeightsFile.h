//===- WeightsFile.h - A file with weights ----------------------*- C++ -*-===//
#ifndef MPC_PASSES_WEIGHTS_WEIGHTSFILE_H
#define MPC_PASSES_WEIGHTS_WEIGHTSFILE_H

#include "mpc/dtype.h"
#include "passes/Weights/OpenWeights.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace mpc {

/// An error about a file with weights. The message names options, not flags.
class WeightsError : public std::runtime_error {
public:
  /// Usage: an option, or the file, does not fit the model. Invalid: an ONNX
  /// model that cannot be read. Damaged: the same for other files.
  enum Kind { Usage, Invalid, Damaged, Io, Limit };

  WeightsError(Kind kind, const std::string &message)
      : std::runtime_error(message), kind(kind) {}

  const Kind kind;
};

/// A tensor of a file.
struct StoredWeight {
  std::string name;
  mpc_dtype_t dtype;
  std::vector<int64_t> shape;
  uint64_t offset; ///< For WeightsFile::read.
  uint64_t bytes;
};

/// The tensors of a safetensors file or of an ONNX model.
class WeightsFile {
public:
  virtual ~WeightsFile() = default;

  /// The elements of one of `tensors`. Throws a WeightsError.
  virtual std::vector<char> read(const StoredWeight &tensor) const = 0;

  const std::string path;
  const bool isModel; ///< It has constants besides the weights.
  std::vector<StoredWeight> tensors;

protected:
  WeightsFile(const std::string &path, bool isModel)
      : path(path), isModel(isModel) {}
};

} // namespace mpc

#endif // MPC_PASSES_WEIGHTS_WEIGHTSFILE_H
