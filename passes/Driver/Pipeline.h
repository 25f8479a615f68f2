//===- Pipeline.h - From an ONNX file to a package --------------*- C++ -*-===//
//
// The entry point of the compiler library, which `mpc compile` and embedders
// call.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_DRIVER_PIPELINE_H
#define MPC_PASSES_DRIVER_PIPELINE_H

#include "compiler/Import/File/ModelError.h"
#include "compiler/Target/Backend.h"
#include "passes/Options/Options.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mpc {

struct CompileResult {
  ModelError failure = ModelError::None; ///< Why there is no program.
  std::vector<std::string> notes; ///< Decisions to report, one line each.
  std::string diagnostics;        ///< Lines about the model, each naming it.
  std::string error;  ///< What failed beside it, such as a file; else empty.
  std::string report; ///< Precision report of the first device, JSON.
  /// Those of other devices, where they are others, by device.
  std::map<std::string, std::string> otherReports;
  std::string optimizer; ///< In the end; of a model's own step, words for it.
  uint64_t packageBytes = 0;
  std::string package; ///< Its bytes, where no file was named to write.
  /// Numbers in parameters that are trained, and in those that an option
  /// froze.
  uint64_t trainedElements = 0, frozenElements = 0;
  bool predictsOnly = false; ///< The model has no parameters to train.
};

/// Compiles one model to a file or to memory. Prints nothing and names options,
/// not flags (optionName): the caller shows notes, diagnostics and the error,
/// in this order, so that the failure is read last.
CompileResult compile(const CompileOptions &options);

/// Names of the stages between import and package, in order: graph, grad,
/// precision, fusion, plan, codegen.
const std::vector<std::string> &stageNames();

/// What the stages from precision on compile for. Those before are the same for
/// all devices.
struct StageTarget {
  StageTarget(const Backend &backend = *defaultBackend(),
              std::vector<std::string> features = {})
      : backend(&backend), features(std::move(features)) {}
  StageTarget(const DeviceTarget &target)
      : StageTarget(target.backend, target.features) {}

  const Backend *backend;
  std::vector<std::string> features; ///< As DeviceTarget has them.
};

/// The default device, as it is on this machine; without features if it is not
/// known.
StageTarget hostTarget();

/// Adds the passes of one stage; its last pass verifies what the stage
/// promises. Returns false if there is no such stage.
bool addStage(mlir::OpPassManager &manager, const std::string &stage,
              const CompileOptions &options,
              const StageTarget &target = hostTarget());

/// Makes `--mpc-stage-NAME` an option of a tool, for every stage. It takes the
/// options of Options.def that the stage looks at: "ema=0.5".
void registerStagePipelines();

} // namespace mpc

#endif // MPC_PASSES_DRIVER_PIPELINE_H
