//===- IndexRanges.cpp - Valid indices and labels of ops ------------------===//

#include "compiler/Dialect/Train/IR/Train.h"

using namespace mlir;
using namespace mpc::train;

using MaybeRange = std::optional<IndexRange>;

/// The range of `operand`, if it is the one that holds indices or labels.
static MaybeRange rangeIf(bool isIndex, IndexRange range) {
  return isIndex ? MaybeRange(range) : std::nullopt;
}

/// The indices of the rows of a table, counted from either end.
static IndexRange rows(int64_t count) { return {-count, count, std::nullopt}; }

static int64_t extentOf(Value tensor, unsigned dim) {
  return cast<RankedTensorType>(tensor.getType()).getDimSize(dim);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

MaybeRange EmbeddingOp::getIndexRange(unsigned operand) {
  return rangeIf(operand == 1, rows(extentOf(getTable(), 0)));
}
Value EmbeddingOp::getIndexedTable() { return getTable(); }

MaybeRange GatherOp::getIndexRange(unsigned operand) {
  return rangeIf(operand == 1, rows(extentOf(getTable(), 0)));
}
Value GatherOp::getIndexedTable() { return getTable(); }

MaybeRange EmbeddingGradOp::getIndexRange(unsigned operand) {
  return rangeIf(operand == 1, rows(getRows()));
}

MaybeRange LastIndexOp::getIndexRange(unsigned operand) {
  return rangeIf(operand == 0, rows(getRows()));
}

MaybeRange ScatterReduceOp::getIndexRange(unsigned operand) {
  return rangeIf(operand == 1, rows(extentOf(getInit(), 0)));
}

MaybeRange FlatIndexOp::getIndexRange(unsigned operand) {
  return rows(getExtents()[getAxes()[operand]]);
}

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

/// The classes of a loss, and the label that it ignores.
template <typename Op> static IndexRange classesOf(Op op) {
  int64_t columns = extentOf(op.getInput(), 1);
  IndexRange range = {0, int64_t(op.getClasses().value_or(columns)),
                      std::nullopt};
  if (IntegerAttr ignored = op.getIgnoreIndexAttr())
    range.ignored = ignored.getInt();
  return range;
}

MaybeRange SoftmaxCrossEntropyOp::getIndexRange(unsigned operand) {
  return rangeIf(operand == 1, classesOf(*this));
}
MaybeRange NllLossOp::getIndexRange(unsigned operand) {
  return rangeIf(operand == 1, classesOf(*this));
}
MaybeRange SoftmaxCrossEntropyGradOp::getIndexRange(unsigned operand) {
  return rangeIf(operand == 2, classesOf(*this));
}
MaybeRange NllLossGradOp::getIndexRange(unsigned operand) {
  return rangeIf(operand == 2, classesOf(*this));
}

// An invalid label is never correct, so there are no limits.
MaybeRange IsCorrectOp::getIndexRange(unsigned operand) {
  return rangeIf(operand == 1, {});
}
MaybeRange IsCountedOp::getIndexRange(unsigned operand) {
  return rangeIf(operand == 0, {});
}
