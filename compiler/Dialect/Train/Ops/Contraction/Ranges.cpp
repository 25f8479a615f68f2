//===- Ranges.cpp - Ranges of products ------------------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// The range of sums of `count` products. The row sums and row norms
/// (Cauchy-Schwarz) of lhs give bounds, too.
static NumberRange contracted(double count, const NumberRange &lhs,
                              const NumberRange &rhs, bool hasRows) {
  NumberRange product = amp::productOf(lhs, rhs);
  NumberRange sum = amp::sumOf(count, product);
  if (!hasRows || rhs.maxMagnitude() == kInfinity)
    return sum;
  double most =
      std::min(lhs.rowSum, lhs.rowNorm * std::sqrt(count)) * rhs.maxMagnitude();
  if (!(most < sum.maxMagnitude()))
    return sum;
  most *= 1 + count * 0x1p-24;
  NumberRange range = NumberRange::within(std::max(sum.low, -most),
                                          std::min(sum.high, most), {lhs, rhs});
  // Products may overflow to both infinities.
  range.mayBeNan |= range.mayBeInfinite && sum.mayBeNan;
  return range;
}

void MatmulOp::inferRanges(Ranges operands, Results results) {
  ArrayRef<int64_t> lhs = shapeOf(getLhs());
  double count = lhs[lhs.size() - (getTransposeLhs() ? 2 : 1)];
  results[0] = contracted(count, operands[0], operands[1], !getTransposeLhs());
}

void ConvOp::inferRanges(Ranges operands, Results results) {
  double count = 1; // Elements of the weight, [O, C/group, K..].
  for (int64_t extent : shapeOf(getWeight()).drop_front())
    count *= extent;
  // Includes the zeros of the padding.
  results[0] =
      contracted(count, includingZero(operands[0]), operands[1], false);
  if (getBias())
    results[0] = amp::sumOf(results[0], operands[2]);
}
