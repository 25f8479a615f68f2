//===- Functions.cpp - Unary functions ------------------------------------===//

#include "compiler/Dialect/Train/Ops/Function/Functions.h"

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/Lowering/ScalarTangent.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

using amp::PrecisionClass;
using Predicate = arith::CmpFPredicate;

//===----------------------------------------------------------------------===//
// Longer formulas
//===----------------------------------------------------------------------===//

static Value isAbove(ScalarMath &m, Value x, double bound) {
  return m.compare(Predicate::OGT, x, m.constant(bound, x));
}

static Value isBelow(ScalarMath &m, Value x, double bound) {
  return m.compare(Predicate::OLT, x, m.constant(bound, x));
}

/// `positive` if x is at least 0, else its negative.
static Value withSignOf(ScalarMath &m, Value x, Value positive) {
  return m.select(isBelow(m, x, 0), m.neg(positive), positive);
}

static Value sign(ScalarMath &m, Value x) {
  Value zero = m.constant(0, x);
  Value negative = m.select(isBelow(m, x, 0), m.constant(-1, x), zero);
  return m.select(isAbove(m, x, 0), m.constant(1, x), negative);
}

/// exp(-|x|) never overflows: 1 / (1 + z) for x >= 0, z / (1 + z) otherwise.
static Value sigmoid(ScalarMath &m, Value x) {
  Value z = m.exp(m.neg(m.abs(x))), one = m.constant(1, x);
  return m.div(m.select(isBelow(m, x, 0), z, one), m.add(one, z));
}

/// Scales subnormal numbers: the vectorized logarithm treats them as the
/// smallest normal number.
Value mpc::train::emitLog(ScalarMath &m, Value x) {
  Value tiny = isBelow(m, x, 0x1p-126);
  Value scaled = m.mul(x, m.constant(0x1p24, x));
  Value value = m.log(m.select(tiny, scaled, x));
  Value less = m.sub(value, m.constant(24 * M_LN2, x));
  return m.select(tiny, less, value);
}

static Value softplus(ScalarMath &m, Value x) {
  Value rest = m.log1p(m.exp(m.neg(m.abs(x))));
  return m.add(m.max(x, m.constant(0, x)), rest);
}

static Value reciprocal(ScalarMath &m, Value x) {
  return m.div(m.constant(1, x), x);
}

/// 1 - x^2 without cancellation near 1.
static Value oneMinusSquare(ScalarMath &m, Value x) {
  Value one = m.constant(1, x);
  return m.mul(m.sub(one, x), m.add(one, x));
}

/// Halves of e^|x| and of its reciprocal, which do not overflow before the
/// result does; e^|x| does.
struct Halves {
  Value growing, falling;
};
static Halves halvesOf(ScalarMath &m, Value magnitude) {
  Value half = m.constant(0.5, magnitude);
  Value root = m.exp(m.mul(half, magnitude));
  return {m.mul(m.mul(half, root), root), m.div(m.div(half, root), root)};
}

static Value sinh(ScalarMath &m, Value x) {
  Value magnitude = m.abs(x), one = m.constant(1, x);
  Halves halves = halvesOf(m, magnitude);
  // Near 0 the halves cancel.
  Value e = m.expm1(m.min(magnitude, one));
  Value near = m.mul(m.constant(0.5, x), m.add(e, m.div(e, m.add(e, one))));
  return withSignOf(m, x,
                    m.select(isBelow(m, magnitude, 1), near,
                             m.sub(halves.growing, halves.falling)));
}

static Value cosh(ScalarMath &m, Value x) {
  Halves halves = halvesOf(m, m.abs(x));
  return m.add(halves.growing, halves.falling);
}

/// Above this bound asinh and acosh are log(2x): x^2 + 1 rounds to x^2.
static constexpr double largeArea = 1e9;

static Value logTwice(ScalarMath &m, Value x) {
  return m.add(m.log(x), m.constant(M_LN2, x));
}

static Value asinh(ScalarMath &m, Value x) {
  Value magnitude = m.abs(x), one = m.constant(1, x);
  Value square = m.mul(magnitude, magnitude);
  Value more = m.div(square, m.add(one, m.sqrt(m.add(square, one))));
  Value area =
      m.select(isAbove(m, magnitude, largeArea), logTwice(m, magnitude),
               m.log1p(m.add(magnitude, more)));
  return withSignOf(m, x, area);
}

static Value acosh(ScalarMath &m, Value x) {
  Value above = m.sub(x, m.constant(1, x));
  Value root = // NaN if x is below 1, also for -1.
      m.mul(m.sqrt(above), m.sqrt(m.add(above, m.constant(2, x))));
  return m.select(isAbove(m, x, largeArea), logTwice(m, x),
                  m.log1p(m.add(above, root)));
}

/// 1 / sqrt(x^2 + 1) or 1 / sqrt(x^2 - 1), also where x^2 overflows.
static Value reciprocalRoot(ScalarMath &m, Value x, Value square) {
  Value magnitude = m.abs(x);
  return reciprocal(
      m, m.select(isAbove(m, magnitude, largeArea), magnitude, m.sqrt(square)));
}

static Value asinhDerivative(ScalarMath &m, Value x) {
  return reciprocalRoot(m, x, m.add(m.mul(x, x), m.constant(1, x)));
}

static Value acoshDerivative(ScalarMath &m, Value x) {
  Value one = m.constant(1, x);
  return reciprocalRoot(m, x, m.mul(m.sub(x, one), m.add(x, one)));
}

static Value atanh(ScalarMath &m, Value x) {
  Value magnitude = m.abs(x);
  Value twice = m.add(magnitude, magnitude);
  Value ratio = m.div(twice, m.sub(m.constant(1, x), magnitude));
  return withSignOf(m, x, m.mul(m.constant(0.5, x), m.log1p(ratio)));
}

static Value clip(ScalarMath &m, Value x, double low, double high) {
  return m.min(m.max(x, m.constant(low, x)), m.constant(high, x));
}

static Value mishDerivative(ScalarMath &m, Value x) {
  Value bend = m.tanh(softplus(m, x));
  Value slope = m.mul(sigmoid(m, x), oneMinusSquare(m, bend));
  return m.add(bend, m.mul(x, slope));
}

static Value siluDerivative(ScalarMath &m, Value x, double alpha) {
  // Bounded, because 0 times infinity would be NaN.
  Value scaled = clip(m, m.mul(m.constant(alpha, x), x), -1e30, 1e30);
  Value s = sigmoid(m, scaled);
  Value rest = m.sub(m.constant(1, x), s);
  return m.mul(s, m.add(m.constant(1, x), m.mul(scaled, rest)));
}

/// 1 where `low` < x < `high`, with `withBounds` also at the bounds, else 0.
static Value between(ScalarMath &m, Value x, double low, double high,
                     bool withBounds) {
  Value one = m.constant(1, x), zero = m.constant(0, x);
  Predicate predicate = withBounds ? Predicate::OGE : Predicate::OGT;
  Value above = m.compare(predicate, x, m.constant(low, x));
  Value below = m.compare(predicate, m.constant(high, x), x);
  return m.select(above, m.select(below, one, zero), zero);
}

static Value line(ScalarMath &m, Value x, double factor, double offset) {
  return m.add(m.mul(m.constant(factor, x), x), m.constant(offset, x));
}

static Value hardSigmoid(ScalarMath &m, Value x, double alpha, double beta) {
  return clip(m, line(m, x, alpha, beta), 0, 1);
}

static Value hardSwishDerivative(ScalarMath &m, Value x) {
  Value inside = line(m, x, 1.0 / 3, 0.5);
  Value one = m.constant(1, x), zero = m.constant(0, x);
  Value below = m.compare(Predicate::OLE, x, m.constant(-3, x));
  Value above = m.compare(Predicate::OGE, x, m.constant(3, x));
  return m.select(below, zero, m.select(above, one, inside));
}

/// 1 + |x|: x over it is softsign.
static Value softsignDivisor(ScalarMath &m, Value x) {
  return m.add(m.constant(1, x), m.abs(x));
}

static Value softsignDerivative(ScalarMath &m, Value x) {
  Value divisor = softsignDivisor(m, x);
  return reciprocal(m, m.mul(divisor, divisor));
}

static Value elu(ScalarMath &m, Value x, Parameters p) {
  auto [alpha, scale, width] = std::tuple(p[0], p[1], p[2]);
  Value below = m.mul(m.constant(scale * alpha, x),
                      m.expm1(m.div(x, m.constant(width, x))));
  return m.select(isAbove(m, x, 0), m.mul(m.constant(scale, x), x), below);
}

static Value eluDerivative(ScalarMath &m, Value x, Parameters p) {
  auto [alpha, scale, width] = std::tuple(p[0], p[1], p[2]);
  Value below = m.mul(m.constant(scale * alpha / width, x),
                      m.exp(m.div(x, m.constant(width, x))));
  return m.select(isAbove(m, x, 0), m.constant(scale, x), below);
}

static Value shrink(ScalarMath &m, Value x, double bias, double lambda) {
  Value offset = m.constant(bias, x);
  Value low =
      m.select(isBelow(m, x, -lambda), m.add(x, offset), m.constant(0, x));
  return m.select(isAbove(m, x, lambda), m.sub(x, offset), low);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

#define MPC_FORMULA(EXPRESSION)                                                \
  [](ScalarMath &m, Value x, Parameters p) -> Value {                          \
    (void)m, (void)p;                                                          \
    return EXPRESSION;                                                         \
  }

static constexpr auto kFollow = PrecisionClass::Follow;
static constexpr auto kSensitive = PrecisionClass::Sensitive;
static constexpr auto kInput = Function::Input;
static constexpr auto kOutput = Function::Output;

// Name, class and reason, bounded, operations forward and backward; the formula
// of the input x; the value that the derivative is computed from, and its
// formula of that value, also called x; whether it is a choice.
static const Function functions[] = {
    {"exp", kSensitive, "e^x leaves f16 from 11.1 on", false, 10, 1,
     MPC_FORMULA(m.exp(x)), kOutput, MPC_FORMULA(x)},
    {"log", kSensitive, "steep near 0", false, 10, 2,
     MPC_FORMULA(emitLog(m, x)), kInput, MPC_FORMULA(reciprocal(m, x))},
    {"sin", kSensitive,
     "in 16 bit a large angle has no significant digits left", true, 10, 11,
     MPC_FORMULA(m.sin(x)), kInput, MPC_FORMULA(m.cos(x))},
    {"cos", kSensitive,
     "in 16 bit a large angle has no significant digits left", true, 10, 11,
     MPC_FORMULA(m.cos(x)), kInput, MPC_FORMULA(m.neg(m.sin(x)))},
    {"tan", kSensitive, "unbounded near odd quarters of a turn", false, 21, 3,
     MPC_FORMULA(m.div(m.sin(x), m.cos(x))), kOutput,
     MPC_FORMULA(m.add(m.constant(1, x), m.mul(x, x)))},
    {"asin", kSensitive, "steep at -1 and 1", true, 15, 5,
     MPC_FORMULA(m.atan(m.div(x, m.sqrt(oneMinusSquare(m, x))))), kInput,
     MPC_FORMULA(reciprocal(m, m.sqrt(oneMinusSquare(m, x))))},
    {"acos", kSensitive, "steep at -1 and 1", true, 15, 6,
     MPC_FORMULA(m.mul(m.constant(2, x),
                       m.atan(m.sqrt(m.div(m.sub(m.constant(1, x), x),
                                           m.add(m.constant(1, x), x)))))),
     kInput, MPC_FORMULA(m.neg(reciprocal(m, m.sqrt(oneMinusSquare(m, x)))))},
    {"atan", kFollow, "bounded", true, 10, 3, MPC_FORMULA(m.atan(x)), kInput,
     MPC_FORMULA(reciprocal(m, m.add(m.constant(1, x), m.mul(x, x))))},
    {"sinh", kSensitive, "grows as e^x does", false, 20, 15,
     MPC_FORMULA(sinh(m, x)), kInput, MPC_FORMULA(cosh(m, x))},
    {"cosh", kSensitive, "grows as e^x does", false, 15, 20,
     MPC_FORMULA(cosh(m, x)), kInput, MPC_FORMULA(sinh(m, x))},
    {"asinh", kFollow, "bounded slope", false, 20, 5, MPC_FORMULA(asinh(m, x)),
     kInput, MPC_FORMULA(asinhDerivative(m, x))},
    {"acosh", kSensitive, "steep at 1", false, 20, 5, MPC_FORMULA(acosh(m, x)),
     kInput, MPC_FORMULA(acoshDerivative(m, x))},
    {"atanh", kSensitive, "steep at -1 and 1", false, 15, 4,
     MPC_FORMULA(atanh(m, x)), kInput,
     MPC_FORMULA(reciprocal(m, oneMinusSquare(m, x)))},
    {"erf", kFollow, "bounded", true, 10, 12, MPC_FORMULA(m.erf(x)), kInput,
     MPC_FORMULA(m.mul(m.constant(M_2_SQRTPI, x), m.exp(m.neg(m.mul(x, x)))))},

    {"abs", PrecisionClass::Transparent, "commutes exactly with a cast", false,
     1, 3, MPC_FORMULA(m.abs(x)), kInput, MPC_FORMULA(sign(m, x))},
    {"sign", kSensitive, "16 bit may flush a small number to 0", true, 2, 0,
     MPC_FORMULA(sign(m, x)), Function::Nothing, nullptr},
    {"floor", kSensitive, "rounding the operand may change the integer result",
     false, 1, 0, MPC_FORMULA(m.floor(x)), Function::Nothing, nullptr},
    {"ceil", kSensitive, "rounding the operand may change the integer result",
     false, 1, 0, MPC_FORMULA(m.ceil(x)), Function::Nothing, nullptr},
    {"round", kSensitive, "rounding the operand may change the integer result",
     false, 1, 0, MPC_FORMULA(m.roundeven(x)), Function::Nothing, nullptr},
    // The parameters are `high`, then `low`.
    {"clip", kFollow, "rounds once, where its operand does", false, 2, 4,
     MPC_FORMULA(clip(m, x, p[1], p[0])), kInput,
     MPC_FORMULA(between(m, x, p[1], p[0], !(p[1] == 0 && p[0] == 6))), true},

    {"tanh", kFollow, "bounded", true, 10, 3, MPC_FORMULA(m.tanh(x)), kOutput,
     MPC_FORMULA(m.sub(m.constant(1, x), m.mul(x, x)))},
    {"sigmoid", kFollow, "bounded", true, 13, 3, MPC_FORMULA(sigmoid(m, x)),
     kOutput, MPC_FORMULA(m.mul(x, m.sub(m.constant(1, x), x)))},
    {"softsign", kFollow, "bounded", true, 3, 5,
     MPC_FORMULA(m.div(x, softsignDivisor(m, x))), kInput,
     MPC_FORMULA(softsignDerivative(m, x))},
    {"silu", kFollow, "bounded slope, f32 in registers", false, 15, 20,
     MPC_FORMULA(m.mul(x, sigmoid(m, m.mul(m.constant(p[0], x), x)))), kInput,
     MPC_FORMULA(siluDerivative(m, x, p[0]))},
    {"mish", kFollow, "bounded slope, f32 in registers", false, 35, 60,
     MPC_FORMULA(m.mul(x, m.tanh(softplus(m, x)))), kInput,
     MPC_FORMULA(mishDerivative(m, x))},
    {"softplus", kFollow, "bounded slope, f32 in registers", false, 23, 14,
     MPC_FORMULA(softplus(m, x)), kInput, MPC_FORMULA(sigmoid(m, x))},
    {"elu", kFollow, "bounded slope, f32 in registers", false, 13, 13,
     MPC_FORMULA(elu(m, x, p)), kInput, MPC_FORMULA(eluDerivative(m, x, p))},
    {"leaky_relu", kFollow, "bounded slope", false, 2, 2,
     MPC_FORMULA(m.select(isAbove(m, x, 0), x, m.mul(m.constant(p[0], x), x))),
     kInput,
     MPC_FORMULA(
         m.select(isAbove(m, x, 0), m.constant(1, x), m.constant(p[0], x)))},
    {"thresholded_relu", kFollow, "passes its operand or zero", false, 1, 2,
     MPC_FORMULA(m.select(isAbove(m, x, p[0]), x, m.constant(0, x))), kInput,
     MPC_FORMULA(
         m.select(isAbove(m, x, p[0]), m.constant(1, x), m.constant(0, x))),
     true},
    {"hard_sigmoid", kFollow, "bounded", true, 4, 5,
     MPC_FORMULA(hardSigmoid(m, x, p[0], p[1])), kInput,
     MPC_FORMULA(m.mul(m.constant(p[0], x),
                       between(m, line(m, x, p[0], p[1]), 0, 1, false))),
     true},
    {"hard_swish", kFollow, "bounded slope", false, 5, 5,
     MPC_FORMULA(m.mul(x, hardSigmoid(m, x, 1.0 / 6, 0.5))), kInput,
     MPC_FORMULA(hardSwishDerivative(m, x)), true},
    {"shrink", kFollow, "bounded slope", false, 4, 3,
     MPC_FORMULA(shrink(m, x, p[0], p[1])), kInput,
     MPC_FORMULA(m.select(isAbove(m, m.abs(x), p[1]), m.constant(1, x),
                          m.constant(0, x))),
     true},
};
#undef MPC_FORMULA

static const Function *lookup(StringRef op) {
  static const auto index = [] {
    llvm::StringMap<const Function *> names;
    for (const Function &function : functions)
      names[function.name] = &function;
    return names;
  }();
  op.consume_front("train.");
  return index.lookup(op);
}

const Function &mpc::train::findFunction(StringRef op) {
  const Function *function = lookup(op);
  assert(function && "an op of FunctionOps.td lacks its row");
  return *function;
}

//===----------------------------------------------------------------------===//
// Common implementation
//===----------------------------------------------------------------------===//

SmallVector<double> mpc::train::parametersOf(Operation *op) {
  SmallVector<double> parameters;
  for (StringAttr name : op->getName().getAttributeNames())
    if (auto number = op->getAttrOfType<FloatAttr>(name))
      parameters.push_back(number.getValueAsDouble());
  return parameters;
}

Value mpc::train::lowerFunction(Operation *op, OpBuilder &builder) {
  const Function &function = findFunction(op->getName().getStringRef());
  SmallVector<double> parameters = parametersOf(op);
  return emitFormula(op, builder, [&](ScalarMath &m, ValueRange x) {
    return function.value(m, x[0], parameters);
  });
}

Value mpc::train::buildFunctionGradient(Operation *op, OpBuilder &builder,
                                        Value grad) {
  const Function &function = findFunction(op->getName().getStringRef());
  Location loc = gradientLoc(op->getLoc());
  if (!function.derivative)
    return BroadcastToOp::create(builder, loc, grad.getType(),
                                 createScalarLike(builder, loc, grad, 0));
  Value saved =
      function.from == Function::Input ? op->getOperand(0) : op->getResult(0);
  return FunctionGradOp::create(builder, loc, grad, saved, function.name,
                                parametersOf(op));
}

MPC_INFER(FunctionGradOp, inferUnaryGrad)

LogicalResult FunctionGradOp::verify() {
  const Function *function = lookup(getFunction());
  if (!function || !function->derivative) // function_grad_c1
    return emitOpError("'function' must be the name of a function with a "
                       "derivative, but is '")
           << getFunction() << "'";
  std::string name = "train." + function->name.str();
  size_t wanted = RegisteredOperationName::lookup(name, getContext())
                      ->getAttributeNames()
                      .size();
  if (getParameters().size() != wanted) // function_grad_c2
    return emitOpError("'")
           << name << "' has " << wanted << " parameters, but 'parameters' has "
           << getParameters().size();
  return success();
}

PrecisionClass FunctionGradOp::getPrecisionClass(FloatType) {
  PrecisionClass own = findFunction(getFunction()).precision;
  return own == PrecisionClass::Sensitive ? own : PrecisionClass::Follow;
}

StringRef FunctionGradOp::getPrecisionReason(FloatType) {
  return findFunction(getFunction()).reason;
}

int64_t FunctionGradOp::getFlops() {
  return (1 + findFunction(getFunction()).gradFlops) * getOrder() *
         countElements(getResult());
}

LogicalResult
FunctionGradOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                              ArrayRef<bool> needed,
                              MutableArrayRef<Value> operandGrads) {
  Location loc = gradientLoc(getLoc());
  if (needed[0])
    operandGrads[0] =
        FunctionGradOp::create(builder, loc, resultGrads[0], getSaved(),
                               getFunction(), getParameters(), getOrder());
  if (needed[1]) {
    if (getOrder() == kMaxOrders)
      return emitTooHighOrder(*this);
    Value product = MulOp::create(builder, loc, resultGrads[0], getGrad());
    operandGrads[1] =
        FunctionGradOp::create(builder, loc, product, getSaved(), getFunction(),
                               getParameters(), getOrder() + 1);
  }
  return success();
}

LogicalResult FunctionGradOp::lowerToLinalg(OpBuilder &builder,
                                            SmallVectorImpl<Value> &results) {
  const Function &function = findFunction(getFunction());
  results.push_back(
      emitFormula(*this, builder, [&](ScalarMath &m, ValueRange x) {
        Value slope = function.derivative(m, x[1], getParameters());
        slope = tangentOf(m, slope, x[1], getOrder() - 1);
        Value product = m.mul(x[0], slope), zero = m.constant(0, slope);
        return function.isChoice
                   ? m.select(m.compare(Predicate::OEQ, slope, zero), zero,
                              product)
                   : product;
      }));
  return success();
}
