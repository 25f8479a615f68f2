//===- Examine.h - What keeps a model from being trained --------*- C++ -*-===//
//
// What `mpc doctor MODEL` calls: as much of a compilation as shows what a model
// can get wrong, continuing after failures.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_DRIVER_EXAMINE_H
#define MPC_PASSES_DRIVER_EXAMINE_H

#include "compiler/Import/Survey.h"
#include "passes/Driver/Pipeline.h"

namespace mpc {

struct Examination {
  /// One thing that is wrong, and what else there is to say about it.
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
  std::vector<std::string> notes;    ///< Those of a compilation.
  std::string diagnostics;           ///< Lines about a file that is no model.
  std::string loss;                  ///< Empty where nothing says what it is.
  Tensors trained, statistics, kept; ///< Floats, once all are known.
  ModelError failure = ModelError::None; ///< Failure of a compilation.
  bool predictsOnly = false; ///< The model has no parameters to train.
};

/// Examines one model. Where the file is none, `survey.isRead` is false and
/// `diagnostics` says why.
Examination examineModel(const CompileOptions &options);

} // namespace mpc

#endif // MPC_PASSES_DRIVER_EXAMINE_H
