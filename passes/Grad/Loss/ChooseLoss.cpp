//===- ChooseLoss.cpp - Choose the loss of a model ------------------------===//

#include "passes/Grad/Loss/ChooseLoss.h"

#include "compiler/Support/Diagnostics.h"

using namespace mlir;
using namespace mpc;

bool mpc::takesLabels(LossKind kind) {
  return kind == LossKind::CrossEntropy ||
         kind == LossKind::NegativeLogLikelihood;
}

std::optional<Loss> mpc::findLoss(Value value) {
  auto op = skipIdentities(value).getDefiningOp<train::LossOpInterface>();
  if (!op)
    return std::nullopt;
  return Loss{op.getLossKind(),     op.getPrediction(),   op.getTarget(),
              op.getClassWeights(), op.getIgnoredLabel(), op.getReduction()};
}

/// Returns true if `value` depends on a loss op.
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

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

StringRef mpc::lossName(LossKind kind) {
  switch (kind) {
  case LossKind::CrossEntropy:
    return "softmax-cross-entropy";
  case LossKind::NegativeLogLikelihood:
    return "negative-log-likelihood";
  case LossKind::MeanSquaredError:
    return "mse";
  case LossKind::MeanAbsoluteError:
    return "l1";
  case LossKind::BinaryCrossEntropyWithLogits:
    return "bce-with-logits";
  }
  llvm_unreachable("all losses named");
}

/// The loss with this name, among those that can be applied to an output.
static std::optional<LossKind> parseLossName(StringRef name) {
  for (LossKind kind :
       {LossKind::CrossEntropy, LossKind::MeanSquaredError,
        LossKind::MeanAbsoluteError, LossKind::BinaryCrossEntropyWithLogits})
    if (lossName(kind) == name)
      return kind;
  return std::nullopt;
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

std::string mpc::targetName(func::FuncOp func, bool isClassification) {
  return freshInputName(func, isClassification ? "labels" : "targets");
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
         << "the model has no output '" << name << "'; its "
         << (all.size() == 1 ? "only output is " : "outputs are ")
         << listOutputs(predict, all);
}

/// The output to apply a loss to if none is named: there must be only one.
static FailureOr<unsigned> onlyOutput(func::FuncOp predict) {
  auto all = llvm::to_vector(llvm::seq<unsigned>(0, predict.getNumResults()));
  if (all.size() == 1)
    return 0;
  return predict.emitError("the model has ")
         << all.size() << " outputs (" << listOutputs(predict, all)
         << ") and no loss; use option 'loss'=output:NAME if one of them is "
            "the loss, or option 'loss'=KIND:NAME to compute a loss from one "
            "of them";
}

Value mpc::findPrediction(Value output, const LossChoice &choice) {
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
  if (choice.kind == LossKind::BinaryCrossEntropyWithLogits)
    if (auto sigmoid = dyn_cast_or_null<train::SigmoidOp>(op))
      return sigmoid.getInput();
  return output;
}

/// Checks that the loss can be applied to the chosen output, and describes the
/// choice.
static LogicalResult describeChoice(func::FuncOp predict, bool isAsked,
                                    LossChoice &choice) {
  StringRef output = resultName(predict, choice.output);
  Value value = getReturn(predict).getOperand(choice.output);
  RankedTensorType type = typeOf(value);
  if (!isa<FloatType>(type.getElementType()))
    return predict.emitError("output '")
           << output << "' must be a float for a loss, but is "
           << shapeText(type);
  if (choice.inGraph) {
    choice.text = ("output '" + output + "' of the model").str();
    std::optional<Loss> loss = findLoss(value);
    if (loss)
      choice.text += (", " + lossName(loss->kind)).str();
    if (type.getNumElements() > 1)
      choice.why += "; training minimizes its mean";
    if (loss && loss->isMeanOfElements())
      choice.why += ", in which all elements count alike, also those of labels "
                    "that are ignored";
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
  StringRef name = lossName(choice.kind);
  std::string target = targetName(predict, classes);
  choice.text =
      (name + " of output '" + output + "' against input '" + target + "'")
          .str();
  if (classes && type.getRank() > 2)
    choice.text += ", classes along axis " + std::to_string(axis);
  bool suitsSigmoid = choice.kind == LossKind::MeanSquaredError && !isAsked;
  if (suitsSigmoid && value.getDefiningOp<train::SigmoidOp>())
    choice.why += "; '" + output.str() +
                  "' comes from sigmoid: for targets from 0 to 1 option "
                  "'loss'=bce-with-logits trains better";
  Value prediction = findPrediction(value, choice);
  if (prediction != value)
    choice.why += ("; '" + output + "' comes from " +
                   value.getDefiningOp()->getName().stripDialect() +
                   ", so the loss uses its input")
                      .str();
  return success();
}

/// Finds the class axis for a classification loss; for others an axis must not
/// be given.
static LogicalResult chooseAxis(func::FuncOp predict, int64_t asked,
                                LossChoice &choice) {
  if (!choice.takesLabels()) {
    if (asked == 0)
      return success();
    return emitUsageError(predict.getLoc())
           << "option 'label-axis'=" << asked << " has no effect with "
           << (choice.inGraph ? "a loss of the model's own"
                              : lossName(choice.kind));
  }
  if (typeOf(getReturn(predict).getOperand(choice.output)).getRank() < 2)
    return success(); // describeChoice reports the error.
  FailureOr<ClassAxis> found = findClassAxis(predict, choice.output, asked);
  if (failed(found))
    return failure();
  choice.classes = std::move(*found);
  return success();
}

/// Adds to the note which axis counts the classes, and how to change that.
static void explainAxis(bool isLossAsked, bool isAxisAsked,
                        LossChoice &choice) {
  if (choice.inGraph)
    return;
  bool hasAxis = choice.takesLabels() && !choice.classes.why.empty();
  if (hasAxis)
    choice.why += (isLossAsked ? "; " : ": ") + choice.classes.why +
                  (isAxisAsked ? ", as asked" : "");
  bool namesAxis = hasAxis && !isAxisAsked;
  if (!isLossAsked)
    choice.why +=
        namesAxis ? "; use option 'loss' and option 'label-axis' to change it"
                  : "; use option 'loss' to change it";
  else if (namesAxis)
    choice.why += "; use option 'label-axis' to change it";
}

/// Follows the option `loss`: output:NAME, KIND or KIND:NAME.
static LogicalResult chooseByOption(func::FuncOp predict, StringRef option,
                                    LossChoice &choice) {
  auto [kind, name] = option.split(':');
  choice.inGraph = kind == "output";
  std::optional<LossKind> known = parseLossName(kind);
  if (!choice.inGraph && !known)
    return emitUsageError(predict.getLoc())
           << "unknown loss '" << kind
           << "'; use softmax-cross-entropy, mse, l1, bce-with-logits or "
              "output:NAME";
  choice.kind = known.value_or(choice.kind);
  FailureOr<unsigned> output =
      name.empty() ? onlyOutput(predict) : findOutput(predict, name);
  if (failed(output))
    return failure();
  choice.output = *output;
  choice.why = "as asked";
  return success();
}

/// Whether an output is one number that does not belong to a single sample.
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

/// Takes the loss of the graph: the output of a loss op, else an output that is
/// one number. Otherwise chooses a loss that fits the shape of the output.
static LogicalResult chooseByGraph(func::FuncOp predict, int64_t labelAxis,
                                   LossChoice &choice) {
  SmallVector<unsigned> losses;
  for (auto [i, value] : llvm::enumerate(getReturn(predict).getOperands()))
    if (dependsOnLoss(value))
      losses.push_back(i);
  if (losses.size() > 1)
    return predict.emitError("several outputs are losses (")
           << listOutputs(predict, losses)
           << "); use option 'loss'=output:NAME to choose";
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
    choice.why =
        "the model's only scalar output; use option 'loss' to change it";
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

FailureOr<LossChoice> mpc::chooseLoss(func::FuncOp predict, StringRef option,
                                      int64_t labelAxis) {
  LossChoice choice;
  bool isAsked = !option.empty();
  LogicalResult chosen = isAsked ? chooseByOption(predict, option, choice)
                                 : chooseByGraph(predict, labelAxis, choice);
  if (failed(chosen) || failed(chooseAxis(predict, labelAxis, choice)))
    return failure();
  explainAxis(isAsked, labelAxis != 0, choice);
  if (failed(describeChoice(predict, isAsked, choice)))
    return failure();
  return choice;
}
