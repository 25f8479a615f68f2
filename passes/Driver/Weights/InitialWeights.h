//===- InitialWeights.h - The option init of a compilation ------*- C++ -*-===//
#ifndef MPC_PASSES_DRIVER_WEIGHTS_INITIALWEIGHTS_H
#define MPC_PASSES_DRIVER_WEIGHTS_INITIALWEIGHTS_H

#include "compiler/Import/File/FileMapping.h"
#include "compiler/Import/Import.h"
#include "passes/Options/Options.h"
#include "passes/Weights/WeightMatch.h"
#include "passes/Weights/WeightValues.h"

#include "mlir/IR/AsmState.h"

#include <set>

namespace mpc {

/// The weights of option `init`, which take the place of those of the model.
class InitialWeights {
public:
  /// Opens the file. Throws a WeightsError, as all members do.
  explicit InitialWeights(const CompileOptions &options);

  /// Gives the states of an imported model the values of the file: parameters
  /// and statistics, also frozen ones, and constants. Returns a note about it.
  std::string applyTo(const ImportResult &imported);

  /// The names of constants that have been replaced.
  const std::set<std::string> &replacedConstants() const { return constants; }

private:
  bool isReplaceable(const StoredWeight &tensor, const WeightState &state,
                     mlir::ElementsAttr own) const;
  mlir::AsmResourceBlob readBlob(const StoredWeight &tensor,
                                 const WeightState &state) const;
  void checkFolded(const ImportResult &imported, WeightMatch &match) const;

  const NamedWeights weights;
  const bool isStrict;
  std::shared_ptr<FileMapping> mapping; ///< Null for an ONNX model.
  std::set<std::string> constants;
};

/// The kind of failure of a compilation.
ModelError toModelError(const WeightsError &error);

} // namespace mpc

#endif // MPC_PASSES_DRIVER_WEIGHTS_INITIALWEIGHTS_H
