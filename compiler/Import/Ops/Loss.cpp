//===- Loss.cpp - Import of losses ----------------------------------------===//

#include "compiler/Import/ImportedNode.h"

using namespace mlir;
using namespace mpc;

/// Scores [N, C, d..], labels [N, d..], optional weights [C].
template <typename OpTy>
static LogicalResult importClassLoss(ImportedNode &node) {
  Value scores = node.floatInput(0), labels = node.intInput(1);
  SmallVector<Value> operands = {scores, labels};
  if (node.hasInput(2)) {
    node.graph.useAsClassWeights(node.graph.lookup(node.proto.input(2)));
    operands.push_back(node.floatInput(2));
  }
  std::string name = node.stringAttr("reduction", "mean");
  auto reduction = train::symbolizeLossReduction(name);
  if (!reduction && !node.failed())
    node.error() << "attribute 'reduction' is '" << name
                 << "'; known are none, sum and mean";
  bool hasIgnored = node.hasAttr("ignore_index");
  int64_t ignored = node.intAttr("ignore_index", 0);
  if (node.failed())
    return failure();
  ArrayRef<int64_t> from = shapeOf(scores);
  if (from.size() < 2)
    return node.shapeError() << "input 0 must be [N, C] or [N, C, d..]";
  SmallVector<int64_t> expected(from);
  expected.erase(expected.begin() + 1);
  if (shapeOf(labels) != ArrayRef<int64_t>(expected))
    return node.shapeError() << "the labels must have the shape of input 0 "
                                "without its dimension 1";
  SmallVector<NamedAttribute> attributes = {
      node.attr("reduction", train::LossReductionAttr::get(scores.getContext(),
                                                           *reduction))};
  if (hasIgnored)
    attributes.push_back(node.i64("ignore_index", ignored));
  if (failed(node.setOutput(0, node.emit<OpTy>(operands, attributes))))
    return failure();
  if (!node.isOutputUsed(1))
    return success();
  return node.setOutput(
      1, node.emit<train::LogSoftmaxOp>(scores, node.i64("axis", 1)));
}

ArrayRef<OpRow> mpc::lossOps() {
  static const OpRow rows[] = {
      {"SoftmaxCrossEntropyLoss", 12, 2, 3, 2,
       importClassLoss<train::SoftmaxCrossEntropyOp>},
      {"NegativeLogLikelihoodLoss", 12, 2, 3, 1,
       importClassLoss<train::NllLossOp>},
  };
  return rows;
}
