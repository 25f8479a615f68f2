//===- AddLoss.cpp - Choose the loss and build entry points ---------------===//
//
// Implements mpc-add-loss in three steps: choose the loss (or report why none
// can be chosen), build it at the end of two copies of `predict`, and remove it
// from `predict`. Losses per sample are the same op with reduction `none`.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/Locations.h"
#include "compiler/Support/Notes.h"
#include "passes/Grad/Loss/ChooseLoss.h"
#include "passes/Grad/Loss/LossParts.h"
#include "passes/Grad/Passes.h"
#include "passes/Options/PassOptions.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-add-loss"

namespace mpc {
#define GEN_PASS_DEF_ADDLOSSPASS
#include "passes/Grad/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using train::LossReduction;

// The label that class losses ignore by default, as in PyTorch.
static constexpr int64_t kIgnoredLabel = -100;

/// The input of the model from which `value` is computed elementwise; null if
/// there is none.
static BlockArgument findInput(Value value) {
  for (;;) {
    value = skipIdentities(value);
    Operation *op = value.getDefiningOp();
    if (!op)
      return cast<BlockArgument>(value);
    if (!op->hasTrait<train::ElementByElement>() || op->getNumOperands() != 1)
      return nullptr;
    value = op->getOperand(0);
  }
}

static Value buildLoss(OpBuilder &builder, Location loc, const Loss &loss,
                       LossReduction reduction) {
  auto byElements = [&](train::ElementLoss kind) -> Value {
    return train::ElementLossOp::create(builder, loc, loss.prediction,
                                        loss.target, kind, reduction);
  };
  switch (loss.kind) {
  case LossKind::CrossEntropy:
    return train::SoftmaxCrossEntropyOp::create(
        builder, loc, loss.prediction, loss.target, loss.weight, reduction,
        loss.ignoredLabel, /*label_smoothing=*/nullptr, /*classes=*/nullptr);
  case LossKind::NegativeLogLikelihood:
    return train::NllLossOp::create(builder, loc, loss.prediction, loss.target,
                                    loss.weight, reduction, loss.ignoredLabel,
                                    /*label_smoothing=*/nullptr,
                                    /*classes=*/nullptr);
  case LossKind::MeanSquaredError:
    return byElements(train::ElementLoss::MeanSquaredError);
  case LossKind::MeanAbsoluteError:
    return byElements(train::ElementLoss::MeanAbsoluteError);
  case LossKind::BinaryCrossEntropyWithLogits:
    return byElements(train::ElementLoss::BinaryCrossEntropyWithLogits);
  }
  llvm_unreachable("all losses handled");
}

/// Sums everything that belongs to each of `samples`. In language models
/// dimension 0 may hold several rows for each sample.
static Value sumPerSample(OpBuilder &builder, Location loc, Value value,
                          int64_t samples) {
  RankedTensorType type = typeOf(value);
  if (type.getRank() > 0 && type.getDimSize(0) > samples &&
      type.getDimSize(0) % samples == 0) {
    SmallVector<int64_t> shape(type.getShape());
    shape.front() /= samples;
    shape.insert(shape.begin(), samples);
    type = RankedTensorType::get(shape, type.getElementType());
    value = train::ReshapeOp::create(builder, loc, type, value);
  }
  if (type.getRank() == 0)
    return train::ReshapeOp::create(
        builder, loc, RankedTensorType::get({1}, type.getElementType()), value);
  if (type.getRank() == 1)
    return value;
  auto axes = llvm::to_vector(llvm::seq<int64_t>(1, type.getRank()));
  return train::ReduceSumOp::create(builder, loc, value, axes);
}

/// Reduces any float tensor to one number: its mean, unless it has one element.
static Value toScalar(OpBuilder &builder, Location loc, Value value) {
  RankedTensorType type = typeOf(value);
  if (type.getRank() == 0)
    return value;
  if (type.getNumElements() == 1)
    return train::ReshapeOp::create(
        builder, loc, RankedTensorType::get({}, type.getElementType()), value);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  return train::ReduceMeanOp::create(builder, loc, value, axes);
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// The location of ops that belong to the loss.
static Location lossLoc(func::FuncOp func, const LossChoice &choice) {
  if (choice.inGraph)
    return skipIdentities(getReturn(func).getOperand(choice.output)).getLoc();
  return makeNodeLoc(func.getContext(), kLossNode, lossName(choice.kind));
}

/// The type of labels for `scores`, whose dimension `axis` counts classes.
static RankedTensorType labelsOf(RankedTensorType scores, int64_t axis) {
  SmallVector<int64_t> shape(scores.getShape());
  shape.erase(shape.begin() + axis);
  return RankedTensorType::get(shape,
                               IntegerType::get(scores.getContext(), 64));
}

/// Appends the input that the loss compares the output with.
static Loss appendTarget(func::FuncOp func, const LossChoice &choice) {
  OpBuilder builder(func.getContext());
  Value output = getReturn(func).getOperand(choice.output);
  Loss loss{choice.kind};
  Value prediction = findPrediction(output, choice);
  loss.prediction = prediction;

  // `given` is the type of the input; the loss may take it in another shape.
  RankedTensorType type = typeOf(prediction), given = type;
  if (loss.isClassification()) {
    builder.setInsertionPoint(getReturn(func));
    loss.prediction = joinDimsBefore(builder, lossLoc(func, choice), prediction,
                                     choice.classes.axis);
    type = labelsOf(typeOf(loss.prediction), 1);
    given = labelsOf(given, choice.classes.axis);
    loss.ignoredLabel = builder.getI64IntegerAttr(kIgnoredLabel);
  }
  std::string name = targetName(func, loss.isClassification());
  Attribute batchDim = func.getResultAttr(choice.output, kBatchDimAttr);
  SmallVector<int64_t> shape = mergedDims(func, prediction);
  if (!batchDim && !shape.empty()) {
    llvm::append_range(shape, given.getShape().drop_front());
    given = RankedTensorType::get(shape, given.getElementType());
    batchDim = builder.getI64IntegerAttr(0);
  }
  unsigned index = func.getNumArguments();
  (void)func.insertArgument(index, given,
                            outputAttributes(func.getContext(), name, batchDim),
                            func.getLoc());
  loss.target = func.getArgument(index);
  if (given != type) {
    builder.setInsertionPointToStart(&func.getBody().front());
    loss.target =
        train::ReshapeOp::create(builder, func.getLoc(), type, loss.target);
  }
  return loss;
}

/// Finds or starts the loss in `func`, a copy of `predict`; none if the loss is
/// an output that no loss op computes.
static std::optional<Loss> prepareLoss(func::FuncOp func,
                                       const LossChoice &choice) {
  return choice.inGraph ? findLoss(getReturn(func).getOperand(choice.output))
                        : appendTarget(func, choice);
}

/// Builds the loss as one number. A model's own scalar loss is used as it is,
/// others are averaged. The mean of a model's own loss is the plain mean of its
/// elements, even if the loss op has class weights or ignores labels.
static Value buildScalar(OpBuilder &builder, func::FuncOp func, Location loc,
                         const LossChoice &choice,
                         const std::optional<Loss> &loss) {
  bool isMean =
      !choice.inGraph || (loss && loss->reduction == LossReduction::None);
  if (loss && isMean && !(choice.inGraph && loss->isMeanOfElements()))
    return buildLoss(builder, loc, *loss, LossReduction::Mean);
  return toScalar(builder, loc, getReturn(func).getOperand(choice.output));
}

/// Builds `train` and returns the loss whose mean or sum it minimizes.
static std::optional<Loss> buildTrain(func::FuncOp func,
                                      const LossChoice &choice) {
  Location loc = lossLoc(func, choice);
  std::optional<Loss> loss = prepareLoss(func, choice);
  OpBuilder builder(getReturn(func));
  Value value = buildScalar(builder, func, loc, choice, loss);
  setOutputs(func, {{value, outputAttributes(func.getContext(), "loss")}});
  eraseDeadOps(func);
  return loss;
}

/// Adds label smoothing to the loss of `train`, but not to that of `evaluate`.
static LogicalResult smoothLabels(func::FuncOp train, double smoothing) {
  Operation *op =
      skipIdentities(getReturn(train).getOperand(0)).getDefiningOp();
  if (auto mean = dyn_cast_or_null<train::ReduceMeanOp>(op))
    op = skipIdentities(mean.getInput()).getDefiningOp();
  auto loss = dyn_cast_if_present<train::LossOpInterface>(op);
  if (loss && loss.getClassWeights())
    return emitUsageError(train.getLoc())
           << "option 'label-smoothing' cannot be combined with the class "
              "weights of the loss";
  if (loss && succeeded(loss.smoothLabels(smoothing)))
    return success();
  return emitUsageError(train.getLoc())
         << "option 'label-smoothing' requires a loss that compares classes "
            "with labels";
}

/// Whether the exponential of the loss is a perplexity, that is, whether the
/// loss is a mean over tokens. `predict` must still be as imported.
static bool hasPerplexity(func::FuncOp predict, const LossChoice &choice,
                          const std::optional<Loss> &loss) {
  bool isMean =
      !choice.inGraph || (loss && loss->reduction != LossReduction::Sum &&
                          !loss->isMeanOfElements());
  return isMean && loss && loss->isClassification() && !loss->weight &&
         hasLabelPerToken(predict, loss->target);
}

/// Marks outputs whose rows belong to samples, with several rows for each, to
/// distinguish them from outputs of the whole batch.
static void describeJoinedOutputs(func::FuncOp predict) {
  for (auto [i, value] : llvm::enumerate(getReturn(predict).getOperands()))
    if (!predict.getResultAttr(i, kBatchDimAttr) &&
        !mergedDims(predict, value).empty())
      predict.setResultAttr(i, kBatchDimAttr,
                            Builder(predict.getContext()).getI64IntegerAttr(0));
}

/// A constant of `shape` with all elements equal to `number`.
static Value repeat(OpBuilder &builder, Location loc, Type element,
                    double number, ArrayRef<int64_t> shape) {
  return train::BroadcastToOp::create(
      builder, loc, RankedTensorType::get(shape, element),
      createScalar(builder, loc, element, number));
}

/// The weight of each label in the mean; for losses without labels, the number
/// of elements of a sample.
static Value buildWeights(OpBuilder &builder, Location loc, const Loss &loss) {
  if (loss.isClassification())
    return train::IsCountedOp::create(builder, loc, loss.target, loss.weight,
                                      loss.ignoredLabel);
  RankedTensorType type = typeOf(loss.prediction);
  int64_t samples = type.getRank() == 0 ? 1 : type.getDimSize(0);
  return repeat(builder, loc, type.getElementType(),
                double(type.getNumElements()) / double(samples), samples);
}

static void buildEvaluate(func::FuncOp func, const LossChoice &choice) {
  MLIRContext *context = func.getContext();
  Location loc = lossLoc(func, choice);
  Attribute batchDim = func.getResultAttr(choice.output, kBatchDimAttr);
  std::optional<Loss> loss = prepareLoss(func, choice);
  OpBuilder builder(getReturn(func));

  SmallVector<Output> outputs;
  if (!loss) {
    Value value = buildScalar(builder, func, loc, choice, loss);
    outputs.push_back({value, outputAttributes(context, "loss")});
  } else {
    // The model's loss has no batch dimension of its own; its labels do.
    BlockArgument labels = findInput(loss->target);
    if (!batchDim && labels)
      batchDim = func.getArgAttr(labels.getArgNumber(), kBatchDimAttr);
    ArrayRef<int64_t> shape = typeOf(loss->prediction).getShape();
    int64_t samples = shape.empty() ? 1 : shape.front();
    if (labels && func.getArgAttr(labels.getArgNumber(), kBatchDimAttr))
      samples = typeOf(labels).getDimSize(0);
    auto add = [&](Value value, StringRef name) {
      outputs.push_back({sumPerSample(builder, loc, value, samples),
                         outputAttributes(context, name, batchDim)});
    };
    add(buildLoss(builder, loc, *loss, LossReduction::None), "sample_loss");
    Value weights = buildWeights(builder, loc, *loss);
    // Ignored labels count in a mean of elements, but not in the accuracy.
    bool isMeanOfElements = choice.inGraph && loss->isMeanOfElements();
    add(isMeanOfElements
            ? repeat(builder, loc, typeOf(weights).getElementType(), 1,
                     typeOf(weights).getShape())
            : weights,
        "sample_weight");
    if (loss->isClassification()) {
      Value hits = train::IsCorrectOp::create(
          builder, loc, loss->prediction, loss->target, /*classes=*/nullptr);
      // An ignored label is never a hit, whatever the model predicts.
      add(train::MulOp::create(builder, loc, hits, weights), "sample_correct");
    }
    if (isMeanOfElements)
      add(weights, "sample_counted");
  }
  setOutputs(func, outputs);
  eraseDeadOps(func);
}

/// Removes the loss and what only it needs from `predict`. If the model's only
/// output is its loss, `predict` returns the prediction that the loss takes.
static void stripPredict(func::FuncOp predict, const LossChoice &choice) {
  std::optional<Loss> loss =
      findLoss(getReturn(predict).getOperand(choice.output));
  SmallVector<Output> outputs = getOutputs(predict);
  if (outputs.size() == 1 && !loss)
    return;
  Attribute batchDim;
  if (outputs.size() == 1 && !predict.getArguments().empty())
    batchDim = predict.getArgAttr(0, kBatchDimAttr);
  outputs.erase(outputs.begin() + choice.output);
  if (outputs.empty())
    outputs.push_back(
        {loss->prediction,
         outputAttributes(predict.getContext(), "prediction", batchDim)});

  llvm::BitVector unused(predict.getNumArguments());
  for (BlockArgument arg : predict.getArguments())
    unused[arg.getArgNumber()] = arg.use_empty();
  setOutputs(predict, outputs);
  eraseDeadOps(predict);
  llvm::BitVector erased(predict.getNumArguments());
  for (BlockArgument arg : predict.getArguments())
    erased[arg.getArgNumber()] = arg.use_empty() && !unused[arg.getArgNumber()];
  (void)predict.eraseArguments(erased);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {

struct AddLossPass
    : PassWithOptions<mpc::impl::AddLossPassBase<AddLossPass>, LossOptions> {
  using PassWithOptions::PassWithOptions;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp predict = Program(module).entry(EntryRole::Predict);
    if (!predict || predict.getNumResults() == 0) {
      module.emitError("the model has no entry 'predict' with outputs");
      return signalPassFailure();
    }
    if (hasImportedStep(module)) {
      if (failed(useImportedLoss(predict)))
        signalPassFailure();
      return;
    }
    if (predictsOnly(module)) {
      describeJoinedOutputs(predict);
      return addNote(
          module,
          "the model has no parameters, so it supports prediction only");
    }
    FailureOr<LossChoice> chosen = chooseLoss(predict, loss, labelAxis);
    if (failed(chosen))
      return signalPassFailure();
    const LossChoice &choice = *chosen;
    LDBG() << "loss: " << choice.text << ", " << choice.why;

    Program program(module);
    buildEvaluate(program.copyEntry(predict, EntryRole::Evaluate), choice);
    func::FuncOp train = program.copyEntry(predict, EntryRole::Train);
    std::optional<Loss> loss = buildTrain(train, choice);
    if (hasPerplexity(predict, choice, loss))
      module->setAttr(kMetricsAttr,
                      StringAttr::get(&getContext(), "perplexity"));
    if (labelSmoothing > 0 && failed(smoothLabels(train, labelSmoothing)))
      return signalPassFailure();
    std::vector<std::string> parts = describeLossParts(predict, train, choice);
    if (choice.inGraph)
      stripPredict(predict, choice);
    describeJoinedOutputs(predict);

    Builder builder(&getContext());
    module->setAttr(kLossAttr, builder.getStringAttr(choice.text));
    module->setAttr(kLossPartsAttr, builder.getStrArrayAttr(
                                        llvm::to_vector_of<StringRef>(parts)));
    addNote(module, "loss: " + choice.text + " (" + choice.why + ")");
  }

  /// If the model brings its own step, `train` and `evaluate` already return
  /// the loss.
  LogicalResult useImportedLoss(func::FuncOp predict) {
    ModuleOp module = getOperation();
    auto name = module->getAttrOfType<StringAttr>(kImportedStepAttr);
    if (!loss.empty() || labelAxis != 0)
      return emitUsageError(module.getLoc())
             << (loss.empty() ? "option 'label-axis'" : "option 'loss'")
             << " does not apply: the model brings its own training step, "
             << "which minimizes '" << name.getValue() << "'";
    if (labelSmoothing > 0)
      return emitUsageError(module.getLoc())
             << "option 'label-smoothing' does not apply: the model brings its "
                "own training step";
    func::FuncOp train = Program(module).entry(EntryRole::Train);
    func::FuncOp evaluate = Program(module).entry(EntryRole::Evaluate);
    LossChoice choice;
    choice.inGraph = true;
    choice.text = ("'" + name.getValue() + "'").str();
    for (func::FuncOp func : {train, evaluate})
      if (auto own = findLoss(getReturn(func).getOperand(0)))
        splitLabelsBySample(func, own->prediction, own->target);
    std::optional<Loss> loss = prepareLoss(train, choice);
    if (loss)
      choice.text += (" (" + lossName(loss->kind) + ")").str();
    choice.text += ", computed by the model's own training step";
    if (hasPerplexity(evaluate, choice,
                      findLoss(getReturn(evaluate).getOperand(0))))
      module->setAttr(kMetricsAttr,
                      StringAttr::get(&getContext(), "perplexity"));
    buildEvaluate(evaluate, choice);
    for (unsigned i : llvm::seq(predict.getNumResults()))
      if (resultName(predict, i) == name) {
        choice.output = i;
        stripPredict(predict, choice);
        break;
      }
    describeJoinedOutputs(predict);
    module->setAttr(kLossAttr, StringAttr::get(&getContext(), choice.text));
    addNote(module, "loss: " + choice.text);
    return success();
  }
};

} // namespace

std::unique_ptr<Pass> mpc::createAddLossPass(const CompileOptions &options) {
  return std::make_unique<AddLossPass>(options);
}
