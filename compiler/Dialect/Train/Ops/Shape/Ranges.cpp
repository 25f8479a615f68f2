//===- Ranges.cpp - Ranges of shape ops -----------------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

void ReshapeOp::inferRanges(Ranges operands, Results results) {
  bool keepsRows = lastExtent(getInput()) == lastExtent(getResult());
  results[0] = keepsRows ? operands[0] : operands[0].withoutRows();
}

void TransposeOp::inferRanges(Ranges operands, Results results) {
  ArrayRef<int64_t> order = getPermutation();
  bool keepsRows = order.empty() || order.back() == int64_t(order.size()) - 1;
  results[0] = keepsRows ? operands[0] : operands[0].withoutRows();
}

void BroadcastToOp::inferRanges(Ranges operands, Results results) {
  bool keepsRows = lastExtent(getInput()) == lastExtent(getResult());
  results[0] = keepsRows ? operands[0] : operands[0].withoutRows();
}

void ConcatOp::inferRanges(Ranges operands, Results results) {
  results[0] = operands[0];
  for (const NumberRange &operand : operands.drop_front())
    results[0] = amp::hullOf(results[0], operand);
  if (getAxis() + 1 == shapeOf(getResult()).size())
    results[0] = results[0].withoutRows();
}

void SliceOp::inferRanges(Ranges operands, Results results) {
  results[0] = operands[0];
}

void SplitOp::inferRanges(Ranges operands, Results results) {
  llvm::fill(results, operands[0]);
}
