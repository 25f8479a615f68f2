//===- Gelu.cpp - Gaussian error linear unit ------------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/Lowering/ScalarTangent.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

MPC_OP_FACTS(GeluOp, Follow, 14 * countElements(getResult()),
             "bounded slope, f32 in registers")
MPC_OP_FACTS(GeluGradOp, Follow, 27 * getOrder() * countElements(getResult()),
             "bounded slope, f32 in registers")

MPC_INFER(GeluOp, inferSame)
MPC_INFER(GeluGradOp, inferUnaryGrad)

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

LogicalResult GeluOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                                    ArrayRef<bool> needed,
                                    MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] =
        GeluGradOp::create(builder, gradientLoc(getLoc()), resultGrads[0],
                           getInput(), getApproximate());
  return success();
}

LogicalResult GeluGradOp::buildGradient(OpBuilder &builder,
                                        ValueRange resultGrads,
                                        ArrayRef<bool> needed,
                                        MutableArrayRef<Value> operandGrads) {
  Location loc = gradientLoc(getLoc());
  if (needed[0])
    operandGrads[0] = GeluGradOp::create(
        builder, loc, resultGrads[0], getInput(), getApproximate(), getOrder());
  if (needed[1]) {
    if (getOrder() == kMaxOrders)
      return emitTooHighOrder(*this);
    Value product = MulOp::create(builder, loc, resultGrads[0], getGrad());
    operandGrads[1] = GeluGradOp::create(builder, loc, product, getInput(),
                                         getApproximate(), getOrder() + 1);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Epilogues: matrix products compute the approximation
//===----------------------------------------------------------------------===//

std::optional<Epilogue> GeluOp::getEpilogue() {
  return getApproximate() ? std::optional(Epilogue::Gelu) : std::nullopt;
}

std::optional<Epilogue> GeluGradOp::getEpilogue() {
  return getApproximate() && getOrder() == 1 ? std::optional(Epilogue::GeluGrad)
                                             : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

// Constants of both forms of gelu.
static constexpr double rsqrt2 = M_SQRT1_2;
static constexpr double sqrt2OverPi = M_2_SQRTPI * M_SQRT1_2;
static const double log2Rsqrt2Pi = std::log2(sqrt2OverPi / 2);
static constexpr double cubic = 0.044715;

/// Phi(x), or its approximation: the factor of x in gelu.
static Value geluFactor(ScalarMath &m, Value x, bool approximate) {
  Value bend;
  if (approximate) { // tanh(sqrt(2/pi) x (1 + 0.044715 x^2))
    Value square = m.mul(x, x);
    Value scaled = m.mul(m.constant(sqrt2OverPi, x), x);
    bend = m.tanh(m.mul(
        scaled, m.add(m.constant(1, x), m.mul(m.constant(cubic, x), square))));
  } else {
    bend = m.erf(m.mul(m.constant(rsqrt2, x), x));
  }
  Value half = m.constant(0.5, x);
  return m.add(half, m.mul(half, bend));
}

/// The derivative of gelu at x: factor + x factor'.
static Value geluDerivative(ScalarMath &m, Value x, bool approximate) {
  Value square = m.mul(x, x);
  Value factor = geluFactor(m, x, approximate);
  Value slope;
  if (approximate) { // factor' = 2 factor (1 - factor) inner'
    Value one = m.constant(1, x);
    // Bounds the square: where the factor is 0 or 1, an infinite square times 0
    // would be NaN.
    Value most = m.constant(1e30, x);
    Value isMore = m.compare(arith::CmpFPredicate::OLT, most, square);
    square = m.select(isMore, most, square);
    Value inner = m.mul(m.constant(2 * sqrt2OverPi, x),
                        m.add(one, m.mul(m.constant(3 * cubic, x), square)));
    slope = m.mul(m.mul(factor, m.sub(one, factor)), inner);
  } else { // the normal density: 2^(-x^2/2 log2(e) - log2(sqrt(2 pi)))
    slope = m.exp2(m.fma(m.constant(-0.5 * M_LOG2E, x), square,
                         m.constant(log2Rsqrt2Pi, x)));
  }
  return m.add(factor, m.mul(x, slope));
}

LogicalResult GeluOp::lowerToLinalg(OpBuilder &builder,
                                    SmallVectorImpl<Value> &results) {
  results.push_back(
      emitFormula(*this, builder, [&](ScalarMath &m, ValueRange x) {
        return m.mul(x[0], geluFactor(m, x[0], getApproximate()));
      }));
  return success();
}

LogicalResult GeluGradOp::lowerToLinalg(OpBuilder &builder,
                                        SmallVectorImpl<Value> &results) {
  results.push_back(
      emitFormula(*this, builder, [&](ScalarMath &m, ValueRange x) {
        Value slope = geluDerivative(m, x[1], getApproximate());
        slope = tangentOf(m, slope, x[1], getOrder() - 1);
        return m.mul(x[0], slope);
      }));
  return success();
}
