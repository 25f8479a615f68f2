//===- Ranges.cpp - Ranges of norms and softmax ---------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// Sums of squares of numbers up to this bound do not overflow.
static constexpr double kMaxSquared = 0x1p50;

/// The range of `count` numbers with a mean square of at most 1, times `scale`.
static NumberRange normalized(double count, const NumberRange &input,
                              const NumberRange &scale, double epsilon) {
  double most = std::sqrt(count);
  NumberRange unit = amp::withRoundingError(NumberRange::within(-most, most));
  unit.mayBeNan =
      !input.isFinite() || input.maxMagnitude() > kMaxSquared || !(epsilon > 0);
  unit.mayBeInfinite = unit.mayBeNan;
  return amp::productOf(unit, scale);
}

/// The range of 1 / sqrt(variance + epsilon).
static NumberRange inverseOfRoot(const NumberRange &input, double epsilon) {
  if (!(epsilon > 0))
    return NumberRange();
  NumberRange range =
      amp::withRoundingError(NumberRange::within(0, 1 / std::sqrt(epsilon)));
  range.mayBeNan = !input.isFinite() || input.maxMagnitude() > kMaxSquared;
  return range;
}

static double countFrom(Value input, int64_t axis) {
  double count = 1;
  for (int64_t extent : shapeOf(input).drop_front(axis))
    count *= extent;
  return count;
}

template <typename Op>
static void rowNormOf(Op op, Ranges operands, Results results) {
  double count = countFrom(op.getInput(), op.getAxis());
  double epsilon = op.getEpsilon().convertToDouble();
  NumberRange &result = results[0];
  result = normalized(count, operands[0], operands[1], epsilon);
  bool isRow = op.getAxis() + 1 == shapeOf(op.getInput()).size();
  if (isRow && operands[1].maxMagnitude() < kInfinity) {
    result.rowNorm = std::sqrt(count) * operands[1].maxMagnitude() * kRounding;
    result.rowSum = std::sqrt(count) * result.rowNorm;
  }
  results.back() = inverseOfRoot(operands[0], epsilon);
}

void LayerNormOp::inferRanges(Ranges operands, Results results) {
  rowNormOf(*this, operands, results);
  if (getBias()) {
    NumberRange sum = amp::sumOf(results[0], operands[2]);
    sum.rowNorm = results[0].rowNorm + operands[2].rowNorm;
    sum.rowSum = results[0].rowSum + operands[2].rowSum;
    results[0] = sum;
  }
  results[1] = meanOf(countFrom(getInput(), getAxis()), operands[0]);
}

void RmsNormOp::inferRanges(Ranges operands, Results results) {
  rowNormOf(*this, operands, results);
}

void BatchNormOp::inferRanges(Ranges operands, Results results) {
  double epsilon = getEpsilon().convertToDouble();
  const NumberRange &variance = operands[4];
  if (!(variance.low + epsilon > 0) || !variance.isFinite())
    return;
  NumberRange inverse = amp::withRoundingError(
      NumberRange::within(1 / std::sqrt(variance.high + epsilon),
                          1 / std::sqrt(variance.low + epsilon)));
  NumberRange centred = amp::sumOf(operands[0], amp::negativeOf(operands[3]));
  results[0] =
      amp::sumOf(amp::productOf(amp::productOf(centred, inverse), operands[1]),
                 operands[2]);
}

void BatchNormTrainingOp::inferRanges(Ranges operands, Results results) {
  ArrayRef<int64_t> shape = shapeOf(getInput());
  double count = double(countElements(getInput())) /
                 std::max<int64_t>(shape[getAxis()], 1);
  double epsilon = getEpsilon().convertToDouble();
  results[0] = amp::sumOf(normalized(count, operands[0], operands[1], epsilon),
                          operands[2]);
  results[1] = meanOf(count, operands[0]);
  results[2] = NumberRange::within(0, kInfinity);
  results[2].mayBeNan = true;
  results[3] = inverseOfRoot(operands[0], epsilon);
}

void SoftmaxOp::inferRanges(Ranges operands, Results results) {
  NumberRange &result = results[0];
  result = NumberRange::within(0, 1);
  result.mayBeNan = !operands[0].isFinite();
  if (getAxis() + 1 == shapeOf(getInput()).size())
    result.rowSum = result.rowNorm = kRounding;
}

void LogSoftmaxOp::inferRanges(Ranges operands, Results results) {
  double count = shapeOf(getInput())[getAxis()];
  // The distance from the maximum, plus the logarithm of the sum.
  double most = operands[0].high - operands[0].low + std::log(count);
  results[0] = NumberRange::within(std::isnan(most) ? -kInfinity : -most, 0);
  results[0].mayBeNan = !operands[0].isFinite();
  results[0].mayBeInfinite |= operands[0].mayBeInfinite;
}
