//===- SplitReductions.cpp - Split reductions for kernels -----------------===//
//
// Implements mpc-split-reductions.
//
//===----------------------------------------------------------------------===//

#include "passes/Fusion/Kernels/Readers.h"
#include "passes/Fusion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/DebugLog.h"
#include "llvm/Support/MathExtras.h"

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

/// The identity of the reduction: the value that fills its init.
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

/// Reduces over the dimensions `now` only; the other reduced dimensions stay in
/// the result and are reduced by a second op.
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

/// True if no operand is a slice and the body uses no index.
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

/// The value that `op` adds to its total: the other operand of the combiner.
static Value addendOf(linalg::GenericOp op) {
  Operation *combiner =
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  Value total = op.getBody()->getArguments().back();
  return combiner->getOperand(combiner->getOperand(0) == total ? 1 : 0);
}

namespace {

/// Adjacent dimensions that an op reduces: `count` from `first` on, with `size`
/// elements in total.
struct ReducedRun {
  unsigned first, count;
  int64_t size = 1;

  explicit ReducedRun(linalg::GenericOp op) {
    SmallVector<unsigned> dims = reducedDims(op);
    first = dims.front();
    count = dims.size();
    for (unsigned dim : dims)
      size *= op.getStaticLoopRanges()[dim];
  }
  bool contains(unsigned dim) const {
    return first <= dim && dim < first + count;
  }
  bool moves(AffineMap access) const {
    return llvm::any_of(llvm::seq(first, first + count), [&](unsigned dim) {
      return access.isFunctionOfDim(dim);
    });
  }
  /// The new number of a dimension when the run is replaced by two: blocks, and
  /// elements of a block.
  unsigned dimAfterSplit(unsigned dim) const {
    return dim < first ? dim : dim - count + 2;
  }
};

} // namespace

/// Whether splitIntoPaddedBlocks can cut `op`: it reduces its last dimension,
/// along which its operands lie in memory, or all but the last ones.
static bool canSplitIntoPaddedBlocks(linalg::GenericOp op) {
  SmallVector<unsigned> dims = reducedDims(op);
  const bool isRow = dims.size() == 1 && dims[0] + 1 == op.getNumLoops();
  const bool isColumn =
      dims.back() + 1 == dims.size() && dims.size() < op.getNumLoops();
  return canBlock(op) && (isRow || isColumn) &&
         llvm::none_of(op.getInputs(), [](Value input) {
           return memoryRoot(input).getDefiningOp<arith::ConstantOp>();
         });
}

/// Emits the body of `op` up to its combiner at `position`. Operands that
/// depend on reduced dimensions are read there; the others are `arguments`.
static Value emitAdded(OpBuilder &builder, linalg::GenericOp op,
                       ArrayRef<Value> position, ValueRange arguments) {
  Location loc = op.getLoc();
  const ReducedRun run(op);
  IRMapping map;
  unsigned next = 0;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap access = op.getMatchingIndexingMap(operand);
    Value scalar;
    if (run.moves(access)) {
      SmallVector<Value> places;
      for (AffineExpr expr : access.getResults()) {
        auto dim = dyn_cast<AffineDimExpr>(expr);
        places.push_back(
            dim ? position[dim.getPosition()]
                : arith::ConstantIndexOp::create(builder, loc, 0).getResult());
      }
      scalar = tensor::ExtractOp::create(builder, loc, operand->get(), places);
    } else {
      scalar = arguments[next++];
    }
    map.map(op.getMatchingBlockArgument(operand), scalar);
  }
  Operation *combiner =
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  for (Operation &inner : op.getBody()->without_terminator())
    if (&inner != combiner)
      builder.clone(inner, map);
  return map.lookupOrDefault(addendOf(op));
}

/// The map `access`, which does not depend on reduced dimensions, for the op on
/// blocks.
static AffineMap mapOfBlocks(AffineMap access, const ReducedRun &run) {
  SmallVector<AffineExpr> dims;
  for (unsigned dim = 0; dim < access.getNumDims(); ++dim)
    dims.push_back(
        run.contains(dim)
            ? getAffineConstantExpr(0, access.getContext())
            : getAffineDimExpr(run.dimAfterSplit(dim), access.getContext()));
  return access.replaceDimsAndSymbols(dims, {},
                                      access.getNumDims() - run.count + 2, 0);
}

/// The indices in the loops of `op` for an iteration of the op on blocks;
/// `place` is the linear index in the reduced dimensions.
static SmallVector<Value> positionOf(OpBuilder &builder, linalg::GenericOp op,
                                     Value place) {
  Location loc = op.getLoc();
  const ReducedRun run(op);
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  SmallVector<Value> position(loops.size());
  for (unsigned dim = loops.size(); dim-- > 0;) {
    if (!run.contains(dim)) {
      position[dim] =
          linalg::IndexOp::create(builder, loc, run.dimAfterSplit(dim));
    } else if (dim == run.first) {
      position[dim] = place;
    } else {
      Value size = arith::ConstantIndexOp::create(builder, loc, loops[dim]);
      position[dim] = arith::RemUIOp::create(builder, loc, place, size);
      place = arith::DivUIOp::create(builder, loc, place, size);
    }
  }
  return position;
}

/// The values that `op` adds up, with the reduced dimensions as blocks of
/// `length`; the last block is padded with the identity.
static Value emitBlocks(OpBuilder &builder, linalg::GenericOp op,
                        int64_t length) {
  Location loc = op.getLoc();
  const ReducedRun run(op);
  SmallVector<int64_t> loops = op.getStaticLoopRanges(), shape;
  for (unsigned dim = 0; dim < loops.size(); ++dim) {
    if (dim == run.first)
      shape.append({llvm::divideCeilSigned(run.size, length), length});
    if (!run.contains(dim))
      shape.push_back(loops[dim]);
  }
  Type element =
      cast<RankedTensorType>(op.getResult(0).getType()).getElementType();
  auto type = RankedTensorType::get(shape, element);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    if (run.moves(map))
      continue;
    inputs.push_back(operand->get());
    maps.push_back(mapOfBlocks(map, run));
  }
  maps.push_back(builder.getMultiDimIdentityMap(shape.size()));
  SmallVector<IteratorType> kinds(shape.size(), IteratorType::parallel);
  Value empty = tensor::EmptyOp::create(builder, loc, shape, element);
  Value identity = identityOf(op);
  auto body = [&](OpBuilder &inner, Location loc, ValueRange arguments) {
    auto number = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(inner, loc, value);
    };
    Value block = linalg::IndexOp::create(inner, loc, run.first);
    Value place = arith::AddIOp::create(
        inner, loc, arith::MulIOp::create(inner, loc, block, number(length)),
        linalg::IndexOp::create(inner, loc, run.first + 1));
    Value exists = arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::ult,
                                         place, number(run.size));
    SmallVector<Value> position = positionOf(inner, op, place);
    auto choice = scf::IfOp::create(
        inner, loc, exists,
        [&](OpBuilder &then, Location loc) {
          scf::YieldOp::create(then, loc,
                               emitAdded(then, op, position, arguments));
        },
        [&](OpBuilder &otherwise, Location loc) {
          scf::YieldOp::create(otherwise, loc, identity);
        });
    linalg::YieldOp::create(inner, loc, choice.getResults());
  };
  return linalg::GenericOp::create(builder, loc, TypeRange{type}, inputs,
                                   ValueRange{empty}, maps, kinds, body)
      .getResult(0);
}

/// Splits the reduction `op` into at most `most` blocks of equal length, and
/// then sums the blocks. Blocks read at computed places, so the first of these
/// sums starts a kernel of its own, and the kernel that computes the operands
/// keeps its grid.
static void splitIntoPaddedBlocks(linalg::GenericOp op, int64_t most) {
  LDBG() << "cutting unevenly " << op;
  OpBuilder builder(op);
  const ReducedRun run(op);
  const int64_t length = llvm::divideCeilSigned(run.size, most);
  Value blocks = emitBlocks(builder, op, length);
  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  for (unsigned dim : {run.first + 1, run.first}) {
    auto from = cast<RankedTensorType>(blocks.getType());
    SmallVector<bool> reduced(from.getRank(), false);
    reduced[dim] = true;
    SmallVector<int64_t> shape(from.getShape());
    shape.erase(shape.begin() + dim);
    blocks = reduceRest(builder, op,
                        RankedTensorType::get(shape, type.getElementType()),
                        identityOf(op), blocks, reduced)
                 .getResult(0);
  }
  op.getResult(0).replaceAllUsesWith(blocks);
  op.erase();
}

/// Whether `op` adds up one number per row of a larger walk with which it could
/// share a kernel: row sums, or values computed from them.
static bool reducesPerRowScalar(linalg::GenericOp op) {
  if (op.getNumLoops() != 1)
    return false;
  const int64_t size = op.getStaticLoopRanges()[0];
  llvm::SetVector<Value> values(op.getInputs().begin(), op.getInputs().end());
  for (unsigned i = 0; i < values.size(); ++i) {
    auto maker = memoryRoot(values[i]).getDefiningOp<linalg::GenericOp>();
    if (!maker || maker->getBlock() != op->getBlock() ||
        cast<RankedTensorType>(maker.getResult(0).getType()).getNumElements() !=
            size)
      continue;
    if (maker.getNumReductionLoops() > 0)
      return true;
    values.insert_range(maker.getInputs());
  }
  return false;
}

/// Splits a sum over few long rows: whole dimensions become blocks if there are
/// enough, else the row is cut. Returns the sum over the partial sums if it may
/// be large itself.
static linalg::GenericOp splitLongRows(linalg::GenericOp op,
                                       const FusionLimits &limits) {
  SmallVector<unsigned> dims = reducedDims(op);
  const int64_t size = op.getStaticLoopRanges()[dims[0]];
  if (dims.size() > 1) {
    if (size < 4)
      return nullptr;
    return splitInTwo(op, ArrayRef<unsigned>(dims).drop_front()).second;
  }
  // If the blocks are even, elementwise producers of the operands can join the
  // kernel.
  const int64_t blocks = largestDivisor(size, limits.rowBlocks);
  if (blocks >= limits.minItems) {
    op = blockDimension(op, dims[0], blocks);
    splitInTwo(op, {dims[0] + 1});
  } else if (canSplitIntoPaddedBlocks(op)) {
    splitIntoPaddedBlocks(op, limits.rowBlocks);
  }
  return nullptr;
}

/// With fewer rows per block, the partial sums are too large compared with
/// their operand.
static constexpr int64_t kLeastRows = 8;
/// Rows of a block for which a second dimension is cut, at least.
static constexpr int64_t kRowsOfBlock = 32;
/// Values that are searched for sums along their rows.
static constexpr unsigned kMaxValues = 16;

/// Whether other ops sum along the rows of which `op` sums up the columns, or
/// of what is computed from them element by element, or what they are computed
/// from. The gradients of a norm's input and of its parameters are such sums:
/// one kernel can compute them in one walk.
static bool sharesRows(linalg::GenericOp op) {
  const int64_t total = ShapedType::getNumElements(op.getStaticLoopRanges()),
                columns = total / ReducedRun(op).size;
  llvm::SetVector<Value> values;
  auto add = [&](ValueRange more) {
    for (Value value : more) {
      Value root = memoryRoot(value);
      if (cast<RankedTensorType>(root.getType()).getNumElements() == total)
        values.insert(root);
    }
  };
  add(op.getInputs());
  for (unsigned i = 0; i < values.size() && i < kMaxValues; ++i) {
    auto maker = values[i].getDefiningOp<linalg::GenericOp>();
    if (maker && maker.getNumReductionLoops() == 0)
      add(maker.getInputs());
    for (linalg::GenericOp reader : findReaders(values[i])) {
      if (ShapedType::getNumElements(reader.getStaticLoopRanges()) != total)
        continue;
      SmallVector<unsigned> dims = reducedDims(reader);
      if (dims.empty())
        add(reader.getResults());
      else if (dims.back() + 1 == reader.getNumLoops() &&
               ReducedRun(reader).size == columns)
        return true;
    }
  }
  return false;
}

/// The number of even blocks into which the reduced dimensions of a sum down
/// the rows can be cut: of the first one, and on a GPU, if each of its indices
/// is a block, of the second one.
struct RowBlocks {
  int64_t first, second = 1;

  RowBlocks(linalg::GenericOp op, const FusionLimits &limits) {
    SmallVector<unsigned> dims = reducedDims(op);
    SmallVector<int64_t> loops = op.getStaticLoopRanges();
    const int64_t large = ReducedRun(op).size / kRowsOfBlock;
    int64_t limit = limits.rowBlocks;
    if (limits.sharedRowBlocks > limit && large > limit && sharesRows(op))
      limit = std::min(limits.sharedRowBlocks, large);
    first = largestDivisor(loops[dims[0]], limit);
    if (!limits.splitRows || dims.size() == 1 || first < loops[dims[0]])
      return;
    const int64_t most = std::min(limit, large);
    second = largestDivisor(loops[dims[1]], most / first);
  }
  int64_t count() const { return first * second; }
};

/// Splits a large sum down the rows into sums over row blocks. On a GPU the
/// rows are cut unevenly if there are too few even blocks. Even blocks are
/// better, because producers of the operands can be fused with them.
static void splitDownRows(linalg::GenericOp op, const FusionLimits &limits) {
  SmallVector<unsigned> dims = reducedDims(op);
  const int64_t size = op.getStaticLoopRanges()[dims[0]];
  const RowBlocks blocks(op, limits);
  const int64_t rows = ReducedRun(op).size;
  const int64_t enough = dims.size() == 1 ? limits.minItems : 4;
  if (limits.splitRows && blocks.count() < enough && rows > limits.rowBlocks &&
      canSplitIntoPaddedBlocks(op))
    return splitIntoPaddedBlocks(
        op,
        std::min(limits.rowBlocks, llvm::divideCeilSigned(rows, kLeastRows)));
  if (blocks.count() < 4 || (blocks.first == size && dims.size() == 1))
    return;
  if (blocks.first < size)
    op = blockDimension(op, dims[0], blocks.first);
  if (blocks.second > 1)
    op = blockDimension(op, dims[1], blocks.second);
  SmallVector<unsigned> inner = reducedDims(op);
  inner.erase(inner.begin(), inner.begin() + (blocks.second > 1 ? 2 : 1));
  splitInTwo(op, inner);
}

/// Splits a large sum down the rows or over few long rows: blocks of the first
/// dimension are left to a second sum. Returns the second sum if it may be
/// large itself.
static linalg::GenericOp splitReduction(linalg::GenericOp op,
                                        const FusionLimits &limits) {
  SmallVector<unsigned> dims = reducedDims(op);
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  int64_t total = 1;
  for (int64_t size : loops)
    total *= size;
  if (!canBlock(op))
    return nullptr;
  // Even blocks would determine the grid of the kernel that walks the rows.
  if (limits.splitRows && canSplitIntoPaddedBlocks(op) &&
      reducesPerRowScalar(op)) {
    if (total >= limits.minRowsToSplit)
      splitIntoPaddedBlocks(op, limits.rowBlocks);
    return nullptr;
  }
  if (total < limits.largeSum)
    return nullptr;
  // Sums over the innermost dimensions reduce one row each.
  if (dims[0] == 0 && dims.back() + 1 < loops.size()) {
    splitDownRows(op, limits);
    return nullptr;
  }
  int64_t rows = 1;
  for (int64_t size : ArrayRef<int64_t>(loops).take_front(dims[0]))
    rows *= size;
  if (limits.splitRows && dims.back() + 1 == loops.size() &&
      rows < limits.minItems)
    return splitLongRows(op, limits);
  return nullptr;
}

namespace {

struct SplitReductionsPass
    : mpc::impl::SplitReductionsPassBase<SplitReductionsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<linalg::GenericOp> work;
    getOperation().walk([&](linalg::GenericOp op) {
      // Kernels cannot walk other reductions, split or not.
      if (op.getNumReductionLoops() > 0 && hasFilledInit(op))
        work.push_back(op);
    });
    while (!work.empty()) {
      linalg::GenericOp op = work.pop_back_val();
      if (hasSimpleReduction(op)) {
        if (linalg::GenericOp rest = splitReduction(op, device->fusionLimits()))
          work.push_back(rest);
        continue;
      }
      auto [first, second] = splitInTwo(op, innerDims(op));
      work.append({first, second});
    }
  }
};

} // namespace
