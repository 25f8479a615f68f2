//===- AddLoss.cpp - From a model to what training minimizes --------------===//
//
// Implements mpc-add-loss in three steps: choose the loss (or say why none can
// be chosen), build it at the end of two copies of `predict`, and take it out
// of `predict`. Losses per sample are the same op with reduction `none`.
//
//===----------------------------------------------------------------------===//

#include "compiler/Support/Diagnostics.h"
#include "compiler/Support/Locations.h"
#include "passes/Grad/LossShapes.h"
#include "passes/Grad/Passes.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-add-loss"

namespace mpc {
#define GEN_PASS_DEF_ADDLOSSPASS
#include "passes/Grad/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using train::ElementLoss;
using train::LossReduction;

// What class losses ignore where nobody says otherwise; PyTorch's default.
static constexpr int64_t kIgnoredLabel = -100;

//===----------------------------------------------------------------------===//
// Losses as values
//===----------------------------------------------------------------------===//

namespace {

enum class LossKind { CrossEntropy, NegativeLogLikelihood, Element };

/// A loss and what it compares.
struct Loss {
  LossKind kind;
  ElementLoss elementKind = ElementLoss::MeanSquaredError;
  Value prediction = nullptr;
  Value target = nullptr;
  Value weight = nullptr;             ///< Of classes; may be null.
  IntegerAttr ignoredLabel = nullptr; ///< May be null.
  LossReduction reduction = LossReduction::Mean;

  bool isClassification() const { return kind != LossKind::Element; }
};

/// What the pass decided.
struct Choice {
  unsigned output = 0;
  bool inGraph = false; ///< The output is the loss, not what it is taken of.
  LossKind kind = LossKind::Element;
  ElementLoss elementKind = ElementLoss::MeanSquaredError;
  ClassAxis classes; ///< For a loss of classes that is taken of an output.
  std::string text;  ///< For `mpc.loss`.
  std::string why;   ///< For `mpc.notes`.

  /// True if labels become an input of their own.
  bool takesLabels() const { return !inGraph && kind != LossKind::Element; }
};

} // namespace

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The input of the model that each number of `value` is made of, one by one;
/// null if there is none.
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

template <typename ClassLossOp>
static Loss fromClassLoss(ClassLossOp op, LossKind kind) {
  Loss loss{kind};
  loss.prediction = op.getInput();
  loss.target = op.getLabels();
  loss.weight = op.getWeight();
  loss.ignoredLabel = op.getIgnoreIndexAttr();
  loss.reduction = op.getReduction();
  return loss;
}

/// The loss op that `value` is the result of, up to its shape.
static std::optional<Loss> findLoss(Value value) {
  Operation *op = skipIdentities(value).getDefiningOp();
  if (auto entropy = dyn_cast_or_null<train::SoftmaxCrossEntropyOp>(op))
    return fromClassLoss(entropy, LossKind::CrossEntropy);
  if (auto likelihood = dyn_cast_or_null<train::NllLossOp>(op))
    return fromClassLoss(likelihood, LossKind::NegativeLogLikelihood);
  auto element = dyn_cast_or_null<train::ElementLossOp>(op);
  if (!element)
    return std::nullopt;
  Loss loss{LossKind::Element};
  loss.elementKind = element.getKind();
  loss.prediction = element.getPrediction();
  loss.target = element.getTarget();
  loss.reduction = element.getReduction();
  return loss;
}

/// Returns true if a loss op is among what `value` is computed from.
static bool dependsOnLoss(Value value) {
  SmallVector<Value> work = {value};
  llvm::SmallPtrSet<Operation *, 32> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (findLoss(next))
      return true;
    Operation *op = next.getDefiningOp();
    if (op && seen.insert(op).second)
      llvm::append_range(work, op->getOperands());
  }
  return false;
}

static Value buildLoss(OpBuilder &builder, Location loc, const Loss &loss,
                       LossReduction reduction) {
  switch (loss.kind) {
  case LossKind::CrossEntropy:
    return train::SoftmaxCrossEntropyOp::create(
        builder, loc, loss.prediction, loss.target, loss.weight, reduction,
        loss.ignoredLabel, /*label_smoothing=*/nullptr);
  case LossKind::NegativeLogLikelihood:
    return train::NllLossOp::create(builder, loc, loss.prediction, loss.target,
                                    loss.weight, reduction, loss.ignoredLabel,
                                    /*label_smoothing=*/nullptr);
  case LossKind::Element:
    return train::ElementLossOp::create(builder, loc, loss.prediction,
                                        loss.target, loss.elementKind,
                                        reduction);
  }
  llvm_unreachable("all losses handled");
}

/// Sums everything that belongs to one of `samples`, of which dimension 0 holds
/// several rows each where a model of texts joined them.
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

/// Any float tensor as one number: the mean, unless it is one already.
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
// Names
//===----------------------------------------------------------------------===//

static StringRef elementLossName(ElementLoss kind) {
  switch (kind) {
  case ElementLoss::MeanSquaredError:
    return "mse";
  case ElementLoss::MeanAbsoluteError:
    return "l1";
  case ElementLoss::BinaryCrossEntropyWithLogits:
    return "bce-with-logits";
  }
  llvm_unreachable("all losses named");
}

static StringRef lossName(LossKind kind, ElementLoss elementKind) {
  switch (kind) {
  case LossKind::CrossEntropy:
    return "softmax-cross-entropy";
  case LossKind::NegativeLogLikelihood:
    return "negative-log-likelihood";
  case LossKind::Element:
    return elementLossName(elementKind);
  }
  llvm_unreachable("all losses named");
}

static LogicalResult parseLossName(StringRef name, Choice &choice) {
  choice.kind = LossKind::Element;
  if (name == "softmax-cross-entropy")
    choice.kind = LossKind::CrossEntropy;
  else if (name == "mse")
    choice.elementKind = ElementLoss::MeanSquaredError;
  else if (name == "l1")
    choice.elementKind = ElementLoss::MeanAbsoluteError;
  else if (name == "bce-with-logits")
    choice.elementKind = ElementLoss::BinaryCrossEntropyWithLogits;
  else
    return failure();
  return success();
}

/// "'a', 'b', 'c'" for the outputs of `func` that `indices` name.
static std::string listOutputs(func::FuncOp func, ArrayRef<unsigned> indices) {
  std::string text;
  for (unsigned index : indices)
    text += (text.empty() ? "'" : ", '") + resultName(func, index).str() + "'";
  return text;
}

/// `wanted`, or `wanted_2`, ... if an input has the name already.
static std::string freshInputName(func::FuncOp func, StringRef wanted) {
  auto taken = [&](StringRef name) {
    return llvm::any_of(llvm::seq(func.getNumArguments()), [&](unsigned i) {
      return argumentName(func, i) == name;
    });
  };
  std::string name = wanted.str();
  for (int i = 2; taken(name); ++i)
    name = (wanted + "_" + Twine(i)).str();
  return name;
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

static FailureOr<unsigned> findOutput(func::FuncOp predict, StringRef name) {
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, predict.getNumResults()));
  for (unsigned i : all)
    if (resultName(predict, i) == name)
      return i;
  return emitUsageError(predict.getLoc())
         << "the model has no output '" << name << "'; its outputs are "
         << listOutputs(predict, all);
}

/// The one output that a loss can be taken of if nobody names it.
static FailureOr<unsigned> onlyOutput(func::FuncOp predict) {
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, predict.getNumResults()));
  if (all.size() == 1)
    return 0;
  return predict.emitError("the model has ")
         << all.size() << " outputs (" << listOutputs(predict, all)
         << ") and no loss; use --loss=output:NAME if one of them is the loss, "
            "or --loss=KIND:NAME to take a loss of one";
}

/// The prediction that a loss of this kind is taken of: at an output behind a
/// softmax (for bce: a sigmoid), what goes into it.
static Value findPrediction(Value output, const Choice &choice) {
  Operation *op = output.getDefiningOp();
  if (choice.kind == LossKind::CrossEntropy) {
    uint64_t axis = choice.classes.axis;
    if (auto softmax = dyn_cast_or_null<train::SoftmaxOp>(op))
      if (softmax.getAxis() == axis)
        return softmax.getInput();
    if (auto softmax = dyn_cast_or_null<train::LogSoftmaxOp>(op))
      if (softmax.getAxis() == axis)
        return softmax.getInput();
  }
  if (choice.elementKind == ElementLoss::BinaryCrossEntropyWithLogits &&
      isa_and_nonnull<train::SigmoidOp>(op))
    return op->getOperand(0);
  return output;
}

/// Checks that the loss can be taken of the chosen output and puts the choice
/// into words.
static LogicalResult describe(func::FuncOp predict, bool isAsked,
                              Choice &choice) {
  StringRef output = resultName(predict, choice.output);
  Value value = getReturn(predict).getOperand(choice.output);
  RankedTensorType type = typeOf(value);
  if (!isa<FloatType>(type.getElementType()))
    return predict.emitError("output '")
           << output << "' must be a float for a loss, but is "
           << shapeText(type);
  if (choice.inGraph) {
    choice.text = ("output '" + output + "' of the model").str();
    if (std::optional<Loss> loss = findLoss(value))
      choice.text += (", " + lossName(loss->kind, loss->elementKind)).str();
    if (type.getNumElements() > 1)
      choice.why += "; training minimizes its mean";
    return success();
  }

  bool classes = choice.takesLabels();
  int64_t axis = choice.classes.axis;
  if (classes && (type.getRank() < 2 || type.getDimSize(axis) < 2))
    return predict.emitError("softmax-cross-entropy needs an output [N, C, ..] "
                             "of two classes or more, but '")
           << output << "' is " << shapeText(type)
           << (axis == 1 ? "" : ", with classes along axis ")
           << (axis == 1 ? "" : std::to_string(axis));
  StringRef name = lossName(choice.kind, choice.elementKind);
  std::string target = freshInputName(predict, classes ? "labels" : "targets");
  choice.text =
      (name + " of output '" + output + "' against input '" + target + "'")
          .str();
  if (classes && type.getRank() > 2)
    choice.text += ", classes along axis " + std::to_string(axis);
  bool isSigmoid = isa_and_nonnull<train::SigmoidOp>(value.getDefiningOp()) &&
                   !classes &&
                   choice.elementKind == ElementLoss::MeanSquaredError;
  if (isSigmoid && !isAsked)
    choice.why += "; '" + output.str() +
                  "' comes from sigmoid: for targets from 0 to 1 "
                  "--loss=bce-with-logits trains better";
  Value prediction = findPrediction(value, choice);
  if (prediction != value)
    choice.why += ("; '" + output + "' comes from " +
                   value.getDefiningOp()->getName().stripDialect() +
                   ", the loss takes what goes into it")
                      .str();
  return success();
}

/// Finds the classes for a loss that has some; an axis that is asked for means
/// nothing to others.
static LogicalResult chooseAxis(func::FuncOp predict, int64_t asked,
                                Choice &choice) {
  if (!choice.takesLabels()) {
    if (asked == 0)
      return success();
    return emitUsageError(predict.getLoc())
           << "--label-axis=" << asked << " means nothing to "
           << (choice.inGraph ? "a loss of the model's own"
                              : lossName(choice.kind, choice.elementKind));
  }
  if (typeOf(getReturn(predict).getOperand(choice.output)).getRank() < 2)
    return success(); // Described as an error.
  FailureOr<ClassAxis> found = findClassAxis(predict, choice.output, asked);
  if (failed(found))
    return failure();
  choice.classes = std::move(*found);
  return success();
}

/// Adds to the note where the classes stand, and how to say otherwise.
static void explainAxis(bool isLossAsked, bool isAxisAsked, Choice &choice) {
  if (choice.inGraph)
    return;
  bool hasAxis = choice.takesLabels() && !choice.classes.why.empty();
  if (hasAxis)
    choice.why += (isLossAsked ? "; " : ": ") + choice.classes.why +
                  (isAxisAsked ? ", as asked" : "");
  bool namesAxis = hasAxis && !isAxisAsked;
  if (!isLossAsked)
    choice.why += namesAxis ? "; --loss and --label-axis say otherwise"
                            : "; --loss says otherwise";
  else if (namesAxis)
    choice.why += "; --label-axis says otherwise";
}

/// Follows the option `loss`: output:NAME, KIND or KIND:NAME.
static LogicalResult chooseByOption(func::FuncOp predict, StringRef option,
                                    Choice &choice) {
  auto [kind, name] = option.split(':');
  choice.inGraph = kind == "output";
  if (!choice.inGraph && failed(parseLossName(kind, choice)))
    return emitUsageError(predict.getLoc())
           << "unknown loss '" << kind
           << "'; use softmax-cross-entropy, mse, l1, bce-with-logits or "
              "output:NAME";
  FailureOr<unsigned> output =
      name.empty() ? onlyOutput(predict) : findOutput(predict, name);
  if (failed(output))
    return failure();
  choice.output = *output;
  choice.why = "as asked";
  return success();
}

/// Whether an output is one number, and not that of a single sample.
static bool isOneNumber(func::FuncOp predict, unsigned output) {
  RankedTensorType type = typeOf(getReturn(predict).getOperand(output));
  if (!isa<FloatType>(type.getElementType()) || type.getNumElements() != 1)
    return false;
  auto isOneSample = [](BlockArgument input) {
    RankedTensorType type = typeOf(input);
    return type.getRank() > 0 && type.getDimSize(0) == 1;
  };
  return type.getRank() == 0 ||
         (!predict.getResultAttr(output, kBatchDimAttr) &&
          llvm::none_of(predict.getArguments(), isOneSample));
}

/// Takes the loss of the graph: what a loss op makes, else what is one number.
/// Else takes one that fits the shape of the output.
static LogicalResult chooseByGraph(func::FuncOp predict, int64_t labelAxis,
                                   Choice &choice) {
  SmallVector<unsigned> losses;
  for (auto [i, value] : llvm::enumerate(getReturn(predict).getOperands()))
    if (dependsOnLoss(value))
      losses.push_back(i);
  if (losses.size() > 1)
    return predict.emitError("several outputs are losses (")
           << listOutputs(predict, losses)
           << "); use --loss=output:NAME to choose";
  if (losses.size() == 1) {
    choice.inGraph = true;
    choice.output = losses.front();
    choice.why = "found in the model";
    return success();
  }

  SmallVector<unsigned> numbers;
  for (unsigned i : llvm::seq(predict.getNumResults()))
    if (isOneNumber(predict, i))
      numbers.push_back(i);
  if (numbers.size() == 1) {
    choice.inGraph = true;
    choice.output = numbers.front();
    choice.why = "the model's output of one number; --loss says otherwise";
    return success();
  }

  FailureOr<unsigned> output = onlyOutput(predict);
  if (failed(output))
    return failure();
  choice.output = *output;
  RankedTensorType type = typeOf(getReturn(predict).getOperand(*output));
  choice.why = "chosen from the output's shape " + shapeText(type);
  bool isAsked = labelAxis != 0;
  if (type.getRank() == 2 && (isAsked || type.getDimSize(1) >= 2))
    choice.kind = LossKind::CrossEntropy;
  if (type.getRank() <= 2)
    return success();
  FailureOr<ClassAxis> classes = findClassAxis(predict, *output, labelAxis);
  if (failed(classes))
    return failure();
  if (isAsked || classes->fitsInput)
    choice.kind = LossKind::CrossEntropy;
  return success();
}

//===----------------------------------------------------------------------===//
// Building
//===----------------------------------------------------------------------===//

/// Gives labels the attributes by which the runtime checks them.
static void describeLabels(func::FuncOp func, const Loss &loss) {
  auto arg = dyn_cast<BlockArgument>(skipIdentities(loss.target));
  if (!arg || !loss.isClassification())
    return;
  Builder builder(func.getContext());
  int64_t classes = typeOf(loss.prediction).getDimSize(1);
  // An input that also picks rows of a table must do for both.
  bool canIgnore = true;
  if (auto rows =
          func.getArgAttrOfType<ArrayAttr>(arg.getArgNumber(), kRangeAttr)) {
    int64_t low = cast<IntegerAttr>(rows[0]).getInt();
    int64_t high = cast<IntegerAttr>(rows[1]).getInt();
    classes = std::min(classes, high);
    canIgnore = loss.ignoredLabel && loss.ignoredLabel.getInt() >= low &&
                loss.ignoredLabel.getInt() < high;
  }
  func.setArgAttr(arg.getArgNumber(), kRangeAttr,
                  builder.getI64ArrayAttr({0, classes}));
  if (loss.ignoredLabel && canIgnore)
    func.setArgAttr(arg.getArgNumber(), kIgnoredAttr,
                    builder.getI64IntegerAttr(loss.ignoredLabel.getInt()));
}

/// The location of ops that belong to the loss.
static Location lossLoc(func::FuncOp func, const Choice &choice) {
  if (choice.inGraph)
    return skipIdentities(getReturn(func).getOperand(choice.output)).getLoc();
  return makeNodeLoc(func.getContext(), "loss",
                     lossName(choice.kind, choice.elementKind));
}

/// Labels of `scores` whose dimension `axis` counts classes.
static RankedTensorType labelsOf(RankedTensorType scores, int64_t axis) {
  SmallVector<int64_t> shape(scores.getShape());
  shape.erase(shape.begin() + axis);
  return RankedTensorType::get(shape,
                               IntegerType::get(scores.getContext(), 64));
}

/// Appends the input that the loss compares the output with.
static Loss appendTarget(func::FuncOp func, const Choice &choice) {
  OpBuilder builder(func.getContext());
  Value output = getReturn(func).getOperand(choice.output);
  Loss loss{choice.kind, choice.elementKind};
  Value prediction = findPrediction(output, choice);
  loss.prediction = prediction;

  // What users give; the loss may take it in another shape.
  RankedTensorType type = typeOf(prediction), given = type;
  if (loss.isClassification()) {
    builder.setInsertionPoint(getReturn(func));
    loss.prediction = joinDimsBefore(builder, lossLoc(func, choice), prediction,
                                     choice.classes.axis);
    type = labelsOf(typeOf(loss.prediction), 1);
    given = labelsOf(given, choice.classes.axis);
    loss.ignoredLabel = builder.getI64IntegerAttr(kIgnoredLabel);
  }
  std::string name =
      freshInputName(func, loss.isClassification() ? "labels" : "targets");
  Attribute batchDim = func.getResultAttr(choice.output, kBatchDimAttr);
  SmallVector<int64_t> shape = joinedDims(func, prediction);
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

/// The loss in `func`, a copy of `predict`; none if an output is the loss that
/// no loss op computes.
static std::optional<Loss> prepareLoss(func::FuncOp func,
                                       const Choice &choice) {
  std::optional<Loss> loss =
      choice.inGraph ? findLoss(getReturn(func).getOperand(choice.output))
                     : appendTarget(func, choice);
  if (loss)
    describeLabels(func, *loss);
  return loss;
}

/// The loss as one number: a model's own loss as it is, others by their mean.
static Value buildScalar(OpBuilder &builder, func::FuncOp func, Location loc,
                         const Choice &choice,
                         const std::optional<Loss> &loss) {
  if (loss && (!choice.inGraph || loss->reduction == LossReduction::None))
    return buildLoss(builder, loc, *loss, LossReduction::Mean);
  return toScalar(builder, loc, getReturn(func).getOperand(choice.output));
}

/// Builds `train` and returns the loss that it minimizes the mean or sum of.
static std::optional<Loss> buildTrain(func::FuncOp func, const Choice &choice) {
  Location loc = lossLoc(func, choice);
  std::optional<Loss> loss = prepareLoss(func, choice);
  OpBuilder builder(getReturn(func));
  Value value = buildScalar(builder, func, loc, choice, loss);
  setOutputs(func, {{value, outputAttributes(func.getContext(), "loss")}});
  eraseDeadOps(func);
  return loss;
}

/// Lets the loss of `train` smooth labels. Evaluation does not.
static LogicalResult smoothLabels(func::FuncOp train, double smoothing) {
  Operation *op =
      skipIdentities(getReturn(train).getOperand(0)).getDefiningOp();
  if (!isa_and_present<train::SoftmaxCrossEntropyOp, train::NllLossOp>(op))
    return emitUsageError(train.getLoc())
           << "--label-smoothing needs a loss that compares classes with "
              "labels, and this is none";
  if (op->getNumOperands() > 2)
    return emitUsageError(train.getLoc())
           << "--label-smoothing does not go with class weights, which the "
              "loss has";
  op->setAttr("label_smoothing",
              FloatAttr::get(Float64Type::get(op->getContext()), smoothing));
  return success();
}

/// Whether the exponential of the loss is a perplexity: it is the mean over
/// tokens. `predict` is still as imported.
static bool hasPerplexity(func::FuncOp predict, const Choice &choice,
                          const std::optional<Loss> &loss) {
  bool isMean =
      !choice.inGraph || (loss && loss->reduction != LossReduction::Sum);
  return isMean && loss && loss->isClassification() && !loss->weight &&
         labelsTokens(predict, loss->target);
}

/// Rows of an output that belong to samples, several to each, are told from
/// those that belong to the batch as a whole.
static void describeJoinedOutputs(func::FuncOp predict) {
  for (auto [i, value] : llvm::enumerate(getReturn(predict).getOperands()))
    if (!predict.getResultAttr(i, kBatchDimAttr) &&
        !joinedDims(predict, value).empty())
      predict.setResultAttr(i, kBatchDimAttr,
                            Builder(predict.getContext()).getI64IntegerAttr(0));
}

/// How much each label counts in the mean; for losses without labels, how many
/// elements a sample has.
static Value buildWeights(OpBuilder &builder, Location loc, const Loss &loss) {
  if (loss.isClassification())
    return train::IsCountedOp::create(builder, loc, loss.target, loss.weight,
                                      loss.ignoredLabel);
  RankedTensorType type = typeOf(loss.prediction);
  int64_t samples = type.getRank() == 0 ? 1 : type.getDimSize(0);
  Type element = type.getElementType();
  Value size = createScalar(builder, loc, element,
                            double(type.getNumElements()) / double(samples));
  return train::BroadcastToOp::create(
      builder, loc, RankedTensorType::get({samples}, element), size);
}

static void buildEvaluate(func::FuncOp func, const Choice &choice) {
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
    add(weights, "sample_weight");
    if (loss->isClassification()) {
      Value hits = train::IsCorrectOp::create(builder, loc, loss->prediction,
                                              loss->target);
      // A label that does not count is no hit, whatever the model says.
      add(train::MulOp::create(builder, loc, hits, weights), "sample_correct");
    }
  }
  setOutputs(func, outputs);
  eraseDeadOps(func);
}

/// Removes the loss and what only it needs from `predict`. A model that gives
/// nothing but its loss predicts what the loss is taken of.
static void stripPredict(func::FuncOp predict, const Choice &choice) {
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

struct AddLossPass : mpc::impl::AddLossPassBase<AddLossPass> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto predict = module.lookupSymbol<func::FuncOp>("predict");
    if (!predict || predict.getNumResults() == 0) {
      module.emitError("the model has no function 'predict' with outputs");
      return signalPassFailure();
    }
    if (hasOwnStep(module)) {
      if (failed(takeOwnLoss(predict)))
        signalPassFailure();
      return;
    }
    for (StringRef name : {"train", "evaluate"})
      if (Operation *taken = module.lookupSymbol(name)) {
        taken->emitError("the name '") << name << "' is taken";
        return signalPassFailure();
      }

    if (predictsOnly(module)) {
      describeJoinedOutputs(predict);
      return addNote(module, "the model has no parameters: it is compiled for "
                             "prediction alone");
    }
    Choice choice;
    StringRef option = loss;
    LogicalResult chosen = option.empty()
                               ? chooseByGraph(predict, labelAxis, choice)
                               : chooseByOption(predict, option, choice);
    if (failed(chosen) || failed(chooseAxis(predict, labelAxis, choice)))
      return signalPassFailure();
    explainAxis(!option.empty(), labelAxis != 0, choice);
    if (failed(describe(predict, !option.empty(), choice)))
      return signalPassFailure();
    LDBG() << "loss: " << choice.text << ", " << choice.why;

    outputName = resultName(predict, choice.output).str();
    buildEvaluate(clone(predict, "evaluate"), choice);
    func::FuncOp train = clone(predict, "train");
    std::optional<Loss> loss = buildTrain(train, choice);
    if (hasPerplexity(predict, choice, loss))
      module->setAttr("mpc.metrics",
                      StringAttr::get(&getContext(), "perplexity"));
    if (labelSmoothing > 0 && failed(smoothLabels(train, labelSmoothing)))
      return signalPassFailure();
    if (choice.inGraph)
      stripPredict(predict, choice);
    describeJoinedOutputs(predict);

    module->setAttr("mpc.loss", StringAttr::get(&getContext(), choice.text));
    module->setAttr("mpc.loss_parts", describeParts(train, choice));
    addNote(module, "loss: " + choice.text + " (" + choice.why + ")");
  }

  /// What `mpc export --training` makes of it: kind, output, the input that it
  /// is compared with, and the dimension of classes.
  ArrayAttr describeParts(func::FuncOp train, const Choice &choice) {
    Builder builder(&getContext());
    if (choice.inGraph)
      return builder.getStrArrayAttr(
          ArrayRef<StringRef>{"output", outputName, "", ""});
    std::string axis = std::to_string(choice.classes.axis);
    StringRef target = argumentName(train, train.getNumArguments() - 1);
    return builder.getStrArrayAttr(ArrayRef<StringRef>{
        lossName(choice.kind, choice.elementKind), outputName, target,
        choice.takesLabels() ? StringRef(axis) : StringRef()});
  }
  std::string outputName; ///< Of the output that is the loss, or has one.

  /// Of a model that brings its own step `train` and `evaluate` give the loss
  /// already.
  LogicalResult takeOwnLoss(func::FuncOp predict) {
    ModuleOp module = getOperation();
    auto name = module->getAttrOfType<StringAttr>(train::kOwnStepAttr);
    if (!loss.empty() || labelAxis != 0)
      return emitUsageError(module.getLoc())
             << (loss.empty() ? "--label-axis" : "--loss")
             << " does not apply: the model brings its own training step, "
             << "which minimizes '" << name.getValue() << "'";
    if (labelSmoothing > 0)
      return emitUsageError(module.getLoc())
             << "--label-smoothing does not apply: the model brings its own "
                "training step";
    auto train = module.lookupSymbol<func::FuncOp>("train");
    auto evaluate = module.lookupSymbol<func::FuncOp>("evaluate");
    Choice choice;
    choice.inGraph = true;
    choice.text = ("'" + name.getValue() + "' of the model").str();
    for (func::FuncOp func : {train, evaluate})
      if (auto own = findLoss(getReturn(func).getOperand(0)))
        partLabels(func, own->prediction, own->target);
    std::optional<Loss> loss = prepareLoss(train, choice);
    if (loss)
      choice.text += (", " + lossName(loss->kind, loss->elementKind)).str();
    if (hasPerplexity(evaluate, choice,
                      findLoss(getReturn(evaluate).getOperand(0))))
      module->setAttr("mpc.metrics",
                      StringAttr::get(&getContext(), "perplexity"));
    buildEvaluate(evaluate, choice);
    for (unsigned i : llvm::seq(predict.getNumResults()))
      if (resultName(predict, i) == name) {
        choice.output = i;
        stripPredict(predict, choice);
        break;
      }
    describeJoinedOutputs(predict);
    module->setAttr("mpc.loss", StringAttr::get(&getContext(), choice.text));
    addNote(module, "loss: " + choice.text + " (its own training step's)");
    return success();
  }

  func::FuncOp clone(func::FuncOp predict, StringRef name) {
    func::FuncOp copy = predict.clone();
    copy.setName(name);
    getOperation().push_back(copy);
    return copy;
  }
};

} // namespace
