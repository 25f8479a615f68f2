//===- Power.cpp - Powers -------------------------------------------------===//

#include "compiler/Import/Ops/Math/Power.h"

#include "compiler/Import/Ops/Math/Fold.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using train::Comparison;

/// True for multiples of 1/2 up to 32, which need only products and a square
/// root.
static bool isShort(double exponent) {
  double twice = 2 * std::fabs(exponent);
  return exponent != 0 && twice <= 64 && twice == std::floor(twice);
}

Value mpc::emitRoot(ImportedNode &node, Value sum, double order) {
  if (!sum)
    return nullptr;
  Value isZero = node.compare(sum, node.scalar(0), Comparison::Equal);
  Value safe = node.emit<train::SelectOp>({isZero, node.scalar(1), sum});
  Value root = order == 2 ? node.emit<train::SqrtOp>(safe)
                          : emitPower(node, safe, 1 / order);
  return node.emit<train::SelectOp>({isZero, node.scalar(0), root});
}

/// The gradient is correct at 0, too: it is infinite for the square root alone,
/// 0 for x sqrt(x), and infinite for negative powers instead of NaN from 0
/// times infinity.
static Value byProducts(ImportedNode &node, Value base, double exponent) {
  double twice = 2 * std::fabs(exponent);
  Value result, power = base;
  if (exponent < 0 && twice > 1)
    power = node.emit<train::DivOp>({node.scalar(1.0), base});
  for (int64_t left = twice / 2; left > 0; left /= 2) {
    if (left % 2 == 1)
      result = result ? node.emit<train::MulOp>({result, power}) : power;
    if (left > 1)
      power = node.emit<train::MulOp>({power, power});
  }
  if (std::fmod(twice, 2) == 0)
    return result;
  bool isSmooth = result && exponent > 0;
  Value root = isSmooth ? emitRoot(node, base) : node.emit<train::SqrtOp>(base);
  if (exponent < 0)
    root = node.emit<train::DivOp>({node.scalar(1.0), root});
  return result ? node.emit<train::MulOp>({result, root}) : root;
}

Value mpc::emitPower(ImportedNode &node, Value base, double exponent) {
  if (exponent == 1 || node.failed())
    return base;
  if (isShort(exponent))
    return byProducts(node, base, exponent);
  return node.emit<train::PowOp>({base, node.scalar(exponent)});
}

/// Integers wrap around; a fraction is truncated, as at run time.
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
    return node.error() << Fault::UnsupportedType
                        << "is not defined for elements of type "
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
  // Integer powers are computed in floats and truncated.
  base = node.castTo(base, node.graph.floatType);
  Value result;
  bool isNumber = node.isNumber(1) &&
                  ShapedType::getNumElements(node.shapeOfInput(1)) == 1 &&
                  node.shapeOfInput(1).size() <= shapeOf(base).size();
  if (isNumber)
    result = emitPower(node, base, node.knownScalar(1));
  else
    result = node.emit<train::PowOp>(
        {base, node.castTo(node.numberInput(1), node.graph.floatType)});
  return node.setOutput(0, node.castTo(result, type));
}
