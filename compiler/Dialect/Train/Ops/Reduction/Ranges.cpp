//===- Ranges.cpp - Ranges of reductions ----------------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

static double countReduced(Value input, ArrayRef<int64_t> axes) {
  double count = 1;
  for (int64_t axis : axes)
    count *= shapeOf(input)[axis];
  return count;
}

void ReduceSumOp::inferRanges(Ranges operands, Results results) {
  results[0] = amp::sumOf(countReduced(getInput(), getAxes()), operands[0]);
}

void ReduceMeanOp::inferRanges(Ranges operands, Results results) {
  results[0] = meanOf(countReduced(getInput(), getAxes()), operands[0]);
}

void ReduceMaxOp::inferRanges(Ranges operands, Results results) {
  if (countReduced(getInput(), getAxes()) > 0)
    results[0] = operands[0].withoutRows();
}

void CumSumOp::inferRanges(Ranges operands, Results results) {
  if (isa<FloatType>(getElementTypeOrSelf(getType())))
    results[0] = includingZero(
        amp::sumOf(shapeOf(getInput())[getAxis()], includingZero(operands[0])));
}
