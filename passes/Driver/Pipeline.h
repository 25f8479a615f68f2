//===- Pipeline.h - From an ONNX file to a package --------------*- C++ -*-===//
//
// The entry point of the compiler library, called by `mpc compile` and by
// embedders.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_DRIVER_PIPELINE_H
#define MPC_PASSES_DRIVER_PIPELINE_H

#include "compiler/Import/File/ModelError.h"
#include "compiler/Support/Faults.h"
#include "compiler/Support/ModelMessage.h"
#include "compiler/Target/Backend.h"
#include "passes/Options/Options.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mpc {

struct CompileResult {
  ModelError failure = ModelError::None; ///< Why there is no program.
  std::vector<std::string> notes; ///< Decisions to report, one line each.
  std::string diagnostics; ///< Lines about the model, each naming its file.
  std::vector<ModelMessage> messages; ///< The same diagnostics, in parts.
  /// A failure outside the model, such as file I/O; else empty.
  std::string error;
  std::optional<Fault> fault; ///< What `error` reports, if there is one.
  std::string report;         ///< Precision report of the first device, JSON.
  /// Precision reports of other devices whose report differs, by device.
  std::map<std::string, std::string> otherReports;
  /// The optimizer used, or "optimizer from the model" for a step of the model.
  std::string optimizer;
  std::string precision; ///< The precision used: fp32 if `auto` chose it.
  uint64_t packageBytes = 0;
  std::string package; ///< Bytes of the package if no output file was given.
  /// Number of elements of the trained parameters, and of those frozen by an
  /// option.
  uint64_t trainedElements = 0, frozenElements = 0;
  bool predictsOnly = false; ///< The model has no parameters to train.
};

/// Compiles one model to a file or to memory. Prints nothing. Messages name
/// options, not command-line flags (optionName). The caller prints notes,
/// diagnostics and the error, in this order, so that the failure comes last.
///
/// `model` is set for a model in memory; `options.model` is then its name. Its
/// external data is in the folder of that name, or an error if the name has no
/// folder.
CompileResult compile(const CompileOptions &options,
                      std::optional<llvm::StringRef> model = std::nullopt);

/// Names of the stages between import and packaging, in order: graph, grad,
/// precision, fusion, plan, codegen.
const std::vector<std::string> &stageNames();

/// The device that the stages from precision on compile for. Earlier stages are
/// the same for all devices.
struct StageTarget {
  StageTarget(const Backend &backend = *defaultBackend())
      : backend(&backend), machine(backend.machine({})) {}
  StageTarget(const DeviceTarget &target)
      : backend(&target.backend), features(target.features),
        machine(target.machine) {}

  const Backend *backend;
  std::vector<std::string> features; ///< See DeviceTarget.
  Machine machine;
};

/// The default device with the features of this machine; without features if
/// they are not known.
StageTarget hostTarget();

/// Adds the passes of one stage; the last one verifies the stage's result.
/// Returns false if there is no such stage.
bool addStage(mlir::OpPassManager &manager, const std::string &stage,
              const CompileOptions &options,
              const StageTarget &target = hostTarget());

/// Registers `--mpc-stage-NAME` as an option of a tool, for every stage. It
/// takes the options of Options.def that the stage uses: "ema=0.5".
void registerStagePipelines();

} // namespace mpc

#endif // MPC_PASSES_DRIVER_PIPELINE_H
