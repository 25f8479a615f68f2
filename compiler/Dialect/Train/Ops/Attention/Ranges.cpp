//===- Ranges.cpp - Ranges of attention -----------------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// Weighted means of values; the weights add up to 1, or to 0 for a query
/// without keys.
void AttentionOp::inferRanges(Ranges operands, Results results) {
  const NumberRange &value = operands[2];
  NumberRange range = amp::withRoundingError(
      includingZero(NumberRange::within(value.low, value.high)));
  NumberRange scores = amp::sumOf(lastExtent(getQuery()),
                                  amp::productOf(operands[0], operands[1]));
  for (const NumberRange &bias : operands.drop_front(3))
    scores = amp::sumOf(scores, bias);
  range.mayBeNan = range.mayBeInfinite =
      !scores.isFinite() || !value.isFinite() || !range.isBounded();
  results[0] = range.withoutRows();
}
