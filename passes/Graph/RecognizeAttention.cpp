//===- RecognizeAttention.cpp - Recognize decomposed attention ------------===//
//
// Implements mpc-recognize-attention. The match starts at the last product and
// walks up; nothing is changed before the whole pattern is matched.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"
#include "compiler/Support/Notes.h"
#include "passes/Graph/AttentionBiases.h"
#include "passes/Graph/AttentionHeads.h"
#include "passes/Graph/AttentionScores.h"
#include "passes/Graph/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"

#include <cmath>

namespace mpc {
#define GEN_PASS_DEF_RECOGNIZEATTENTIONPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Probabilities
//===----------------------------------------------------------------------===//

/// If `value` is PyTorch's guard, p with 0 in place of NaN, returns p. The rows
/// it changes are fully masked ones, which attention makes 0 itself, and those
/// with a score that is NaN or infinite. Attention leaves the latter NaN, which
/// is a difference in the forward pass only: the gradient of the softmax, NaN
/// times 0, is NaN there with the guard, too.
static Value beforeGuard(Value value) {
  auto select = value.getDefiningOp<train::SelectOp>();
  if (!select)
    return nullptr;
  Value condition = select.getCondition();
  Value numbers = select.getOnTrue(), others = select.getOnFalse();
  if (auto negation = condition.getDefiningOp<train::NotOp>()) {
    condition = negation.getInput();
    std::swap(numbers, others);
  }
  auto compare = condition.getDefiningOp<train::CompareOp>();
  std::optional<double> zero = numberOf(others);
  if (!compare || compare.getComparison() != train::Comparison::Equal ||
      compare.getLhs() != numbers || compare.getRhs() != numbers || !zero ||
      *zero != 0 || numbers.getType() != value.getType())
    return nullptr;
  for (Operation *user : numbers.getUsers())
    if (user != select && user != compare)
      return nullptr;
  return numbers;
}

/// The softmax that computes the left factor of a product, perhaps guarded and
/// reshaped, or rounded as models in 16 bit do after a softmax in f32:
/// attention rounds probabilities to the format of its operands. Null if there
/// is none; sets `*why` if it cannot be used, and `*dropout` if there is one in
/// between.
static train::SoftmaxOp softmaxOf(train::MatmulOp product,
                                  train::DropoutOp *dropout, StringRef *why) {
  Value value = product.getLhs();
  bool isAlone = true, isGuarded = false;
  StringRef between;
  while (true) {
    isAlone &= isGuarded || value.hasOneUse();
    if (auto softmax = value.getDefiningOp<train::SoftmaxOp>()) {
      size_t rank = shapeOf(value).size();
      if (rank < 3 || softmax.getAxis() != rank - 1)
        *why = "the softmax is not along the keys of heads";
      else if (!between.empty())
        *why = between;
      else if (!isAlone)
        *why = "probabilities are used elsewhere";
      return softmax;
    }
    Value guarded = beforeGuard(value);
    isGuarded = bool(guarded);
    Operation *op = value.getDefiningOp();
    if (guarded) {
      value = guarded;
    } else if (auto reshape = dyn_cast_or_null<train::ReshapeOp>(op)) {
      value = beforeReshape(reshape);
    } else if (isa_and_present<train::RoundToOp>(op)) {
      value = op->getOperand(0);
    } else if (auto drops = dyn_cast_or_null<train::DropoutOp>(op)) {
      if (*dropout)
        between = "probabilities have several dropouts";
      *dropout = drops;
      value = op->getOperand(0);
    } else {
      return nullptr;
    }
    if (!value)
      return nullptr;
  }
}

//===----------------------------------------------------------------------===//
// Pattern
//===----------------------------------------------------------------------===//

namespace {

/// The parts of attention.
struct Attention {
  Attention(ArrayRef<int64_t> scores, SymbolTable &symbols)
      : scores(scores), biases(scores, symbols) {}

  train::SoftmaxOp softmax;
  train::DropoutOp dropout; ///< Null if there is none.
  train::MatmulOp inner;
  SmallVector<int64_t> scores; ///< [batch, heads, queries, keys].
  Rows query, key, value;
  float scale = 1, softcap = 0; ///< No cap if 0.
  AttentionBiases biases;
};

} // namespace

/// The extents of scores as [batch, heads, queries, keys], taken from the first
/// of these values that has more than one leading dimension.
static SmallVector<int64_t> extentsOf(ArrayRef<Value> values) {
  ArrayRef<int64_t> shape = shapeOf(values.front());
  for (Value value : values)
    if (shapeOf(value).size() > 3) {
      shape = shapeOf(value);
      break;
    }
  int64_t heads = ShapedType::getNumElements(shape.drop_back(2).drop_front());
  SmallVector<int64_t> result{shape.front(), heads};
  llvm::append_range(result, shapeOf(values.front()).take_back(2));
  return result;
}

/// Returns what attention would replace `product`. Nothing if it has no softmax
/// or, with a reason in `*why`, if there is no equivalent attention.
static std::optional<Attention> match(train::MatmulOp product,
                                      SymbolTable &symbols, StringRef *why) {
  if (product.getTransposeLhs())
    return std::nullopt;
  train::DropoutOp dropout;
  train::SoftmaxOp softmax = softmaxOf(product, &dropout, why);
  if (!softmax || !why->empty())
    return std::nullopt;
  std::optional<Scores> scores = readScores(softmax.getInput(), why);
  if (!scores)
    return std::nullopt;
  train::MatmulOp inner = scores->product;
  Attention result(
      extentsOf({softmax.getResult(), product.getLhs(), inner.getResult()}),
      symbols);
  result.softmax = softmax;
  result.dropout = dropout;
  result.inner = inner;

  auto leading = [](Value value) { return shapeOf(value).drop_back(2); };
  size_t innerRank = shapeOf(inner.getResult()).size();
  if (innerRank < 3 || shapeOf(inner.getLhs()).size() != innerRank ||
      shapeOf(inner.getRhs()).size() != innerRank ||
      shapeOf(product.getRhs()).size() != shapeOf(product.getLhs()).size()) {
    *why = "factors of the products have different ranks";
    return std::nullopt;
  }
  double scale = scores->scale;
  result.query = Rows::of(inner.getLhs(), inner.getTransposeLhs(), &scale,
                          /*mayRepeat=*/false, leading(inner.getResult()));
  result.key = Rows::of(inner.getRhs(), !inner.getTransposeRhs(), &scale,
                        /*mayRepeat=*/true, leading(inner.getResult()));
  result.value = Rows::of(product.getRhs(), product.getTransposeRhs(), nullptr,
                          /*mayRepeat=*/true, leading(product.getResult()));
  int64_t heads = result.scores[0] * result.scores[1];
  int64_t repeats = result.key.getRepeats();
  if (result.query.countHeads() != heads ||
      result.key.countHeads() * repeats != heads ||
      result.value.countHeads() * repeats != heads ||
      result.value.getRepeats() != repeats || result.scores[1] % repeats != 0) {
    *why = "queries, keys and values have different heads";
    return std::nullopt;
  }
  result.scale = scale;
  result.softcap = scores->softcap;
  bool isDouble = getElementTypeOrSelf(product.getType()).isF64();
  if (!std::isfinite(result.scale) || (isDouble && result.scale != scale)) {
    *why = "the scale is not an f32";
    return std::nullopt;
  }
  if (scores->softcap != 0 &&
      (!std::isnormal(result.softcap) ||
       (isDouble && result.softcap != scores->softcap))) {
    *why = "the soft cap (tanh) is not a normal f32";
    return std::nullopt;
  }
  if (!result.biases.read(scores->terms, why))
    return std::nullopt;
  return result;
}

namespace {

struct RecognizeAttention : OpRewritePattern<train::MatmulOp> {
  RecognizeAttention(MLIRContext *context, SymbolTable &symbols)
      : OpRewritePattern(context), symbols(symbols) {}

  LogicalResult matchAndRewrite(train::MatmulOp product,
                                PatternRewriter &rewriter) const override {
    StringRef why;
    std::optional<Attention> found = match(product, symbols, &why);
    if (!found)
      return rewriter.notifyMatchFailure(
          product,
          why.empty() ? StringRef("the left factor is no softmax") : why);
    // Reports name the node of the last.
    Location loc = rewriter.getFusedLoc(
        {product.getLoc(), found->softmax.getLoc(), found->inner.getLoc()});
    int64_t batch = found->scores[0];
    Type element = getElementTypeOrSelf(product.getType());
    Value query = found->query.build(rewriter, loc, batch);
    SmallVector<Value> biases = found->biases.build(
        rewriter, loc,
        element.isF64() ? cast<FloatType>(element) : rewriter.getF32Type(),
        &query);
    auto attention = train::AttentionOp::create(
        rewriter, loc, query, found->key.build(rewriter, loc, batch),
        found->value.build(rewriter, loc, batch), biases,
        rewriter.getF32FloatAttr(found->scale),
        found->biases.isCausal() ? rewriter.getUnitAttr() : UnitAttr(),
        /*bshd=*/UnitAttr(),
        found->dropout ? found->dropout.getRatioAttr() : FloatAttr(),
        found->softcap != 0 ? rewriter.getF32FloatAttr(found->softcap)
                            : FloatAttr(),
        found->biases.isReplacing()
            ? rewriter.getI64IntegerAttr(biases.size() - 1)
            : IntegerAttr());
    rewriter.replaceOp(product,
                       train::reshapeTo(rewriter, loc, attention.getResult(),
                                        shapeOf(product.getResult())));
    return success();
  }

  SymbolTable &symbols;
};

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

struct RecognizeAttentionPass
    : mpc::impl::RecognizeAttentionPassBase<RecognizeAttentionPass> {
  using Base::Base;

  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    RewritePatternSet patterns(&getContext());
    patterns.add<RecognizeAttention>(&getContext(), symbols);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();

    // Nodes by the reason why they are not attention.
    llvm::MapVector<StringRef, llvm::SetVector<StringRef>> missed;
    getOperation().walk([&](train::MatmulOp product) {
      StringRef why;
      (void)match(product, symbols, &why);
      if (!why.empty())
        missed[why].insert(nodeName(product.getLoc()));
    });
    for (const auto &[why, nodes] : missed)
      addNote(getOperation(),
              "product '" + nodes.front() + "'" +
                  (nodes.size() > 1
                       ? " and " + Twine(nodes.size() - 1) + " more"
                       : "") +
                  " of a softmax: attention not recognised, so scores are "
                  "stored: " +
                  why);
  }
};

} // namespace
