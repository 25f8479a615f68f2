//===- Pipeline.cpp - The compiler on one page ----------------------------===//
//
// Every pass, in order, with the reason for its position.
//
//===----------------------------------------------------------------------===//

#include "passes/Driver/Pipeline.h"

#include "compiler/Support/Precision/Precisions.h"
#include "passes/Codegen/Codegen.h"
#include "passes/Diagnose/Passes.h"
#include "passes/Driver/Targets.h"
#include "passes/Fusion/Passes.h"
#include "passes/Grad/Passes.h"
#include "passes/Graph/Passes.h"
#include "passes/Options/PassOptions.h"
#include "passes/Plan/Passes.h"
#include "passes/Precision/Passes.h"
#include "passes/Recompute/Passes.h"
#include "passes/Split/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

/// Simplifies the model's forward graph.
static void addGraph(OpPassManager &pm, const CompileOptions &,
                     const StageTarget &) {
  // Before differentiation, so that gradients are single ops and in
  // channels-last layout, too.
  pm.addPass(createRecognizeAttentionPass());
  pm.addNestedPass<func::FuncOp>(createRecognizeActivationsPass());
  pm.addNestedPass<func::FuncOp>(createRecognizeNormsPass());
  pm.addNestedPass<func::FuncOp>(createPatchesToProductsPass());
  pm.addNestedPass<func::FuncOp>(createUseChannelsLastPass());
  // Removes identities left by transposes that met; merges equal constants.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // After attention has been recognized and constants have been folded.
  pm.addPass(createZeroMaskedRowsPass());
  pm.addPass(createVerifyGraphPass());
}

/// Builds the entry points with forward pass, backward pass and update.
static void addGrad(OpPassManager &pm, const CompileOptions &options,
                    const StageTarget &) {
  // Creates the functions: predict, evaluate, and train, which computes the
  // loss.
  pm.addPass(createAddLossPass(options));
  pm.addPass(createLimitIndicesPass());
  // Only after the functions have been split: train normalizes by batch
  // statistics.
  pm.addPass(createUseTrainingFormPass());
  pm.addPass(createDifferentiatePass(options, {options.profiles()}));
  // A model with its own update uses the first pass, any other the second,
  // unless the caller updates the weights.
  pm.addPass(createPackUpdatesPass(options));
  if (options.optimizer == kNoOptimizer)
    pm.addPass(createReturnGradientsPass());
  else
    pm.addPass(createAddOptimizerPass(options));
  // After all writes: states written by later passes would change with each
  // micro-batch.
  pm.addPass(createDeferStatesPass());
  // Merges forward values that gradients recompute; removes sums with zero and
  // dead branches.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createVerifyGradPass());
}

/// Assigns a float type to every value.
static void addPrecision(OpPassManager &pm, const CompileOptions &options,
                         const StageTarget &target) {
  // First, because the ops are chosen by device and have precisions of their
  // own.
  DecomposeKernelsPassOptions decompose;
  decompose.device = target.backend;
  decompose.features = llvm::join(target.features, ",");
  pm.addPass(createDecomposeKernelsPass(decompose));
  // Over forward and backward pass at once: a cast saved in one may cost the
  // other.
  AssignPrecisionPassOptions assign;
  assign.bytesPerFlop = target.machine.bytesPerFlop();
  pm.addPass(createAssignPrecisionPass(options, assign));
  pm.addNestedPass<func::FuncOp>(createElideCastsPass());
  // On a GPU, layers that FP8 would slow down use it only on request.
  const bool onGpu = target.backend->isAccelerator();
  const Precision &precision = precisionOf(options.precision);
  if (precision.layers == Precision::AllLayers ||
      (precision.layers == Precision::WhereFaster &&
       target.backend->gainsByFp8(target.features)))
    pm.addPass(createUseFp8Pass(options, {onGpu}));
  // Products that are f32 by now may use TF32.
  pm.addPass(createUseTf32Pass({!onGpu}));
  // Weights are cast only where they are written.
  pm.addPass(createUseWorkingCopyPass());
  // Now it is known which precision is read: a working copy can become the
  // weight itself.
  pm.addPass(createUseBf16MastersPass(options));
  // Late enough to see every write of a state, including that of the working
  // copy.
  pm.addPass(createGuardStatesPass());
  // The loss scale uses the result of the guard.
  if (precision.scalesLoss())
    pm.addPass(createInsertLossScalingPass(options));
  pm.addPass(createCSEPass());
  // Each weight is rounded once by now, which is needed once for all
  // micro-batches.
  pm.addPass(createHoistWeightQuantizationPass());
  pm.addPass(createReportPrecisionPass());
  pm.addPass(createVerifyPrecisionPass());
  // After the verifier: the copy has casts that the verifier would not allow.
  if (options.observes() || options.profiles() || options.injectable)
    pm.addPass(createObserveValuesPass({options.injectable}));
  // Last, because the copy uses the lines of the report.
  if (options.probe)
    pm.addPass(createAddProbePass());
  // Sizes of values are final only now; and it must precede fusion, so that
  // recomputed ops fuse into kernels.
  if (options.recompute != "none" || !options.memoryBudget.empty()) {
    pm.addPass(createRecomputePass(options));
    pm.addPass(createVerifyRecomputePass());
  }
  // What is kept from the forward pass is a tensor of its final type, and is
  // known only after recomputation.
  pm.addPass(createSplitStepPass());
}

/// Forms few kernels that each read and write memory once.
static void addFusion(OpPassManager &pm, const CompileOptions &,
                      const StageTarget &target) {
  // First, while losses and the casts of their gradients are single ops.
  pm.addNestedPass<func::FuncOp>(createPadClassesPass({target.backend}));
  // After classes have been padded: all chunks share one padded weight.
  ChunkLossesPassOptions chunk;
  chunk.device = target.backend;
  pm.addNestedPass<func::FuncOp>(createChunkLossesPass(chunk));
  // Before lowering, because the catalog lists kernels by op.
  LegalizeKernelTypesPassOptions widen;
  widen.device = target.backend;
  widen.features = llvm::join(target.features, ",");
  pm.addPass(createLegalizeKernelTypesPass(widen));
  // Types of kernels are final now: the layout depends on them. Packed operands
  // first, for they need no layout of their own.
  pm.addNestedPass<func::FuncOp>(
      createUsePackedAttentionPass({target.backend, widen.features}));
  pm.addNestedPass<func::FuncOp>(
      createUseBshdAttentionPass({target.backend, widen.features}));
  // Now the transposes are known; weights change only with an update.
  pm.addPass(createDeriveTransposesPass());
  // Before lowering: generated code would read slices at an offset instead.
  pm.addNestedPass<func::FuncOp>(createFoldSlicesToViewsPass());
  // After what could become a view has.
  pm.addNestedPass<func::FuncOp>(createShareJoinsPass());
  // While sums are single ops.
  pm.addNestedPass<func::FuncOp>(
      createFuseIntoProductsPass({target.backend, widen.features}));
  pm.addPass(createLowerToLinalgPass());
  // Without this, a value computed twice would become two kernels.
  pm.addPass(createCSEPass());
  // Before data movements are merged: it makes slices of what was not read in
  // parts, and moves transposes to where parts are read.
  pm.addNestedPass<func::FuncOp>(createSinkIntoJoinsPass());
  pm.addPass(createCSEPass());
  // Fusion could not merge two data movements, because each walks in the order
  // of its own output.
  pm.addNestedPass<func::FuncOp>(createComposeDataMovementPass());
  // Now slices are what is left of their moves.
  pm.addNestedPass<func::FuncOp>(createSinkIntoSlicesPass());
  // Before fusion, because it decides which sums can share a walk.
  pm.addNestedPass<func::FuncOp>(createSplitReductionsPass({target.backend}));
  FuseKernelsPassOptions form;
  form.device = target.backend;
  pm.addPass(createFuseKernelsPass(form));
  // The plan must be able to place every remaining value.
  pm.addPass(createVerifyFusionPass({target.backend, widen.features}));
}

/// Assigns memory to every value.
static void addPlan(OpPassManager &pm, const CompileOptions &,
                    const StageTarget &target) {
  pm.addPass(createPlanMemoryPass({target.backend}));
  // While kernels still have types against which buffers can be checked.
  pm.addPass(createVerifyPlanPass());
  // While kernels are still linalg ops and launches can be counted.
  pm.addPass(createReportKernelsPass());
}

/// Lowers every kernel for the device's code generator.
static void addCodegen(OpPassManager &pm, const CompileOptions &,
                       const StageTarget &target) {
  codegenOf(*target.backend).addPasses(pm, target.features);
}

namespace {
using AddStage = void (*)(OpPassManager &, const CompileOptions &,
                          const StageTarget &);

struct Stage {
  const char *name;
  AddStage add;
  void (*registerPipeline)(const Stage &stage);
};
} // namespace

/// Adds a stage with options of some groups, parsed from a tool's text. Uses
/// the first of several targets.
template <typename... Groups>
static LogicalResult
addFromText(AddStage add, OpPassManager &pm, StringRef text,
            llvm::function_ref<LogicalResult(const Twine &)> report) {
  StageOptions<Groups...> given;
  if (std::string why = given.read(text); !why.empty())
    return report(why);
  if (std::string why = checkOptions(given.options); !why.empty())
    return report(why);
  auto targets = findTargets(given.options);
  if (!targets)
    return report(llvm::toString(targets.takeError()));
  add(pm, given.options, *targets->front());
  return success();
}

template <typename... Groups> static void registerStage(const Stage &stage) {
  registerPassPipeline(
      std::string("mpc-stage-") + stage.name,
      std::string("The passes of stage ") + stage.name,
      [add =
           stage.add](OpPassManager &pm, StringRef text,
                      llvm::function_ref<LogicalResult(const Twine &)> report) {
        return addFromText<Groups...>(add, pm, text, report);
      },
      [](llvm::function_ref<void(const mlir::detail::PassOptions &)> describe) {
        describe(StageOptions<Groups...>());
      });
}

static const Stage stages[] = {
    {"graph", addGraph, registerStage<>},
    {"grad", addGrad,
     registerStage<LossOptions, GradientsOptions, AccumulationOptions, UpdateOptions,
                   OptimizerOptions, ScheduleOptions, DiagnosisOptions>},
    {"precision", addPrecision,
     registerStage<PrecisionOptions, DiagnosisOptions, ProfileOptions,
                   MastersOptions, LossScalingOptions, Fp8Options,
                   RecomputeOptions, TargetOptions>},
    {"fusion", addFusion, registerStage<TargetOptions>},
    {"plan", addPlan, registerStage<TargetOptions>},
    {"codegen", addCodegen, registerStage<TargetOptions>},
};

const std::vector<std::string> &mpc::stageNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Stage &stage : stages)
      list.push_back(stage.name);
    return list;
  }();
  return names;
}

StageTarget mpc::hostTarget() {
  auto target = defaultBackend()->findTarget(TargetRequest());
  if (target)
    return **target;
  llvm::consumeError(target.takeError());
  return StageTarget();
}

bool mpc::addStage(OpPassManager &manager, const std::string &name,
                   const CompileOptions &options, const StageTarget &target) {
  for (const Stage &stage : stages)
    if (stage.name == name) {
      stage.add(manager, options, target);
      return true;
    }
  return false;
}

void mpc::registerStagePipelines() {
  for (const Stage &stage : stages)
    stage.registerPipeline(stage);
}
