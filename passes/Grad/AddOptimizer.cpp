//===- AddOptimizer.cpp - Turn gradients into a training step -------------===//
//
// Implements mpc-add-optimizer. Parameters, gradients and moments are packs
// with the same layout (Packing.h), so that the update is one op on whole
// packs.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"
#include "compiler/Support/Notes.h"
#include "compiler/Support/Report.h"
#include "passes/Grad/Loss/Accumulation.h"
#include "passes/Grad/Passes.h"
#include "passes/Grad/Update/Groups.h"
#include "passes/Grad/Update/Optimizers.h"
#include "passes/Options/OptimizerRows.h"
#include "passes/Options/PassOptions.h"

#include "mlir/IR/Builders.h"

namespace mpc {
#define GEN_PASS_DEF_ADDOPTIMIZERPASS
#include "passes/Grad/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

struct AddOptimizerPass
    : PassWithOptions<mpc::impl::AddOptimizerPassBase<AddOptimizerPass>,
                      AccumulationOptions, UpdateOptions, OptimizerOptions,
                      ScheduleOptions> {
  using PassWithOptions::PassWithOptions;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp func = Program(module).entry(EntryRole::Train);
    if (failed(checkOptions()))
      return signalPassFailure();
    bool isDone = hasImportedStep(module) && !func; // Done by mpc-pack-updates.
    if (predictsOnly(module) || isDone)
      return;
    if (!func || func.getNumResults() < 2 ||
        !func.getResultAttr(1, kGradientOfAttr)) {
      module.emitError("an entry 'train' that returns gradients is needed")
              .attachNote()
          << "mpc-differentiate makes it";
      return signalPassFailure();
    }
    if (failed(checkGradients(func)) || failed(findGroups()))
      return signalPassFailure();
    FailureOr<Packing> packing =
        computePacking(parameterGroups.sorted(), [&](train::StateOp state) {
          return formula->needsRowAlignment ||
                 parameterGroups.beginsGroup(state);
        });
    if (failed(packing))
      return signalPassFailure();
    Value gradients = packGradients(func, *packing);
    if (failed(packMoments(*packing)))
      return signalPassFailure();
    FailureOr<train::StateOp> pack = packParameters(module, *packing);
    if (failed(pack))
      return signalPassFailure();
    parameters = *pack;
    if (accumulate > 1 || dataParallel)
      buildAccumulate(func, gradients, *packing);
    else
      buildStep(func, gradients, *packing);
  }

private:
  //===--------------------------------------------------------------------===//
  // Options
  //===--------------------------------------------------------------------===//

  LogicalResult checkOptions() {
    formula = findOptimizer(optimizer);
    if (!formula->build)
      return getOperation().emitError(optionName(OptionId::optimizer))
             << "=" << optimizer << " updates nothing";
    how = withDefaults(optimizer, *this);
    if (nesterov && !optimizerTakes(optimizer, "nesterov"))
      return getOperation().emitError(optionName(OptionId::nesterov))
             << " needs optimizer momentum, but it is '" << optimizer << "'";
    return success();
  }

  /// Checks that every parameter has a gradient, in the order of the states.
  LogicalResult checkGradients(func::FuncOp func) {
    SmallVector<StringRef> names, found;
    for (train::StateOp state : program().states(StateRole::Parameter))
      names.push_back(state.getSymName());
    for (unsigned i = 1; i < func.getNumResults(); ++i)
      if (auto attr = func.getResultAttrOfType<StringAttr>(i, kGradientOfAttr))
        found.push_back(attr.getValue());
    if (names == found && found.size() + 1 == func.getNumResults())
      return success();
    return func.emitError("'train' must return the loss and the gradients of ")
           << names.size() << " parameters in the order of their states";
  }

  LogicalResult findGroups() {
    GroupOptions options;
    SmallVector<std::string> rules(groups.begin(), groups.end());
    SmallVector<std::string> exceptions(noDecay.begin(), noDecay.end());
    options.groups = rules;
    options.noDecay = exceptions;
    options.rate = lr;
    options.decay = how.weightDecay;
    FailureOr<ParameterGroups> found =
        ParameterGroups::find(getOperation(), options);
    if (failed(found))
      return failure();
    parameterGroups = *found;
    if (rules.empty() && exceptions.empty())
      return success();
    for (const std::string &line : parameterGroups.describe())
      addNote(getOperation(), line);
    getOperation()->setAttr(kParameterGroupsAttr,
                            parameterGroups.toAttribute(&getContext()));
    return success();
  }

  //===--------------------------------------------------------------------===//
  // Pieces
  //===--------------------------------------------------------------------===//

  /// The location of ops that belong to the update.
  Location updateLoc() {
    return makeNodeLoc(&getContext(), kOptimizerNode, optimizer);
  }

  FloatAttr f32(double value) {
    return FloatAttr::get(Float32Type::get(&getContext()), value);
  }

  Program program() { return Program(getOperation()); }

  Value read(OpBuilder &builder, train::StateOp state) {
    return train::ReadOp::create(builder, updateLoc(), state);
  }

  void write(OpBuilder &builder, train::StateOp state, Value value) {
    train::WriteOp::create(builder, updateLoc(), state, value);
  }

  /// Packs the initial moments from a checkpoint, if it has them for all
  /// weights.
  LogicalResult packMoments(const Packing &packing) {
    for (StateRole role : {StateRole::FirstMoment, StateRole::SecondMoment}) {
      SmallVector<train::StateOp> known = program().states(role);
      Packing own = packing;
      for (train::StateOp &state : own.states)
        state = program().state(role, state);
      if (llvm::all_of(own.states, [](train::StateOp s) { return bool(s); })) {
        FailureOr<ElementsAttr> value = packValues(own, usualName(role));
        if (failed(value))
          return failure();
        moments[role] = *value;
      } else if (!known.empty()) {
        addNote(getOperation(),
                "the optimizer starts without '" + usualName(role).str() +
                    "' of the checkpoint, which not all weights have");
      }
      for (train::StateOp state : known)
        state.erase();
    }
    return success();
  }

  /// The function's single read of the parameters.
  Value readParameters(OpBuilder &builder, func::FuncOp func) {
    train::ReadOp known = train::findRead(func, parameters);
    return known ? known.getResult() : read(builder, parameters);
  }

  train::StateOp counterOf(StateRole role) {
    return program().getOrCreateNumber(
        role, Builder(&getContext()).getI64IntegerAttr(0));
  }

  void advance(OpBuilder &builder, train::StateOp counter, Value count) {
    write(builder, counter,
          train::IncrementOp::create(builder, updateLoc(), count));
  }

  /// Removes the gradients from the results and packs them.
  Value packGradients(func::FuncOp func, const Packing &packing) {
    SmallVector<Output> outputs = getOutputs(func);
    llvm::StringMap<Value> byName;
    for (unsigned i = 1; i < func.getNumResults(); ++i)
      byName[func.getResultAttrOfType<StringAttr>(i, kGradientOfAttr)] =
          outputs[i].value;
    SmallVector<Value> gradients;
    for (train::StateOp state : packing.states)
      gradients.push_back(byName.lookup(state.getSymName()));
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

  /// Gives a formula access to the states of this module.
  class PackedUpdate : public Update {
  public:
    PackedUpdate(AddOptimizerPass &pass, OpBuilder &builder,
                 const Packing &packing)
        : Update(builder, pass.updateLoc()), pass(pass), packing(packing) {}

    Value readPack(const OptimizerState &state) override {
      return read(state, pass.program().createState(
                             state.role, state.name, packing.type,
                             pass.moments.lookup(state.role), packing.slots));
    }
    Value readNumber(const OptimizerState &state, double start) override {
      auto type = RankedTensorType::get({}, packing.elementType());
      auto value = FloatAttr::get(packing.elementType(), start);
      return read(state, pass.program().createState(
                             state.role, state.name, type,
                             DenseElementsAttr::get(type, value)));
    }
    void write(const OptimizerState &state, Value value) override {
      pass.write(builder, states.lookup(state.name), value);
    }
    Value normByParameter(Value pack) override {
      auto rows = RankedTensorType::get({packing.type.getDimSize(0)},
                                        builder.getI64Type());
      SmallVector<int64_t> owners(rows.getNumElements());
      for (auto [i, offset] : llvm::enumerate(packing.offsets))
        std::fill(owners.begin() + offset / kPackRow, owners.end(), i);
      Value owner = train::ConstantOp::create(
          builder, loc, DenseElementsAttr::get(rows, ArrayRef(owners)));
      Value squares = train::MulOp::create(builder, loc, pack, pack);
      Value byRow = train::ReduceSumOp::create(builder, loc, squares, {1});
      Value sums = train::EmbeddingGradOp::create(
          builder, loc, byRow, owner, int64_t(packing.offsets.size()));
      Value norms = train::SqrtOp::create(builder, loc, sums);
      Value spread = train::EmbeddingOp::create(builder, loc, norms, owner);
      auto column =
          RankedTensorType::get({rows.getDimSize(0), 1}, packing.elementType());
      return train::ReshapeOp::create(builder, loc, column, spread);
    }

  private:
    Value read(const OptimizerState &state, train::StateOp made) {
      states[state.name] = made;
      return pass.read(builder, made);
    }

    AddOptimizerPass &pass;
    const Packing &packing;
    llvm::StringMap<train::StateOp> states; ///< By their names in the formula.
  };

  /// The total number of updates; 0 if neither schedule nor warm-up uses it.
  Value buildTotalSteps(OpBuilder &builder) {
    bool isShare = warmup > 0 && warmup < 1;
    if (findSchedule(schedule)->hasEnd || isShare)
      return read(builder, program().getOrCreateNumber(
                               StateRole::TotalSteps,
                               builder.getI64IntegerAttr(totalSteps)));
    auto type = RankedTensorType::get({}, builder.getI64Type());
    return train::ConstantOp::create(
        builder, updateLoc(),
        DenseElementsAttr::get(type, builder.getI64IntegerAttr(0)));
  }

  /// The learning rate of this step: the value that is set, adjusted by the
  /// schedule.
  Value buildRate(OpBuilder &builder, Type element, Value step) {
    auto rate = FloatAttr::get(element, lr);
    Value base = read(
        builder, program().getOrCreateNumber(StateRole::LearningRate, rate));
    auto kind = *train::symbolizeRateSchedule(schedule);
    if (kind == train::RateSchedule::Constant && warmup == 0)
      return base;
    Value total = buildTotalSteps(builder);
    auto f64 = [&](double value) { return builder.getF64FloatAttr(value); };
    auto how = train::RateScheduleAttr::get(&getContext(), kind);
    return train::ScheduledRateOp::create(
        builder, updateLoc(), base, step, total, how, f64(warmup), f64(lrMin),
        f64(lrGamma), f64(lrPeriod), f64(lrFactor), f64(lrPower));
  }

  /// Clips gradients. `factor`, if not null, is what the given gradients must
  /// be multiplied by; `norm` is the norm of the product.
  Value buildClipping(OpBuilder &builder, Value gradients, Value norm,
                      Value factor) {
    Location loc = updateLoc();
    auto multiply = [&](Value a, Value b) -> Value {
      return a && b ? train::MulOp::create(builder, loc, a, b).getResult()
                    : (a ? a : b);
    };
    if (clipValue > 0) {
      gradients =
          train::ClipOp::create(builder, loc, multiply(gradients, factor),
                                builder.getF64FloatAttr(-clipValue),
                                builder.getF64FloatAttr(clipValue));
      factor = nullptr;
      if (clipNorm > 0)
        norm = train::GlobalNormOp::create(builder, loc, gradients);
    }
    Value clip;
    if (clipNorm > 0)
      clip = train::ClipFactorOp::create(builder, loc, norm, f32(clipNorm));
    // Multiply the scalars first, so that gradients are read twice and never
    // written.
    return multiply(gradients, multiply(factor, clip));
  }

  /// Updates the moving average of the weights, as
  /// torch.optim.swa_utils.get_ema_multi_avg_fn: a copy at first, then ema' = d
  /// ema + (1 - d) w. With a warm-up d is at most (1 + n) / (10 + n) after n
  /// updates. It has its own counter, so that it can start when training
  /// continues from a checkpoint without an average.
  void buildAverage(OpBuilder &builder, Value weights, const Packing &packing) {
    if (ema == 0)
      return;
    Location loc = updateLoc();
    Type element = packing.elementType();
    auto number = [&](double value) {
      return createScalar(builder, loc, element, value);
    };
    train::StateOp counter = counterOf(StateRole::AverageCount);
    Value updates = read(builder, counter);
    Value count =
        train::CastOp::create(builder, loc, updates, TypeAttr::get(element));
    Value decay = number(ema);
    if (emaWarmup) {
      Value rising = train::DivOp::create(
          builder, loc, train::AddOp::create(builder, loc, count, number(1)),
          train::AddOp::create(builder, loc, count, number(10)));
      decay = train::MinimumOp::create(builder, loc, decay, rising);
    }
    Value begins = train::CompareOp::create(builder, loc, count, number(0),
                                            train::Comparison::Equal);
    decay = train::SelectOp::create(builder, loc, begins, number(0), decay);
    Value rest = train::SubOp::create(builder, loc, number(1), decay);
    train::StateOp average = program().createState(
        StateRole::Average, packing.type, /*value=*/nullptr, packing.slots);
    Value old = read(builder, average);
    Value kept = train::MulOp::create(builder, loc, decay, old);
    Value added = train::MulOp::create(builder, loc, rest, weights);
    write(builder, average, train::AddOp::create(builder, loc, kept, added));
    advance(builder, counter, updates);
  }

  /// Clips the gradients and updates weights, moments and the step counter.
  /// `factor`, if not null, is what the given gradients must be multiplied by.
  /// Returns the outputs that describe the update.
  SmallVector<Output> buildUpdate(OpBuilder &builder, func::FuncOp func,
                                  Value gradients, const Packing &packing,
                                  Value factor = nullptr) {
    Location loc = updateLoc();
    PackedUpdate update(*this, builder, packing);
    update.options = how;
    update.weights = readParameters(builder, func);
    train::StateOp counter = counterOf(StateRole::StepCount);
    update.step = read(builder, counter);
    Value rate = buildRate(builder, packing.elementType(), update.step);
    Value factors = parameterGroups.buildRates(builder, loc, packing);
    update.rate =
        factors ? train::MulOp::create(builder, loc, rate, factors).getResult()
                : rate;
    update.decay = parameterGroups.buildDecays(builder, loc, packing);
    update.options.weightDecay = parameterGroups.commonDecay();

    Value norm = train::GlobalNormOp::create(builder, loc, gradients);
    if (factor)
      norm = train::MulOp::create(builder, loc, norm, factor);
    update.gradients = buildClipping(builder, gradients, norm, factor);
    Value weights = formula->build(update);
    write(builder, parameters, weights);
    buildAverage(builder, weights, packing);
    advance(builder, counter, update.step);

    SmallVector<Output> outputs = {
        {norm, outputAttributes(&getContext(), "grad_norm")}};
    if (rate.getDefiningOp<train::ScheduledRateOp>())
      outputs.push_back(
          {rate, outputAttributes(&getContext(), "learning_rate")});
    return outputs;
  }

  void buildStep(func::FuncOp func, Value gradients, const Packing &packing) {
    program().setRole(func, EntryRole::Step);
    OpBuilder builder(getReturn(func));
    SmallVector<Output> told = buildUpdate(builder, func, gradients, packing);
    SmallVector<Output> outputs = getOutputs(func);
    llvm::append_range(outputs, told);
    setOutputs(func, outputs);
  }

  //===--------------------------------------------------------------------===//
  // Accumulation
  //===--------------------------------------------------------------------===//

  /// The constant that the backward pass starts from.
  static train::ConstantOp findSeed(func::FuncOp func) {
    train::ConstantOp seed;
    func.walk([&](train::ConstantOp op) {
      if (op->hasAttr(kLossSeedAttr))
        seed = op;
    });
    return seed;
  }

  /// Makes the backward pass start from the micro-batch's share of the loss.
  void divideSeed(OpBuilder &builder, train::ConstantOp seed,
                  const Accumulation &how) {
    auto type = cast<RankedTensorType>(seed.getType());
    Attribute share = FloatAttr::get(type.getElementType(), 1.0 / how.terms);
    seed.setValueAttr(DenseElementsAttr::get(type, share));
    if (!how.divisor || how.hasGradientOfSum)
      return;
    auto weighted = train::MulOp::create(builder, seed.getLoc(),
                                         seed.getResult(), how.divisor);
    seed.getResult().replaceAllUsesExcept(weighted.getResult(), weighted);
  }

  /// Adds `value` to the state with this role, which starts as zero.
  void addTo(OpBuilder &builder, StateRole role, Value value) {
    auto zero = FloatAttr::get(getElementTypeOrSelf(value), 0.0);
    train::StateOp state = program().getOrCreateNumber(role, zero);
    Value sum = read(builder, state);
    write(builder, state,
          train::AddOp::create(builder, updateLoc(), sum, value));
  }

  void clear(OpBuilder &builder, train::StateOp number, Type element) {
    write(builder, number, createScalar(builder, updateLoc(), element, 0.0));
  }

  /// Adds the gradients of one micro-batch to their sum, and its share of the
  /// loss to the sum of losses.
  void buildAccumulate(func::FuncOp func, Value gradients,
                       const Packing &packing) {
    program().setRole(func, EntryRole::Accumulate);
    train::ConstantOp seed = findSeed(func);
    Value loss = getReturn(func).getOperand(0);
    OpBuilder builder(func.getContext());
    builder.setInsertionPointAfter(seed);
    Accumulation how =
        analyzeAccumulation(builder, func, loss, seed, accumulate);
    divideSeed(builder, seed, how);

    builder.setInsertionPoint(getReturn(func));
    if (accumulate > 1) {
      train::StateOp gradientSum =
          program().createState(StateRole::GradientSum, packing.type,
                                /*value=*/nullptr, packing.slots);
      Value sum = read(builder, gradientSum);
      write(builder, gradientSum,
            train::AddOp::create(builder, updateLoc(), sum, gradients));
    } else {
      write(builder,
            program().createState(StateRole::RankGradients, packing.type),
            gradients);
    }
    Value share = loss, divisor = how.divisor;
    if (divisor)
      share = train::LossShareOp::create(builder, updateLoc(), loss, divisor,
                                         builder.getF64FloatAttr(how.terms));
    else if (how.isMean)
      divisor =
          createScalar(builder, updateLoc(), getElementTypeOrSelf(loss), 1.0);
    if (divisor)
      addTo(builder, StateRole::LossDivisor, divisor);
    addTo(builder, StateRole::LossSum, share);
    countMicroSteps(builder, func);
    if (dataParallel)
      addRankToSeed(func);
    buildApply(packing, how, getElementTypeOrSelf(loss));
  }

  static SmallVector<train::ReadOp> readsOf(func::FuncOp func,
                                            train::StateOp state) {
    SmallVector<train::ReadOp> reads;
    func.walk([&](train::ReadOp op) {
      if (op.getState() == state.getSymName())
        reads.push_back(op);
    });
    return reads;
  }

  /// Random numbers are keyed by the step, which does not change between two
  /// updates, so micro-batches get a counter of their own.
  void countMicroSteps(OpBuilder &builder, func::FuncOp func) {
    train::StateOp steps = program().state(StateRole::StepCount);
    SmallVector<train::ReadOp> reads =
        steps ? readsOf(func, steps) : SmallVector<train::ReadOp>();
    if (reads.empty())
      return;
    train::StateOp counter = counterOf(StateRole::MicroStep);
    for (train::ReadOp op : reads)
      op.setState(counter.getSymName());
    advance(builder, counter, reads.front());
  }

  /// Gives each rank random numbers of its own. Those of `apply` stay equal on
  /// all ranks, like the weights.
  void addRankToSeed(func::FuncOp func) {
    train::StateOp seed = program().state(StateRole::RandomSeed);
    SmallVector<train::ReadOp> reads =
        seed ? readsOf(func, seed) : SmallVector<train::ReadOp>();
    if (reads.empty())
      return;
    train::StateOp rankSeed = program().createState(
        StateRole::RankSeed, cast<RankedTensorType>(seed.getType()));
    for (train::ReadOp read : reads) {
      OpBuilder builder(read->getContext());
      builder.setInsertionPointAfter(read);
      Value own = train::ReadOp::create(builder, read.getLoc(), rankSeed);
      auto sum = train::IntegerOp::create(builder, read.getLoc(), read, own,
                                          train::IntegerOperation::Add);
      read.getResult().replaceAllUsesExcept(sum, sum);
    }
  }

  /// Builds `apply`, which updates from the sums and resets them.
  void buildApply(const Packing &packing, const Accumulation &how,
                  Type lossType) {
    Location loc = updateLoc();
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto func =
        func::FuncOp::create(builder, loc, "", builder.getFunctionType({}, {}));
    program().setRole(func, EntryRole::Apply);
    builder.setInsertionPointToStart(func.addEntryBlock());
    builder.setInsertionPoint(func::ReturnOp::create(builder, loc));
    train::StateOp gradientSum = program().carriedGradients();
    train::StateOp lossSum = program().state(StateRole::LossSum);
    Value gradients = read(builder, gradientSum);
    Value loss = read(builder, lossSum), factor;
    auto terms = builder.getF64FloatAttr(how.terms);
    if (how.isMean) {
      train::StateOp divisorSum = program().state(StateRole::LossDivisor);
      Value divisor = read(builder, divisorSum);
      factor = train::MeanFactorOp::create(builder, loc, divisor, terms);
      // If no label counted, the gradients are 0, and the loss is NaN, like
      // that of a single batch.
      loss = train::DivOp::create(builder, loc, loss, divisor);
      if (how.divisor)
        loss = train::MulOp::create(
            builder, loc, loss,
            createScalar(builder, loc, lossType, how.terms));
      clear(builder, divisorSum, lossType);
    } else {
      // Needed even if the factor is 1: the sum itself is reset when the
      // function returns.
      Value one = createScalar(builder, loc, lossType, 1.0);
      loss = train::LossShareOp::create(builder, loc, loss, one, terms);
    }
    clear(builder, lossSum, lossType);
    SmallVector<Output> outputs = {
        {loss, outputAttributes(&getContext(), "loss")}};
    llvm::append_range(outputs,
                       buildUpdate(builder, func, gradients, packing, factor));
    if (accumulate > 1) {
      Value zero = createScalar(builder, loc, packing.elementType(), 0.0);
      write(builder, gradientSum,
            train::BroadcastToOp::create(builder, loc, packing.type, zero));
    }
    setOutputs(func, outputs);
  }

  const Optimizer *formula = nullptr;
  OptimizerOptions how; ///< Options of the formula.
  ParameterGroups parameterGroups;
  train::StateOp parameters;                       ///< The pack.
  llvm::DenseMap<StateRole, ElementsAttr> moments; ///< Initial values.
};

} // namespace

std::unique_ptr<Pass>
mpc::createAddOptimizerPass(const CompileOptions &options) {
  return std::make_unique<AddOptimizerPass>(options);
}
