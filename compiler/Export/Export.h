//===- Export.h - Trained weights back into an ONNX file --------*- C++ -*-===//
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

/// A training step, as `training_info` of ONNX is to say it. Numbers are those
/// of passes/Driver/Pipeline.h.
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
  std::set<std::string> statistics; ///< Initializers that training moves.
  /// "output" if `lossOutput` is the loss, else what is taken of it.
  std::string lossKind, lossOutput;
  Tensor target;                ///< What a loss that is taken compares with.
  bool targetIsBatched = false; ///< Its dimension 0 counts samples.
  std::string classAxis;        ///< The dimension of classes; "" without any.
  /// Whether dimension 0 of the output joins the dimensions of the labels.
  bool joinsRows = false;

  std::string optimizer;
  double rate = 0, weightDecay = 0, beta1 = 0, beta2 = 0, epsilon = 0;
  double momentum = 0, clipNorm = 0;
  bool nesterov = false;
  int64_t step = 0;      ///< Updates done.
  TrainedStates moments; ///< "adam.first_moment/NAME"; the data is borrowed.
};

struct ExportOptions {
  /// Above this many bytes of tensors, they go to `<outPath>.data` beside the
  /// model, which names that file as external data.
  uint64_t maxInlineBytes = uint64_t(1) << 30;

  /// Integer states of a model's own training step, by name: what it counts.
  std::map<std::string, int64_t> counters;

  /// What the model is to say of its training; null: nothing. It must say
  /// nothing yet.
  const TrainingDescription *training = nullptr;
};

/// Writes the model of `originalPath` to `outPath` with the initializers named
/// in `states` replaced, converted to the type each of them has in the model
/// (f16 and bf16 round to nearest even). Names are those of the `train.state`
/// ops that importOnnx makes of the same file. What `states` does not name is
/// kept, external data included. Of a model that brings its own training step
/// the initializers of that may be named, too, so that training continues from
/// there. For a folder of ONNX Runtime's training artifacts the model for
/// evaluation is written, without the loss and with its parameters as
/// initializers.
///
/// The file appears whole or not at all: it is written beside `outPath`, synced
/// and renamed. `outPath` may be `originalPath`. Fails with a ModelFileError:
/// Io; Invalid if the model cannot be read, or if a name or an element count
/// does not fit it; Limit.
llvm::Error exportTrained(llvm::StringRef originalPath,
                          const TrainedStates &states, llvm::StringRef outPath,
                          const ExportOptions &options = {});

} // namespace mpc

#endif // MPC_COMPILER_EXPORT_EXPORT_H
