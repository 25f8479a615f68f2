//===- LossInputs.cpp - Inputs that losses add ----------------------------===//

#include "passes/Grad/Loss/LossInputs.h"

#include "compiler/Support/Locations.h"
#include "passes/Options/Loss/LossText.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mpc;

// The label that class losses ignore by default, as in PyTorch.
static constexpr int64_t kIgnoredLabel = -100;

BlockArgument mpc::findInput(Value value) {
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

Location mpc::lossLoc(func::FuncOp func, const LossChoice &choice) {
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

/// A constant vector of the numbers that `text` lists; `count` times the same
/// number if it is a single one.
static Value createVector(OpBuilder &builder, Location loc, Type element,
                          const std::string &text, int64_t count) {
  std::vector<double> numbers = *parseNumbers(text);
  if (numbers.size() == 1)
    numbers.resize(count, numbers.front());
  SmallVector<Attribute> values;
  for (double number : numbers)
    values.push_back(builder.getFloatAttr(element, number));
  auto type =
      RankedTensorType::get(static_cast<int64_t>(values.size()), element);
  return train::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, values));
}

/// Sets what the options say about the loss. `prediction` is the output before
/// dimensions are joined.
static void applyOptions(OpBuilder &builder, Location loc,
                         const LossChoice &choice, Value prediction,
                         Loss &loss) {
  const LossOptions &options = choice.options;
  Type element = typeOf(prediction).getElementType();
  loss.classAxis = choice.classes.axis;
  loss.delta = options.huberDelta;
  loss.margin = options.tripletMargin;
  loss.gamma = options.focalGamma;
  if (options.focalAlpha != kUnset)
    loss.alpha = options.focalAlpha;
  if (loss.isClassification()) {
    loss.ignoredLabel =
        builder.getI64IntegerAttr(options.ignoreIndex.value_or(kIgnoredLabel));
    if (!options.classWeights.empty())
      loss.weight = createVector(builder, loc, element, options.classWeights,
                                 typeOf(loss.prediction).getDimSize(1));
  }
  bool isBinary = loss.kind == LossKind::BinaryCrossEntropyWithLogits;
  if (isBinary && !options.posWeight.empty()) {
    RankedTensorType type = typeOf(prediction);
    loss.posWeight =
        createVector(builder, loc, element, options.posWeight,
                     type.getRank() == 0 ? 1 : type.getShape().back());
  }
}

/// The input of this name; null if there is none.
static BlockArgument findArgument(func::FuncOp func, StringRef name) {
  for (BlockArgument argument : func.getArguments())
    if (argumentName(func, argument.getArgNumber()) == name)
      return argument;
  return nullptr;
}

/// Appends the input that the loss compares the output with, unless another
/// loss has.
static Loss appendTarget(func::FuncOp func, const LossChoice &choice) {
  OpBuilder builder(func.getContext());
  Value output = getReturn(func).getOperand(choice.output);
  Loss loss{choice.kind};
  Value prediction = findPrediction(output, choice);
  loss.prediction = prediction;
  for (unsigned other : choice.others)
    loss.others.push_back(getReturn(func).getOperand(other));

  // `given` is the type of the input; the loss may take it in another shape.
  RankedTensorType type = typeOf(prediction), given = type;
  if (loss.isClassification()) {
    builder.setInsertionPoint(getReturn(func));
    loss.prediction = joinDimsBefore(builder, lossLoc(func, choice), prediction,
                                     choice.classes.axis);
    type = labelsOf(typeOf(loss.prediction), 1);
    given = labelsOf(given, choice.classes.axis);
  }
  builder.setInsertionPoint(getReturn(func));
  applyOptions(builder, lossLoc(func, choice), choice, prediction, loss);
  if (!takesInput(choice.kind))
    return loss;
  Attribute batchDim = func.getResultAttr(choice.output, kBatchDimAttr);
  SmallVector<int64_t> shape = mergedDims(func, prediction);
  if (!batchDim && !shape.empty()) {
    llvm::append_range(shape, given.getShape().drop_front());
    given = RankedTensorType::get(shape, given.getElementType());
    batchDim = builder.getI64IntegerAttr(0);
  }
  loss.target = findArgument(func, choice.target);
  if (!loss.target) {
    unsigned index = func.getNumArguments();
    (void)func.insertArgument(
        index, given,
        outputAttributes(func.getContext(), choice.target, batchDim),
        func.getLoc());
    loss.target = func.getArgument(index);
  }
  if (given != type) {
    builder.setInsertionPointToStart(&func.getBody().front());
    loss.target =
        train::ReshapeOp::create(builder, func.getLoc(), type, loss.target);
  }
  return loss;
}

int64_t mpc::countSamples(func::FuncOp func, const Loss &loss) {
  ArrayRef<int64_t> shape = typeOf(loss.prediction).getShape();
  BlockArgument target = loss.target ? findInput(loss.target) : nullptr;
  if (target && func.getArgAttr(target.getArgNumber(), kBatchDimAttr))
    return typeOf(target).getDimSize(0);
  return shape.empty() ? 1 : shape.front();
}

int64_t mpc::countSamples(func::FuncOp predict, const LossChoice &choice) {
  Value output = getReturn(predict).getOperand(choice.output);
  Value prediction = findPrediction(output, choice);
  SmallVector<int64_t> merged = mergedDims(predict, prediction);
  if (!predict.getResultAttr(choice.output, kBatchDimAttr) && !merged.empty())
    return merged.front();
  ArrayRef<int64_t> shape = typeOf(prediction).getShape();
  return shape.empty() ? 1 : shape.front();
}

/// Appends the input of sample weights, if the sum has one, for losses of
/// `samples` samples.
static Value appendSampleWeights(func::FuncOp func, const LossSum &sum,
                                 int64_t samples) {
  if (sum.sampleWeights.empty())
    return nullptr;
  Builder builder(func.getContext());
  unsigned index = func.getNumArguments();
  Type element = typeOf(getReturn(func).getOperand(sum.terms.front().output))
                     .getElementType();
  (void)func.insertArgument(index, RankedTensorType::get({samples}, element),
                            outputAttributes(func.getContext(),
                                             sum.sampleWeights,
                                             builder.getI64IntegerAttr(0)),
                            func.getLoc());
  return func.getArgument(index);
}

SmallVector<Loss> mpc::appendInputs(func::FuncOp func, const LossSum &sum) {
  SmallVector<Loss> losses;
  for (const LossChoice &term : sum.terms)
    losses.push_back(appendTarget(func, term));
  Value weights =
      appendSampleWeights(func, sum, countSamples(func, losses.front()));
  for (Loss &loss : losses)
    loss.sampleWeights = weights;
  return losses;
}
