//===- Export.h - Trained weights back into an ONNX file --------*- C++ -*-===//
#ifndef MPC_COMPILER_EXPORT_EXPORT_H
#define MPC_COMPILER_EXPORT_EXPORT_H

#include "compiler/Import/ModelError.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <map>
#include <string>

namespace mpc {

/// Row-major values of states by name; the data is borrowed.
using TrainedStates = std::map<std::string, llvm::ArrayRef<float>>;

struct ExportOptions {
  /// Above this many bytes of tensors, they go to `<outPath>.data` beside the
  /// model, which names that file as external data.
  uint64_t maxInlineBytes = uint64_t(1) << 30;

  /// Integer states of a model's own training step, by name: what it counts.
  std::map<std::string, int64_t> counters;
};

/// Writes the model of `originalPath` to `outPath` with the initializers named
/// in `states` replaced, converted to the type each of them has in the model
/// (f16 and bf16 round to nearest even). Names are those of the `train.state`
/// ops that importOnnx makes of the same file. What `states` does not name is
/// kept, external data included. Of a model that brings its own training step
/// the initializers of that may be named, too, so that it goes on from there.
/// Of a folder of ONNX Runtime's training artifacts the model for evaluation is
/// written, without the loss and with its parameters as initializers.
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
