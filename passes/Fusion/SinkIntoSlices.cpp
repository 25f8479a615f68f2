//===- SinkIntoSlices.cpp - Compute elements where slices of them go ------===//
//
// Implements mpc-sink-into-slices.
//
//===----------------------------------------------------------------------===//

#include "passes/Fusion/Kernels/Elementwise.h"
#include "passes/Fusion/Passes.h"
#include "passes/Grad/EntryPoints.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-sink-into-slices"

namespace mpc {
#define GEN_PASS_DEF_SINKINTOSLICESPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

bool mpc::isElementwise(linalg::GenericOp op) {
  if (op.getNumResults() != 1 || op.getNumReductionLoops() != 0 ||
      op.getNumDpsInputs() == 0)
    return false;
  OpOperand *init = op.getDpsInitOperand(0);
  if (!init->get().getDefiningOp<tensor::EmptyOp>() ||
      !op.getMatchingIndexingMap(init).isIdentity() ||
      !op.getMatchingBlockArgument(init).use_empty())
    return false;
  for (OpOperand *input : op.getDpsInputOperands())
    for (AffineExpr expr : op.getMatchingIndexingMap(input).getResults())
      if (!isa<AffineDimExpr, AffineConstantExpr>(expr))
        return false;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op.getRegion(), captured);
  WalkResult indices = op.getRegion().walk(
      [](linalg::IndexOp) { return WalkResult::interrupt(); });
  return !indices.wasInterrupted() && llvm::none_of(captured, [](Value value) {
    return isa<RankedTensorType>(value.getType());
  });
}

/// The number of elements that a slice writes.
static int64_t countElements(linalg::GenericOp slice) {
  int64_t count = 1;
  for (int64_t extent : slice.getStaticLoopRanges())
    count *= extent;
  return count;
}

/// True if `op` reads a part of `source` and nothing else, along rows of both.
static bool isSliceOf(linalg::GenericOp op, Value source) {
  if (op.getNumDpsInputs() != 1 || op.getNumResults() != 1 ||
      op.getNumReductionLoops() != 0 || op.getNumLoops() == 0 ||
      op.getDpsInputs()[0] != source)
    return false;
  OpOperand *init = op.getDpsInitOperand(0);
  if (!op.getMatchingBlockArgument(init).use_empty())
    return false;
  AffineMap reads = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  return countElements(op) < typeOf(source).getNumElements() &&
         reads.getNumResults() > 0 &&
         reads.getResults().back().isFunctionOfDim(op.getNumLoops() - 1);
}

/// Expands an input of an op as `view` expands its result, and changes `map` to
/// read the expanded input.
static Value expand(OpBuilder &builder, Value input, AffineMap &map,
                    tensor::ExpandShapeOp view) {
  RankedTensorType result = view.getResultType(), from = typeOf(input);
  SmallVector<ReassociationIndices, 4> of = view.getReassociationIndices();
  SmallVector<int64_t> shape;
  SmallVector<ReassociationIndices> groups;
  SmallVector<AffineExpr> exprs;
  bool changes = false;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    groups.emplace_back();
    auto position = dyn_cast<AffineDimExpr>(expr);
    // A dimension that broadcasts stays.
    if (!position || from.getDimSize(dim) == 1) {
      groups.back().push_back(shape.size());
      shape.push_back(from.getDimSize(dim));
      exprs.push_back(builder.getAffineConstantExpr(0));
      continue;
    }
    ArrayRef<int64_t> parts = of[position.getPosition()];
    changes |= parts.size() > 1;
    for (int64_t part : parts) {
      groups.back().push_back(shape.size());
      shape.push_back(result.getDimSize(part));
      exprs.push_back(builder.getAffineDimExpr(part));
    }
  }
  map = AffineMap::get(result.getRank(), 0, exprs, builder.getContext());
  if (!changes)
    return input;
  return tensor::ExpandShapeOp::create(
      builder, view.getLoc(),
      RankedTensorType::get(shape, from.getElementType()), input, groups);
}

/// Emits `slice` of the result of `op`, computed from `inputs`, which are read
/// with `maps` at a position of what the slice reads. Null if no map determines
/// the loop bounds.
static linalg::GenericOp sink(OpBuilder &outer, linalg::GenericOp op,
                              linalg::GenericOp slice, ArrayRef<Value> inputs,
                              ArrayRef<AffineMap> maps) {
  AffineMap reads = slice.getMatchingIndexingMap(slice.getDpsInputOperand(0));
  SmallVector<AffineMap> composed;
  for (AffineMap map : maps) {
    SmallVector<AffineExpr> exprs;
    for (AffineExpr expr : map.getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      exprs.push_back(dim ? reads.getResult(dim.getPosition()) : expr);
    }
    composed.push_back(
        AffineMap::get(slice.getNumLoops(), 0, exprs, op.getContext()));
  }
  composed.push_back(slice.getIndexingMapsArray().back());
  if (!inversePermutation(concatAffineMaps(composed, op.getContext())))
    return nullptr;
  outer.setInsertionPoint(slice);
  return linalg::GenericOp::create(
      outer, outer.getFusedLoc({op.getLoc(), slice.getLoc()}),
      slice.getResultTypes(), inputs, slice.getDpsInits(), composed,
      slice.getIteratorTypesArray(),
      [&](OpBuilder &builder, Location loc, ValueRange arguments) {
        IRMapping map;
        for (auto [i, input] : llvm::enumerate(op.getDpsInputOperands()))
          map.map(op.getMatchingBlockArgument(input), arguments[i]);
        for (Operation &inner : op.getBody()->without_terminator())
          builder.clone(inner, map);
        map.map(
            slice.getBody()->getArgument(0),
            map.lookupOrDefault(op.getBody()->getTerminator()->getOperand(0)));
        for (Operation &inner : slice.getBody()->without_terminator())
          builder.clone(inner, map);
        linalg::YieldOp::create(
            builder, loc,
            map.lookupOrDefault(
                slice.getBody()->getTerminator()->getOperand(0)));
      });
}
/// The slices that read the result of `op`, and nothing else does, perhaps
/// through a view of it, which is returned. Empty if there are others, or if
/// they would compute elements several times.
static SmallVector<linalg::GenericOp> findSlices(linalg::GenericOp op,
                                                 tensor::ExpandShapeOp &view) {
  Value source = op.getResult(0);
  if (source.hasOneUse())
    view = dyn_cast<tensor::ExpandShapeOp>(*source.user_begin());
  if (view)
    source = view.getResult();
  SmallVector<linalg::GenericOp> slices;
  int64_t elements = 0;
  for (Operation *user : source.getUsers()) {
    auto slice = dyn_cast<linalg::GenericOp>(user);
    if (!slice || !isSliceOf(slice, source))
      return {};
    slices.push_back(slice);
    elements += countElements(slice);
  }
  if (slices.size() < 2 || elements > typeOf(source).getNumElements())
    slices.clear();
  return slices;
}

/// Lets the slices that read the result of `op` compute it, if only slices do.
static void sinkIntoSlices(OpBuilder &builder, linalg::GenericOp op,
                           SmallVectorImpl<Operation *> &unused) {
  tensor::ExpandShapeOp view;
  SmallVector<linalg::GenericOp> slices = findSlices(op, view);
  if (slices.empty())
    return;
  builder.setInsertionPointAfter(view ? view.getOperation() : op);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    inputs.push_back(view ? expand(builder, input->get(), map, view)
                          : input->get());
    maps.push_back(map);
  }
  SmallVector<linalg::GenericOp> sunk;
  for (linalg::GenericOp slice : slices)
    sunk.push_back(sink(builder, op, slice, inputs, maps));
  if (llvm::is_contained(sunk, nullptr)) {
    for (linalg::GenericOp made : sunk)
      if (made)
        made.erase();
    return;
  }
  LDBG() << "computed by its slices: " << op;
  for (auto [slice, made] : llvm::zip_equal(slices, sunk)) {
    slice.getResult(0).replaceAllUsesWith(made.getResult(0));
    unused.push_back(slice);
  }
  if (view)
    unused.push_back(view);
  unused.push_back(op);
}

namespace {

struct SinkIntoSlicesPass
    : mpc::impl::SinkIntoSlicesPassBase<SinkIntoSlicesPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) {
      if (isElementwise(op))
        ops.push_back(op);
    });
    OpBuilder builder(&getContext());
    SmallVector<Operation *> unused;
    for (linalg::GenericOp op : ops)
      sinkIntoSlices(builder, op, unused);
    for (Operation *op : unused)
      op->erase();
  }
};

} // namespace
