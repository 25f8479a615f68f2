//===- LossParts.cpp - What the loss compares, for packages ---------------===//

#include "passes/Grad/Loss/LossParts.h"

using namespace mlir;
using namespace mpc;

/// The function that computes scores; "" if they are logits or numbers.
static StringRef activationOf(Value value) {
  Operation *op = skipIdentities(value).getDefiningOp();
  if (dyn_cast_or_null<train::SigmoidOp>(op))
    return "sigmoid";
  if (dyn_cast_or_null<train::SoftmaxOp>(op))
    return "softmax";
  if (dyn_cast_or_null<train::LogSoftmaxOp>(op))
    return "log-softmax";
  return "";
}

namespace {
/// An output of `predict` that a loss in the graph takes its prediction from.
struct Source {
  std::string output;
  int64_t axis; ///< The dimension of classes.
};
} // namespace

/// The dimension of `to` that is dimension `axis` of `from`, a reshape of it
/// that joins or splits only dimensions before the classes; none otherwise.
static std::optional<int64_t> mapAxis(Value from, Value to, int64_t axis) {
  ArrayRef<int64_t> before = typeOf(from).getShape();
  ArrayRef<int64_t> after = typeOf(to).getShape();
  int64_t mapped = axis + int64_t(after.size()) - int64_t(before.size());
  if (mapped < std::min<int64_t>(axis, 1) ||
      before.drop_front(axis) != after.drop_front(mapped))
    return std::nullopt;
  return mapped;
}

/// The operand that `value` takes its elements or the order of its scores from,
/// and the dimension of classes there; null for other ops.
static Value stepBack(Value value, int64_t &axis) {
  Operation *op = value.getDefiningOp();
  if (auto softmax = dyn_cast_or_null<train::LogSoftmaxOp>(op))
    return int64_t(softmax.getAxis()) == axis ? softmax.getInput() : nullptr;
  if (auto transpose = dyn_cast_or_null<train::TransposeOp>(op)) {
    axis = transpose.getPermutation()[axis];
    return transpose.getInput();
  }
  auto identity = dyn_cast_or_null<train::CostOpInterface>(op);
  if (!identity || !identity.isIdentity())
    return nullptr;
  Value operand = op->getOperand(0);
  std::optional<int64_t> mapped = mapAxis(value, operand, axis);
  if (!mapped)
    return nullptr;
  axis = *mapped;
  return operand;
}

/// The result of `predict`, other than the loss, that is a reshape of `value`.
static std::optional<Source> findResult(func::FuncOp predict, unsigned loss,
                                        Value value, int64_t axis,
                                        bool hasClasses) {
  for (auto [i, result] : llvm::enumerate(getReturn(predict).getOperands())) {
    if (i == loss || skipIdentities(result) != skipIdentities(value))
      continue;
    std::optional<int64_t> mapped = mapAxis(value, result, axis);
    if (mapped || !hasClasses)
      return Source{resultName(predict, i).str(), mapped.value_or(0)};
  }
  return std::nullopt;
}

static std::optional<Source> findSource(func::FuncOp predict,
                                        const LossChoice &choice, Loss loss) {
  bool hasClasses = loss.isClassification();
  int64_t axis = hasClasses ? 1 : 0;
  // mpc-add-loss returns the prediction under this name.
  if (getReturn(predict).getNumOperands() == 1)
    return Source{"prediction", axis};
  for (Value value = loss.prediction; value; value = stepBack(value, axis)) {
    std::optional<Source> source =
        findResult(predict, choice.output, value, axis, hasClasses);
    if (source || !hasClasses)
      return source;
  }
  return std::nullopt;
}

/// The input that holds the labels, in another shape or type; null if there is
/// none.
static BlockArgument findTarget(Value target) {
  for (;;) {
    target = skipIdentities(target);
    if (auto argument = dyn_cast<BlockArgument>(target))
      return argument;
    auto cast = target.getDefiningOp<train::CastOp>();
    if (!cast)
      return nullptr;
    target = cast.getInput();
  }
}

static void describeGraphLoss(func::FuncOp predict, const LossChoice &choice,
                              std::vector<std::string> &parts) {
  std::optional<Loss> loss =
      findLoss(getReturn(predict).getOperand(choice.output));
  if (!loss)
    return;
  std::optional<Source> source = findSource(predict, choice, *loss);
  BlockArgument target = findTarget(loss->target);
  if (!source || !target)
    return;
  parts.push_back("kind " + lossName(loss->kind).str());
  parts.push_back("prediction " + source->output);
  parts.push_back("target " +
                  argumentName(predict, target.getArgNumber()).str());
  if (loss->isClassification())
    parts.push_back("axis " + std::to_string(source->axis));
  StringRef activation = activationOf(loss->prediction);
  if (getReturn(predict).getNumOperands() == 1 && !activation.empty())
    parts.push_back("scores " + activation.str() + " prediction");
}

std::vector<std::string> mpc::describeLossParts(func::FuncOp predict,
                                                const LossSum &sum) {
  const LossChoice &choice = sum.terms.front();
  std::string output = resultName(predict, choice.output).str();
  std::vector<std::string> parts = {"output", output, "", ""};
  if (!sum.isSingle())
    parts = {"sum", "", "", ""};
  else if (!choice.inGraph)
    parts = {lossName(choice.kind).str(), output, choice.target,
             choice.takesLabels() ? std::to_string(choice.classes.axis) : ""};
  for (auto [i, value] : llvm::enumerate(getReturn(predict).getOperands())) {
    StringRef activation = activationOf(value);
    if (!activation.empty())
      parts.push_back("scores " + activation.str() + " " +
                      resultName(predict, i).str());
  }
  if (choice.inGraph)
    describeGraphLoss(predict, choice, parts);
  return parts;
}
