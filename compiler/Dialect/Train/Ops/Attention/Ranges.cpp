//===- Ranges.cpp - Ranges of attention -----------------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"

#include <algorithm>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// Weighted means of values, which lie in `means` and at 0 for a query without
/// keys.
template <typename Op>
static NumberRange rangeOfMeans(Op op, Ranges operands, Ranges biases,
                                const NumberRange &means) {
  const NumberRange &value = operands[2];
  NumberRange range = amp::withRoundingError(includingZero(means));
  NumberRange scores = amp::sumOf(lastExtent(op.getQuery()),
                                  amp::productOf(operands[0], operands[1]));
  if (std::optional<APFloat> softcap = op.getSoftcap()) {
    double cap = softcap->convertToDouble();
    scores = NumberRange::within(-cap, cap, scores);
  }
  for (const NumberRange &bias : biases)
    scores = amp::sumOf(scores, bias);
  range.mayBeNan = range.mayBeInfinite =
      !scores.isFinite() || !value.isFinite() || !range.isBounded();
  return range.withoutRows();
}

/// The weights add up to 1.
void AttentionOp::inferRanges(Ranges operands, Results results) {
  const NumberRange &value = operands[2];
  results[0] = rangeOfMeans(*this, operands, operands.drop_front(3),
                            NumberRange::within(value.low, value.high));
}

/// The weights add up to anything between 0 and that of all that are kept.
void AttentionDropoutOp::inferRanges(Ranges operands, Results results) {
  const NumberRange &value = operands[2];
  double most = 1 / (1 - getRatio().convertToDouble());
  results[0] =
      rangeOfMeans(*this, operands, operands.drop_front(5),
                   NumberRange::within(std::min(0.0, value.low * most),
                                       std::max(0.0, value.high * most)));
}
