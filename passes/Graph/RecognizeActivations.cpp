//===- RecognizeActivations.cpp - Recognize decomposed activations --------===//
//
// Implements mpc-recognize-activations. Most activations are products of x, a
// nonlinear factor and a number; Product finds the factors in any
// order.
//
//===----------------------------------------------------------------------===//

#include "passes/Graph/Match.h"
#include "passes/Graph/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <array>
#include <cmath>

namespace mpc {
#define GEN_PASS_DEF_RECOGNIZEACTIVATIONSPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Polynomials
//===----------------------------------------------------------------------===//

/// The coefficients of x^0 to x^3.
using Cubic = std::array<double, 4>;

static std::optional<Cubic> multiply(const Cubic &lhs, const Cubic &rhs) {
  Cubic result = {};
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned j = 0; j < 4; ++j) {
      if (i + j < 4)
        result[i + j] += lhs[i] * rhs[j];
      else if (lhs[i] != 0 && rhs[j] != 0)
        return std::nullopt;
    }
  return result;
}

/// `value` as a polynomial of `x`; searches no deeper than activations need.
static std::optional<Cubic> cubicOf(Value value, Value x, Parts &parts,
                                    unsigned depth = 6) {
  if (value == x)
    return Cubic{0, 1, 0, 0};
  if (std::optional<double> number = numberOf(value))
    return Cubic{*number, 0, 0, 0};
  Operation *op = value.getDefiningOp();
  if (depth == 0 || value.getType() != x.getType() ||
      !isa_and_present<train::AddOp, train::SubOp, train::MulOp, train::DivOp>(
          op))
    return std::nullopt;
  parts.add(op);
  std::optional<Cubic> lhs = cubicOf(op->getOperand(0), x, parts, depth - 1);
  std::optional<Cubic> rhs = cubicOf(op->getOperand(1), x, parts, depth - 1);
  if (!lhs || !rhs)
    return std::nullopt;
  if (isa<train::MulOp>(op))
    return multiply(*lhs, *rhs);
  if (isa<train::DivOp>(op)) {
    if ((*rhs)[0] == 0 || (*rhs)[1] != 0 || (*rhs)[2] != 0 || (*rhs)[3] != 0)
      return std::nullopt;
    return multiply(*lhs, {1 / (*rhs)[0], 0, 0, 0});
  }
  double sign = isa<train::SubOp>(op) ? -1 : 1;
  for (unsigned i = 0; i < 4; ++i)
    (*lhs)[i] += sign * (*rhs)[i];
  return lhs;
}

/// Whether `value` equals the polynomial `wanted` of `x`.
static bool isCubic(Value value, Value x, const Cubic &wanted, Parts &parts) {
  std::optional<Cubic> found = cubicOf(value, x, parts);
  if (!found)
    return false;
  for (unsigned i = 0; i < 4; ++i)
    if (!isNear((*found)[i], wanted[i], x))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

namespace {

/// A match: `scale` times the product is an activation of `x`.
struct Activation {
  Value x;
  double scale;
  StringRef op;
  SmallVector<NamedAttribute> attributes = {};
};

} // namespace

static NamedAttribute number(Value x, StringRef name, double value) {
  Builder builder(x.getContext());
  return builder.getNamedAttr(name, builder.getF64FloatAttr(value));
}

static bool isRelu6(train::ClipOp clip) {
  return clip && clip.getLow().isZero() &&
         clip.getHigh().convertToDouble() == 6;
}

/// x (1 + f(x)), where f is erf or tanh: twice a gelu.
static std::optional<Activation> matchGelu(Value x, Value nonlinear,
                                           Parts &parts) {
  auto add = parts.take<train::AddOp>(nonlinear);
  double one;
  Value inner = add ? besideNumber(add, &one) : Value();
  if (!inner || one != 1)
    return std::nullopt;
  if (auto erf = parts.take<train::ErfOp>(inner)) {
    if (!isCubic(erf.getInput(), x, {0, M_SQRT1_2, 0, 0}, parts))
      return std::nullopt;
    return Activation{x, 0.5, "train.gelu"};
  }
  constexpr double slope = M_SQRT1_2 * M_2_SQRTPI; // The root of 2/pi.
  auto tanh = parts.take<train::TanhOp>(inner);
  if (!tanh ||
      !isCubic(tanh.getInput(), x, {0, slope, 0, slope * 0.044715}, parts))
    return std::nullopt;
  Builder builder(x.getContext());
  return Activation{
      x,
      0.5,
      "train.gelu",
      {builder.getNamedAttr("approximate", builder.getUnitAttr())}};
}

/// x sigmoid(alpha x).
static std::optional<Activation> matchSilu(Value x, train::SigmoidOp sigmoid,
                                           Parts &parts) {
  std::optional<Cubic> inner = cubicOf(sigmoid.getInput(), x, parts);
  if (!inner)
    return std::nullopt;
  double alpha = (*inner)[1];
  if (*inner != Cubic{0, alpha, 0, 0} || alpha == 0 || !std::isfinite(alpha))
    return std::nullopt;
  return Activation{x, 1, "train.silu", {number(x, "alpha", alpha)}};
}

/// Matches the product of `x` and `nonlinear`.
static std::optional<Activation> matchProduct(Value x, Value nonlinear,
                                              Parts &parts) {
  if (auto sigmoid = parts.take<train::SigmoidOp>(nonlinear))
    return matchSilu(x, sigmoid, parts);
  if (auto tanh = parts.take<train::TanhOp>(nonlinear)) {
    auto softplus = parts.take<train::SoftplusOp>(tanh.getInput());
    if (softplus && softplus.getInput() == x)
      return Activation{x, 1, "train.mish"};
    return std::nullopt;
  }
  if (auto hard = parts.take<train::HardSigmoidOp>(nonlinear)) {
    if (hard.getInput() == x &&
        isNear(hard.getAlpha().convertToDouble(), 1.0 / 6, x) &&
        isNear(hard.getBeta().convertToDouble(), 0.5, x))
      return Activation{x, 1, "train.hard_swish"};
    return std::nullopt;
  }
  if (auto clip = parts.take<train::ClipOp>(nonlinear)) {
    if (isRelu6(clip) && isCubic(clip.getInput(), x, {3, 1, 0, 0}, parts))
      return Activation{x, 1.0 / 6, "train.hard_swish"};
    return std::nullopt;
  }
  return matchGelu(x, nonlinear, parts);
}

/// Matches `nonlinear` alone, times a number.
static std::optional<Activation> matchFactor(Value nonlinear, Parts &parts) {
  auto clip = parts.take<train::ClipOp>(nonlinear);
  auto add = isRelu6(clip) ? parts.take<train::AddOp>(clip.getInput())
                           : train::AddOp();
  double three;
  Value x = add ? besideNumber(add, &three) : Value();
  if (!x || three != 3)
    return std::nullopt;
  return Activation{x,
                    1.0 / 6,
                    "train.hard_sigmoid",
                    {number(x, "alpha", 1.0 / 6), number(x, "beta", 0.5)}};
}

//===----------------------------------------------------------------------===//
// Pattern
//===----------------------------------------------------------------------===//

/// Replaces the last part by the activation, times the factors `left` of the
/// product; returns false if that is not allowed.
static bool replace(const std::optional<Activation> &found, const Parts &parts,
                    Product left, PatternRewriter &rewriter) {
  if (!found || parts.areUsedElsewhere(found->x))
    return false;
  // This number belongs to the activation; any other number scales its result.
  if (found->scale != 1) {
    if (!isNear(left.number, found->scale, found->x))
      return false;
    left.number = 1;
  }
  Location loc = parts.getLoc();
  OperationState state(loc, found->op, found->x, found->x.getType(),
                       found->attributes);
  Value result = rewriter.create(state)->getResult(0);
  rewriter.replaceOp(parts.last(), left.multiply(rewriter, loc, result));
  return true;
}

namespace {

template <typename OpTy> struct RecognizeActivation : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy last,
                                PatternRewriter &rewriter) const override {
    Parts whole(last);
    Product product = Product::of(whole);
    for (Value nonlinear : product.factors) {
      Product others = product;
      others.drop(nonlinear);
      for (Value x : others.factors) {
        Parts parts = whole;
        Product left = others;
        left.drop(x);
        if (x.getType() == nonlinear.getType() &&
            replace(matchProduct(x, nonlinear, parts), parts, left, rewriter))
          return success();
      }
      Parts parts = whole;
      if (replace(matchFactor(nonlinear, parts), parts, others, rewriter))
        return success();
    }
    return rewriter.notifyMatchFailure(
        last, "no activation, or parts of one are used elsewhere");
  }
};

/// log(sigmoid(x)), as PyTorch's older exporter writes `logsigmoid`, becomes
/// -softplus(-x): below -88 the sigmoid has no normal f32.
struct RecognizeLogSigmoid : OpRewritePattern<train::LogOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(train::LogOp log,
                                PatternRewriter &rewriter) const override {
    auto sigmoid = log.getInput().getDefiningOp<train::SigmoidOp>();
    if (!sigmoid)
      return rewriter.notifyMatchFailure(log, "not of a sigmoid");
    Location loc = log.getLoc();
    Value opposite = train::NegOp::create(rewriter, loc, sigmoid.getInput());
    Value softplus = train::SoftplusOp::create(rewriter, loc, opposite);
    rewriter.replaceOpWithNewOp<train::NegOp>(log, softplus);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

struct RecognizeActivationsPass
    : mpc::impl::RecognizeActivationsPassBase<RecognizeActivationsPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RecognizeActivation<train::MulOp>,
                 RecognizeActivation<train::DivOp>, RecognizeLogSigmoid>(
        &getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
