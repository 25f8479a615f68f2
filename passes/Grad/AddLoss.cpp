//===- AddLoss.cpp - Choose the loss and build entry points ---------------===//
//
// Implements mpc-add-loss in three steps: choose the loss (or report why none
// can be chosen), build it at the end of two copies of `predict`, and remove it
// from `predict`. Losses per sample are the same op with reduction `none`.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/Faults.h"
#include "compiler/Support/Notes.h"
#include "passes/Grad/Loss/ChooseLoss.h"
#include "passes/Grad/Loss/LossFormulas.h"
#include "passes/Grad/Loss/LossInputs.h"
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

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// Builds the loss as one number. A model's own scalar loss is used as it is,
/// others are averaged. The mean of a model's own loss is the plain mean of its
/// elements, even if the loss op has class weights or ignores labels.
static Value buildScalar(OpBuilder &builder, func::FuncOp func, Location loc,
                         const LossChoice &choice,
                         const std::optional<Loss> &loss) {
  if (loss && loss->reduction == LossReduction::None &&
      !loss->isMeanOfElements())
    return buildMean(builder, loc, *loss);
  return averageAll(builder, loc, getReturn(func).getOperand(choice.output));
}

/// Multiplies a loss by its factor in the sum and adds it to `total`, which may
/// be null.
static Value addShare(OpBuilder &builder, Location loc, Value total,
                      Value value, double share) {
  if (share != 1)
    value = train::MulOp::create(
        builder, loc, value,
        createScalar(builder, loc, typeOf(value).getElementType(), share));
  return total ? Value(train::AddOp::create(builder, loc, total, value))
               : value;
}

/// Builds `train` for a loss in the graph and returns that loss.
static std::optional<Loss> buildTrain(func::FuncOp func,
                                      const LossChoice &choice) {
  Location loc = lossLoc(func, choice);
  std::optional<Loss> loss =
      findLoss(getReturn(func).getOperand(choice.output));
  OpBuilder builder(getReturn(func));
  Value value = buildScalar(builder, func, loc, choice, loss);
  setOutputs(func, {{value, outputAttributes(func.getContext(), "loss")}});
  eraseDeadOps(func);
  return loss;
}

/// Builds `train` for losses of outputs, with labels smoothed as asked. Returns
/// the first loss.
static Loss buildTrain(func::FuncOp func, const LossSum &sum,
                       double smoothing) {
  SmallVector<Loss> losses = appendInputs(func, sum);
  OpBuilder builder(getReturn(func));
  Value total;
  for (auto [term, loss] : llvm::zip_equal(sum.terms, losses)) {
    Location loc = lossLoc(func, term);
    if (loss.kind == LossKind::CrossEntropy)
      loss.smoothing = smoothing;
    total = addShare(builder, loc, total, buildMean(builder, loc, loss),
                     term.share);
  }
  setOutputs(func, {{total, outputAttributes(func.getContext(), "loss")}});
  eraseDeadOps(func);
  return losses.front();
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
         !loss->sampleWeights && loss->kind != LossKind::SoftmaxFocal &&
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

/// The weights of all elements in the mean; without weights, the number of
/// elements of each sample.
static Value weightsOf(OpBuilder &builder, Location loc,
                       const LossElements &elements) {
  if (elements.weights)
    return elements.weights;
  RankedTensorType type = typeOf(elements.losses);
  int64_t samples = type.getRank() == 0 ? 1 : type.getDimSize(0);
  return repeatNumber(builder, loc, type.getElementType(),
                      double(type.getNumElements()) / double(samples), samples);
}

/// 1 for each label that the prediction hits, else 0; times `counted`, because
/// an ignored label is never a hit, whatever the model predicts.
static Value buildHits(OpBuilder &builder, Location loc, const Loss &loss,
                       Value counted) {
  Value hits = train::IsCorrectOp::create(builder, loc, loss.prediction,
                                          loss.target, /*classes=*/nullptr);
  return train::MulOp::create(builder, loc, hits, counted);
}

/// Whether each label is counted, regardless of its weight.
static Value buildCounted(OpBuilder &builder, Location loc, const Loss &loss) {
  return train::IsCountedOp::create(builder, loc, loss.target,
                                    /*weight=*/nullptr, loss.ignoredLabel);
}

namespace {
/// The results of `evaluate`: vectors with one element per sample.
class SampleOutputs {
public:
  SampleOutputs(OpBuilder &builder, Location loc, int64_t samples,
                Attribute batchDim)
      : builder(builder), loc(loc), samples(samples), batchDim(batchDim) {}

  Value sum(Value value) { return sumPerSample(builder, loc, value, samples); }
  void add(Value value, StringRef name) { addSums(sum(value), name); }
  void addSums(Value sums, StringRef name) {
    outputs.push_back(
        {sums, outputAttributes(builder.getContext(), name, batchDim)});
  }

  SmallVector<Output> outputs;

private:
  OpBuilder &builder;
  Location loc;
  int64_t samples;
  Attribute batchDim;
};
} // namespace

/// Builds `evaluate` for a loss in the graph.
static void buildEvaluate(func::FuncOp func, const LossChoice &choice) {
  MLIRContext *context = func.getContext();
  Location loc = lossLoc(func, choice);
  Attribute batchDim = func.getResultAttr(choice.output, kBatchDimAttr);
  std::optional<Loss> loss =
      findLoss(getReturn(func).getOperand(choice.output));
  OpBuilder builder(getReturn(func));
  if (!loss) {
    Value value = buildScalar(builder, func, loc, choice, loss);
    setOutputs(func, {{value, outputAttributes(context, "loss")}});
    return eraseDeadOps(func);
  }
  // The model's loss has no batch dimension of its own; its labels do.
  BlockArgument labels = findInput(loss->target);
  if (!batchDim && labels)
    batchDim = func.getArgAttr(labels.getArgNumber(), kBatchDimAttr);
  SampleOutputs results(builder, loc, countSamples(func, *loss), batchDim);
  LossElements elements = buildElements(builder, loc, *loss);
  // Ignored labels count in a mean of elements, but not in the accuracy.
  bool isMeanOfElements = choice.inGraph && loss->isMeanOfElements();
  results.add(elements.losses, "sample_loss");
  Value weights = weightsOf(builder, loc, elements);
  RankedTensorType type = typeOf(weights);
  results.add(isMeanOfElements
                  ? repeatNumber(builder, loc, type.getElementType(), 1,
                                 type.getShape())
                  : weights,
              "sample_weight");
  if (loss->isClassification())
    results.add(buildHits(builder, loc, *loss, weights), "sample_correct");
  if (isMeanOfElements)
    results.add(weights, "sample_counted");
  setOutputs(func, results.outputs);
  eraseDeadOps(func);
}

/// The names under which `evaluate` returns the losses of a sum:
/// "sample_loss:box" for a loss of output 'box', and "sample_loss:box:mse" if
/// that output has several.
static SmallVector<std::string> namesOfTerms(func::FuncOp func,
                                             const LossSum &sum) {
  SmallVector<std::string> names;
  for (const LossChoice &term : sum.terms) {
    std::string name = "sample_loss:" + resultName(func, term.output).str();
    if (llvm::count_if(sum.terms, [&](const LossChoice &other) {
          return other.output == term.output;
        }) > 1)
      name += ":" + lossName(term.kind).str();
    for (unsigned next = 2; llvm::is_contained(names, name); ++next)
      name = name.substr(0, name.find('#')) + "#" + std::to_string(next);
    names.push_back(std::move(name));
  }
  return names;
}

/// Adds the losses of each sample to the results: each one, and their sum, such
/// that its mean over samples with their weights is the total loss. A loss with
/// class weights or ignored labels is divided by the number of labels, so that
/// samples can be added up.
static void addSampleSums(OpBuilder &builder, Location loc, const LossSum &sum,
                          ArrayRef<Loss> losses, ArrayRef<std::string> names,
                          SampleOutputs &results) {
  Value total;
  SmallVector<Value> means;
  for (auto [term, loss] : llvm::zip_equal(sum.terms, losses)) {
    Value elements = buildElements(builder, loc, loss).losses;
    Value sums = results.sum(elements);
    double count = double(typeOf(elements).getNumElements()) /
                   double(typeOf(sums).getNumElements());
    total = addShare(builder, loc, total, sums, term.share / count);
    means.push_back(addShare(builder, loc, nullptr, sums, 1 / count));
  }
  results.addSums(total, "sample_loss");
  for (auto [mean, name] : llvm::zip_equal(means, names))
    results.addSums(mean, name);
}

/// Builds `evaluate` for losses of outputs.
static void buildEvaluate(func::FuncOp func, const LossSum &sum) {
  const LossChoice &first = sum.terms.front();
  Location loc = lossLoc(func, first);
  Attribute batchDim = func.getResultAttr(first.output, kBatchDimAttr);
  const SmallVector<std::string> names = namesOfTerms(func, sum);
  SmallVector<Loss> losses = appendInputs(func, sum);
  OpBuilder builder(getReturn(func));
  Value compared = losses.front().target;
  BlockArgument target = compared ? findInput(compared) : nullptr;
  if (!batchDim && target)
    batchDim = func.getArgAttr(target.getArgNumber(), kBatchDimAttr);
  int64_t samples = countSamples(func, losses.front());
  SampleOutputs results(builder, loc, samples, batchDim);
  // The accuracy of the only loss with labels.
  auto isClassification = [](const Loss &loss) {
    return loss.isClassification();
  };
  const Loss *classes = llvm::find_if(losses, isClassification);
  bool hasAccuracy = llvm::count_if(losses, isClassification) == 1;
  bool countsLabels = true;
  if (sum.isSingle()) {
    LossElements elements = buildElements(builder, loc, losses.front());
    results.add(elements.losses, "sample_loss");
    Value weights = weightsOf(builder, loc, elements);
    results.add(weights, "sample_weight");
    countsLabels = losses[0].weight || losses[0].sampleWeights;
    if (hasAccuracy && !countsLabels)
      results.add(buildHits(builder, loc, *classes, weights), "sample_correct");
  } else {
    addSampleSums(builder, loc, sum, losses, names, results);
    Type element = typeOf(losses.front().prediction).getElementType();
    Value weights = losses.front().sampleWeights;
    results.add(weights ? weights
                        : repeatNumber(builder, loc, element, 1, samples),
                "sample_weight");
  }
  if (hasAccuracy && countsLabels) {
    Value counted = buildCounted(builder, loc, *classes);
    results.add(buildHits(builder, loc, *classes, counted), "sample_correct");
    results.add(counted, "sample_counted");
  }
  setOutputs(func, results.outputs);
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
      module.emitError("the model has no entry 'predict' with outputs")
          << Fault::NoLoss;
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
    if (loss == kExternalLoss) {
      if (failed(leaveLossToCaller(predict)))
        signalPassFailure();
      return;
    }
    FailureOr<LossSum> chosen = chooseLoss(predict, *this);
    if (failed(chosen) || failed(buildEntries(predict, *chosen)))
      return signalPassFailure();
    LDBG() << "loss: " << chosen->text << ", " << chosen->why;
    describeJoinedOutputs(predict);
    module->setAttr(kLossAttr, StringAttr::get(&getContext(), chosen->text));
    addNote(module, "loss: " + chosen->text + " (" + chosen->why + ")");
  }

  /// Makes `train` return what `predict` does.
  LogicalResult leaveLossToCaller(func::FuncOp predict) {
    ModuleOp module = getOperation();
    std::string unused = labelAxis != 0        ? "label-axis"
                         : labelSmoothing != 0 ? "label-smoothing"
                                               : findLossOption(*this);
    if (!unused.empty())
      return emitUsageError(module.getLoc())
             << "option '" << unused
             << "' has no effect with option 'loss'=" << kExternalLoss
             << ": the caller computes the loss";
    describeJoinedOutputs(predict);
    Program(module).copyEntry(predict, EntryRole::Train);
    module->setAttr(kExternalLossAttr, UnitAttr::get(&getContext()));
    module->setAttr(kLossAttr, StringAttr::get(&getContext(), kExternalLoss));
    addNote(module, "loss: computed by the caller: 'forward' returns the "
                    "outputs, 'backward' takes their gradients");
    return success();
  }

  LogicalResult buildEntries(func::FuncOp predict, const LossSum &sum) {
    ModuleOp module = getOperation();
    const LossChoice &choice = sum.terms.front();
    bool isInGraph = choice.inGraph;
    // Describe the loss before its output is removed from `predict`.
    module->setAttr(kLossPartsAttr,
                    Builder(&getContext())
                        .getStrArrayAttr(llvm::to_vector_of<StringRef>(
                            describeLossParts(predict, sum))));
    if (!isInGraph && failed(checkInputs(predict, sum)))
      return failure();
    Program program(module);
    func::FuncOp evaluate = program.copyEntry(predict, EntryRole::Evaluate);
    func::FuncOp train = program.copyEntry(predict, EntryRole::Train);
    std::optional<Loss> loss;
    if (isInGraph) {
      buildEvaluate(evaluate, choice);
      loss = buildTrain(train, choice);
    } else {
      buildEvaluate(evaluate, sum);
      loss = buildTrain(train, sum, labelSmoothing);
    }
    if (sum.isSingle() && hasPerplexity(predict, choice, loss))
      module->setAttr(kMetricsAttr,
                      StringAttr::get(&getContext(), "perplexity"));
    if (labelSmoothing > 0 && isInGraph &&
        failed(smoothLabels(train, labelSmoothing)))
      return failure();
    if (isInGraph)
      stripPredict(predict, choice);
    return success();
  }

  /// Checks that all losses have the same samples, and that labels can be
  /// smoothed if the option asks for it.
  LogicalResult checkInputs(func::FuncOp predict, const LossSum &sum) {
    std::optional<int64_t> samples;
    for (const LossChoice &term : sum.terms) {
      int64_t count = countSamples(predict, term);
      if (samples && count != *samples)
        return emitUsageError(predict.getLoc())
               << "outputs '" << resultName(predict, sum.terms[0].output)
               << "' and '" << resultName(predict, term.output) << "' have "
               << *samples << " and " << count
               << " samples, so their losses cannot be added";
      samples = count;
    }
    if (labelSmoothing == 0)
      return success();
    if (!classWeights.empty())
      return emitUsageError(predict.getLoc())
             << "option 'label-smoothing' cannot be combined with the class "
                "weights of the loss";
    bool canSmooth = llvm::any_of(sum.terms, [](const LossChoice &term) {
      return term.kind == LossKind::CrossEntropy;
    });
    if (canSmooth)
      return success();
    return emitUsageError(predict.getLoc())
           << "option 'label-smoothing' requires a loss that compares classes "
              "with labels";
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
    if (std::string option = findLossOption(*this); !option.empty())
      return emitUsageError(module.getLoc())
             << "option '" << option
             << "' does not apply: the model brings its own training step";
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
    std::optional<Loss> loss =
        findLoss(getReturn(train).getOperand(choice.output));
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
