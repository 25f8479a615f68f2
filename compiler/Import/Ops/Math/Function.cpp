//===- Function.cpp - Import of unary functions ---------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"
#include "compiler/Import/Ops/Math/Fold.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mpc;

template <typename OpTy> static LogicalResult import(ImportedNode &node) {
  return node.setOutput(0, node.emit<OpTy>(node.floatInput(0)));
}

/// A float attribute of an op: its name in ONNX and in train, and its default.
struct Number {
  llvm::StringLiteral from, to;
  double standard;
};

/// Imports an op with float attributes.
template <typename OpTy>
static LogicalResult import(ImportedNode &node, ArrayRef<Number> numbers) {
  SmallVector<NamedAttribute> attributes;
  for (const Number &number : numbers) {
    double value = node.floatAttr(number.from, number.standard);
    attributes.push_back(
        node.attr(number.to, node.graph.builder.getF64FloatAttr(value)));
  }
  return node.setOutput(0, node.emit<OpTy>(node.floatInput(0), attributes));
}

static LogicalResult importLeakyRelu(ImportedNode &node) {
  return import <train::LeakyReluOp>(node, {{"alpha", "alpha", 0.01f}});
}

static LogicalResult importThresholdedRelu(ImportedNode &node) {
  return import <train::ThresholdedReluOp>(node, {{"alpha", "alpha", 1}});
}

static LogicalResult importHardSigmoid(ImportedNode &node) {
  return import <train::HardSigmoidOp>(
      node, {{"alpha", "alpha", 0.2f}, {"beta", "beta", 0.5}});
}

static LogicalResult importShrink(ImportedNode &node) {
  return import <train::ShrinkOp>(
      node, {{"bias", "bias", 0}, {"lambd", "lambda", 0.5}});
}

static LogicalResult importSwish(ImportedNode &node) {
  return import <train::SiluOp>(node, {{"alpha", "alpha", 1}});
}

static LogicalResult importSwiGlu(ImportedNode &node) {
  Value gate = node.floatInput(0), linear = node.floatInput(1);
  double alpha = node.floatAttr("alpha", 1);
  if (node.failed())
    return failure();
  if (shapeOf(gate) != shapeOf(linear))
    return node.shapeError() << "both inputs must have one shape";
  Value open = node.emit<train::SiluOp>(
      gate, node.attr("alpha", node.graph.builder.getF64FloatAttr(alpha)));
  return node.setOutput(0, node.emit<train::MulOp>({open, linear}));
}

/// Elu, Selu and Celu are one op.
static LogicalResult importElu(ImportedNode &node, double alpha, double scale,
                               double width) {
  if (!node.failed() && width == 0)
    return node.error() << Fault::BadAttribute
                        << "attribute 'alpha' must not be 0";
  auto number = [&](StringRef name, double value) {
    return node.attr(name, node.graph.builder.getF64FloatAttr(value));
  };
  return node.setOutput(
      0, node.emit<train::EluOp>(node.floatInput(0), {number("alpha", alpha),
                                                      number("scale", scale),
                                                      number("width", width)}));
}

static LogicalResult importElu(ImportedNode &node) {
  return importElu(node, node.floatAttr("alpha", 1), 1, 1);
}

static LogicalResult importSelu(ImportedNode &node) {
  double alpha = node.floatAttr("alpha", 1.67326319217681884765625f);
  return importElu(node, alpha,
                   node.floatAttr("gamma", 1.05070102214813232421875f), 1);
}

static LogicalResult importCelu(ImportedNode &node) {
  double alpha = node.floatAttr("alpha", 1);
  return importElu(node, alpha, 1, alpha);
}

/// |x| and the sign of x, also for integers.
static LogicalResult importAbs(ImportedNode &node) {
  Value input = node.numberInput(0);
  if (node.failed() || isFloat(input))
    return node.setOutput(0, node.emit<train::AbsOp>(input));
  Value negative = node.integerOp(train::IntegerOperation::Sub,
                                  node.numberLike(input, 0), input);
  return node.setOutput(
      0, node.integerOp(train::IntegerOperation::Max, input, negative));
}

static LogicalResult importSign(ImportedNode &node) {
  Value input = node.numberInput(0);
  if (node.failed() || isFloat(input))
    return node.setOutput(0, node.emit<train::SignOp>(input));
  Value atMost = node.integerOp(train::IntegerOperation::Min, input,
                                node.numberLike(input, 1));
  return node.setOutput(0, node.integerOp(train::IntegerOperation::Max, atMost,
                                          node.numberLike(input, -1)));
}

/// 1 / x, rounded once.
static LogicalResult importReciprocal(ImportedNode &node) {
  Value input = node.floatInput(0);
  return node.setOutput(0, node.emit<train::DivOp>({node.scalar(1.0), input}));
}

/// The larger or the smaller of two numbers.
static Value extreme(ImportedNode &node, Value lhs, Value rhs, bool larger) {
  if (node.failed())
    return nullptr;
  if (!isFloat(lhs))
    return node.integerOp(larger ? train::IntegerOperation::Max
                                 : train::IntegerOperation::Min,
                          lhs, rhs);
  return larger ? node.emit<train::MaximumOp>({lhs, rhs})
                : node.emit<train::MinimumOp>({lhs, rhs});
}

/// `bound` where the value is beyond it, or where the bound is NaN. Where both
/// are equal, the value gets the gradient, as in PyTorch's clamp.
static Value limit(ImportedNode &node, Value value, Value bound, bool isLow) {
  using train::Comparison;
  if (!value || !bound || !isFloat(value))
    return extreme(node, value, bound, /*larger=*/isLow);
  Value isBeyond = isLow ? node.compare(value, bound, Comparison::Less)
                         : node.compare(bound, value, Comparison::Less);
  Value isNumber = node.compare(bound, bound, Comparison::Equal);
  Value isTaken =
      node.emit<train::OrOp>({isBeyond, node.emit<train::NotOp>(isNumber)});
  return node.emit<train::SelectOp>({isTaken, bound, value});
}

/// Bounds are inputs; bounds that are computed from data may be trained.
static LogicalResult importClip(ImportedNode &node) {
  Value input = node.numberInput(0);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double bounds[2] = {-infinity, infinity};
  for (unsigned i : {1u, 2u}) {
    if (!node.hasInput(i))
      continue;
    if (input && isFloat(input) && node.isNumber(i))
      bounds[i - 1] = node.knownScalar(i);
    else
      input = limit(node, input, node.numberInput(i), /*isLow=*/i == 1);
  }
  if (bounds[0] == -infinity && bounds[1] == infinity)
    return node.setOutput(0, input);
  OpBuilder &builder = node.graph.builder;
  return node.setOutput(
      0, node.emit<train::ClipOp>(
             input, {node.attr("low", builder.getF64FloatAttr(bounds[0])),
                     node.attr("high", builder.getF64FloatAttr(bounds[1]))}));
}

// Functions of constants.
#define MPC_FOLD(NAME, EXPRESSION)                                             \
  static constexpr Rule NAME = {                                               \
      [](double a, double) -> double { return EXPRESSION; }, nullptr}
MPC_FOLD(exponential, std::exp(a));
MPC_FOLD(logarithm, std::log(a));
MPC_FOLD(sine, std::sin(a));
MPC_FOLD(cosine, std::cos(a));
MPC_FOLD(lower, std::floor(a));
MPC_FOLD(upper, std::ceil(a));
MPC_FOLD(nearest, std::nearbyint(a));
MPC_FOLD(reciprocal, 1 / a);
#undef MPC_FOLD
static constexpr Rule signOf = {
    [](double a, double) { return double((a > 0) - (a < 0)); },
    [](int64_t a, int64_t) { return int64_t((a > 0) - (a < 0)); }};
static constexpr Rule magnitude = {
    [](double a, double) { return std::fabs(a); },
    [](int64_t a, int64_t) { return a < 0 ? int64_t(-uint64_t(a)) : a; }};

ArrayRef<OpRow> mpc::functionOps() {
  using namespace mpc::train;
  static const OpRow rows[] = {
      {"Exp", 6, 1, 1, 1, import <ExpOp>, fold<exponential>},
      {"Log", 6, 1, 1, 1, import <LogOp>, fold<logarithm>},
      {"Sin", 7, 1, 1, 1, import <SinOp>, fold<sine>},
      {"Cos", 7, 1, 1, 1, import <CosOp>, fold<cosine>},
      {"Tan", 7, 1, 1, 1, import <TanOp>},
      {"Asin", 7, 1, 1, 1, import <AsinOp>},
      {"Acos", 7, 1, 1, 1, import <AcosOp>},
      {"Atan", 7, 1, 1, 1, import <AtanOp>},
      {"Sinh", 9, 1, 1, 1, import <SinhOp>},
      {"Cosh", 9, 1, 1, 1, import <CoshOp>},
      {"Asinh", 9, 1, 1, 1, import <AsinhOp>},
      {"Acosh", 9, 1, 1, 1, import <AcoshOp>},
      {"Atanh", 9, 1, 1, 1, import <AtanhOp>},
      {"Erf", 9, 1, 1, 1, import <ErfOp>},
      {"Abs", 6, 1, 1, 1, importAbs, fold<magnitude>},
      {"Sign", 9, 1, 1, 1, importSign, fold<signOf>},
      {"Floor", 6, 1, 1, 1, import <FloorOp>, fold<lower>},
      {"Ceil", 6, 1, 1, 1, import <CeilOp>, fold<upper>},
      {"Round", 11, 1, 1, 1, import <RoundOp>, fold<nearest>},
      {"Reciprocal", 6, 1, 1, 1, importReciprocal, fold<reciprocal>},
      {"Clip", 11, 1, 3, 1, importClip},
      {"Tanh", 6, 1, 1, 1, import <TanhOp>},
      {"Sigmoid", 6, 1, 1, 1, import <SigmoidOp>},
      {"Softsign", 1, 1, 1, 1, import <SoftsignOp>},
      {"Softplus", 1, 1, 1, 1, import <SoftplusOp>},
      {"Mish", 18, 1, 1, 1, import <MishOp>},
      {"Swish", 24, 1, 1, 1, importSwish},
      {"SwiGLU", 28, 2, 2, 1, importSwiGlu},
      {"HardSwish", 14, 1, 1, 1, import <HardSwishOp>},
      {"HardSigmoid", 6, 1, 1, 1, importHardSigmoid},
      {"Elu", 6, 1, 1, 1, importElu},
      {"Selu", 6, 1, 1, 1, importSelu},
      {"Celu", 12, 1, 1, 1, importCelu},
      {"LeakyRelu", 6, 1, 1, 1, importLeakyRelu},
      {"ThresholdedRelu", 10, 1, 1, 1, importThresholdedRelu},
      {"Shrink", 9, 1, 1, 1, importShrink},
  };
  return rows;
}
