//===- Ranges.cpp - Ranges of elementwise ops -----------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

void AddOp::inferRanges(Ranges operands, Results results) {
  results[0] = amp::sumOf(operands[0], operands[1]);
  // Without broadcasting, norms of rows add up.
  if (getLhs().getType() == getType() && getRhs().getType() == getType()) {
    results[0].rowSum = kRounding * (operands[0].rowSum + operands[1].rowSum);
    results[0].rowNorm =
        kRounding * (operands[0].rowNorm + operands[1].rowNorm);
  }
}

void SubOp::inferRanges(Ranges operands, Results results) {
  results[0] = amp::sumOf(operands[0], amp::negativeOf(operands[1]));
}

void MulOp::inferRanges(Ranges operands, Results results) {
  bool isSquare = getLhs() == getRhs();
  results[0] = isSquare ? amp::squareOf(operands[0])
                        : amp::productOf(operands[0], operands[1]);
  for (unsigned i : {0u, 1u})
    if (shapeOf(getOperand(i)) == shapeOf(getResult()))
      scaleRows(results[0], operands[i], operands[1 - i].maxMagnitude());
}

void DivOp::inferRanges(Ranges operands, Results results) {
  results[0] = amp::quotientOf(operands[0], operands[1]);
}

/// Bounds that include infinities.
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
  results[0] = amp::monotonic(
      operands[0], [](double x) { return std::sqrt(std::max(x, 0.0)); });
  results[0].mayBeNan |= operands[0].low < 0 || operands[0].mayBeInfinite;
}

void GeluOp::inferRanges(Ranges operands, Results results) {
  const NumberRange &x = operands[0];
  results[0] = amp::withRoundingError(NumberRange::within(
      std::max(std::min(x.low, 0.0), -0.1705), std::max(x.high, 0.0), x));
}

void ReluGradOp::inferRanges(Ranges operands, Results results) {
  results[0] = includingZero(operands[0]);
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
  results[0].mayBeInfinite |= operands[0].maxMagnitude() > amp::largestOf(type);
  // Small numbers are rounded to 0 or to the next number of the type.
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
