//===- RecognizeNorms.cpp - Recognize decomposed norms --------------------===//
//
// Implements mpc-recognize-norms. A norm without scale is the product of the
// normalized value and the inverse of its deviation; scale and bias are added
// later, each by a pattern of its own.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "passes/Graph/Match.h"
#include "passes/Graph/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

namespace mpc {
#define GEN_PASS_DEF_RECOGNIZENORMSPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Statistics
//===----------------------------------------------------------------------===//

/// Looks through reshapes of `value`.
static Value withoutReshapes(Value value, Parts &parts) {
  while (auto reshape = parts.take<train::ReshapeOp>(value))
    value = reshape.getInput();
  return value;
}

/// If `value`, up to its shape, is a mean over the dimensions from `*axis` on,
/// returns the averaged value; else null.
static Value meanOf(Value value, int64_t *axis, Parts &parts) {
  value = withoutReshapes(value, parts);
  Value input;
  ArrayRef<int64_t> axes;
  if (auto mean = parts.take<train::ReduceMeanOp>(value)) {
    input = mean.getInput(), axes = mean.getAxes();
  } else if (auto div = parts.take<train::DivOp>(value)) {
    std::optional<double> count = numberOf(div.getRhs());
    auto sum =
        parts.take<train::ReduceSumOp>(withoutReshapes(div.getLhs(), parts));
    if (!count || !sum || div.getLhs().getType() != div.getType() ||
        *count * sum.getType().getNumElements() !=
            sum.getInput().getType().getNumElements())
      return nullptr;
    input = sum.getInput(), axes = sum.getAxes();
  }
  if (axes.empty())
    return nullptr;
  *axis = shapeOf(input).size() - axes.size();
  // Axes are sorted and distinct.
  return axes.front() == *axis ? input : Value();
}

/// Whether `value` has one number for each row of `input` (dimensions from
/// `axis` on), in broadcastable shape.
static bool standsForRows(Value value, Value input, int64_t axis) {
  SmallVector<int64_t> shape(shapeOf(input).take_front(axis));
  shape.resize(shapeOf(input).size(), 1);
  return shapeOf(value) == ArrayRef(shape);
}

/// If `value` is x minus its mean over the dimensions from `axis` on, returns
/// x; else null.
static Value centredFrom(Value value, int64_t axis, Parts &parts) {
  auto sub = parts.take<train::SubOp>(value);
  int64_t meanAxis;
  if (!sub || meanOf(sub.getRhs(), &meanAxis, parts) != sub.getLhs() ||
      meanAxis != axis || !standsForRows(sub.getRhs(), sub.getLhs(), axis))
    return nullptr;
  return sub.getLhs();
}

namespace {

/// sqrt(mean(squared^2) + epsilon) over the dimensions from `axis` on.
struct Deviation {
  Value squared;
  int64_t axis;
  float epsilon;
};

/// A norm of `input` without scale.
struct Norm {
  Value input;
  bool isCentred;
};

} // namespace

static std::optional<Deviation> matchDeviation(Value value, Parts &parts) {
  auto root = parts.take<train::SqrtOp>(withoutReshapes(value, parts));
  auto add =
      root ? parts.take<train::AddOp>(withoutReshapes(root.getInput(), parts))
           : train::AddOp();
  double epsilon;
  Value mean = add ? besideNumber(add, &epsilon) : Value();
  int64_t axis;
  Value square = mean ? meanOf(mean, &axis, parts) : Value();
  auto mul = square ? parts.take<train::MulOp>(square) : train::MulOp();
  if (!mul || mul.getLhs() != mul.getRhs() ||
      !standsForRows(value, square, axis))
    return std::nullopt;
  // The op stores epsilon as an f32.
  float narrow = epsilon;
  bool isDouble = getElementTypeOrSelf(value.getType()).isF64();
  if (!std::isfinite(narrow) || (isDouble && narrow != epsilon))
    return std::nullopt;
  return Deviation{mul.getLhs(), axis, narrow};
}

/// Matches `factor` divided by the deviation as a norm. The squared value may
/// have been centred separately.
static std::optional<Norm> matchNorm(Value factor, const Deviation &deviation,
                                     Parts &parts) {
  Parts centred = parts;
  Value input = centredFrom(factor, deviation.axis, centred);
  if (input &&
      (factor == deviation.squared ||
       centredFrom(deviation.squared, deviation.axis, centred) == input) &&
      !centred.areUsedElsewhere(input)) {
    parts = centred;
    return Norm{input, true};
  }
  if (factor != deviation.squared || parts.areUsedElsewhere(factor))
    return std::nullopt;
  return Norm{factor, false};
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {

template <typename OpTy> struct RecognizeNorm : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy last,
                                PatternRewriter &rewriter) const override {
    Parts whole(last);
    Product product = Product::of(whole);
    for (Value divisor : product.divisors) {
      Parts withDeviation = whole;
      auto deviation = matchDeviation(divisor, withDeviation);
      if (!deviation)
        continue;
      for (Value factor : product.factors) {
        Parts parts = withDeviation;
        auto norm = matchNorm(factor, *deviation, parts);
        if (!norm)
          continue;
        product.drop(factor);
        product.dropDivisor(divisor);
        Location loc = parts.getLoc();
        Value result = build(*norm, *deviation, loc, rewriter);
        rewriter.replaceOp(last, product.multiply(rewriter, loc, result));
        return success();
      }
    }
    return rewriter.notifyMatchFailure(
        last, "no norm, or parts of one are used elsewhere");
  }

private:
  static Value build(const Norm &norm, const Deviation &deviation, Location loc,
                     PatternRewriter &rewriter) {
    auto type = cast<RankedTensorType>(norm.input.getType());
    type = type.clone(type.getShape().drop_front(deviation.axis));
    Attribute one = rewriter.getFloatAttr(type.getElementType(), 1);
    Value scale = train::ConstantOp::create(rewriter, loc,
                                            DenseElementsAttr::get(type, one));
    auto axis = rewriter.getI64IntegerAttr(deviation.axis);
    auto epsilon = rewriter.getF32FloatAttr(deviation.epsilon);
    if (norm.isCentred)
      return train::LayerNormOp::create(rewriter, loc, norm.input, scale,
                                        /*bias=*/Value(), axis, epsilon)
          .getResult();
    return train::RmsNormOp::create(rewriter, loc, norm.input, scale, axis,
                                    epsilon)
        .getResult();
  }
};

} // namespace

/// Returns true if the binary `op` combines a norm, its operand `index`, with a
/// tensor of the normalized shape, and the norm has no bias and no other use.
template <typename NormTy>
static bool joins(Operation *op, unsigned index, NormTy norm) {
  if (!norm || norm.getResult() != op->getOperand(index) ||
      !norm->hasOneUse() || norm->getNumOperands() != 2 ||
      norm.getResult().getType() != op->getResult(0).getType())
    return false;
  ArrayRef<int64_t> wanted = shapeOf(norm.getScale()),
                    shape = shapeOf(op->getOperand(1 - index));
  return shape.size() >= wanted.size() &&
         shape.take_back(wanted.size()) == wanted &&
         llvm::all_of(shape.drop_back(wanted.size()),
                      [](int64_t extent) { return extent == 1; });
}

/// Replaces `op` by its operand `index`, a norm, which takes the other operand
/// of `op` as the operand that `operandOf` selects.
template <typename NormTy>
static void join(Operation *op, unsigned index, NormTy norm,
                 RewriterBase &rewriter,
                 function_ref<MutableOperandRange(NormTy)> operandOf) {
  Location loc = rewriter.getFusedLoc({op->getLoc(), norm.getLoc()});
  Value joined = train::reshapeTo(rewriter, loc, op->getOperand(1 - index),
                                  shapeOf(norm.getScale()));
  // Move the norm here, because the operand may be defined after it.
  auto moved = cast<NormTy>(rewriter.clone(*norm));
  rewriter.modifyOpInPlace(moved, [&] {
    moved->setLoc(loc);
    operandOf(moved).assign(joined);
  });
  rewriter.replaceOp(op, moved.getResult());
}

namespace {

/// norm(x) w, where the norm is scaled by ones: w is its scale.
template <typename NormTy> struct JoinScale : OpRewritePattern<train::MulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(train::MulOp mul,
                                PatternRewriter &rewriter) const override {
    for (unsigned index : {0, 1}) {
      auto norm = mul->getOperand(index).getDefiningOp<NormTy>();
      if (!joins(mul, index, norm) || numberOf(norm.getScale()) != 1.0)
        continue;
      join<NormTy>(mul, index, norm, rewriter, [](NormTy moved) {
        return MutableOperandRange(moved.getScaleMutable());
      });
      return success();
    }
    return rewriter.notifyMatchFailure(mul, "no scale of a norm without one");
  }
};

/// norm(x) + b, where the norm has no bias.
struct JoinBias : OpRewritePattern<train::AddOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(train::AddOp add,
                                PatternRewriter &rewriter) const override {
    for (unsigned index : {0, 1}) {
      auto norm = add->getOperand(index).getDefiningOp<train::LayerNormOp>();
      if (!joins(add, index, norm))
        continue;
      join<train::LayerNormOp>(
          add, index, norm, rewriter,
          [](train::LayerNormOp moved) { return moved.getBiasMutable(); });
      return success();
    }
    return rewriter.notifyMatchFailure(add, "no bias of a norm without one");
  }
};

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

struct RecognizeNormsPass
    : mpc::impl::RecognizeNormsPassBase<RecognizeNormsPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RecognizeNorm<train::MulOp>, RecognizeNorm<train::DivOp>,
                 JoinScale<train::LayerNormOp>, JoinScale<train::RmsNormOp>,
                 JoinBias>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
