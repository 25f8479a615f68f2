//===- Power.cpp - Import of Pow ------------------------------------------===//

#include "compiler/Import/Ops/Power.h"

#include "compiler/Import/Ops/Fold.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using train::Comparison;

/// Numbers of halves up to 32: products and a square root.
static bool isShort(double exponent) {
  double twice = 2 * std::fabs(exponent);
  return exponent != 0 && twice <= 64 && twice == std::floor(twice);
}

Value mpc::emitRoot(ImportedNode &node, Value square) {
  if (!square)
    return nullptr;
  Value isZero = node.compare(square, node.scalar(0), Comparison::Equal);
  Value safe = node.emit<train::SelectOp>({isZero, node.scalar(1), square});
  Value root = node.emit<train::SqrtOp>(safe);
  return node.emit<train::SelectOp>({isZero, node.scalar(0), root});
}

static Value byProducts(ImportedNode &node, Value base, double exponent) {
  double twice = 2 * std::fabs(exponent);
  Value result, power = base;
  for (int64_t left = twice / 2; left > 0; left /= 2) {
    if (left % 2 == 1)
      result = result ? node.emit<train::MulOp>({result, power}) : power;
    if (left > 1)
      power = node.emit<train::MulOp>({power, power});
  }
  if (std::fmod(twice, 2) != 0) {
    // The gradients of a root alone and of what is infinite at 0 are none
    // there, as in PyTorch.
    bool isSmooth = result && exponent > 0;
    Value root =
        isSmooth ? emitRoot(node, base) : node.emit<train::SqrtOp>(base);
    result = result ? node.emit<train::MulOp>({result, root}) : root;
  }
  if (exponent < 0)
    result = node.emit<train::DivOp>({node.scalar(1.0), result});
  return result;
}

Value mpc::emitPower(ImportedNode &node, Value base, double exponent) {
  if (exponent == 1 || node.failed())
    return base;
  if (isShort(exponent))
    return byProducts(node, base, exponent);
  return emitPower(node, base, node.scalar(exponent));
}

/// e^(y log |x|) with the sign that x and an integer y give; NaN where x < 0
/// and y is none. At 0 the power of a positive y is 0, and so is its gradient.
Value mpc::emitPower(ImportedNode &node, Value base, Value exponent) {
  auto select = [&](Value condition, Value yes, Value no) {
    return node.emit<train::SelectOp>({condition, yes, no});
  };
  auto equal = [&](Value a, Value b) {
    return node.compare(a, b, Comparison::Equal);
  };
  Value zero = node.scalar(0), one = node.scalar(1);
  Value isZero = equal(base, zero);
  Value size = node.emit<train::AbsOp>(base);
  Value logarithm = node.emit<train::LogOp>(select(isZero, one, size));
  Value power =
      node.emit<train::ExpOp>(node.emit<train::MulOp>({exponent, logarithm}));
  // Below 0.
  Value half = node.emit<train::MulOp>({exponent, node.scalar(0.5)});
  Value isWhole = equal(node.emit<train::FloorOp>(exponent), exponent);
  Value isEven = equal(node.emit<train::FloorOp>(half), half);
  Value odd = select(isWhole, node.emit<train::NegOp>(power),
                     node.scalar(std::nan("")));
  Value isBelow = node.compare(base, zero, Comparison::Less);
  power = select(isBelow, select(isEven, power, odd), power);
  // At 0, and to the power of 0.
  Value isPositive = node.compare(zero, exponent, Comparison::Less);
  power =
      select(isZero, select(isPositive, zero, node.scalar(INFINITY)), power);
  return select(equal(exponent, zero), one, power);
}

/// Integers wrap around; a fraction is cut off, as it is of data.
static int64_t integerPower(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 == 0 ? 1 : -1) : 0;
  uint64_t result = 1, power = base;
  for (; exponent > 0; exponent /= 2, power *= power)
    if (exponent % 2 == 1)
      result *= power;
  return static_cast<int64_t>(result);
}

/// The exponent may have another type than the base.
LogicalResult mpc::foldPow(ImportedNode &node) {
  SmallVector<KnownTensor> in = broadcastConstants(node);
  if (in.empty())
    return failure();
  KnownTensor &base = in[0], &exponent = in[1];
  if (base.isBool() || exponent.isBool())
    return node.error() << "is not defined for elements of type "
                        << base.elementType << " and " << exponent.elementType;
  for (int64_t i = 0, count = base.size(); i < count; ++i) {
    if (base.isFloat()) {
      base.floats[i] = roundTo(node.graph.floatType,
                               std::pow(base.floats[i], exponent.number(i)));
      continue;
    }
    int64_t &number = base.ints[i];
    if (number == 0 && exponent.number(i) < 0)
      return node.error() << "divides an integer by 0";
    number =
        exponent.isFloat()
            ? toInteger(base.elementType,
                        std::pow(double(number), exponent.floats[i]))
            : wrapTo(base.elementType, integerPower(number, exponent.ints[i]));
  }
  return node.setKnown(base);
}

LogicalResult mpc::importPow(ImportedNode &node) {
  Value base = node.numberInput(0);
  if (node.failed())
    return failure();
  Type type = getElementTypeOrSelf(base.getType());
  // Powers of integers are those of floats, truncated.
  base = node.castTo(base, node.graph.floatType);
  Value result;
  bool isNumber = node.isNumber(1) &&
                  ShapedType::getNumElements(node.shapeOfInput(1)) == 1 &&
                  node.shapeOfInput(1).size() <= shapeOf(base).size();
  if (isNumber)
    result = emitPower(node, base, node.knownScalar(1));
  else
    result = emitPower(node, base,
                       node.castTo(node.numberInput(1), node.graph.floatType));
  return node.setOutput(0, node.castTo(result, type));
}
