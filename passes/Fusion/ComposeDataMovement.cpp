//===- ComposeDataMovement.cpp - Merge consecutive data movements ---------===//
//
// Implements mpc-compose-data-movement. A move is any linalg.generic that
// writes elements of its only input, unchanged or rounded, to other positions.
//
//===----------------------------------------------------------------------===//

#include "passes/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-compose-data-movement"

namespace mpc {
#define GEN_PASS_DEF_COMPOSEDATAMOVEMENTPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// A result of an indexing map: a dimension and an offset (Lowering.h).
namespace {
struct Position {
  std::optional<unsigned> dim; ///< None: constant.
  int64_t offset = 0;
};
} // namespace

static Position positionOf(AffineExpr expr) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return {std::nullopt, constant.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return {dim.getPosition(), 0};
  auto binary = cast<AffineBinaryOpExpr>(expr);
  Position position = positionOf(binary.getLHS());
  if (binary.getKind() ==
      AffineExprKind::Add) // Otherwise d mod extent, which equals d.
    position.offset += cast<AffineConstantExpr>(binary.getRHS()).getValue();
  return position;
}

/// True if `op` writes elements of its input, possibly rounded.
static bool isMove(linalg::GenericOp op, bool mayRound) {
  if (op.getNumDpsInputs() != 1 || op.getNumResults() != 1 ||
      op.getNumReductionLoops() != 0)
    return false;
  Value yielded = op.getBody()->getTerminator()->getOperand(0);
  while (Operation *def = yielded.getDefiningOp()) {
    if (!mayRound || !isa<arith::ExtFOp, arith::TruncFOp>(def))
      return false;
    yielded = def->getOperand(0);
  }
  return yielded == op.getBody()->getArgument(0);
}

/// True if `op` writes all of its own result tensor, in order.
static bool fillsInOrder(linalg::GenericOp op) {
  OpOperand *init = op.getDpsInitOperand(0);
  return init->get().getDefiningOp<tensor::EmptyOp>() &&
         op.getMatchingIndexingMap(init).isIdentity();
}

/// The map by which `consumer` reads the input of `producer` instead of its
/// result.
static AffineMap composedMap(linalg::GenericOp producer,
                             linalg::GenericOp consumer) {
  MLIRContext *context = consumer.getContext();
  OpOperand *source = producer.getDpsInputOperand(0);
  ArrayRef<int64_t> extents =
      cast<RankedTensorType>(source->get().getType()).getShape();
  SmallVector<int64_t> loops = consumer.getStaticLoopRanges();
  AffineMap reads =
      consumer.getMatchingIndexingMap(consumer.getDpsInputOperand(0));
  SmallVector<AffineExpr> exprs;
  for (auto [expr, extent] : llvm::zip_equal(
           producer.getMatchingIndexingMap(source).getResults(), extents)) {
    Position position = positionOf(expr);
    if (position.dim) {
      Position inner = positionOf(reads.getResult(*position.dim));
      position = {inner.dim, position.offset + inner.offset};
    }
    if (!position.dim) {
      exprs.push_back(getAffineConstantExpr(position.offset, context));
      continue;
    }
    AffineExpr dim = getAffineDimExpr(*position.dim, context);
    bool isPart = loops[*position.dim] != extent;
    exprs.push_back(position.offset != 0 ? dim + position.offset
                    : isPart             ? dim % extent
                                         : dim);
  }
  return AffineMap::get(loops.size(), 0, exprs, context);
}

namespace {

/// Removes a move that only other moves read: they read its input instead.
struct ComposeMove : OpRewritePattern<linalg::GenericOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::GenericOp op,
                                PatternRewriter &rewriter) const override {
    if (!isMove(op, /*mayRound=*/false) || !fillsInOrder(op))
      return rewriter.notifyMatchFailure(op, "is no move into its own tensor");
    SmallVector<std::pair<linalg::GenericOp, SmallVector<AffineMap>>> consumers;
    for (OpOperand &use : op->getUses()) {
      auto consumer = dyn_cast<linalg::GenericOp>(use.getOwner());
      if (!consumer || !isMove(consumer, /*mayRound=*/true) ||
          !consumer.isDpsInput(&use))
        return rewriter.notifyMatchFailure(op, "not only moves read it");
      SmallVector<AffineMap> maps = consumer.getIndexingMapsArray();
      maps[0] = composedMap(op, consumer);
      // If both read and write only a part, no map determines the loop bounds.
      if (!inversePermutation(concatAffineMaps(maps, op.getContext())))
        return rewriter.notifyMatchFailure(op, "reads and writes a part");
      consumers.emplace_back(consumer, maps);
    }
    if (consumers.empty())
      return rewriter.notifyMatchFailure(op, "nothing reads it");

    for (auto &[consumer, maps] : consumers) {
      LDBG() << "composing " << op << " with " << consumer;
      rewriter.startOpModification(consumer);
      consumer.getDpsInputOperand(0)->set(op.getDpsInputOperand(0)->get());
      consumer.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
      rewriter.finalizeOpModification(consumer);
    }
    rewriter.eraseOp(op);
    return success();
  }
};

struct ComposeDataMovementPass
    : mpc::impl::ComposeDataMovementPassBase<ComposeDataMovementPass> {
  using Base::Base;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ComposeMove>(&getContext());
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};

} // namespace
