//===- Examine.h - What prevents a model from being trained -----*- C++ -*-===//
//
// Implements `mpc doctor MODEL`: runs the part of a compilation in which a
// model can fail, and continues after failures.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_DRIVER_EXAMINE_H
#define MPC_PASSES_DRIVER_EXAMINE_H

#include "compiler/Import/Survey.h"
#include "passes/Driver/Pipeline.h"

namespace mpc {

struct Examination {
  /// One problem, with additional notes.
  struct Fault {
    std::string text; ///< "node 'fc1' (Gemm): ..."
    std::vector<std::string> notes;
  };
  struct Tensors {
    uint64_t count = 0, elements = 0;
  };

  struct Output {
    std::string name;
    std::vector<int64_t> shape;
  };

  ModelSurvey survey;
  std::vector<Output> outputs; ///< Outputs of the model, once it is imported.
  std::vector<Fault> faults;
  std::vector<std::string> notes; ///< Notes of the compilation.
  std::string diagnostics;        ///< Lines about a file that is not a model.
  std::string loss;               ///< Empty if it could not be determined.
  Tensors trained, statistics, kept;     ///< Float tensors, once all are known.
  ModelError failure = ModelError::None; ///< Failure of a compilation.
  bool predictsOnly = false; ///< The model has no parameters to train.
};

/// Examines one model. If the file is not a model, `survey.isRead` is false and
/// `diagnostics` says why.
Examination examineModel(const CompileOptions &options);

} // namespace mpc

#endif // MPC_PASSES_DRIVER_EXAMINE_H
