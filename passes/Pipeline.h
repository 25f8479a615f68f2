//===- Pipeline.h - From an ONNX file to a package --------------*- C++ -*-===//
//
// The one door of the compiler: what `mpc compile` calls.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_PIPELINE_H
#define MPC_PASSES_PIPELINE_H

#include "compiler/Analysis/DeviceSchedule.h"
#include "compiler/Import/Limits.h"
#include "passes/Grad/OptimizerOptions.h"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace mpc {

/// How fp16 scales the loss. The defaults are those of PyTorch's GradScaler,
/// which knows no bounds and no hysteresis: that is Megatron's.
struct LossScaling {
  bool enabled = true; ///< Else an overflow ends training.
  double init = 65536; ///< Of the first step.
  double growth = 2;
  double backoff = 0.5;
  int32_t interval = 2000;
  int32_t hysteresis = 1;
  double min = 1;
  double max = 16777216;

  /// Between bounds that meet nothing moves.
  static LossScaling fixed(double scale) {
    LossScaling scaling;
    scaling.init = scaling.min = scaling.max = scale;
    return scaling;
  }
  bool isFixed() const { return min == max; }
};

/// How fp8 scales tensors. The defaults are those of NVIDIA's Transformer
/// Engine.
struct Fp8Scaling {
  std::string scaling = "delayed"; ///< Or "current".
  int64_t history = 1024;          ///< Of delayed: updates that count.
  int64_t margin = 0;              ///< Powers of two below the largest number.
  bool edges = false;              ///< The first and the last layer, too.
};

/// What a model is compiled to. The defaults are those of `mpc compile`.
struct CompileOptions : UpdateOptions {
  std::string model;     ///< ONNX file, binary or text (.onnxtxt).
  std::string output;    ///< Package to write; empty: none is written.
  std::string modelPath; ///< Where the package says its model lies; may be "".
  std::string precision =
      "bf16";            ///< fp32, tf32, bf16, fp16, fp8, auto; fp64: checks.
  std::string loss;      ///< Empty: found or chosen.
  int64_t labelAxis = 0; ///< Of classes, below 0 from the end; 0: chosen.
  /// Devices: "cpu", "cuda:sm_80" and so on, each once.
  std::vector<std::string> targets = {"cpu"};
  std::string targetCpu = "native"; ///< LLVM name; native: this machine.
  std::string dumpStages;           ///< Folder for the IR after each stage.
  std::string stopAfter;            ///< Stage to stop after, nothing written.
  std::vector<std::string> policy;  ///< Rules "REGEX=FORMAT" of a file.
  std::vector<std::string> opPrecision; ///< The same, which count more.
  std::string recompute = "none";       ///< none, selective, full.
  std::string memoryBudget;             ///< "512MB" or "60%"; empty: any.
  std::string keepFp32; ///< Regex of node names or op types kept in f32.
  std::string forceLow; ///< Regex of those put in 16 bit.
  std::string residual = "low"; ///< Sums of a residual stream: low or fp32.
  double labelSmoothing = 0;
  LossScaling lossScaling;
  Fp8Scaling fp8;
  /// What training keeps of weights: fp32, bf16-kahan, bf16-stochastic.
  std::string masterWeights = "fp32";
  std::string profileFile;   ///< Of mpc profile, for precision auto; or empty.
  double errorBudget = 1e-3; ///< What roundings may change in the loss.
  bool observe = false;      ///< The entry point `observe`: diagnosis by op.
  bool profile = false;      ///< The same, with what rounding would do.
  bool injectable = false;   ///< The same, and states that make ops go wrong.
  /// Which of the above were asked for ("optimizer", "clip-norm"): others may
  /// be as the model has them.
  std::set<std::string> given;
  std::optional<int64_t> batch;
  std::map<std::string, int64_t> dims;
  std::vector<std::string> freeze;    ///< Regexes of parameters not trained.
  std::vector<std::string> trainOnly; ///< Of those that alone are.
  std::vector<std::string>
      train; ///< Of what is trained, whatever it looks like.
  std::vector<std::string> detach; ///< Regexes of values without gradients.
  std::map<std::string, int64_t> paddingRows; ///< Of tables: see ImportOptions.
  std::string batchNorm; ///< train, frozen, as-exported; or see ImportOptions.
  int64_t maxOps = kMaxOps; ///< Most operations of the forward graph.
  bool probe = false;       ///< Also an entry `probe`: see mpc-add-probe.
};

struct CompileResult {
  int exitCode;                   ///< 0, or what the process should return.
  std::vector<std::string> notes; ///< Decisions to say aloud, one line each.
  std::string diagnostics;        ///< Lines about the model, each naming it.
  std::string error;  ///< What failed beside it, such as a file; else empty.
  std::string report; ///< Precision report of the first device, JSON.
  /// Those of other devices, where they are others, by device.
  std::map<std::string, std::string> otherReports;
  std::string optimizer; ///< In the end; of a model's own step, words for it.
  uint64_t packageBytes = 0;
  /// Numbers in parameters that are trained, and in those that an option
  /// froze.
  uint64_t trainedElements = 0, frozenElements = 0;
  bool predictsOnly = false; ///< The model has no parameters to train.
};

/// Compiles one model. Prints nothing: whoever called says notes, diagnostics
/// and the error in this order, so that what failed is read last.
CompileResult compileModel(const CompileOptions &options);

/// Names of the stages between import and package, in order: graph, grad,
/// precision, fusion, plan, codegen.
const std::vector<std::string> &stageNames();

/// What the stages from precision on compile for. Those before are the same for
/// all devices.
struct StageTarget {
  DeviceKind device = DeviceKind::Cpu;
  /// What it has: LLVM's names of CPU features, or the architecture "sm_80"
  /// and all before it.
  std::vector<std::string> features;
  bool simulate = false; ///< CUDA: code for the host simulator.
};

/// This machine's CPU; without features if LLVM does not know it.
StageTarget hostTarget();

/// Adds the passes of one stage; its last pass verifies what the stage
/// promises. Returns false if there is no such stage.
bool addStage(mlir::OpPassManager &manager, const std::string &stage,
              const CompileOptions &options,
              const StageTarget &target = hostTarget());

/// Makes `--mpc-stage-NAME` an option of a tool, for every stage.
void registerStagePipelines();

} // namespace mpc

#endif // MPC_PASSES_PIPELINE_H
