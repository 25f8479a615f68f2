//===- RecognizeAttention.cpp - Recognize decomposed attention ------------===//
//
// Implements mpc-recognize-attention. The match starts at the last product and
// walks up; nothing is changed before the whole pattern is matched.
//
//===----------------------------------------------------------------------===//

#include "passes/Graph/Match.h"
#include "passes/Graph/Passes.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

namespace mpc {
#define GEN_PASS_DEF_RECOGNIZEATTENTIONPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// If `value` is a tensor times a number, returns the tensor and sets `*factor`
/// to the number; else returns null.
static Value multipleOf(Value value, double *factor) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_present<train::MulOp, train::DivOp>(op))
    return nullptr;
  double number;
  Value other = besideNumber(op, &number);
  bool divides = isa<train::DivOp>(op);
  if (!other || (divides && other != op->getOperand(0)))
    return nullptr;
  *factor = divides ? 1 / number : number;
  return std::isfinite(*factor) && *factor != 0 ? other : nullptr;
}

/// Removes constant factors from `value` and multiplies `*scale` by them; with
/// `alone`, only factors whose product has no other use.
static Value stripScale(Value value, double *scale, bool alone) {
  double factor;
  while (Value of = multipleOf(value, &factor)) {
    if (alone && !value.hasOneUse())
      break;
    *scale *= factor;
    value = of;
  }
  return value;
}

/// The elements of a constant of type T, however it is stored; empty for other
/// constants.
template <typename T, typename Resource>
static SmallVector<T> elementsOf(Value value) {
  auto constant = value.getDefiningOp<train::ConstantOp>();
  if (!constant)
    return {};
  if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
    if (auto values = dense.tryGetValues<T>(); succeeded(values))
      return llvm::to_vector(*values);
  if (auto resource = dyn_cast<Resource>(constant.getValue()))
    if (auto values = resource.tryGetAsArrayRef())
      return SmallVector<T>(*values);
  return {};
}

/// Returns true if `mask` is a constant with one matrix whose elements satisfy
/// `isRight(element, whether query i sees key j)`.
template <typename T, typename Resource, typename Predicate>
static bool isCausal(Value mask, int64_t queries, int64_t keys,
                     Predicate isRight) {
  ArrayRef<int64_t> shape = shapeOf(mask);
  if (shape.size() < 2 || shape.back() != keys ||
      shape[shape.size() - 2] != queries)
    return false;
  SmallVector<T> values = elementsOf<T, Resource>(mask);
  if (int64_t(values.size()) != queries * keys)
    return false;
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j)
      if (!isRight(values[i * keys + j], j <= i))
        return false;
  return true;
}

/// Whether adding `number` to a score makes its exponential zero in f32.
static bool hides(double number) { return number <= -1e9; }

/// If `masked` is scores with a causal mask (query i sees exactly the keys 0 to
/// i), returns the scores; else null.
static Value causallyMasked(Value masked) {
  ArrayRef<int64_t> shape = shapeOf(masked);
  int64_t queries = shape[shape.size() - 2], keys = shape.back();
  if (auto add = masked.getDefiningOp<train::AddOp>())
    for (auto [scores, mask] : {std::pair(add.getLhs(), add.getRhs()),
                                std::pair(add.getRhs(), add.getLhs())})
      if (scores.getType() == masked.getType() &&
          isCausal<float, DenseF32ResourceElementsAttr>(
              mask, queries, keys, [](float value, bool isSeen) {
                return isSeen ? value == 0 : hides(value);
              }))
        return scores;
  auto select = masked.getDefiningOp<train::SelectOp>();
  if (!select)
    return nullptr;
  // Visible scores may be the operand for true or for false.
  for (bool seen : {true, false}) {
    Value scores = seen ? select.getOnTrue() : select.getOnFalse();
    auto hidden = numberOf(seen ? select.getOnFalse() : select.getOnTrue());
    if (scores.getType() == masked.getType() && hidden && hides(*hidden) &&
        isCausal<bool, DenseBoolResourceElementsAttr>(
            select.getCondition(), queries, keys,
            [&](bool value, bool isSeen) { return value == (isSeen == seen); }))
      return scores;
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Pattern
//===----------------------------------------------------------------------===//

namespace {

/// A right operand of a product in the layout of attention: `value`, or its
/// transpose by `permutation`.
struct Rows {
  Value value;
  SmallVector<int64_t> permutation;

  /// The shape after the transpose.
  SmallVector<int64_t> shape() const {
    SmallVector<int64_t> result;
    for (int64_t dim : permutation)
      result.push_back(shapeOf(value)[dim]);
    return result;
  }
  Value build(RewriterBase &rewriter, Location loc) const {
    if (llvm::is_sorted(permutation))
      return value;
    return train::TransposeOp::create(rewriter, loc, value, permutation);
  }
};

} // namespace

/// `factor`, or with `exchange` its transposed matrices, after looking through
/// a transpose and constant factors.
static Rows rowsOf(Value factor, bool exchange, double *scale) {
  Rows rows{scale ? stripScale(factor, scale, /*alone=*/false) : factor, {}};
  size_t rank = shapeOf(factor).size();
  rows.permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (auto transpose = rows.value.getDefiningOp<train::TransposeOp>()) {
    rows.permutation = llvm::to_vector(transpose.getPermutation());
    rows.value = transpose.getInput();
    if (scale)
      rows.value = stripScale(rows.value, scale, /*alone=*/false);
  }
  if (exchange)
    std::swap(rows.permutation[rank - 1], rows.permutation[rank - 2]);
  return rows;
}

/// [batch, rows, columns] as [batch, 1, rows, columns].
static Value addHead(RewriterBase &rewriter, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() == 4)
    return value;
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin() + 1, 1);
  return train::ReshapeOp::create(rewriter, loc, type.clone(shape), value);
}

namespace {

struct RecognizeAttention : OpRewritePattern<train::MatmulOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(train::MatmulOp product,
                                PatternRewriter &rewriter) const override {
    auto fail = [&](const char *why) {
      return rewriter.notifyMatchFailure(product, why);
    };
    auto softmax = product.getLhs().getDefiningOp<train::SoftmaxOp>();
    if (!softmax || product.getTransposeLhs())
      return fail("the left factor is no softmax");
    ArrayRef<int64_t> scoreShape = shapeOf(softmax.getResult());
    size_t rank = scoreShape.size();
    if (rank < 3 || rank > 4 || shapeOf(product.getRhs()).size() != rank)
      return fail("factors have neither 3 nor 4 dimensions");
    if (softmax.getAxis() != rank - 1)
      return fail("the softmax is not along the keys");
    if (!softmax->hasOneUse())
      return fail("the probabilities are used elsewhere");

    Value scores = softmax.getInput();
    Value masked = causallyMasked(scores);
    if (masked && !scores.hasOneUse())
      return fail("the masked scores are used elsewhere");
    if (masked)
      scores = masked;
    double scale = 1;
    scores = stripScale(scores, &scale, /*alone=*/true);
    auto inner = scores.getDefiningOp<train::MatmulOp>();
    if (!inner || inner.getTransposeLhs())
      return fail("the scores are no product, or more than scaled and masked");
    if (!inner->hasOneUse())
      return fail("the scores are used elsewhere");
    if (shapeOf(inner.getLhs()).size() != rank ||
        shapeOf(inner.getRhs()).size() != rank)
      return fail("factors of the scores have other ranks");

    Value query = stripScale(inner.getLhs(), &scale, /*alone=*/false);
    Rows key = rowsOf(inner.getRhs(), !inner.getTransposeRhs(), &scale);
    Rows value = rowsOf(product.getRhs(), product.getTransposeRhs(), nullptr);
    ArrayRef<int64_t> batch = shapeOf(query).drop_back(2);
    if (batch != ArrayRef(key.shape()).drop_back(2) ||
        batch != ArrayRef(value.shape()).drop_back(2))
      return fail("heads are broadcast");
    float narrow = scale;
    bool isDouble = getElementTypeOrSelf(query.getType()).isF64();
    if (!std::isfinite(narrow) || (isDouble && narrow != scale))
      return fail("the scale is no f32");

    // Reports name the node of the last.
    Location loc = rewriter.getFusedLoc(
        {product.getLoc(), softmax.getLoc(), inner.getLoc()});
    auto attention = train::AttentionOp::create(
        rewriter, loc, addHead(rewriter, loc, query),
        addHead(rewriter, loc, key.build(rewriter, loc)),
        addHead(rewriter, loc, value.build(rewriter, loc)),
        rewriter.getF32FloatAttr(narrow),
        masked ? rewriter.getUnitAttr() : UnitAttr());
    Value result = attention.getResult();
    if (rank == 3)
      result =
          train::ReshapeOp::create(rewriter, loc, product.getType(), result);
    rewriter.replaceOp(product, result);
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

struct RecognizeAttentionPass
    : mpc::impl::RecognizeAttentionPassBase<RecognizeAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<RecognizeAttention>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
