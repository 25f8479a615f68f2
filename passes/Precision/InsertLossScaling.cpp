//===- InsertLossScaling.cpp - Gradients that fit into f16 ----------------===//
//
// Implements mpc-insert-loss-scaling. The order is fixed: scaled gradients,
// overflow test, unscale, and only then norm, clipping and optimizer. After an
// overflow no state changes but the scale and its streak; every write is
// replaced by a select between the new value and the old.
//
//===----------------------------------------------------------------------===//

#include "passes/Precision/Passes.h"
#include "passes/Precision/PrecisionFacts.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
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
// What there is
//===----------------------------------------------------------------------===//

namespace {

/// What scaling has to do with a function: `step` has all, `accumulate` does
/// not update, `apply` has no seed.
struct TrainingFunction {
  func::FuncOp func;
  train::ConstantOp seed; ///< Null in apply.
  Value gradients;        ///< Packed; a sum over micro-batches in apply.
  SmallVector<train::WriteOp> writes;
  bool startsBackward = false; ///< Packs gradients of its own.
  bool updates = false;        ///< Writes parameters.
};

} // namespace

static train::StateOp stateOf(train::WriteOp write) {
  return SymbolTable::lookupNearestSymbolFrom<train::StateOp>(
      write, write.getStateAttr());
}

static TrainingFunction inspect(func::FuncOp func) {
  TrainingFunction found{func, {}, {}, {}};
  Value sum;
  for (Operation &op : func.front()) {
    if (auto constant = dyn_cast<train::ConstantOp>(op);
        constant && op.hasAttr(train::kLossSeedAttr))
      found.seed = constant;
    if (auto pack = dyn_cast<train::PackOp>(op))
      found.gradients = pack.getResult();
    if (auto read = dyn_cast<train::ReadOp>(op);
        read && read.getState() == kGradientsState)
      sum = read.getResult();
    if (auto write = dyn_cast<train::WriteOp>(op)) {
      found.writes.push_back(write);
      found.updates |= stateOf(write).getKind() == train::StateKind::Parameter;
    }
  }
  found.startsBackward = found.gradients != nullptr;
  if (!found.gradients)
    found.gradients = sum;
  return found;
}

/// Creates a rank-0 control state; null, with an error, if its name is taken.
static train::StateOp createState(ModuleOp module, StringRef name,
                                  TypedAttr value) {
  if (Operation *other = module.lookupSymbol(name)) {
    emitError(other->getLoc())
        << "'" << name << "' is the name of a state of loss scaling";
    return nullptr;
  }
  OpBuilder builder(module.getContext());
  builder.setInsertionPoint(*module.getOps<func::FuncOp>().begin());
  auto type = RankedTensorType::get({}, value.getType());
  Location loc = NameLoc::get(builder.getStringAttr(name));
  return train::StateOp::create(
      builder, loc, name, train::StateKind::Control, type,
      DenseElementsAttr::get(type, Attribute(value)), /*slots=*/nullptr,
      /*copy_of=*/nullptr);
}

//===----------------------------------------------------------------------===//
// What it becomes
//===----------------------------------------------------------------------===//

/// The gradient starts from the scale instead of one.
static void scaleSeed(TrainingFunction &training, Value scale) {
  OpBuilder builder(training.seed);
  builder.setInsertionPointAfter(training.seed);
  auto scaled = amp::ScaleLossOp::create(builder, training.seed.getLoc(),
                                         training.seed.getResult(), scale);
  setDecision(scaled, kRuleScaling, "keeps gradients in the range of f16");
  training.seed.getResult().replaceAllUsesExcept(scaled.getResult(), scaled);
}

/// Tests the scaled gradients.
static Value testGradients(TrainingFunction &training) {
  OpBuilder builder(training.func.getContext());
  builder.setInsertionPointAfterValue(training.gradients);
  auto finite = amp::AllFiniteOp::create(builder, training.gradients.getLoc(),
                                         training.gradients);
  setDecision(finite, kRuleScaling, "tests the scaled gradients");
  return finite;
}

/// Gives everything behind the test unscaled gradients.
static void unscaleGradients(TrainingFunction &training, Value finite,
                             Value scale) {
  OpBuilder builder(training.func.getContext());
  builder.setInsertionPointAfterValue(finite);
  auto unscaled = amp::UnscaleOp::create(builder, training.gradients.getLoc(),
                                         training.gradients, scale);
  setDecision(unscaled, kRuleScaling, "clipping and optimizer get true sizes");
  training.gradients.replaceAllUsesExcept(
      unscaled.getResult(),
      SmallPtrSet<Operation *, 2>{unscaled, finite.getDefiningOp()});
}

/// Writes that change whatever happens: sums over micro-batches. That of the
/// gradients carries an overflow from accumulate to apply; all start anew after
/// each.
static bool isUngated(train::WriteOp write) {
  return isMicroBatchSum(write.getState());
}

/// Lets `write` keep the old value after an overflow. A working copy rounds
/// what its masters became instead of being read for its old value.
static void gateWrite(OpBuilder &builder, func::FuncOp func,
                      train::WriteOp write, Value finite,
                      llvm::StringMap<Value> &gated) {
  train::StateOp state = stateOf(write);
  Location loc = write.getLoc();
  Value value = write.getValue();
  auto cast = value.getDefiningOp<amp::CastOp>();
  if (auto masters = state.getCopyOf(); masters && cast) {
    auto it = gated.find(*masters);
    assert(it != gated.end() && "masters are written with their copy");
    auto rounded = amp::CastOp::create(builder, cast.getLoc(), value.getType(),
                                       it->second);
    rounded->setDiscardableAttrs(cast->getDiscardableAttrDictionary());
    write.getValueMutable().assign(rounded);
    if (cast->use_empty())
      cast.erase();
    return;
  }
  Value old = getOrCreateRead(func, state);
  auto select = train::SelectOp::create(builder, loc, value.getType(), finite,
                                        value, old);
  setDecision(select, kRuleScaling, "keeps the old value after an overflow");
  write.getValueMutable().assign(select.getResult());
  gated[state.getSymName()] = select;
}

/// Gates all writes and moves them behind everything they now depend on.
static void gateWrites(TrainingFunction &training, Value finite) {
  Operation *end = training.func.front().getTerminator();
  OpBuilder builder(end);
  // Masters before the copies that are rounded from them.
  llvm::stable_sort(training.writes, [](train::WriteOp l, train::WriteOp r) {
    return !stateOf(l).getCopyOf() && stateOf(r).getCopyOf();
  });
  llvm::StringMap<Value> gated;
  for (train::WriteOp write : training.writes) {
    if (!isUngated(write))
      gateWrite(builder, training.func, write, finite, gated);
    write->moveBefore(end);
  }
}

static void appendResult(func::FuncOp func, Value value, StringRef name) {
  Operation *end = func.front().getTerminator();
  end->insertOperands(end->getNumOperands(), value);
  auto attrs = NamedAttribute(StringAttr::get(func.getContext(), "mpc.name"),
                              StringAttr::get(func.getContext(), name));
  (void)func.insertResult(func.getNumResults(), value.getType(),
                          DictionaryAttr::get(func.getContext(), attrs));
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct InsertLossScalingPass
    : mpc::impl::InsertLossScalingPassBase<InsertLossScalingPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // bf16 has the range of f32: no scaling ops at all.
    auto precision = module->getAttrOfType<StringAttr>(kPrecisionAttr);
    if (!precision || precision.getValue() != "fp16")
      return;

    // Written so that NaN fails; update_scale checks the other options.
    if (!(initScale > 0) || !std::isfinite(initScale)) {
      emitError(module.getLoc())
          << "'init-scale' must be finite and above 0, but is "
          << std::to_string(initScale);
      return signalPassFailure();
    }

    SmallVector<TrainingFunction> functions;
    for (auto func : module.getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      TrainingFunction training = inspect(func);
      if (!training.seed && !training.updates)
        continue;
      if (failed(check(training)))
        return signalPassFailure();
      functions.push_back(std::move(training));
    }
    if (functions.empty())
      return;

    Builder builder(&getContext());
    auto scale = createState(module, kLossScaleState,
                             builder.getF32FloatAttr(initScale));
    auto streak =
        scale ? createState(module, kStreakState, builder.getI32IntegerAttr(0))
              : nullptr;
    if (!scale || !streak)
      return signalPassFailure();
    for (TrainingFunction &training : functions)
      scaleFunction(training, scale, streak);
  }

  LogicalResult check(TrainingFunction &training) {
    func::FuncOp func = training.func;
    if (!training.gradients)
      return emitError(func.getLoc())
             << "'" << func.getSymName()
             << "' trains, but packs no gradients that could be tested";
    if (training.startsBackward && !training.seed)
      return emitError(func.getLoc())
             << "'" << func.getSymName() << "' has gradients, but no constant "
             << "marked '" << train::kLossSeedAttr << "' to scale";
    return success();
  }

  void scaleFunction(TrainingFunction &training, train::StateOp scale,
                     train::StateOp streak) {
    func::FuncOp func = training.func;
    LDBG() << "scaling " << func.getSymName();
    Value factor = getOrCreateRead(func, scale);
    if (training.seed)
      scaleSeed(training, factor);
    // Of the micro-batches, statistics alone are at stake: their gradients
    // wait for apply.
    if (training.updates || !llvm::all_of(training.writes, isUngated)) {
      Value finite = testGradients(training);
      gateWrites(training, finite);
      if (training.updates) {
        unscaleGradients(training, finite, factor);
        updateScale(func, factor, getOrCreateRead(func, streak), finite);
        appendResult(func, finite, "finite");
      }
    }
  }

  void updateScale(func::FuncOp func, Value scale, Value streak, Value finite) {
    OpBuilder builder(func.front().getTerminator());
    Location loc = finite.getLoc();
    auto update =
        amp::UpdateScaleOp::create(builder, loc, scale, streak, finite,
                                   llvm::APFloat(static_cast<float>(growth)),
                                   llvm::APFloat(static_cast<float>(backoff)),
                                   static_cast<uint32_t>(interval),
                                   llvm::APFloat(static_cast<float>(floor)),
                                   llvm::APFloat(static_cast<float>(ceiling)));
    setDecision(update, kRuleScaling, "finds the largest scale that fits");
    auto write = [&](StringRef state, Value value) {
      train::WriteOp::create(
          builder, loc, FlatSymbolRefAttr::get(builder.getContext(), state),
          value);
    };
    write(kLossScaleState, update.getNewScale());
    write(kStreakState, update.getNewStreak());
  }
};

} // namespace
