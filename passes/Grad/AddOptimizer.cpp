//===- AddOptimizer.cpp - From gradients to the step that trains ----------===//
//
// Implements mpc-add-optimizer. Parameters, gradients and moments are packs of
// one layout (Packing.h), so that the update is one op on whole packs.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Locations.h"
#include "passes/Grad/Packing.h"
#include "passes/Grad/Passes.h"

#include "mlir/IR/Builders.h"

namespace mpc {
#define GEN_PASS_DEF_ADDOPTIMIZERPASS
#include "passes/Grad/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

static constexpr StringLiteral kParameters = "parameters";
static constexpr StringLiteral kGradients = "gradients";
static constexpr StringLiteral kVelocity = "momentum.velocity";
using train::kFirstMoment;
using train::kSecondMoment;
static constexpr StringLiteral kMicroStep = "micro_step";
static constexpr StringLiteral kLossSum = "loss_sum";
static constexpr StringLiteral kLossDivisor = "loss_divisor";

// PyTorch's default of AdamW; its other optimizers do not decay.
static constexpr double kAdamWDecay = 0.01;

namespace {

struct AddOptimizerPass : mpc::impl::AddOptimizerPassBase<AddOptimizerPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto func = module.lookupSymbol<func::FuncOp>("train");
    if (failed(checkOptions()))
      return signalPassFailure();
    bool isDone = hasOwnStep(module) && !func; // mpc-pack-updates has done it.
    if (predictsOnly(module) || isDone)
      return;
    if (!func || func.getNumResults() < 2 ||
        !func.getResultAttr(1, kGradientOfAttr)) {
      module.emitError("a function 'train' that returns gradients is needed")
              .attachNote()
          << "mpc-differentiate makes it";
      return signalPassFailure();
    }
    FailureOr<Packing> packing = computePacking(module);
    if (failed(packing) || failed(checkGradients(func, *packing)) ||
        failed(packMoments(*packing)) ||
        failed(packParameters(module, *packing, kParameters)))
      return signalPassFailure();

    Value gradients = packGradients(func, *packing);
    if (accumulate > 1)
      buildAccumulate(func, gradients, *packing);
    else
      buildStep(func, gradients, *packing);
  }

private:
  //===--------------------------------------------------------------------===//
  // Options
  //===--------------------------------------------------------------------===//

  bool isAdam() const {
    return optimizer == "adam" || optimizer == "adamw" || isHfAdamW();
  }
  bool isHfAdamW() const { return optimizer == "hf-adamw"; }

  double decay() const {
    if (weightDecay >= 0)
      return weightDecay;
    return optimizer == "adamw" ? kAdamWDecay : 0.0;
  }

  LogicalResult checkOptions() {
    auto refuse = [&](const Twine &text) {
      return getOperation().emitError(text);
    };
    if (!isAdam() && optimizer != "sgd" && optimizer != "momentum")
      return refuse("unknown optimizer '" + optimizer +
                    "'; use sgd, momentum, adam, adamw or hf-adamw");
    // Written so that NaN fails the tests.
    if (!(lr >= 0) || !std::isfinite(lr))
      return refuse("lr must be a number from 0 on");
    if (!std::isfinite(weightDecay))
      return refuse("weight-decay must be a number");
    if (!(beta1 >= 0 && beta1 < 1) || !(beta2 >= 0 && beta2 < 1))
      return refuse("betas must lie in [0, 1)");
    if (!(epsilon >= 0) || !std::isfinite(epsilon))
      return refuse("epsilon must be a number from 0 on");
    if (!(momentum >= 0 && momentum < 1))
      return refuse("momentum must lie in [0, 1)");
    if (nesterov && optimizer != "momentum")
      return refuse("nesterov needs optimizer momentum, but it is '" +
                    optimizer + "'");
    if (!(clipNorm >= 0) || !std::isfinite(clipNorm))
      return refuse("clip-norm must be a number from 0 on; 0 is no limit");
    if (accumulate < 1)
      return refuse("accumulate must be at least 1");
    return success();
  }

  /// Every parameter has its gradient, in the order of the states.
  LogicalResult checkGradients(func::FuncOp func, const Packing &packing) {
    SmallVector<StringRef> names, found;
    for (train::StateOp state : packing.states)
      names.push_back(state.getSymName());
    for (unsigned i = 1; i < func.getNumResults(); ++i)
      if (auto attr = func.getResultAttrOfType<StringAttr>(i, kGradientOfAttr))
        found.push_back(attr.getValue());
    if (names == found && found.size() + 1 == func.getNumResults())
      return success();
    return func.emitError("'train' must return the loss and the gradients of ")
           << names.size() << " parameters in the order of their states";
  }

  //===--------------------------------------------------------------------===//
  // Pieces
  //===--------------------------------------------------------------------===//

  /// The location of ops that belong to the update.
  Location updateLoc() {
    return makeNodeLoc(&getContext(), "optimizer", optimizer);
  }

  FloatAttr f32(double value) {
    return FloatAttr::get(Float32Type::get(&getContext()), value);
  }

  Value read(OpBuilder &builder, train::StateOp state) {
    return train::ReadOp::create(builder, updateLoc(), state.getType(),
                                 state.getSymName());
  }

  Value read(OpBuilder &builder, StringRef name) {
    return read(builder, getOperation().lookupSymbol<train::StateOp>(name));
  }

  void write(OpBuilder &builder, StringRef name, Value value) {
    train::WriteOp::create(builder, updateLoc(), name, value);
  }

  /// Reads a state of the packing's layout that starts as zeros.
  Value readMoment(OpBuilder &builder, StringRef name, const Packing &packing) {
    createState(getOperation(), name, train::StateKind::Optimizer, packing.type,
                moments.lookup(name), packing.slots);
    return read(builder, name);
  }

  /// Packs the moments that a checkpoint begins with, if it has those of all
  /// weights.
  LogicalResult packMoments(const Packing &packing) {
    ModuleOp module = getOperation();
    for (StringRef name : {kFirstMoment, kSecondMoment}) {
      Packing own = packing;
      for (train::StateOp &state : own.states)
        state = module.lookupSymbol<train::StateOp>(
            (name + "/" + state.getSymName()).str());
      if (!llvm::all_of(own.states, [](train::StateOp s) { return bool(s); }))
        continue;
      FailureOr<ElementsAttr> value = packValues(own, name);
      if (failed(value))
        return failure();
      moments[name] = *value;
      for (train::StateOp state : own.states)
        state.erase();
    }
    return success();
  }

  /// The function's one read of the parameters.
  Value readParameters(OpBuilder &builder, func::FuncOp func) {
    for (auto op : func.front().getOps<train::ReadOp>())
      if (op.getState() == kParameters)
        return op;
    return read(builder, kParameters);
  }

  Value readCounter(OpBuilder &builder, StringRef name) {
    auto zero = builder.getI64IntegerAttr(0);
    return read(builder, getOrCreateControl(getOperation(), name, zero));
  }

  void advance(OpBuilder &builder, StringRef name, Value counter) {
    write(builder, name,
          train::IncrementOp::create(builder, updateLoc(), counter));
  }

  /// Takes the gradients out of the results and packs them.
  Value packGradients(func::FuncOp func, const Packing &packing) {
    SmallVector<Output> outputs = getOutputs(func);
    SmallVector<Value> gradients;
    for (const Output &output : ArrayRef(outputs).drop_front())
      gradients.push_back(output.value);
    setOutputs(func, outputs.front());
    OpBuilder builder(getReturn(func));
    auto pack = train::PackOp::create(builder, updateLoc(), packing.type,
                                      gradients, packing.offsets);
    pack->setAttr(kGradientsAttr, builder.getUnitAttr());
    return pack;
  }

  //===--------------------------------------------------------------------===//
  // Updates
  //===--------------------------------------------------------------------===//

  void buildAdam(OpBuilder &builder, Value weights, Value gradients, Value lr,
                 Value step, const Packing &packing) {
    Value first = readMoment(builder, kFirstMoment, packing);
    Value second = readMoment(builder, kSecondMoment, packing);
    auto scalar = RankedTensorType::get({}, packing.elementType());
    auto correction = [&](double beta) -> Value {
      if (!correctBias)
        return createScalar(builder, updateLoc(), packing.elementType(), 1);
      return train::BiasCorrectionOp::create(builder, updateLoc(), scalar, step,
                                             builder.getF64FloatAttr(beta));
    };
    Value correction1 = correction(beta1), correction2 = correction(beta2);
    if (isHfAdamW())
      return buildHfAdamW(builder, weights, gradients, first, second, lr,
                          correction1, correction2);
    auto decoupled = optimizer == "adamw" ? builder.getUnitAttr() : UnitAttr();
    auto update = train::AdamOp::create(
        builder, updateLoc(), weights, gradients, first, second, lr,
        correction1, correction2, f32(beta1), f32(beta2), f32(epsilon),
        f32(decay()), decoupled);
    write(builder, kParameters, update.getNewWeight());
    write(builder, kFirstMoment, update.getNewFirstMoment());
    write(builder, kSecondMoment, update.getNewSecondMoment());
  }

  /// AdamW as Hugging Face's transformers had it and ONNX Runtime has by
  /// default: epsilon is added before the bias is corrected, and weights decay
  /// after the update.
  ///   w1 = w - lr sqrt(correction2) / correction1 * m' / (sqrt(v') + epsilon)
  ///   w' = w1 - lr decay w1
  /// Source: orttraining/.../optimizer/adamw, adam_mode 1.
  void buildHfAdamW(OpBuilder &builder, Value weights, Value gradients,
                    Value first, Value second, Value lr, Value correction1,
                    Value correction2) {
    Location loc = updateLoc();
    Type element = getElementTypeOrSelf(weights);
    auto mul = [&](Value a, Value b) -> Value {
      return train::MulOp::create(builder, loc, a, b);
    };
    auto scale = [&](double factor, Value value) {
      return mul(createScalar(builder, loc, element, factor), value);
    };
    auto mix = [&](double beta, Value old, Value now) -> Value {
      Value kept = scale(beta, old), added = scale(1 - beta, now);
      return train::AddOp::create(builder, loc, kept, added);
    };
    Value newFirst = mix(beta1, first, gradients);
    Value newSecond = mix(beta2, second, mul(gradients, gradients));
    Value root = train::SqrtOp::create(builder, loc, newSecond);
    Value divisor = train::AddOp::create(
        builder, loc, root, createScalar(builder, loc, element, epsilon));
    Value ratio = train::DivOp::create(
        builder, loc, train::SqrtOp::create(builder, loc, correction2),
        correction1);
    Value step = train::DivOp::create(builder, loc,
                                      mul(mul(lr, ratio), newFirst), divisor);
    Value updated = train::SubOp::create(builder, loc, weights, step);
    if (decay() != 0)
      updated = train::SubOp::create(builder, loc, updated,
                                     mul(scale(decay(), lr), updated));
    write(builder, kParameters, updated);
    write(builder, kFirstMoment, newFirst);
    write(builder, kSecondMoment, newSecond);
  }

  /// Clips the gradients and updates weights, moments and the step counter.
  /// `factor`, if not null, makes true gradients of those given. Returns their
  /// norm before clipping.
  Value buildUpdate(OpBuilder &builder, func::FuncOp func, Value gradients,
                    const Packing &packing, Value factor = nullptr) {
    Location loc = updateLoc();
    Value weights = readParameters(builder, func);
    auto rate = FloatAttr::get(packing.elementType(), lr);
    Value learningRate =
        read(builder, getOrCreateControl(getOperation(),
                                         train::kLearningRateState, rate));
    Value step = readCounter(builder, train::kStepState);

    // Numbers first: gradients are then read twice and never written.
    auto multiply = [&](Value a, Value b) -> Value {
      return a && b ? train::MulOp::create(builder, loc, a, b).getResult()
                    : (a ? a : b);
    };
    Value norm =
        multiply(train::GlobalNormOp::create(builder, loc, gradients), factor);
    Value clip;
    if (clipNorm > 0)
      clip = train::ClipFactorOp::create(builder, loc, norm, f32(clipNorm));
    gradients = multiply(gradients, multiply(factor, clip));
    if (isAdam()) {
      buildAdam(builder, weights, gradients, learningRate, step, packing);
    } else if (optimizer == "momentum") {
      Value velocity = readMoment(builder, kVelocity, packing);
      auto update = train::MomentumOp::create(
          builder, loc, weights, gradients, velocity, learningRate,
          f32(momentum), f32(decay()),
          nesterov ? builder.getUnitAttr() : UnitAttr());
      write(builder, kParameters, update.getNewWeight());
      write(builder, kVelocity, update.getNewVelocity());
    } else {
      write(builder, kParameters,
            train::SgdOp::create(builder, loc, weights, gradients, learningRate,
                                 f32(decay())));
    }
    advance(builder, train::kStepState, step);
    return norm;
  }

  void buildStep(func::FuncOp func, Value gradients, const Packing &packing) {
    func.setName("step");
    OpBuilder builder(getReturn(func));
    Value norm = buildUpdate(builder, func, gradients, packing);
    SmallVector<Output> outputs = getOutputs(func);
    outputs.push_back({norm, outputAttributes(&getContext(), "grad_norm")});
    setOutputs(func, outputs);
  }

  //===--------------------------------------------------------------------===//
  // Accumulation
  //===--------------------------------------------------------------------===//

  /// How micro-batches make up one batch: the sum of their losses, each over
  /// `terms`, and likewise of gradients; where means divide by what differs, a
  /// micro-batch counts by its `divisor`, and the sum of these is divided by.
  struct Accumulation {
    double terms;
    Value divisor; ///< Of one micro-batch; null if all are the same.
  };

  /// What the loss of `train` says of it; the mean of the losses if it is no
  /// sum, mean or loss op that could say.
  Accumulation analyzeLoss(OpBuilder &builder, Value loss) {
    Accumulation result{double(accumulate), nullptr};
    auto op = skipIdentities(loss).getDefiningOp<train::BatchLossOpInterface>();
    if (!op)
      return result;
    if (op.addsUp())
      return {1.0, nullptr};
    if ((result.divisor = op.buildDivisor(builder)))
      result.terms *= double(op.countTerms());
    return result;
  }

  /// The constant that the backward pass starts from.
  static train::ConstantOp findSeed(func::FuncOp func) {
    train::ConstantOp seed;
    func.walk([&](train::ConstantOp op) {
      if (op->hasAttr(train::kLossSeedAttr))
        seed = op;
    });
    return seed;
  }

  /// The backward pass starts from the share of the loss.
  void divideSeed(OpBuilder &builder, train::ConstantOp seed,
                  const Accumulation &how) {
    auto type = cast<RankedTensorType>(seed.getType());
    Attribute share = FloatAttr::get(type.getElementType(), 1.0 / how.terms);
    seed.setValueAttr(DenseElementsAttr::get(type, share));
    if (!how.divisor)
      return;
    auto weighted = train::MulOp::create(builder, seed.getLoc(),
                                         seed.getResult(), how.divisor);
    seed.getResult().replaceAllUsesExcept(weighted.getResult(), weighted);
  }

  /// Adds `value` to the state `name`, which starts as zero.
  void addTo(OpBuilder &builder, StringRef name, Value value) {
    auto zero = FloatAttr::get(getElementTypeOrSelf(value), 0.0);
    Value sum = read(builder, getOrCreateControl(getOperation(), name, zero));
    write(builder, name,
          train::AddOp::create(builder, updateLoc(), sum, value));
  }

  void clear(OpBuilder &builder, StringRef name, Type element) {
    write(builder, name, createScalar(builder, updateLoc(), element, 0.0));
  }

  /// Adds the gradients of one micro-batch to `@gradients`, its share of the
  /// loss to `@loss_sum`.
  void buildAccumulate(func::FuncOp func, Value gradients,
                       const Packing &packing) {
    func.setName("accumulate");
    train::ConstantOp seed = findSeed(func);
    Value loss = getReturn(func).getOperand(0);
    OpBuilder builder(func.getContext());
    builder.setInsertionPointAfter(seed);
    Accumulation how = analyzeLoss(builder, loss);
    divideSeed(builder, seed, how);

    builder.setInsertionPoint(getReturn(func));
    Value sum = readMoment(builder, kGradients, packing);
    write(builder, kGradients,
          train::AddOp::create(builder, updateLoc(), sum, gradients));
    Value share = loss;
    if (how.divisor) {
      share =
          train::LossShareOp::create(builder, updateLoc(), loss, how.divisor,
                                     builder.getF64FloatAttr(how.terms));
      addTo(builder, kLossDivisor, how.divisor);
    }
    addTo(builder, kLossSum, share);
    countMicroSteps(builder, func);
    buildApply(packing, how, getElementTypeOrSelf(loss));
  }

  /// Random numbers are keyed by the step, which stands still between two
  /// updates: micro-batches get a counter of their own.
  void countMicroSteps(OpBuilder &builder, func::FuncOp func) {
    SmallVector<train::ReadOp> reads;
    func.walk([&](train::ReadOp op) {
      if (op.getState() == train::kStepState)
        reads.push_back(op);
    });
    if (reads.empty())
      return;
    getOrCreateControl(getOperation(), kMicroStep,
                       builder.getI64IntegerAttr(0));
    for (train::ReadOp op : reads)
      op.setState(kMicroStep);
    advance(builder, kMicroStep, reads.front());
  }

  /// Updates from `@gradients` and empties the sums.
  void buildApply(const Packing &packing, const Accumulation &how,
                  Type lossType) {
    Location loc = updateLoc();
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto func = func::FuncOp::create(builder, loc, "apply",
                                     builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(func.addEntryBlock());
    builder.setInsertionPoint(func::ReturnOp::create(builder, loc));
    Value gradients = read(builder, kGradients);
    Value loss = read(builder, kLossSum), factor;
    auto terms = builder.getF64FloatAttr(how.terms);
    if (how.divisor) {
      Value divisor = read(builder, kLossDivisor);
      factor = train::MeanFactorOp::create(builder, loc, divisor, terms);
      // Where nothing counted, no gradient moves a weight, but the loss of one
      // batch would be no number, and neither is this.
      Value mean = train::DivOp::create(builder, loc, loss, divisor);
      loss = train::MulOp::create(
          builder, loc, mean, createScalar(builder, loc, lossType, how.terms));
      clear(builder, kLossDivisor, lossType);
    } else {
      // Also where this is 1: the sum itself is gone when the function returns.
      Value one = createScalar(builder, loc, lossType, 1.0);
      loss = train::LossShareOp::create(builder, loc, loss, one, terms);
    }
    clear(builder, kLossSum, lossType);
    Value norm = buildUpdate(builder, func, gradients, packing, factor);
    Value zero = createScalar(builder, loc, packing.elementType(), 0.0);
    write(builder, kGradients,
          train::BroadcastToOp::create(builder, loc, packing.type, zero));
    setOutputs(func, {{loss, outputAttributes(&getContext(), "loss")},
                      {norm, outputAttributes(&getContext(), "grad_norm")}});
  }

  llvm::StringMap<ElementsAttr> moments; ///< What some begin with.
};

} // namespace
