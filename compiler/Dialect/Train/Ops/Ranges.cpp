//===- Ranges.cpp - Helpers for ranges of results -------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

int64_t mpc::train::lastExtent(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  return shape.empty() ? 1 : shape.back();
}

NumberRange mpc::train::includingZero(const NumberRange &range) {
  NumberRange zero = NumberRange::within(0, 0);
  zero.rowSum = zero.rowNorm = 0;
  return amp::hullOf(range, zero);
}

void mpc::train::scaleRows(NumberRange &range, const NumberRange &rows,
                           double most) {
  if (most == kInfinity)
    return;
  range.rowSum = std::min(range.rowSum, kRounding * rows.rowSum * most);
  range.rowNorm = std::min(range.rowNorm, kRounding * rows.rowNorm * most);
}

NumberRange mpc::train::meanOf(double count, const NumberRange &range) {
  if (count == 0)
    return NumberRange();
  NumberRange sum = amp::sumOf(count, range);
  // Even for equal numbers, the sum and the quotient are rounded.
  double slack = std::max(count * 0x1p-24, 0x1p-20);
  NumberRange mean =
      NumberRange::within(range.low - std::abs(range.low) * slack,
                          range.high + std::abs(range.high) * slack);
  mean.mayBeInfinite = sum.mayBeInfinite, mean.mayBeNan = sum.mayBeNan;
  return mean;
}
