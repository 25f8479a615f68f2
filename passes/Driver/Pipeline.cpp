//===- Pipeline.cpp - The compiler on one page ----------------------------===//
//
// Every pass, in order, with the reason it stands there.
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

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

/// The model as one clean forward graph.
static void addGraph(OpPassManager &pm, const CompileOptions &,
                     const StageTarget &) {
  // Before differentiation, so that gradients come out as one op, and channels
  // last, too.
  pm.addNestedPass<func::FuncOp>(createRecognizeAttentionPass());
  pm.addNestedPass<func::FuncOp>(createRecognizeActivationsPass());
  pm.addNestedPass<func::FuncOp>(createRecognizeNormsPass());
  pm.addNestedPass<func::FuncOp>(createUseChannelsLastPass());
  // Transposes that met have left identities; equal constants become one.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  // Attention is out of the way, and constants are folded.
  pm.addPass(createZeroMaskedRowsPass());
  pm.addPass(createVerifyGraphPass());
}

/// Forward, backward and update: the entry points.
static void addGrad(OpPassManager &pm, const CompileOptions &options,
                    const StageTarget &) {
  // The functions to be: predict, evaluate, and train, which has the loss.
  pm.addPass(createAddLossPass(options));
  pm.addPass(createLimitIndicesPass());
  // Only after the functions have parted: train normalizes by the batch.
  pm.addPass(createUseTrainingFormPass());
  pm.addPass(createDifferentiatePass({options.profiles()}));
  // A model that brings its own update gets no other.
  pm.addPass(createPackUpdatesPass(options));
  pm.addPass(createAddOptimizerPass(options));
  // After all writes: what is written later would change by micro-batch.
  pm.addPass(createDeferStatesPass());
  // Forward values that gradients recompute, sums with zero, dead branches.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createVerifyGradPass());
}

/// A float type for every value.
static void addPrecision(OpPassManager &pm, const CompileOptions &options,
                         const StageTarget &target) {
  // Over forward and backward at once: a cast saved in one may cost the other.
  AssignPrecisionPassOptions assign;
  assign.bytesPerFlop = target.backend->machine(target.features).bytesPerFlop();
  pm.addPass(createAssignPrecisionPass(options, assign));
  pm.addNestedPass<func::FuncOp>(createElideCastsPass());
  // What gains nothing by FP8 has to be asked for it.
  const bool onGpu = target.backend->isAccelerator();
  const Precision &precision = precisionOf(options.precision);
  if (precision.layers == Precision::AllLayers ||
      (precision.layers == Precision::WhereFaster &&
       target.backend->gainsByFp8(target.features)))
    pm.addPass(createUseFp8Pass(options, {onGpu}));
  // What is f32 by now, and may be multiplied as less.
  pm.addPass(createUseTf32Pass({!onGpu}));
  // Weights are cast nowhere but where they are written.
  pm.addPass(createUseWorkingCopyPass());
  // What is read is known now: the copy, where there is one, is the weight.
  pm.addPass(createUseBf16MastersPass(options));
  // So late that it sees every write of a state, the working copy's too.
  pm.addPass(createGuardStatesPass());
  // The scale learns from what the guard found.
  if (precision.scalesLoss())
    pm.addPass(createInsertLossScalingPass(options));
  pm.addPass(createCSEPass());
  // One rounding of each weight is left, which micro-batches need only once.
  pm.addPass(createHoistWeightQuantizationPass());
  pm.addPass(createReportPrecisionPass());
  pm.addPass(createVerifyPrecisionPass());
  // Behind the verifier: the copy has casts that are there to be looked at.
  if (options.observes() || options.profiles() || options.injectable)
    pm.addPass(createObserveValuesPass({options.injectable}));
  // Last: a copy of what is promised, whose lines are those of the report.
  if (options.probe)
    pm.addPass(createAddProbePass());
  // Only now does a value have its bytes; and kernels are still to form, which
  // then take in what runs again.
  if (options.recompute != "none" || !options.memoryBudget.empty()) {
    pm.addPass(createRecomputePass(options));
    pm.addPass(createVerifyRecomputePass());
  }
}

/// Few kernels that each read and write memory once.
static void addFusion(OpPassManager &pm, const CompileOptions &,
                      const StageTarget &target) {
  // While ops still are what they were: the catalog goes by op.
  LegalizeKernelTypesPassOptions widen;
  widen.device = target.backend;
  widen.features = llvm::join(target.features, ",");
  pm.addPass(createLegalizeKernelTypesPass(widen));
  // What it transposes is known, and weights change only with an update.
  pm.addPass(createDeriveTransposesPass());
  // While slices are slices: generated code would read them by an offset.
  pm.addNestedPass<func::FuncOp>(createFoldSlicesToViewsPass());
  pm.addPass(createLowerToLinalgPass());
  // A value computed twice would be two kernels.
  pm.addPass(createCSEPass());
  // Kernels could not join them: both walk in the order of what they write.
  pm.addNestedPass<func::FuncOp>(createComposeDataMovementPass());
  // Before kernels form, for it decides which sums can share a walk.
  pm.addNestedPass<func::FuncOp>(createSplitReductionsPass({target.backend}));
  FuseKernelsPassOptions form;
  form.device = target.backend;
  pm.addPass(createFuseKernelsPass(form));
  // The plan must find a place for all that is left.
  pm.addPass(createVerifyFusionPass({target.backend, widen.features}));
}

/// A place for every value.
static void addPlan(OpPassManager &pm, const CompileOptions &,
                    const StageTarget &target) {
  pm.addPass(createPlanMemoryPass({target.backend}));
  // While kernels still have types to check the buffers against.
  pm.addPass(createVerifyPlanPass());
  // Launches are counted and kernels still say what they do.
  pm.addPass(createReportKernelsPass());
}

/// Machine code for every kernel; the package writer assembles it.
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

/// The stage with the options of some groups, as a tool's text gives them. Of
/// several targets it takes the first.
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
     registerStage<LossOptions, AccumulationOptions, UpdateOptions,
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
