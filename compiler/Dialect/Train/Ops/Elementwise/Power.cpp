//===- Power.cpp - Powers of elements -------------------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/Ops/Function/Functions.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

using Predicate = arith::CmpFPredicate;

MPC_OP_FACTS(
    PowOp, Sensitive, 30 * countElements(getResult()),
    "powers overflow 16 bit, and rounding the exponent changes the function")

/// e^(y log |x|), negated for a negative x and an odd y.
static Value power(ScalarMath &m, Value x, Value y) {
  Value zero = m.constant(0, x), one = m.constant(1, x);
  Value result = m.exp(m.mul(y, emitLog(m, m.abs(x))));

  Value half = m.mul(y, m.constant(0.5, y));
  Value isWhole = m.compare(Predicate::OEQ, m.floor(y), y);
  Value isEven = m.compare(Predicate::OEQ, m.floor(half), half);
  Value isBelow = m.compare(Predicate::OLT, x, zero);
  // -0 counts as negative: its reciprocal is -inf.
  Value isNegative =
      m.orOf(isBelow, m.compare(Predicate::OLT, m.div(one, x), zero));
  Value odd = m.select(isWhole, m.select(isEven, result, m.neg(result)),
                       m.select(isBelow, m.constant(NAN, x), result));
  result = m.select(isNegative, odd, result);

  Value isOne = m.orOf(m.compare(Predicate::OEQ, y, zero),
                       m.compare(Predicate::OEQ, x, one));
  return m.select(isOne, one, result);
}

LogicalResult PowOp::lowerToLinalg(OpBuilder &builder,
                                   SmallVectorImpl<Value> &results) {
  results.push_back(
      emitFormula(*this, builder, [](ScalarMath &m, ValueRange x) {
        return power(m, x[0], x[1]);
      }));
  return success();
}

LogicalResult PowOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                   ArrayRef<bool> needed,
                                   MutableArrayRef<Value> operandGrads) {
  Location loc = gradientLoc(getLoc());
  Value grad = resultGrads[0], lhs = getLhs(), rhs = getRhs();
  Value zero = createScalarLike(builder, loc, grad, 0);
  auto compare = [&](Value a, Value b, Comparison comparison) -> Value {
    return CompareOp::create(builder, loc, a, b, comparison);
  };
  auto times = [&](Value a, Value b) -> Value {
    return MulOp::create(builder, loc, a, b);
  };
  auto zeroWhere = [&](Value condition, Value value, Value operand) {
    Value passed = SelectOp::create(builder, loc, condition, zero, value);
    return sumToShape(builder, loc, passed, shapeOf(operand));
  };
  if (needed[0]) { // y x^(y - 1)
    Value less = SubOp::create(builder, loc, rhs,
                               createScalarLike(builder, loc, rhs, 1));
    Value slope = times(rhs, PowOp::create(builder, loc, lhs, less));
    operandGrads[0] = zeroWhere(compare(rhs, zero, Comparison::Equal),
                                times(grad, slope), lhs);
  }
  if (needed[1]) { // x^y log x
    Value slope = times(getResult(), LogOp::create(builder, loc, lhs));
    Value isFlat =
        AndOp::create(builder, loc, compare(lhs, zero, Comparison::Equal),
                      compare(zero, rhs, Comparison::LessOrEqual));
    operandGrads[1] = zeroWhere(isFlat, times(grad, slope), rhs);
  }
  return success();
}
