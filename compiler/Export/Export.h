//===- Export.h - Trained weights as an ONNX file ---------------*- C++ -*-===//
#ifndef MPC_COMPILER_EXPORT_EXPORT_H
#define MPC_COMPILER_EXPORT_EXPORT_H

#include "compiler/Import/File/ModelError.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace mpc {

/// Row-major values of states by name; the data is borrowed.
using TrainedStates = std::map<std::string, llvm::ArrayRef<float>>;

/// A training step, to be described by ONNX's `training_info`. Numbers have the
/// meaning of those in passes/Driver/Pipeline.h.
struct TrainingDescription {
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;

    int64_t count() const {
      int64_t product = 1;
      for (int64_t extent : shape)
        product *= extent;
      return product;
    }
  };

  std::vector<Tensor> parameters;
  std::set<std::string> statistics; ///< Initializers that training updates.
  /// "output" if `lossOutput` is the loss, else the kind of loss that is
  /// computed from it.
  std::string lossKind, lossOutput;
  Tensor target;                ///< The target of a computed loss.
  bool targetIsBatched = false; ///< Its dimension 0 counts samples.
  std::string classAxis;        ///< The dimension of classes; "" for none.
  /// Dimension 0 of the output merges the dimensions of the labels.
  bool joinsRows = false;

  std::string optimizer;
  double rate = 0, weightDecay = 0, beta1 = 0, beta2 = 0, epsilon = 0;
  double momentum = 0, clipNorm = 0;
  bool nesterov = false;
  int64_t step = 0;      ///< Number of updates so far.
  TrainedStates moments; ///< "adam.first_moment/NAME"; the data is borrowed.
};

struct ExportOptions {
  /// If tensors have more bytes than this, they go to `<outPath>.data`, which
  /// the model references as external data.
  uint64_t maxInlineBytes = uint64_t(1) << 30;

  /// Counters of an own step (its integer states), by name.
  std::map<std::string, int64_t> counters;

  /// The training step to describe in the model; null for none. The model must
  /// not have a description yet.
  const TrainingDescription *training = nullptr;
};

/// Writes the model of `originalPath` to `outPath` with the initializers named
/// in `states` replaced, converted to the type each of them has in the model
/// (f16 and bf16 round to nearest even). Names are those of the `train.state`
/// ops that importOnnx creates for the same file. Everything that `states` does
/// not name is kept, including external data. If the model has an own step, the
/// initializers of that may be named, too, so that training continues from
/// there. For a folder of ONNX Runtime's training artifacts, the evaluation
/// model is written, without the loss and with its parameters as initializers.
///
/// The file is written completely or not at all: it is written beside
/// `outPath`, synced and renamed. `outPath` may be `originalPath`. Fails with a
/// ModelFileError: Io; Invalid if the model cannot be read, or if a name or an
/// element count does not match it; Limit.
llvm::Error exportTrained(llvm::StringRef originalPath,
                          const TrainedStates &states, llvm::StringRef outPath,
                          const ExportOptions &options = {});

} // namespace mpc

#endif // MPC_COMPILER_EXPORT_EXPORT_H
