//===- Import.h - Import of ONNX files as train ops -------------*- C++ -*-===//
#ifndef MPC_COMPILER_IMPORT_IMPORT_H
#define MPC_COMPILER_IMPORT_IMPORT_H

#include "compiler/Import/File/ModelError.h"
#include "compiler/Import/Limits.h"
#include "compiler/Import/Survey.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/MemoryBufferRef.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mpc {

/// The user's choices for a model; an empty field stands for the model's own
/// value.
struct ImportOptions {
  /// Sizes of symbolic dimensions, by name (`--dim NAME=N`). A dimension
  /// without a name is called `<input>.<axis>`.
  std::map<std::string, int64_t> dims;

  /// Size of the batch dimension (`--batch=N`); 32 if the model leaves it open
  /// and neither this nor `dims` gives a size.
  std::optional<int64_t> batch;

  /// The option that gave it, for messages.
  std::string batchOption = "batch";

  /// Regular expressions (POSIX extended, matching anywhere in the name) of
  /// initializers that are not trained.
  std::vector<std::string> freeze;

  /// The same for the only initializers to train; if empty, all trainable ones
  /// are trained.
  std::vector<std::string> trainOnly;

  /// The same for initializers to train even if their names, contents or
  /// PyTorch's signature say that they are not parameters.
  std::vector<std::string> train;

  /// The same for values of nodes from which no gradient flows back.
  std::vector<std::string> detach;

  /// Values of nodes that are outputs, too (`--extra-outputs=NAME`).
  std::vector<std::string> extraOutputs;

  /// Padding rows by table, counted from the end if negative: lookups of such a
  /// row do not train it (`--padding-idx=NAME:ROW`).
  std::map<std::string, int64_t> paddingRows;

  /// Which batch norms use their running statistics in training, too, without
  /// updating them (`--batchnorm`). AsExported: those in eval form. Auto: those
  /// in eval form if others are in training form, and those whose scale and
  /// bias are frozen or with a statistic that `freeze` matches.
  enum class BatchNorm { Auto, Train, Frozen, AsExported };
  BatchNorm batchNorm = BatchNorm::Auto;
  /// Whether batch norms in training form use the batches of all ranks
  /// (`--sync-batchnorm`).
  bool syncBatchNorm = false;

  /// Maximum number of operations that the graph may expand to (`--max-ops=N`).
  int64_t maxOps = kMaxOps;

  /// Receives findings about the model; may be null. With a survey the import
  /// continues after nodes that fail, to report all of them, and then fails.
  ModelSurvey *survey = nullptr;

  /// False: the model is in memory and has no folder; external data is an
  /// error.
  bool hasFolder = true;

  /// Import every float as f64 instead of f32, for gradient checks.
  bool float64 = false;
};

/// The optimizer that a model with gradients names. Numbers have the meaning of
/// those in passes/Driver/Pipeline.h.
struct OptimizerChoice {
  std::string name; ///< sgd, adamw or hf-adamw; "" if it names none.
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0;
  double clipNorm = 0;
  bool correctsBias = true;
};

struct ImportResult {
  /// The module, null after an error. It verifies, and has one function,
  /// `predict`, unless the model has an own step.
  mlir::OwningOpRef<mlir::ModuleOp> module;

  /// Why there is no module; the diagnostics have been emitted.
  ModelError error = ModelError::None;

  /// Notes about decisions made for the user, one line each: "dimension 'N' is
  /// not bound: using 32".
  std::vector<std::string> notes;

  /// The modules of nodes whose names do not contain them, by the name that
  /// makeNodeLoc gives the node.
  std::map<std::string, std::string> modules;

  /// Number of batch norms that use the batches of all ranks.
  unsigned numSyncedNorms = 0;

  /// Number of elements that would be trained if no option froze them.
  int64_t frozenElements = 0;

  /// Weights that an option keeps constant, and frozen statistics.
  std::set<std::string> frozenWeights;

  /// The numbers of weights that an option keeps constant, and that import has
  /// computed constants from.
  std::map<std::string, std::vector<double>> foldedWeights;

  /// Set if the model has gradients but leaves the update to mpc.
  std::optional<OptimizerChoice> optimizer;
};

/// Imports the model in file `path`: protobuf, unless the name ends in
/// `.onnxtxt` (ONNX's textual syntax) or `.textproto` (protobuf's). A folder
/// holds the training artifacts of ONNX Runtime.
///
/// Errors go to the diagnostic handler of `context`, at locations made by
/// makeNodeLoc; ModelDiagnosticHandler prints them as users read them. Loads
/// the dialects it needs. Large weights are not copied: they are resources
/// that keep the file's contents alive as long as `context`.
///
/// No input makes it crash: the file may be hostile. External data is read
/// from below the model's folder only.
ImportResult importOnnx(llvm::StringRef path, const ImportOptions &options,
                        mlir::MLIRContext &context);

/// The same for a model in memory. The buffer's identifier stands for the path:
/// it decides the format and where external data lies. The buffer may go away
/// after the call.
ImportResult importOnnx(llvm::MemoryBufferRef buffer,
                        const ImportOptions &options,
                        mlir::MLIRContext &context);

/// The files below the model's folder that hold its external data, as paths;
/// empty if the model has none or cannot be read.
std::vector<std::string> externalFiles(llvm::StringRef path);

} // namespace mpc

#endif // MPC_COMPILER_IMPORT_IMPORT_H
