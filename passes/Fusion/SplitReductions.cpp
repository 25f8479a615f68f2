//===- SplitReductions.cpp - Reductions that kernels can walk -------------===//
//
// Implements mpc-split-reductions.
//
//===----------------------------------------------------------------------===//

#include "passes/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/DebugLog.h"

#define DEBUG_TYPE "mpc-split-reductions"

namespace mpc {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;
using utils::IteratorType;

static SmallVector<unsigned> reducedDims(linalg::GenericOp op) {
  SmallVector<unsigned> dims;
  op.getReductionDims(dims);
  return dims;
}

static bool hasFilledInit(linalg::GenericOp op) {
  return op.getNumDpsInits() == 1 &&
         op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
}

/// The identity of the reduction: what its init is filled with.
static Value identityOf(linalg::GenericOp op) {
  return op.getDpsInits()[0].getDefiningOp<linalg::FillOp>().getInputs()[0];
}

static Value filled(OpBuilder &builder, Location loc, RankedTensorType type,
                    Value identity) {
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::FillOp::create(builder, loc, ValueRange{identity},
                                ValueRange{empty})
      .getResult(0);
}

/// Reduces `value` over the dimensions marked in `reduced`, to `type`, with
/// the combiner that the body of `like` ends with.
static linalg::GenericOp reduceRest(OpBuilder &builder, linalg::GenericOp like,
                                    RankedTensorType type, Value identity,
                                    Value value, ArrayRef<bool> reduced) {
  Location loc = like.getLoc();
  unsigned rank = reduced.size();
  SmallVector<AffineExpr> kept;
  SmallVector<IteratorType> kinds;
  for (unsigned i = 0; i < rank; ++i) {
    kinds.push_back(reduced[i] ? IteratorType::reduction
                               : IteratorType::parallel);
    if (!reduced[i])
      kept.push_back(builder.getAffineDimExpr(i));
  }
  AffineMap maps[] = {builder.getMultiDimIdentityMap(rank),
                      AffineMap::get(rank, 0, kept, builder.getContext())};
  Value init = filled(builder, loc, type, identity);
  Operation *combiner =
      like.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  return linalg::GenericOp::create(
      builder, loc, TypeRange{type}, ValueRange{value}, ValueRange{init}, maps,
      kinds, [&](OpBuilder &inner, Location loc, ValueRange args) {
        OperationState state(loc, combiner->getName());
        state.addOperands({args[1], args[0]});
        state.addTypes(args[0].getType());
        state.propertiesAttr = combiner->getPropertiesAsAttribute();
        linalg::YieldOp::create(inner, loc, inner.create(state)->getResult(0));
      });
}

/// Reduces over `now` only; the other reduced dimensions stay in the result
/// and are reduced by a second op.
static std::pair<linalg::GenericOp, linalg::GenericOp>
splitInTwo(linalg::GenericOp op, ArrayRef<unsigned> now) {
  LDBG() << "splitting " << op;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<IteratorType> kinds = op.getIteratorTypesArray();
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> kept;
  SmallVector<bool> later;
  for (unsigned i = 0; i < loops.size(); ++i) {
    if (llvm::is_contained(now, i))
      continue;
    shape.push_back(loops[i]);
    kept.push_back(builder.getAffineDimExpr(i));
    later.push_back(kinds[i] == IteratorType::reduction);
    kinds[i] = IteratorType::parallel;
  }
  auto old = cast<RankedTensorType>(op.getResult(0).getType());
  auto type = RankedTensorType::get(shape, old.getElementType());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.back() = AffineMap::get(loops.size(), 0, kept, builder.getContext());
  Value init = filled(builder, loc, type, identityOf(op));
  auto first =
      linalg::GenericOp::create(builder, loc, TypeRange{type}, op.getInputs(),
                                ValueRange{init}, maps, kinds);
  first.getRegion().takeBody(op.getRegion());
  linalg::GenericOp second = reduceRest(builder, first, old, identityOf(op),
                                        first.getResult(0), later);
  op.getResult(0).replaceAllUsesWith(second.getResult(0));
  op.erase();
  return {first, second};
}

/// The last run of neighbouring reduced dimensions; if there is one run only,
/// its last dimension.
static SmallVector<unsigned> innerDims(linalg::GenericOp op) {
  SmallVector<unsigned> dims = reducedDims(op);
  unsigned first = dims.size() - 1;
  while (first > 0 && dims[first - 1] + 1 == dims[first])
    --first;
  if (first == 0)
    first = dims.size() - 1;
  return SmallVector<unsigned>(ArrayRef<unsigned>(dims).drop_front(first));
}

/// Splits dimension `dim` of every operand of `op` into blocks x size/blocks,
/// so that the blocks can stay when the rest is summed. Returns the new op.
static linalg::GenericOp blockDimension(linalg::GenericOp op, unsigned dim,
                                        int64_t blocks) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  unsigned rank = op.getNumLoops();
  auto shifted = [&](AffineMap map, bool &uses) {
    SmallVector<AffineExpr> exprs;
    for (AffineExpr expr : map.getResults()) {
      auto d = dyn_cast<AffineDimExpr>(expr);
      if (d && d.getPosition() == dim) {
        uses = true;
        exprs.push_back(builder.getAffineDimExpr(dim));
        exprs.push_back(builder.getAffineDimExpr(dim + 1));
      } else if (d && d.getPosition() > dim) {
        exprs.push_back(builder.getAffineDimExpr(d.getPosition() + 1));
      } else {
        exprs.push_back(expr);
      }
    }
    return AffineMap::get(rank + 1, 0, exprs, builder.getContext());
  };
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    bool uses = false;
    maps.push_back(shifted(map, uses));
    Value value = operand->get();
    if (uses) {
      auto type = cast<RankedTensorType>(value.getType());
      SmallVector<int64_t> shape;
      SmallVector<ReassociationIndices> groups;
      for (unsigned i = 0; i < type.getRank(); ++i) {
        auto d = dyn_cast<AffineDimExpr>(map.getResult(i));
        groups.push_back({int64_t(shape.size())});
        if (d && d.getPosition() == dim) {
          shape.push_back(blocks);
          groups.back().push_back(shape.size());
          shape.push_back(type.getDimSize(i) / blocks);
        } else {
          shape.push_back(type.getDimSize(i));
        }
      }
      value = tensor::ExpandShapeOp::create(
          builder, loc, RankedTensorType::get(shape, type.getElementType()),
          value, groups);
    }
    inputs.push_back(value);
  }
  bool unused = false;
  maps.push_back(shifted(op.getIndexingMapsArray().back(), unused));
  SmallVector<IteratorType> kinds = op.getIteratorTypesArray();
  kinds.insert(kinds.begin() + dim, IteratorType::reduction);
  auto blocked = linalg::GenericOp::create(
      builder, loc, op.getResultTypes(), inputs, op.getDpsInits(), maps, kinds);
  blocked.getRegion().takeBody(op.getRegion());
  op.getResult(0).replaceAllUsesWith(blocked.getResult(0));
  op.erase();
  return blocked;
}

/// No operand is a slice and no body asks for an index.
static bool canBlock(linalg::GenericOp op) {
  for (OpOperand *operand : op.getDpsInputOperands())
    for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults())
      if (!isa<AffineDimExpr, AffineConstantExpr>(expr))
        return false;
  bool asks = false;
  op.getBody()->walk([&](linalg::IndexOp) { asks = true; });
  return !asks;
}

/// The largest divisor of `size` up to `limit`.
static int64_t largestDivisor(int64_t size, int64_t limit) {
  for (int64_t divisor = std::min(size, limit); divisor > 1; --divisor)
    if (size % divisor == 0)
      return divisor;
  return 1;
}

/// A large sum down the rows, or one over few long rows: leaves blocks of the
/// first dimension to a second sum. Returns that, if it may be large itself.
static linalg::GenericOp shareOut(linalg::GenericOp op,
                                  const FusionLimits &limits) {
  SmallVector<unsigned> dims = reducedDims(op);
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  int64_t total = 1;
  for (int64_t size : loops)
    total *= size;
  // Sums over the innermost dimensions are one row each.
  bool downRows = dims[0] == 0 && dims.back() + 1 < loops.size();
  int64_t rows = 1;
  for (int64_t size : ArrayRef<int64_t>(loops).take_front(dims[0]))
    rows *= size;
  bool fewRows = limits.splitRows && dims.back() + 1 == loops.size() &&
                 rows < limits.fewItems;
  if (total < limits.largeSum || !(downRows || fewRows) || !canBlock(op))
    return nullptr;
  int64_t size = loops[dims[0]];
  int64_t blocks = size;
  // Whole dimensions stay if they are blocks enough.
  if (downRows || dims.size() == 1)
    blocks = largestDivisor(size, limits.rowBlocks);
  if (blocks < 4)
    return nullptr;
  if (blocks < size)
    op = blockDimension(op, dims[0], blocks);
  else if (dims.size() == 1)
    return nullptr;
  SmallVector<unsigned> inner = reducedDims(op);
  inner.erase(inner.begin());
  linalg::GenericOp second = splitInTwo(op, inner).second;
  return fewRows ? second : linalg::GenericOp();
}

namespace {

struct SplitReductionsPass
    : mpc::impl::SplitReductionsPassBase<SplitReductionsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::GenericOp> work;
    getOperation().walk([&](linalg::GenericOp op) {
      // Others are no reductions that kernels can walk, split or not.
      if (op.getNumReductionLoops() > 0 && hasFilledInit(op))
        work.push_back(op);
    });
    while (!work.empty()) {
      linalg::GenericOp op = work.pop_back_val();
      if (hasSimpleReduction(op)) {
        if (linalg::GenericOp rest = shareOut(op, fusionLimits(device)))
          work.push_back(rest);
        continue;
      }
      auto [first, second] = splitInTwo(op, innerDims(op));
      work.append({first, second});
    }
  }
};

} // namespace
