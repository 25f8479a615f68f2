//===- Ranges.cpp - Ranges of unary functions -----------------------------===//
//
// A monotonically increasing function needs only its formula; others have a
// function that computes bounds. Nothing is known about the results of a
// function without a row here.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/Ops/Ranges.h"
#include "compiler/Dialect/Train/Ops/Function/Functions.h"

#include "llvm/ADT/StringMap.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

namespace {

struct FunctionRange {
  using Rising = double (*)(double, Parameters);
  using Range = NumberRange (*)(const NumberRange &, Parameters);

  StringLiteral name;
  bool isExact;  ///< Bounds hold exactly, without allowance for rounding.
  Rising rising; ///< Null if `range` is set.
  Range range = nullptr;
};

} // namespace

static double softplus(double x) {
  return x > 40 ? x : std::log1p(std::exp(x));
}

/// Never above 1: the divisor is not less than the dividend.
static NumberRange sigmoidRange(const NumberRange &x, Parameters) {
  NumberRange range = amp::withRoundingError(
      amp::monotonic(x, [](double at) { return 1 / (1 + std::exp(-at)); }));
  range.high = std::min(range.high, 1.0);
  return range;
}

/// x times a function that rises from 0 to 1: at least `least`, the minimum,
/// and at most x. NaN for infinity times 0.
static NumberRange gatedRange(const NumberRange &x, double least) {
  return NumberRange::within(std::max(std::min(x.low, 0.0), least),
                             std::max(x.high, 0.0), x);
}

/// The range of an increasing function whose operand must lie in [low, high].
static NumberRange inDomain(const NumberRange &x, double low, double high,
                            double (*rising)(double)) {
  NumberRange range = amp::monotonic(
      x, [&](double at) { return rising(std::clamp(at, low, high)); });
  range.mayBeNan |= x.low < low || x.high > high || x.mayBeInfinite;
  return range;
}

/// The range of a sine or cosine; NaN for an infinite angle.
static NumberRange waveRange(const NumberRange &x, Parameters) {
  NumberRange range = NumberRange::within(-1, 1);
  range.mayBeNan = !x.isFinite();
  return range;
}

static NumberRange magnitudeRange(const NumberRange &x) {
  NumberRange range = x;
  range.high = x.maxMagnitude();
  range.low = x.low > 0 ? x.low : x.high < 0 ? -x.high : 0;
  range.least = std::max(x.least, range.low);
  return range;
}

static NumberRange hyperbolicCosineRange(const NumberRange &x, Parameters) {
  NumberRange size = magnitudeRange(x);
  NumberRange range =
      NumberRange::within(std::cosh(size.low), std::cosh(size.high));
  range.mayBeInfinite |= x.mayBeInfinite;
  range.mayBeNan = x.mayBeNan;
  return range;
}

static NumberRange siluRange(const NumberRange &x, Parameters p) {
  return p[0] > 0 ? gatedRange(x, -0.2785 / p[0]) : NumberRange();
}

static NumberRange leakyReluRange(const NumberRange &x, Parameters p) {
  if (!(p[0] > 0))
    return NumberRange();
  return amp::monotonic(x, [&](double at) { return at > 0 ? at : p[0] * at; });
}

static NumberRange eluRange(const NumberRange &x, Parameters p) {
  double alpha = p[0], scale = p[1], width = p[2];
  if (!(alpha >= 0 && scale > 0 && width > 0))
    return NumberRange();
  return amp::monotonic(x, [&](double at) {
    return at > 0 ? scale * at : scale * alpha * std::expm1(at / width);
  });
}

static NumberRange softsignRange(const NumberRange &x, Parameters) {
  NumberRange range = amp::monotonic(x, [](double at) {
    return std::isinf(at) ? std::copysign(1, at) : at / (1 + std::abs(at));
  });
  range.mayBeNan |= x.mayBeInfinite; // Infinity over infinity.
  return range;
}

static NumberRange hardSigmoidRange(const NumberRange &x, Parameters) {
  NumberRange range = NumberRange::within(0, 1);
  range.mayBeNan = !x.isFinite(); // 0 times infinity.
  return range;
}

static NumberRange shrinkRange(const NumberRange &x, Parameters p) {
  double bias = std::abs(p[0]);
  return NumberRange::within(std::min(x.low - bias, 0.0),
                             std::max(x.high + bias, 0.0), x);
}

#define MPC_RISING(EXPRESSION)                                                 \
  [](double x, Parameters p) -> double {                                       \
    (void)p;                                                                   \
    return EXPRESSION;                                                         \
  }
#define MPC_RANGE(EXPRESSION)                                                  \
  nullptr, [](const NumberRange &x, Parameters p) -> NumberRange {             \
    (void)p;                                                                   \
    return EXPRESSION;                                                         \
  }

static const FunctionRange ranges[] = {
    {"exp", false, MPC_RISING(std::exp(x))},
    {"log", false, MPC_RANGE(inDomain(x, 0, kInfinity, std::log))},
    {"sin", false, nullptr, waveRange},
    {"cos", false, nullptr, waveRange},
    {"asin", false, MPC_RANGE(inDomain(x, -1, 1, std::asin))},
    {"acos", false,
     MPC_RANGE(amp::negativeOf(
         inDomain(x, -1, 1, [](double at) { return -std::acos(at); })))},
    {"atan", false, MPC_RISING(std::atan(x))},
    {"sinh", false, MPC_RISING(std::sinh(x))},
    {"cosh", false, nullptr, hyperbolicCosineRange},
    {"asinh", false, MPC_RISING(std::asinh(x))},
    {"acosh", false, MPC_RANGE(inDomain(x, 1, kInfinity, std::acosh))},
    {"atanh", false, MPC_RANGE(inDomain(x, -1, 1, std::atanh))},
    {"erf", false, MPC_RISING(std::erf(x))},

    {"abs", true, MPC_RANGE(magnitudeRange(x))},
    {"sign", true, MPC_RISING((x > 0) - (x < 0))},
    {"floor", true, MPC_RISING(std::floor(x))},
    {"ceil", true, MPC_RISING(std::ceil(x))},
    {"round", true, MPC_RISING(std::nearbyint(x))},
    // The parameters are `high`, then `low`.
    {"clip", true, MPC_RISING(std::min(std::max(x, p[1]), p[0]))},

    {"tanh", false, MPC_RISING(std::tanh(x))},
    {"sigmoid", true, nullptr, sigmoidRange},
    {"softsign", true, nullptr, softsignRange},
    {"silu", true, nullptr, siluRange},
    {"mish", false, MPC_RANGE(gatedRange(x, -0.309))},
    {"softplus", false, MPC_RISING(softplus(x))},
    {"elu", false, nullptr, eluRange},
    {"leaky_relu", true, nullptr, leakyReluRange},
    {"thresholded_relu", true, MPC_RANGE(gatedRange(x, -kInfinity))},
    {"hard_sigmoid", true, nullptr, hardSigmoidRange},
    {"hard_swish", false, MPC_RANGE(gatedRange(x, -0.375))},
    {"shrink", true, nullptr, shrinkRange},
};
#undef MPC_RISING
#undef MPC_RANGE

NumberRange mpc::train::rangeOfFunction(Operation *op,
                                        const NumberRange &input) {
  static const auto index = [] {
    llvm::StringMap<const FunctionRange *> names;
    for (const FunctionRange &row : ranges)
      names[row.name] = &row;
    return names;
  }();
  const FunctionRange *row = index.lookup(op->getName().stripDialect());
  if (!row)
    return NumberRange();
  SmallVector<double> parameters = parametersOf(op);
  NumberRange range = row->range ? row->range(input, parameters).withoutRows()
                                 : amp::monotonic(input, [&](double x) {
                                     return row->rising(x, parameters);
                                   });
  return row->isExact ? range : amp::withRoundingError(range);
}
