//===- FoldSlicesToViews.cpp - Turn contiguous slices into views ----------===//
//
// Implements mpc-fold-slices-to-views: expresses slices and concatenations of
// contiguous memory as views.
//
//===----------------------------------------------------------------------===//

#include "compiler/Catalog/Catalog.h"
#include "compiler/Dialect/Train/IR/Views.h"
#include "passes/Fusion/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace mpc {
#define GEN_PASS_DEF_FOLDSLICESTOVIEWSPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// True if an operand of a kernel may begin at `element` of a tensor of `type`.
static bool isAligned(int64_t element, RankedTensorType type) {
  int64_t bits = element * type.getElementTypeBitWidth();
  // Booleans take a byte each.
  if (type.getElementType().isInteger(1))
    bits = element * 8;
  return bits % (8 * kBufferAlignment) == 0;
}

/// Where the box of `shape` at `offsets` begins in a tensor of shape `from`, in
/// elements; none if its elements are not contiguous.
static std::optional<int64_t> beginOfRun(ArrayRef<int64_t> from,
                                         ArrayRef<int64_t> offsets,
                                         ArrayRef<int64_t> shape) {
  int64_t begin = 0, stride = 1;
  bool isWhole = true;
  for (unsigned i = from.size(); i-- > 0;) {
    // Outside a partial dimension, all extents must be 1.
    if (!isWhole && shape[i] != 1)
      return std::nullopt;
    isWhole &= shape[i] == from[i];
    begin += offsets[i] * stride;
    stride *= from[i];
  }
  return begin;
}

static Value flatten(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return train::ReshapeOp::create(
      builder, loc,
      RankedTensorType::get({type.getNumElements()}, type.getElementType()),
      value);
}

/// True if a slice of `value` can be merged with the op that moves its
/// elements.
static bool isMoved(Value value) {
  auto move =
      train::skipReshapes(value).getDefiningOp<train::MoveOpInterface>();
  return move && (move.getMove() == train::Move::Permuted ||
                  move.getMove() == train::Move::Repeated);
}

/// Makes `part`, the box at `offsets` of `whole`, a view if possible.
static void viewPart(Operation *op, Value whole, ArrayRef<int64_t> offsets,
                     Value part) {
  auto from = cast<RankedTensorType>(whole.getType());
  auto type = cast<RankedTensorType>(part.getType());
  std::optional<int64_t> begin =
      beginOfRun(from.getShape(), offsets, type.getShape());
  if (!begin || !isAligned(*begin, from) || part.use_empty())
    return;
  OpBuilder builder(op);
  Value flat = flatten(builder, op->getLoc(), whole);
  part.replaceAllUsesWith(
      train::UnpackOp::create(builder, op->getLoc(), type, flat, *begin));
}

static void viewParts(train::SplitOpInterface op) {
  if (isMoved(op.getSource()))
    return;
  for (OpResult part : op->getResults())
    viewPart(op, op.getSource(), op.getPartOffsets(part.getResultNumber()),
             part);
}

/// Lets the operands of a concatenation be computed in place.
static void packParts(train::JoinOpInterface op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  for (int64_t extent : type.getShape().take_front(op.getJoinAxis()))
    if (extent != 1)
      return;
  SmallVector<int64_t> begins;
  int64_t begin = 0;
  for (Value input : op->getOperands()) {
    auto part = cast<RankedTensorType>(input.getType());
    if (part.getElementType() != type.getElementType() ||
        !isAligned(begin, type))
      return;
    begins.push_back(begin);
    begin += part.getNumElements();
  }
  OpBuilder builder(op);
  auto flat = RankedTensorType::get({begin}, type.getElementType());
  Value pack = train::PackOp::create(builder, op.getLoc(), flat,
                                     op->getOperands(), begins);
  op->getResult(0).replaceAllUsesWith(
      train::ReshapeOp::create(builder, op.getLoc(), type, pack));
}

namespace {

struct FoldSlicesToViewsPass
    : mpc::impl::FoldSlicesToViewsPassBase<FoldSlicesToViewsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> work;
    getOperation().walk([&](Operation *op) {
      if (isa<train::SplitOpInterface, train::JoinOpInterface>(op))
        work.push_back(op);
    });
    for (Operation *op : work) {
      if (auto parts = dyn_cast<train::SplitOpInterface>(op))
        viewParts(parts);
      else
        packParts(cast<train::JoinOpInterface>(op));
      if (isOpTriviallyDead(op))
        op->erase();
    }
  }
};

} // namespace
