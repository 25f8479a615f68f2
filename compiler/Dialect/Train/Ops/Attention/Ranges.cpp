//===- Ranges.cpp - Ranges of attention -----------------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// Weighted means of values; the weights add up to 1, or to 0 for a query
/// without keys, and to at most `most` after a dropout.
static NumberRange rangeOfMeans(Value query, Ranges operands, Ranges biases,
                                double most) {
  const NumberRange &value = operands[2];
  NumberRange range = amp::withRoundingError(
      includingZero(NumberRange::within(value.low * most, value.high * most)));
  NumberRange scores =
      amp::sumOf(lastExtent(query), amp::productOf(operands[0], operands[1]));
  for (const NumberRange &bias : biases)
    scores = amp::sumOf(scores, bias);
  range.mayBeNan = range.mayBeInfinite =
      !scores.isFinite() || !value.isFinite() || !range.isBounded();
  return range.withoutRows();
}

void AttentionOp::inferRanges(Ranges operands, Results results) {
  results[0] = rangeOfMeans(getQuery(), operands, operands.drop_front(3), 1);
}

void AttentionDropoutOp::inferRanges(Ranges operands, Results results) {
  results[0] = rangeOfMeans(getQuery(), operands, operands.drop_front(5),
                            1 / (1 - getRatio().convertToDouble()));
}
