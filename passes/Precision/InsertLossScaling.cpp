//===- InsertLossScaling.cpp - Insert dynamic loss scaling ----------------===//
//
// Implements mpc-insert-loss-scaling. The order is fixed: scaled gradients are
// unscaled before norm, clipping and optimizer. An overflow is detected by the
// norm, which is infinite or NaN even after unscaling (GuardStates.cpp). In
// that case only the scale and its streak change.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/Precision/Precisions.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Options/OptimizerRows.h"
#include "passes/Options/PassOptions.h"
#include "passes/Precision/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/DebugLog.h"

#include <cmath>
#include <string>

#define DEBUG_TYPE "mpc-insert-loss-scaling"

namespace mpc {
#define GEN_PASS_DEF_INSERTLOSSSCALINGPASS
#include "passes/Precision/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

namespace {

/// The parts of a function that loss scaling changes: `step` has all of them,
/// `accumulate` has no update, `apply` has no seed.
struct TrainingFunction {
  func::FuncOp func;
  /// One; one for each loss in a model's own step; none in apply.
  SmallVector<train::ConstantOp> seeds;
  /// The gradient packs, one or several likewise; in apply the sum over
  /// micro-batches.
  SmallVector<Value> gradients;
  Value finite;                ///< The test of the step; null in accumulate.
  bool startsBackward = false; ///< Has a backward pass.
  bool updates = false;        ///< Writes parameters.

  /// Whether the gradients in a pack start from a seed. A model's own step may
  /// compute others in different ways.
  bool isScaled(Value pack) const;
};

} // namespace

bool TrainingFunction::isScaled(Value pack) const {
  if (!startsBackward)
    return true; // Sums of scaled gradients.
  SmallVector<Value> work = {pack};
  llvm::DenseSet<Operation *> seen;
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp())
      if (seen.insert(op).second)
        llvm::append_range(work, op->getOperands());
  return llvm::any_of(seeds,
                      [&](Operation *seed) { return seen.contains(seed); });
}

static TrainingFunction inspect(func::FuncOp func) {
  TrainingFunction found;
  found.func = func;
  found.updates = updatesParameters(func);
  train::StateOp sums = Program::around(func).carriedGradients();
  Value sum;
  for (Operation &op : func.front()) {
    if (auto constant = dyn_cast<train::ConstantOp>(op);
        constant && op.hasAttr(kLossSeedAttr))
      found.seeds.push_back(constant);
    if (auto read = dyn_cast<train::ReadOp>(op);
        read && sums && read.getState() == sums.getSymName())
      sum = read.getResult();
  }
  found.finite = outputNamed(func, "finite");
  found.gradients = findGradientPacks(func);
  found.startsBackward = !found.gradients.empty();
  if (!found.startsBackward && sum)
    found.gradients = {sum};
  return found;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Makes backward passes start from the scale instead of one.
static void scaleSeeds(TrainingFunction &training, Value scale) {
  for (train::ConstantOp seed : training.seeds) {
    OpBuilder builder(seed);
    builder.setInsertionPointAfter(seed);
    auto scaled = amp::ScaleLossOp::create(builder, seed.getLoc(),
                                           seed.getResult(), scale);
    amp::setDecision(scaled, {Rule::ScaledLoss});
    seed.getResult().replaceAllUsesExcept(scaled.getResult(), scaled);
  }
}

/// Gives all users of the packs unscaled gradients.
static void unscaleGradients(TrainingFunction &training, Value scale) {
  for (Value gradients : training.gradients) {
    if (!training.isScaled(gradients))
      continue;
    OpBuilder builder(training.func.getContext());
    builder.setInsertionPointAfterValue(gradients);
    auto unscaled =
        amp::UnscaleOp::create(builder, gradients.getLoc(), gradients, scale);
    amp::setDecision(unscaled, {Rule::UnscaledGradients});
    gradients.replaceAllUsesExcept(unscaled.getResult(), unscaled);
  }
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct InsertLossScalingPass
    : PassWithOptions<
          mpc::impl::InsertLossScalingPassBase<InsertLossScalingPass>,
          LossScalingOptions> {
  using PassWithOptions::PassWithOptions;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // bf16 has the range of f32: no scaling ops at all.
    auto precision = module->getAttrOfType<StringAttr>(kPrecisionAttr);
    if (!precision || !precisionOf(precision.getValue()).scalesLoss())
      return;
    const LossScale numbers(*this);
    // A caller that computes the loss may scale it.
    if (!numbers.enabled || module->hasAttr(kExternalLossAttr)) {
      module->setAttr(kUnscaledAttr, UnitAttr::get(&getContext()));
      return;
    }

    SmallVector<TrainingFunction> functions;
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      TrainingFunction training = inspect(func);
      if (training.seeds.empty() && !training.updates)
        continue;
      if (failed(check(training)))
        return signalPassFailure();
      functions.push_back(std::move(training));
    }
    if (functions.empty())
      return;

    Builder builder(&getContext());
    Program program(module);
    train::StateOp scale = program.getOrCreateNumber(
        StateRole::LossScale,
        builder.getF32FloatAttr(static_cast<float>(numbers.init)));
    train::StateOp streak = program.getOrCreateNumber(
        StateRole::LossScaleStreak, builder.getI32IntegerAttr(0));
    for (TrainingFunction &training : functions)
      scaleFunction(training, scale, streak, numbers);
  }

  LogicalResult check(TrainingFunction &training) {
    func::FuncOp func = training.func;
    if (training.gradients.empty())
      return emitError(func.getLoc())
             << "'" << train::entryName(func)
             << "' trains, but packs no gradients that could be tested";
    bool isOwn = getOperation()->hasAttr(kImportedStepAttr);
    if (training.startsBackward && training.seeds.empty() && isOwn)
      return emitUsageError(func.getLoc())
             << "option 'precision'=fp16 scales the loss where the gradient of "
                "a weight begins, but in the model's own training step no "
                "Gradient node computes one with respect to the weight itself; "
                "use bf16 or fp32";
    if (training.startsBackward && training.seeds.empty())
      return emitError(func.getLoc())
             << "'" << train::entryName(func)
             << "' has gradients, but no constant "
             << "marked '" << kLossSeedAttr << "' to scale";
    if (training.updates && !training.finite)
      return emitError(func.getLoc())
             << "'" << train::entryName(func)
             << "' does not compute whether its step "
             << "is finite; expected mpc-guard-states to prevent this";
    return success();
  }

  void scaleFunction(TrainingFunction &training, train::StateOp scale,
                     train::StateOp streak, const LossScale &numbers) {
    func::FuncOp func = training.func;
    LDBG() << "scaling " << train::entryName(func);
    Value factor = getOrCreateRead(func, scale);
    if (!training.seeds.empty())
      scaleSeeds(training, factor);
    if (!training.updates)
      return;
    unscaleGradients(training, factor);
    updateScale(func, scale, streak, training.finite, numbers);
  }

  void updateScale(func::FuncOp func, train::StateOp scale,
                   train::StateOp streak, Value finite,
                   const LossScale &numbers) {
    OpBuilder builder(func.front().getTerminator());
    Location loc = finite.getLoc();
    auto update = amp::UpdateScaleOp::create(
        builder, loc, getOrCreateRead(func, scale),
        getOrCreateRead(func, streak), finite,
        llvm::APFloat(static_cast<float>(lossScaleGrowth)),
        llvm::APFloat(static_cast<float>(lossScaleBackoff)),
        static_cast<uint32_t>(lossScaleInterval),
        llvm::APFloat(static_cast<float>(numbers.min)),
        llvm::APFloat(static_cast<float>(numbers.max)),
        static_cast<uint32_t>(lossScaleHysteresis));
    amp::setDecision(update, {Rule::UpdatedScale});
    train::WriteOp::create(builder, loc, scale, update.getNewScale());
    train::WriteOp::create(builder, loc, streak, update.getNewStreak());
  }
};

} // namespace

std::unique_ptr<Pass>
mpc::createInsertLossScalingPass(const CompileOptions &options) {
  return std::make_unique<InsertLossScalingPass>(options);
}
