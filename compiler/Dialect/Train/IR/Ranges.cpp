//===- Ranges.cpp - What the results of ops can be ------------------------===//
//
// Implements RangeOpInterface, but for the functions of FunctionRanges.cpp. An
// op that is not here may give anything; what is said here holds for all data
// and all weights.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/IR/TypeUtilities.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

using amp::NumberRange;
using Ranges = ArrayRef<NumberRange>;
using Results = MutableArrayRef<NumberRange>;

static constexpr double kInfinity = NumberRange::kInfinity;

/// What storing a row in 16 bit may add to its norms.
static constexpr double kRounding = 1 + 0x1p-8;

static int64_t lastExtent(Value value) {
  ArrayRef<int64_t> shape = shapeOf(value);
  return shape.empty() ? 1 : shape.back();
}

/// What every element of one operand, or 0, gives.
static NumberRange orZero(const NumberRange &range) {
  NumberRange zero = NumberRange::within(0, 0);
  zero.rowSum = zero.rowNorm = 0;
  return amp::hullOf(range, zero);
}

//===----------------------------------------------------------------------===//
// Element by element
//===----------------------------------------------------------------------===//

void amp::CastOp::inferRanges(Ranges operands, Results results) {
  auto type = cast<FloatType>(getType().getElementType());
  results[0] = operands[0].withoutRows();
  results[0].mayBeInfinite |= operands[0].most() > largestOf(type);
}

void AddOp::inferRanges(Ranges operands, Results results) {
  results[0] = amp::sumOf(operands[0], operands[1]);
  // Where neither is repeated, norms of rows add up.
  if (getLhs().getType() == getType() && getRhs().getType() == getType()) {
    results[0].rowSum = kRounding * (operands[0].rowSum + operands[1].rowSum);
    results[0].rowNorm =
        kRounding * (operands[0].rowNorm + operands[1].rowNorm);
  }
}

void SubOp::inferRanges(Ranges operands, Results results) {
  results[0] = amp::sumOf(operands[0], amp::negativeOf(operands[1]));
}

/// Rows of `range` times factors of no more than `most`.
static void scaleRows(NumberRange &range, const NumberRange &rows,
                      double most) {
  if (most == kInfinity)
    return;
  range.rowSum = std::min(range.rowSum, kRounding * rows.rowSum * most);
  range.rowNorm = std::min(range.rowNorm, kRounding * rows.rowNorm * most);
}

void MulOp::inferRanges(Ranges operands, Results results) {
  bool isSquare = getLhs() == getRhs();
  results[0] = isSquare ? amp::squareOf(operands[0])
                        : amp::productOf(operands[0], operands[1]);
  for (unsigned i : {0u, 1u})
    if (shapeOf(getOperand(i)) == shapeOf(getResult()))
      scaleRows(results[0], operands[i], operands[1 - i].most());
}

void DivOp::inferRanges(Ranges operands, Results results) {
  results[0] = amp::quotientOf(operands[0], operands[1]);
}

/// Bounds of what is infinite, too.
static double lowOf(const NumberRange &range) {
  return range.mayBeInfinite ? -kInfinity : range.low;
}

static double highOf(const NumberRange &range) {
  return range.mayBeInfinite ? kInfinity : range.high;
}

void MaximumOp::inferRanges(Ranges operands, Results results) {
  NumberRange hull = amp::hullOf(operands[0], operands[1]);
  hull.low = std::max({hull.low, lowOf(operands[0]), lowOf(operands[1])});
  hull.least = std::max(hull.least, hull.low);
  results[0] = hull.withoutRows();
}

void MinimumOp::inferRanges(Ranges operands, Results results) {
  NumberRange hull = amp::hullOf(operands[0], operands[1]);
  hull.high = std::min({hull.high, highOf(operands[0]), highOf(operands[1])});
  hull.least = std::max(hull.least, -hull.high);
  results[0] = hull.withoutRows();
}

void NegOp::inferRanges(Ranges operands, Results results) {
  results[0] = amp::negativeOf(operands[0]);
}

void ReluOp::inferRanges(Ranges operands, Results results) {
  results[0] = operands[0];
  results[0].low = std::max(lowOf(operands[0]), 0.0);
  results[0].high = std::max(operands[0].high, 0.0);
}

void SqrtOp::inferRanges(Ranges operands, Results results) {
  results[0] = amp::risingOf(
      operands[0], [](double x) { return std::sqrt(std::max(x, 0.0)); });
  results[0].mayBeNan |= operands[0].low < 0 || operands[0].mayBeInfinite;
}

void GeluOp::inferRanges(Ranges operands, Results results) {
  const NumberRange &x = operands[0];
  results[0] = amp::computedIn(NumberRange::within(
      std::max(std::min(x.low, 0.0), -0.1705), std::max(x.high, 0.0), x));
}

void ReluGradOp::inferRanges(Ranges operands, Results results) {
  results[0] = orZero(operands[0]);
}

void GeluGradOp::inferRanges(Ranges operands, Results results) {
  if (getOrder() != 1)
    return;
  NumberRange slope = NumberRange::within(-0.13, 1.13, operands[1]);
  slope.mayBeInfinite = false;
  results[0] = amp::productOf(operands[0], slope);
}

void CastOp::inferRanges(Ranges operands, Results results) {
  Type from = getInput().getType().getElementType();
  Type to = getType().getElementType();
  if (from.isInteger(1)) {
    results[0] = NumberRange::within(0, 1);
    results[0].least = 1;
    results[0].rowSum = lastExtent(getResult());
    results[0].rowNorm = std::sqrt(results[0].rowSum);
  } else if (isa<FloatType>(from) == isa<FloatType>(to)) {
    results[0] = operands[0];
  } else if (isa<FloatType>(to)) {
    double most = std::ldexp(1, from.getIntOrFloatBitWidth() - 1);
    results[0] = NumberRange::within(std::max(operands[0].low, -most),
                                     std::min(operands[0].high, most));
  }
}

void RoundToOp::inferRanges(Ranges operands, Results results) {
  auto type = cast<FloatType>(getTo());
  results[0] = operands[0].withoutRows();
  results[0].mayBeInfinite |= operands[0].most() > amp::largestOf(type);
  // Small numbers become 0, or the next one that there is.
  double small = amp::smallestNormalOf(type);
  results[0] = amp::hullOf(
      results[0], NumberRange::within(operands[0].low < 0 ? -small : 0,
                                      operands[0].high > 0 ? small : 0));
}

void StopGradientOp::inferRanges(Ranges operands, Results results) {
  results[0] = operands[0];
}

void SelectOp::inferRanges(Ranges operands, Results results) {
  results[0] = amp::hullOf(operands[1], operands[2]).withoutRows();
}

//===----------------------------------------------------------------------===//
// Shapes and places
//===----------------------------------------------------------------------===//

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

// Rows of a table; of floats an index out of range gives NaN.
void GatherOp::inferRanges(Ranges operands, Results results) {
  results[0] = orZero(operands[0]).withoutRows();
  results[0].mayBeNan = true;
}

void EmbeddingOp::inferRanges(Ranges operands, Results results) {
  results[0] = operands[0].withoutRows();
  results[0].mayBeNan = true;
}

void UnfoldOp::inferRanges(Ranges operands, Results results) {
  double padding = getPadding().convertToDouble();
  NumberRange border = NumberRange::within(padding, padding);
  border.mayBeNan = std::isnan(padding);
  results[0] = amp::hullOf(operands[0], border).withoutRows();
}

/// Without weights elements are moved, with them added up by constants.
void ResampleOp::inferRanges(Ranges operands, Results results) {
  if (!getWeights()) {
    results[0] = orZero(operands[0]).withoutRows();
    return;
  }
  double most = operands[0].most() * operands[2].rowSum;
  if (!std::isnan(most))
    results[0] = amp::computedIn(NumberRange::within(-most, most, operands[0]));
}

//===----------------------------------------------------------------------===//
// Sums and extremes
//===----------------------------------------------------------------------===//

static double countReduced(Value input, ArrayRef<int64_t> axes) {
  double count = 1;
  for (int64_t axis : axes)
    count *= shapeOf(input)[axis];
  return count;
}

void ReduceSumOp::inferRanges(Ranges operands, Results results) {
  results[0] = amp::sumOf(countReduced(getInput(), getAxes()), operands[0]);
}

/// Of nothing there is none: 0 / 0.
static NumberRange meanOf(double count, const NumberRange &range) {
  if (count == 0)
    return NumberRange();
  NumberRange sum = amp::sumOf(count, range);
  // Of equal numbers, too, the sum is rounded, and its share.
  double slack = std::max(count * 0x1p-24, 0x1p-20);
  NumberRange mean =
      NumberRange::within(range.low - std::abs(range.low) * slack,
                          range.high + std::abs(range.high) * slack);
  mean.mayBeInfinite = sum.mayBeInfinite, mean.mayBeNan = sum.mayBeNan;
  return mean;
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
    results[0] =
        orZero(amp::sumOf(shapeOf(getInput())[getAxis()], orZero(operands[0])));
}

void MaxPoolOp::inferRanges(Ranges operands, Results results) {
  results[0] = operands[0].withoutRows();
}

void AveragePoolOp::inferRanges(Ranges operands, Results results) {
  double count = 1;
  for (int64_t extent : getKernelShape())
    count *= extent;
  results[0] = orZero(meanOf(count, operands[0])).withoutRows();
  results[0].least = 0; // Of a few elements and of zeros around the image.
}

void GlobalAveragePoolOp::inferRanges(Ranges operands, Results results) {
  results[0] = meanOf(double(countElements(getInput())) /
                          std::max<int64_t>(countElements(getResult()), 1),
                      operands[0]);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Of `count` products each. What a row adds up to bounds them, as does its
/// norm, by Cauchy and Schwarz.
static NumberRange contracted(double count, const NumberRange &lhs,
                              const NumberRange &rhs, bool hasRows) {
  NumberRange product = amp::productOf(lhs, rhs);
  NumberRange sum = amp::sumOf(count, product);
  if (!hasRows || rhs.most() == kInfinity)
    return sum;
  double most =
      std::min(lhs.rowSum, lhs.rowNorm * std::sqrt(count)) * rhs.most();
  if (!(most < sum.most()))
    return sum;
  most *= 1 + count * 0x1p-24;
  NumberRange range = NumberRange::within(std::max(sum.low, -most),
                                          std::min(sum.high, most), {lhs, rhs});
  return range;
}

void MatmulOp::inferRanges(Ranges operands, Results results) {
  ArrayRef<int64_t> lhs = shapeOf(getLhs());
  double count = lhs[lhs.size() - (getTransposeLhs() ? 2 : 1)];
  results[0] = contracted(count, operands[0], operands[1], !getTransposeLhs());
}

void ConvOp::inferRanges(Ranges operands, Results results) {
  double count = 1; // Of the weight, [O, C/group, K..].
  for (int64_t extent : shapeOf(getWeight()).drop_front())
    count *= extent;
  // Zeros at the borders.
  results[0] = contracted(count, orZero(operands[0]), operands[1], false);
  if (getBias())
    results[0] = amp::sumOf(results[0], operands[2]);
}

/// Shares of values, which add up to 1, or to 0 where a query sees no key.
void AttentionOp::inferRanges(Ranges operands, Results results) {
  const NumberRange &value = operands[2];
  NumberRange range =
      amp::computedIn(orZero(NumberRange::within(value.low, value.high)));
  NumberRange scores = amp::sumOf(lastExtent(getQuery()),
                                  amp::productOf(operands[0], operands[1]));
  range.mayBeNan = range.mayBeInfinite =
      !scores.isFinite() || !value.isFinite() || !range.isBounded();
  results[0] = range.withoutRows();
}

//===----------------------------------------------------------------------===//
// Norms and softmax
//===----------------------------------------------------------------------===//

/// Sums of squares of such numbers do not overflow.
static constexpr double kMaxSquared = 0x1p50;

/// `count` numbers of mean square 1 times `scale`.
static NumberRange normalized(double count, const NumberRange &input,
                              const NumberRange &scale, double epsilon) {
  double most = std::sqrt(count);
  NumberRange unit = amp::computedIn(NumberRange::within(-most, most));
  unit.mayBeNan =
      !input.isFinite() || input.most() > kMaxSquared || !(epsilon > 0);
  unit.mayBeInfinite = unit.mayBeNan;
  return amp::productOf(unit, scale);
}

/// Of 1 / sqrt(variance + epsilon).
static NumberRange inverseOfRoot(const NumberRange &input, double epsilon) {
  if (!(epsilon > 0))
    return NumberRange();
  NumberRange range =
      amp::computedIn(NumberRange::within(0, 1 / std::sqrt(epsilon)));
  range.mayBeNan = !input.isFinite() || input.most() > kMaxSquared;
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
  if (isRow && operands[1].most() < kInfinity) {
    result.rowNorm = std::sqrt(count) * operands[1].most() * kRounding;
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
  NumberRange inverse = amp::computedIn(
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
  // The distance of the largest, and the logarithm of the sum.
  double most = operands[0].high - operands[0].low + std::log(count);
  results[0] = NumberRange::within(std::isnan(most) ? -kInfinity : -most, 0);
  results[0].mayBeNan = !operands[0].isFinite();
  results[0].mayBeInfinite |= operands[0].mayBeInfinite;
}

//===----------------------------------------------------------------------===//
// Losses and random numbers
//===----------------------------------------------------------------------===//

/// Logarithms of probabilities; weights of classes may have any sign.
void SoftmaxCrossEntropyOp::inferRanges(Ranges, Results results) {
  if (!getWeight())
    results[0].low = 0;
}

void NllLossOp::inferRanges(Ranges, Results) {}

void ElementLossOp::inferRanges(Ranges, Results results) {
  if (getKind() != ElementLoss::BinaryCrossEntropyWithLogits)
    results[0].low = 0;
}

void IsCorrectOp::inferRanges(Ranges, Results results) {
  results[0] = NumberRange::within(0, 1);
  results[0].least = 1;
}

void DropoutOp::inferRanges(Ranges operands, Results results) {
  results[0] = operands[0];
}

void DropoutTrainingOp::inferRanges(Ranges operands, Results results) {
  double scale = 1 / (1 - getRatio().convertToDouble());
  NumberRange kept = orZero(operands[0]);
  results[0] = amp::productOf(kept, NumberRange::within(scale, scale));
  scaleRows(results[0], kept, scale);
}

/// A normal number is made of 32 bits, of which the least is no 0.
void RandomOp::inferRanges(Ranges, Results results) {
  double most = std::sqrt(2 * 33 * M_LN2);
  results[0] = getNormal() ? NumberRange::within(-most, most)
                           : NumberRange::within(0, 1);
}
