//===- Loss.cpp - Import of losses ----------------------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"

using namespace mlir;
using namespace mpc;

namespace {

/// The inputs of a classification loss, or of its gradient, after the scores.
struct ClassLoss {
  SmallVector<Value> operands; ///< The labels, and weights if there are any.
  SmallVector<NamedAttribute> attributes;
  train::LossReduction reduction;
};

} // namespace

/// Reads the labels [N, d..] of scores [N, C, d..], which are input `first`,
/// and optional weights [C]; the label to ignore is an attribute or input
/// `ignoreInput`.
static std::optional<ClassLoss> readClassLoss(ImportedNode &node, Value scores,
                                              unsigned first,
                                              unsigned ignoreInput = ~0u) {
  ClassLoss loss;
  Value labels = node.intInput(first);
  loss.operands.push_back(labels);
  if (node.hasInput(first + 1)) {
    node.graph.useAsClassWeights(
        node.graph.lookup(node.proto.input(first + 1)));
    loss.operands.push_back(node.floatInput(first + 1));
  }
  std::string name = node.stringAttr("reduction", "mean");
  auto reduction = train::symbolizeLossReduction(name);
  if (!reduction && !node.failed())
    node.error() << Fault::BadAttribute << "attribute 'reduction' is '" << name
                 << "'; known are none, sum and mean";
  std::optional<int64_t> ignored;
  if (ignoreInput != ~0u) {
    if (node.hasInput(ignoreInput))
      ignored = node.knownInteger(ignoreInput);
  } else if (node.hasAttr("ignore_index")) {
    ignored = node.intAttr("ignore_index", 0);
  }
  if (node.failed())
    return std::nullopt;
  ArrayRef<int64_t> from = shapeOf(scores);
  if (from.size() < 2) {
    node.shapeError() << "input " << first - 1
                      << " must be [N, C] or [N, C, d..]";
    return std::nullopt;
  }
  SmallVector<int64_t> expected(from);
  expected.erase(expected.begin() + 1);
  if (shapeOf(labels) != ArrayRef<int64_t>(expected)) {
    node.shapeError() << "the labels must have the shape of input " << first - 1
                      << " without its dimension 1";
    return std::nullopt;
  }
  loss.reduction = *reduction;
  loss.attributes.push_back(
      node.attr("reduction", train::LossReductionAttr::get(scores.getContext(),
                                                           *reduction)));
  if (ignored)
    loss.attributes.push_back(node.i64("ignore_index", *ignored));
  return loss;
}

template <typename OpTy, bool isInternal = false>
static LogicalResult importClassLoss(ImportedNode &node) {
  Value scores = node.floatInput(0);
  if (isInternal)
    node.typeAttr("output_type", node.graph.floatType);
  auto loss = readClassLoss(node, scores, 1, isInternal ? 3 : ~0u);
  if (!loss)
    return failure();
  loss->operands.insert(loss->operands.begin(), scores);
  if (failed(
          node.setOutput(0, node.emit<OpTy>(loss->operands, loss->attributes))))
    return failure();
  if (!node.isOutputUsed(1))
    return success();
  return node.setOutput(
      1, node.emit<train::LogSoftmaxOp>(scores, node.i64("axis", 1)));
}

/// Inputs dY and the log-probabilities, then as in the loss. The gradient op
/// takes scores: the scores of the log-probabilities, or the latter themselves,
/// since the softmax of log-probabilities is the same.
template <bool isInternal>
static LogicalResult importClassLossGrad(ImportedNode &node) {
  Value grad = node.floatInput(0), scores = node.floatInput(1);
  if (isInternal)
    node.typeAttr("output_type", node.graph.floatType);
  auto loss = readClassLoss(node, scores, 2, isInternal ? 4 : ~0u);
  if (!loss)
    return failure();
  auto logSoftmax = scores.getDefiningOp<train::LogSoftmaxOp>();
  if (logSoftmax && logSoftmax.getAxis() == 1)
    scores = logSoftmax.getInput();
  if (loss->reduction != train::LossReduction::None &&
      product(shapeOf(grad)) == 1)
    grad = node.reshape(grad, {}); // ONNX Runtime uses [1] instead of [].
  loss->operands.insert(loss->operands.begin(), {grad, scores});
  Value result = node.emit<train::SoftmaxCrossEntropyGradOp>(loss->operands,
                                                             loss->attributes);
  if (isInternal && node.hasInput(5)) // Another gradient to add.
    result = node.emit<train::AddOp>(
        {result, node.reshape(node.floatInput(5), shapeOf(scores))});
  return node.setOutput(0, result);
}

ArrayRef<OpRow> mpc::lossOps() {
  static const OpRow rows[] = {
      {"SoftmaxCrossEntropyLoss", 12, 2, 3, 2,
       importClassLoss<train::SoftmaxCrossEntropyOp>},
      {"NegativeLogLikelihoodLoss", 12, 2, 3, 1,
       importClassLoss<train::NllLossOp>},
      {"com.microsoft.SoftmaxCrossEntropyLossInternal", 1, 2, 4, 2,
       importClassLoss<train::SoftmaxCrossEntropyOp, true>},
      {"com.microsoft.NegativeLogLikelihoodLossInternal", 1, 2, 4, 1,
       importClassLoss<train::NllLossOp, true>},
      {"com.microsoft.NegativeLogLikelihoodLossInternal2", 1, 2, 4, 1,
       importClassLoss<train::NllLossOp, true>},
      {"com.microsoft.SoftmaxCrossEntropyLossGrad", 1, 3, 4, 1,
       importClassLossGrad<false>},
      {"com.microsoft.SoftmaxCrossEntropyLossInternalGrad", 1, 3, 6, 1,
       importClassLossGrad<true>},
  };
  return rows;
}
