//===- UseChannelsLast.cpp - Convert images to channels last --------------===//
//
// Implements mpc-use-channels-last. Layout ops are switched one by one, each
// between two transposes; after that only transposes need to be optimized. They
// only move down, towards the results, so the rewriting terminates.
//
//===----------------------------------------------------------------------===//

#include "passes/Graph/Match.h"
#include "passes/Graph/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-use-channels-last"

namespace mpc {
#define GEN_PASS_DEF_USECHANNELSLASTPASS
#include "passes/Graph/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

/// The permutation of `train.transpose` from channels first to channels last:
/// 0, 2, .., rank-1, 1.
static SmallVector<int64_t> toLast(int64_t rank) {
  SmallVector<int64_t> permutation = {0};
  for (int64_t i = 2; i < rank; ++i)
    permutation.push_back(i);
  permutation.push_back(1);
  return permutation;
}

/// Its inverse: 0, rank-1, 1, .., rank-2.
static SmallVector<int64_t> toFirst(int64_t rank) {
  SmallVector<int64_t> permutation = {0, rank - 1};
  for (int64_t i = 1; i < rank - 1; ++i)
    permutation.push_back(i);
  return permutation;
}

static int64_t rankOf(Value value) { return shapeOf(value).size(); }

static RankedTensorType permuted(Type type, ArrayRef<int64_t> permutation) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(tensor.getDimSize(dim));
  return RankedTensorType::get(shape, tensor.getElementType());
}

/// Returns true if the permutation keeps the order of elements in memory:
/// dimensions with more than one element keep their order.
static bool movesNothing(ArrayRef<int64_t> shape,
                         ArrayRef<int64_t> permutation) {
  int64_t last = -1;
  for (int64_t dim : permutation) {
    if (shape[dim] == 1)
      continue;
    if (dim < last)
      return false;
    last = dim;
  }
  return true;
}

/// If `value` is the transpose of a channels-last value to channels first,
/// returns the channels-last value; else null.
static Value comesFromLast(Value value) {
  auto transpose = value.getDefiningOp<train::TransposeOp>();
  if (!transpose || rankOf(value) < 3 ||
      transpose.getPermutation() != ArrayRef(toFirst(rankOf(value))))
    return nullptr;
  return transpose.getInput();
}

/// Returns true if `value`, broadcast to `rank` dimensions, changes its layout
/// for free: scalars, splats, and tensors with more than one element along one
/// dimension only.
static bool isFree(Value value, int64_t rank) {
  SplatElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)))
    return true;
  SmallVector<int64_t> shape(rank - rankOf(value), 1);
  llvm::append_range(shape, shapeOf(value));
  return movesNothing(shape, toLast(rank));
}

/// `value` with channels last, for an op of `rank` dimensions. Operands of
/// lower rank first get leading dimensions of 1; scalars and splats stay.
static Value moveLast(OpBuilder &builder, Location loc, Value value,
                      int64_t rank) {
  if (Value last = comesFromLast(value))
    if (rankOf(value) == rank)
      return last;
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getNumElements() == 1 && type.getRank() < rank)
    return value;

  SmallVector<int64_t> shape(rank - type.getRank(), 1);
  llvm::append_range(shape, type.getShape());
  auto full = RankedTensorType::get(shape, type.getElementType());
  RankedTensorType lastType = permuted(full, toLast(rank));

  SplatElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)))
    return train::ConstantOp::create(builder, loc, splat.resizeSplat(lastType));
  if (movesNothing(shape, toLast(rank)))
    return train::ReshapeOp::create(builder, loc, lastType, value);
  if (full != type)
    value = train::ReshapeOp::create(builder, loc, full, value);
  return train::TransposeOp::create(builder, loc, value, toLast(rank));
}

/// Gives `op` the new operands and its results channels last; users see the
/// results through transposes. `change` adapts attributes.
static void rewriteLast(
    RewriterBase &rewriter, Operation *op, ArrayRef<Value> operands,
    ArrayRef<unsigned> results, function_ref<void()> change = [] {}) {
  rewriter.modifyOpInPlace(op, [&] {
    op->setOperands(operands);
    for (unsigned i : results) {
      Value result = op->getResult(i);
      result.setType(permuted(result.getType(), toLast(rankOf(result))));
    }
    change();
  });
  rewriter.setInsertionPointAfter(op);
  for (unsigned i : results) {
    Value result = op->getResult(i);
    auto first = train::TransposeOp::create(rewriter, op->getLoc(), result,
                                            toFirst(rankOf(result)));
    rewriter.replaceAllUsesExcept(result, first, first);
  }
}

/// Switches one op to channels last, with transposes around it.
static void switchLayout(RewriterBase &rewriter, train::LayoutOpInterface op) {
  LDBG() << "switching " << op;
  rewriter.setInsertionPoint(op);
  SmallVector<Value> operands(op->getOperands());
  for (unsigned i : op.getImageOperands())
    operands[i] =
        moveLast(rewriter, op.getLoc(), operands[i], rankOf(operands[i]));
  rewriteLast(rewriter, op, operands, op.getImageResults(),
              [&] { op.setChannelsLast(); });
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {

/// op(first(x), y) -> first(op(x, last(y))), if that adds no more transposes
/// than it removes.
struct SinkThroughElementwise : OpTraitRewritePattern<train::ElementByElement> {
  using OpTraitRewritePattern::OpTraitRewritePattern;

  LogicalResult matchAndRewrite(Operation *op,
                                PatternRewriter &rewriter) const override {
    int64_t rank = rankOf(op->getResult(0));
    int64_t gone = 0, added = 0;
    for (Value operand : op->getOperands()) {
      if (rankOf(operand) == rank && comesFromLast(operand))
        ++gone;
      else if (rank >= 3 && !isFree(operand, rank))
        ++added;
    }
    if (gone == 0)
      return rewriter.notifyMatchFailure(op,
                                         "no operand comes from channels last");
    // With three dimensions, both directions are the same permutation, so the
    // transposes added here would be removed and added again without end.
    if (added > gone || (rank == 3 && added == gone))
      return rewriter.notifyMatchFailure(op,
                                         "needs more transposes than it saves");

    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(moveLast(rewriter, op->getLoc(), operand, rank));
    auto results = llvm::to_vector(llvm::seq<unsigned>(0, op->getNumResults()));
    rewriteLast(rewriter, op, operands, results);
    return success();
  }
};

/// concat(first(x), first(y)) -> first(concat(x, y)).
struct SinkThroughConcat : OpRewritePattern<train::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(train::ConcatOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Value> operands;
    for (Value operand : op.getInputs()) {
      operands.push_back(comesFromLast(operand));
      if (!operands.back())
        return rewriter.notifyMatchFailure(op, "an operand has channels first");
    }
    if (operands.empty())
      return rewriter.notifyMatchFailure(op, "joins nothing");
    // Dimension i of the old operands is dimension toFirst[i] of the new ones.
    int64_t axis = toFirst(rankOf(op.getResult()))[op.getAxis()];
    rewriteLast(rewriter, op, operands, {0u}, [&] { op.setAxis(axis); });
    return success();
  }
};

/// reduce(transpose(x)) -> transpose(reduce(x)), which moves fewer elements,
/// or none.
template <typename Op> struct SinkThroughReduction : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op,
                                PatternRewriter &rewriter) const override {
    auto transpose = op.getInput().template getDefiningOp<train::TransposeOp>();
    if (!transpose)
      return rewriter.notifyMatchFailure(op, "reduces no transpose");
    ArrayRef<int64_t> permutation = transpose.getPermutation();
    SmallVector<int64_t> axes, kept;
    for (auto [i, dim] : llvm::enumerate(permutation)) {
      const bool isReduced = llvm::is_contained(op.getAxes(), int64_t(i));
      if (isReduced)
        axes.push_back(dim);
      if (!isReduced || op.getKeepdims())
        kept.push_back(dim);
    }
    llvm::sort(axes);
    Value reduced =
        Op::create(rewriter, op.getLoc(), transpose.getInput(),
                   rewriter.getDenseI64ArrayAttr(axes), op.getKeepdimsAttr());
    SmallVector<int64_t> order = llvm::to_vector(kept);
    llvm::sort(order);
    if (order != kept) {
      for (int64_t &dim : kept)
        dim = llvm::find(order, dim) - order.begin();
      reduced =
          train::TransposeOp::create(rewriter, op.getLoc(), reduced, kept);
    }
    rewriter.replaceOp(op, reduced);
    return success();
  }
};

/// A transpose that moves no element is a reshape, which costs nothing.
struct TransposeToReshape : OpRewritePattern<train::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(train::TransposeOp op,
                                PatternRewriter &rewriter) const override {
    // Keep transposes that a layout op is about to cancel.
    if (!movesNothing(shapeOf(op.getInput()), op.getPermutation()))
      return rewriter.notifyMatchFailure(op, "moves elements");
    rewriter.replaceOpWithNewOp<train::ReshapeOp>(op, op.getType(),
                                                  op.getInput());
    return success();
  }
};

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

struct UseChannelsLastPass
    : mpc::impl::UseChannelsLastPassBase<UseChannelsLastPass> {
  using Base::Base;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    SmallVector<train::LayoutOpInterface> ops;
    func.walk([&](train::LayoutOpInterface op) {
      if (!op.isChannelsLast() &&
          rankOf(op->getOperand(op.getImageOperands().front())) >= 3)
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (train::LayoutOpInterface op : ops)
      switchLayout(rewriter, op);

    // Two rounds, because a transpose that has become a reshape is no longer
    // sunk.
    RewritePatternSet sink(&getContext());
    sink.add<SinkThroughElementwise, SinkThroughConcat,
             SinkThroughReduction<train::ReduceSumOp>,
             SinkThroughReduction<train::ReduceMeanOp>,
             SinkThroughReduction<train::ReduceMaxOp>>(&getContext());
    train::TransposeOp::getCanonicalizationPatterns(sink, &getContext());
    if (failed(applyPatternsGreedily(func, std::move(sink))))
      LDBG() << "stopped early; the result is correct, but slower";
    RewritePatternSet clean(&getContext());
    clean.add<TransposeToReshape>(&getContext());
    (void)applyPatternsGreedily(func, std::move(clean));

    if (report)
      reportLeft(ops.size());
  }

  void reportLeft(size_t switched) {
    int64_t left = 0;
    getOperation().walk([&](train::TransposeOp op) {
      ++left;
      op.emitRemark("a transpose of ") << op.getType() << " is left";
    });
    getOperation().emitRemark()
        << switched << " ops now work with channels last, " << left
        << " transposes are left";
  }
};

} // namespace
