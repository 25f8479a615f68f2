//===- Reduction.cpp - Import of sums and means ---------------------------===//

#include "compiler/Import/ImportedNode.h"

#include <numeric>

using namespace mlir;
using namespace mpc;

template <typename OpTy>
static LogicalResult buildReduction(ImportedNode &node,
                                    std::optional<SmallVector<int64_t>> axes,
                                    bool emptyMeansNone) {
  Value input = node.floatInput(0);
  bool keepDims = node.boolAttr("keepdims", true);
  if (node.failed())
    return failure();
  int64_t rank = shapeOf(input).size();
  bool isEmpty = !axes || axes->empty();
  if (isEmpty && emptyMeansNone)
    return node.forwardInput();
  if (isEmpty) {
    axes.emplace(rank);
    std::iota(axes->begin(), axes->end(), 0);
  }
  for (int64_t &axis : *axes)
    axis = node.normalizeAxis(axis, rank, "an entry of 'axes'");
  llvm::sort(*axes);
  if (!node.failed() && llvm::adjacent_find(*axes) != axes->end())
    return node.error() << "'axes' names a dimension twice";
  SmallVector<NamedAttribute> attributes = {node.i64s("axes", *axes)};
  if (keepDims)
    attributes.push_back(node.flag("keepdims"));
  return node.setOutput(0, node.emit<OpTy>(input, attributes));
}

/// Before `axes` became an input.
template <typename OpTy>
static LogicalResult importAxesAttribute(ImportedNode &node) {
  auto axes = node.intsAttr("axes");
  return buildReduction<OpTy>(node, axes, /*emptyMeansNone=*/false);
}

template <typename OpTy>
static LogicalResult importAxesInput(ImportedNode &node) {
  std::optional<SmallVector<int64_t>> axes;
  if (node.hasInput(1))
    axes = node.knownInts(1);
  bool emptyMeansNone = node.boolAttr("noop_with_empty_axes", false);
  return buildReduction<OpTy>(node, axes, emptyMeansNone);
}

ArrayRef<OpRow> mpc::reductionOps() {
  static const OpRow rows[] = {
      {"ReduceSum", 13, 1, 2, 1, importAxesInput<train::ReduceSumOp>},
      {"ReduceMean", 11, 1, 1, 1, importAxesAttribute<train::ReduceMeanOp>},
      {"ReduceMean", 18, 1, 2, 1, importAxesInput<train::ReduceMeanOp>},
  };
  return rows;
}
