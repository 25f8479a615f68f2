//===- FoldSlicesToViews.cpp - Runs of memory that need no copy -----------===//
//
// Implements mpc-fold-slices-to-views: what slices and concatenations of whole
// runs are in memory, said so.
//
//===----------------------------------------------------------------------===//

#include "compiler/Catalog/Catalog.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "passes/Fusion/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace mpc {
#define GEN_PASS_DEF_FOLDSLICESTOVIEWSPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// True if a kernel may take what begins at `element` of a tensor of `type`.
static bool isAligned(int64_t element, RankedTensorType type) {
  int64_t bits = element * type.getElementTypeBitWidth();
  // Booleans take a byte each.
  if (type.getElementType().isInteger(1))
    bits = element * 8;
  return bits % (8 * kBufferAlignment) == 0;
}

/// Where the box of `shape` at `offsets` begins in a tensor of shape `from`,
/// in elements; none if its elements do not lie side by side.
static std::optional<int64_t> beginOfRun(ArrayRef<int64_t> from,
                                         ArrayRef<int64_t> offsets,
                                         ArrayRef<int64_t> shape) {
  int64_t begin = 0, stride = 1;
  bool isWhole = true;
  for (unsigned i = from.size(); i-- > 0;) {
    // Further out than a dimension that is cut there can be only one of each.
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

/// True if a slice of `value` would be composed with what moves its elements.
static bool isMoved(Value value) {
  while (auto reshape = value.getDefiningOp<train::ReshapeOp>())
    value = reshape.getInput();
  return isa_and_present<train::TransposeOp, train::BroadcastToOp>(
      value.getDefiningOp());
}

/// Makes `part`, the box at `offsets` of `whole`, a view if it can be one.
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

static void viewSlice(train::SliceOp op) {
  if (!isMoved(op.getInput()))
    viewPart(op, op.getInput(), op.getOffsets(), op.getResult());
}

static void viewSplit(train::SplitOp op) {
  if (isMoved(op.getInput()))
    return;
  auto type = cast<RankedTensorType>(op.getInput().getType());
  SmallVector<int64_t> offsets(type.getRank());
  for (auto [part, size] : llvm::zip_equal(op.getParts(), op.getSizes())) {
    viewPart(op, op.getInput(), offsets, part);
    offsets[op.getAxis()] += size;
  }
}

/// Lets the operands of a concatenation be made where they go.
static void packParts(train::ConcatOp op) {
  auto type = cast<RankedTensorType>(op.getType());
  for (int64_t extent : type.getShape().take_front(op.getAxis()))
    if (extent != 1)
      return;
  SmallVector<int64_t> begins;
  int64_t begin = 0;
  for (Value input : op.getInputs()) {
    auto part = cast<RankedTensorType>(input.getType());
    if (part.getElementType() != type.getElementType() ||
        !isAligned(begin, type))
      return;
    begins.push_back(begin);
    begin += part.getNumElements();
  }
  OpBuilder builder(op);
  auto flat = RankedTensorType::get({begin}, type.getElementType());
  Value pack =
      train::PackOp::create(builder, op.getLoc(), flat, op.getInputs(), begins);
  op.replaceAllUsesWith(
      train::ReshapeOp::create(builder, op.getLoc(), type, pack).getResult());
}

namespace {

struct FoldSlicesToViewsPass
    : mpc::impl::FoldSlicesToViewsPassBase<FoldSlicesToViewsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Operation *> work;
    getOperation().walk([&](Operation *op) {
      if (isa<train::SliceOp, train::SplitOp, train::ConcatOp>(op))
        work.push_back(op);
    });
    for (Operation *op : work) {
      if (auto slice = dyn_cast<train::SliceOp>(op))
        viewSlice(slice);
      else if (auto split = dyn_cast<train::SplitOp>(op))
        viewSplit(split);
      else
        packParts(cast<train::ConcatOp>(op));
      if (isOpTriviallyDead(op))
        op->erase();
    }
  }
};

} // namespace
