//===- SinkIntoJoins.cpp - Compute with the parts of a concatenation ------===//
//
// Implements mpc-sink-into-joins. A join is a chain of moves, each of which
// writes its input to another part of one tensor.
//
//===----------------------------------------------------------------------===//

#include "passes/Fusion/Kernels/Elementwise.h"
#include "passes/Fusion/Passes.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/DebugLog.h"

#include <functional>
#include <numeric>

#define DEBUG_TYPE "mpc-sink-into-joins"

namespace mpc {
#define GEN_PASS_DEF_SINKINTOJOINSPASS
#include "passes/Fusion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

namespace {

/// Where an element is read along a dimension: at a loop and an offset, or, if
/// there is no loop, at the offset.
struct At {
  std::optional<unsigned> loop;
  int64_t offset = 0;
};
using Place = SmallVector<At, 4>;

/// A part of a join: a value, and where its first element goes.
struct Part {
  Value value;
  SmallVector<int64_t, 4> offsets;
};

} // namespace

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// True if `op` copies elements of its only input.
static bool isCopy(linalg::GenericOp op) {
  return op.getNumDpsInputs() == 1 && op.getNumResults() == 1 &&
         op.getNumReductionLoops() == 0 &&
         op.getBody()->getTerminator()->getOperand(0) ==
             op.getBody()->getArgument(0);
}

/// The offset along a dimension that is written by a copy of a part: of d, d +
/// offset, or d mod extent, which equals d.
static std::optional<int64_t> offsetOf(AffineExpr expr, unsigned dim) {
  if (expr == getAffineDimExpr(dim, expr.getContext()))
    return 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || binary.getLHS() != getAffineDimExpr(dim, expr.getContext()))
    return std::nullopt;
  if (binary.getKind() == AffineExprKind::Mod)
    return 0;
  auto offset = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return binary.getKind() == AffineExprKind::Add && offset
             ? std::optional(offset.getValue())
             : std::nullopt;
}

/// The parts of the join that computes `value`, which may have several uses;
/// empty if none does.
static SmallVector<Part> partsOf(Value value) {
  SmallVector<Part> parts;
  int64_t elements = 0;
  while (!value.getDefiningOp<tensor::EmptyOp>()) {
    auto op = value.getDefiningOp<linalg::GenericOp>();
    if (!op || !(parts.empty() || value.hasOneUse()) || !isCopy(op) ||
        !op.getMatchingIndexingMap(op.getDpsInputOperand(0)).isIdentity())
      return {};
    OpOperand *init = op.getDpsInitOperand(0);
    Part part{op.getDpsInputs()[0], {}};
    for (auto [dim, expr] :
         llvm::enumerate(op.getMatchingIndexingMap(init).getResults())) {
      std::optional<int64_t> offset = offsetOf(expr, dim);
      if (!offset)
        return {};
      part.offsets.push_back(*offset);
    }
    elements += tensorType(part.value).getNumElements();
    parts.push_back(std::move(part));
    value = init->get();
  }
  if (parts.size() < 2 || elements != tensorType(value).getNumElements())
    return {};
  std::reverse(parts.begin(), parts.end());
  return parts;
}

namespace {

/// Reads and computes values at some places only, in order of common loops.
class Puller {
public:
  /// `extents` are those of the loops.
  Puller(OpBuilder &builder, ArrayRef<int64_t> extents)
      : builder(builder), extents(extents) {}

  /// A value, and where the loops read it.
  struct Pulled {
    Value value;
    Place place;
  };

  /// The elements of `value` at `place`. Elementwise ops that nothing else
  /// reads are computed only there.
  Pulled pull(Value value, const Place &place) {
    if (isWhole(value, place))
      return {value, place};
    auto op = value.getDefiningOp<linalg::GenericOp>();
    if (op && value.hasOneUse() && isElementwise(op))
      return {compute(op, place, nullptr, {}), inOrder(place)};
    return {move(value, place), inOrder(place)};
  }

  /// The elements of the result of `op` at `place`; `known`, unless null, is an
  /// operand whose elements are those of `pulled`.
  Value compute(linalg::GenericOp op, const Place &place, OpOperand *known,
                const Pulled &pulled) {
    SmallVector<Value> inputs;
    SmallVector<Place> places;
    for (OpOperand *input : op.getDpsInputOperands()) {
      Pulled from = pulled;
      if (input != known) {
        Place inner;
        for (AffineExpr expr : op.getMatchingIndexingMap(input).getResults()) {
          auto dim = dyn_cast<AffineDimExpr>(expr);
          inner.push_back(dim ? place[dim.getPosition()]
                              : At{std::nullopt,
                                   cast<AffineConstantExpr>(expr).getValue()});
        }
        from = pull(input->get(), inner);
      }
      inputs.push_back(from.value);
      places.push_back(from.place);
    }
    return emit(op.getLoc(), inputs, places, place,
                tensorType(op.getResult(0)).getElementType(),
                [&](OpBuilder &inner, Location, ValueRange arguments) {
                  IRMapping map;
                  map.map(op.getBody()->getArguments().drop_back(),
                          arguments.drop_back());
                  for (Operation &each : *op.getBody())
                    inner.clone(each, map);
                });
  }

private:
  /// The loops at `place`, in order.
  static SmallVector<unsigned> loopsOf(const Place &place) {
    SmallVector<unsigned> loops;
    for (const At &at : place)
      if (at.loop)
        loops.push_back(*at.loop);
    llvm::sort(loops);
    return loops;
  }

  /// Where the loops read what has a dimension for each loop at `place`.
  static Place inOrder(const Place &place) {
    Place result;
    for (unsigned loop : loopsOf(place))
      result.push_back({loop, 0});
    return result;
  }

  /// True if `place` is all of `value`, in order.
  bool isWhole(Value value, const Place &place) {
    std::optional<unsigned> last;
    for (auto [at, extent] : llvm::zip_equal(place, shapeOf(value))) {
      if (at.offset != 0 || extent != (at.loop ? extents[*at.loop] : 1) ||
          (at.loop && last && *at.loop < *last))
        return false;
      if (at.loop)
        last = at.loop;
    }
    return true;
  }

  static ArrayRef<int64_t> shapeOf(Value value) {
    return tensorType(value).getShape();
  }

  Value move(Value value, const Place &place) {
    return emit(value.getLoc(), value, place, place,
                tensorType(value).getElementType(),
                [](OpBuilder &inner, Location loc, ValueRange arguments) {
                  linalg::YieldOp::create(inner, loc, arguments[0]);
                });
  }

  /// The map from the loops at `whole` to `place`, which is in `from`.
  AffineMap mapOf(const Place &place, Value from, ArrayRef<unsigned> loops) {
    SmallVector<AffineExpr> exprs;
    MLIRContext *context = builder.getContext();
    for (auto [at, extent] : llvm::zip_equal(place, shapeOf(from))) {
      if (!at.loop) {
        exprs.push_back(getAffineConstantExpr(at.offset, context));
        continue;
      }
      AffineExpr dim = getAffineDimExpr(
          llvm::find(loops, *at.loop) - loops.begin(), context);
      bool isPart = extents[*at.loop] != extent;
      exprs.push_back(at.offset != 0 ? dim + at.offset
                      : isPart       ? dim % extent // As Lowering.h has it.
                                     : dim);
    }
    return AffineMap::get(loops.size(), 0, exprs, context);
  }

  /// Emits an op over the loops at `place`, in order, that reads `inputs` at
  /// `places`.
  Value emit(Location loc, ValueRange inputs, ArrayRef<Place> places,
             const Place &place, Type element,
             llvm::function_ref<void(OpBuilder &, Location, ValueRange)> body) {
    SmallVector<unsigned> loops = loopsOf(place);
    SmallVector<int64_t> shape;
    for (unsigned loop : loops)
      shape.push_back(extents[loop]);
    SmallVector<AffineMap> maps;
    for (auto [input, at] : llvm::zip_equal(inputs, places))
      maps.push_back(mapOf(at, input, loops));
    maps.push_back(builder.getMultiDimIdentityMap(loops.size()));
    Value init = tensor::EmptyOp::create(builder, loc, shape, element);
    return linalg::GenericOp::create(
               builder, loc, init.getType(), inputs, init, maps,
               SmallVector<utils::IteratorType>(loops.size(),
                                                utils::IteratorType::parallel),
               body)
        .getResult(0);
  }

  OpBuilder &builder;
  ArrayRef<int64_t> extents;
};

} // namespace

/// Copies `part` into `whole` at `offsets`.
static Value writePart(OpBuilder &builder, Location loc, Value part,
                       Value whole, ArrayRef<int64_t> offsets) {
  unsigned rank = offsets.size();
  SmallVector<AffineExpr> exprs;
  for (unsigned dim = 0; dim < rank; ++dim) {
    AffineExpr expr = builder.getAffineDimExpr(dim);
    int64_t extent = tensorType(whole).getDimSize(dim);
    if (offsets[dim] != 0)
      expr = expr + offsets[dim];
    else if (extent != tensorType(part).getDimSize(dim))
      expr = expr % extent;
    exprs.push_back(expr);
  }
  AffineMap maps[] = {builder.getMultiDimIdentityMap(rank),
                      AffineMap::get(rank, 0, exprs, builder.getContext())};
  return linalg::GenericOp::create(
             builder, loc, whole.getType(), part, whole, maps,
             SmallVector<utils::IteratorType>(rank,
                                              utils::IteratorType::parallel),
             [](OpBuilder &inner, Location where, ValueRange arguments) {
               linalg::YieldOp::create(inner, where, arguments[0]);
             })
      .getResult(0);
}

/// The elementwise op, or the permutation, that reads `joined`, and nothing
/// else does; null if there is none, or if it reads what other ops compute
/// together with their results.
static OpOperand *findReader(Value joined) {
  if (!joined.hasOneUse())
    return nullptr;
  OpOperand &use = *joined.use_begin();
  auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
  if (!op || !isElementwise(op) || !op.isDpsInput(&use) ||
      !op.getMatchingIndexingMap(&use).isPermutation())
    return nullptr;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto other = input->get().getDefiningOp<linalg::GenericOp>();
    if (input != &use && other && !input->get().hasOneUse() && !isCopy(other))
      return nullptr;
  }
  return &use;
}

/// Lets the parts of `joined` compute what reads it. Returns the join of the
/// results, or null if `joined` is no join or nothing changes.
static Value sinkIntoJoin(OpBuilder &builder, Value joined) {
  OpOperand *use = findReader(joined);
  SmallVector<Part> parts = use ? partsOf(joined) : SmallVector<Part>();
  if (parts.empty())
    return nullptr;
  auto op = cast<linalg::GenericOp>(use->getOwner());
  LDBG() << "computed for each part of a join: " << op;
  builder.setInsertionPoint(op);
  // The loop of each dimension of the join.
  SmallVector<unsigned> loops;
  for (AffineExpr expr : op.getMatchingIndexingMap(use).getResults())
    loops.push_back(cast<AffineDimExpr>(expr).getPosition());
  RankedTensorType type = tensorType(op.getResult(0));
  Value result = tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                         type.getElementType());
  for (const Part &part : parts) {
    SmallVector<int64_t> extents(loops.size()), offsets(loops.size());
    Place all(loops.size()), inPart;
    for (auto [dim, loop] : llvm::enumerate(loops)) {
      extents[loop] = tensorType(part.value).getDimSize(dim);
      offsets[loop] = part.offsets[dim];
      all[loop] = {loop, part.offsets[dim]};
      inPart.push_back({loop, 0});
    }
    Puller puller(builder, extents);
    Puller::Pulled from = puller.pull(part.value, inPart);
    Value value = isCopy(op) ? from.value : puller.compute(op, all, use, from);
    result = writePart(builder, op.getLoc(), value, result, offsets);
  }
  op.getResult(0).replaceAllUsesWith(result);
  return result;
}

/// Parts with fewer elements are not summed separately.
static constexpr int64_t kMinSummed = 1 << 17;

/// The only dimension along which `part` is smaller than `joined`.
static std::optional<unsigned> axisOf(const Part &part, Value joined) {
  std::optional<unsigned> axis;
  ArrayRef<int64_t> whole = tensorType(joined).getShape();
  for (auto [dim, extent] :
       llvm::enumerate(tensorType(part.value).getShape())) {
    if (extent == whole[dim])
      continue;
    if (axis)
      return std::nullopt;
    axis = dim;
  }
  return axis;
}

static int64_t product(ArrayRef<int64_t> extents) {
  return std::accumulate(extents.begin(), extents.end(), int64_t(1),
                         std::multiplies<>());
}

/// True if `op` sums its only operand, in order, over all dimensions but the
/// last, into a vector that starts with one value.
static bool isSumDownRows(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1 || op.getNumResults() != 1 ||
      op.getNumLoops() < 2 || op.hasIndexSemantics() ||
      tensorType(op.getResult(0)).getRank() != 1 ||
      !op.getDpsInits()[0].getDefiningOp<linalg::FillOp>() ||
      !op.getMatchingIndexingMap(op.getDpsInputOperand(0)).isIdentity())
    return false;
  unsigned last = op.getNumLoops() - 1;
  SmallVector<utils::IteratorType> kinds = op.getIteratorTypesArray();
  return op.getNumReductionLoops() == last &&
         kinds[last] == utils::IteratorType::parallel;
}

/// `value` with another shape, of as many elements.
static Value viewAs(OpBuilder &builder, Location loc, Value value,
                    ArrayRef<int64_t> shape) {
  RankedTensorType type = tensorType(value);
  if (type.getShape() == shape)
    return value;
  auto fold = [&](ArrayRef<int64_t> extents) {
    auto flat =
        RankedTensorType::get({product(extents)}, type.getElementType());
    SmallVector<ReassociationIndices> all(1);
    llvm::append_range(all[0], llvm::seq<int64_t>(0, extents.size()));
    return std::pair(flat, all);
  };
  if (type.getRank() > 1) {
    auto [flat, all] = fold(type.getShape());
    value = tensor::CollapseShapeOp::create(builder, loc, flat, value, all);
  }
  if (shape.size() == 1)
    return value;
  auto [flat, all] = fold(shape);
  return tensor::ExpandShapeOp::create(
      builder, loc, RankedTensorType::get(shape, type.getElementType()), value,
      all);
}

/// The sums down the rows that read `joined`, directly or through views.
static SmallVector<linalg::GenericOp> findSums(Value joined) {
  SmallVector<linalg::GenericOp> sums;
  SmallVector<Value> views = {joined};
  while (!views.empty())
    for (Operation *user : views.pop_back_val().getUsers()) {
      if (isa<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(user))
        views.push_back(user->getResult(0));
      else if (auto op = dyn_cast<linalg::GenericOp>(user);
               op && isSumDownRows(op))
        sums.push_back(op);
    }
  return sums;
}

/// Sums the parts of `joined` where others read the join as well: the kernels
/// that copy the parts can sum them, too, and the join is not read for that.
static void sumParts(OpBuilder &builder, Value joined,
                     SetVector<Operation *> &unused) {
  SmallVector<linalg::GenericOp> sums = findSums(joined);
  SmallVector<Part> parts =
      sums.empty() ? SmallVector<Part>() : partsOf(joined);
  if (parts.empty())
    return;
  std::optional<unsigned> axis = axisOf(parts[0], joined);
  if (!axis || llvm::any_of(parts, [&](const Part &part) {
        return axisOf(part, joined) != axis ||
               tensorType(part.value).getNumElements() < kMinSummed;
      }))
    return;
  ArrayRef<int64_t> whole = tensorType(joined).getShape();
  const int64_t columns = product(whole.drop_front(*axis));
  for (linalg::GenericOp op : sums) {
    SmallVector<int64_t> shape(tensorType(op.getDpsInputs()[0]).getShape());
    if (shape.back() != columns)
      continue;
    LDBG() << "sums each part of a join: " << op;
    Location loc = op.getLoc();
    builder.setInsertionPoint(op);
    auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
    RankedTensorType type = tensorType(op.getResult(0));
    Value result = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                           type.getElementType());
    for (const Part &part : parts) {
      const int64_t extent = tensorType(part.value).getDimSize(*axis);
      shape.back() = columns / whole[*axis] * extent;
      Value empty = tensor::EmptyOp::create(builder, loc, shape.back(),
                                            type.getElementType());
      Value init = linalg::FillOp::create(builder, loc, fill.getInputs(), empty)
                       .getResult(0);
      auto sum = linalg::GenericOp::create(
          builder, loc, init.getType(), viewAs(builder, loc, part.value, shape),
          init, op.getIndexingMapsArray(), op.getIteratorTypesArray());
      IRMapping map;
      op.getRegion().cloneInto(&sum.getRegion(), map);
      result = writePart(builder, loc, sum.getResult(0), result,
                         columns / whole[*axis] * part.offsets[*axis]);
    }
    op.getResult(0).replaceAllUsesWith(result);
    unused.insert(op);
  }
}

namespace {

struct SinkIntoJoinsPass : mpc::impl::SinkIntoJoinsPassBase<SinkIntoJoinsPass> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<Value> joins;
    getOperation().walk([&](linalg::GenericOp op) {
      if (op.getNumResults() == 1 && !partsOf(op.getResult(0)).empty())
        joins.push_back(op.getResult(0));
    });
    OpBuilder builder(&getContext());
    SetVector<Operation *> unused;
    for (Value joined : joins) {
      sumParts(builder, joined, unused);
      while (joined) {
        Operation *reader = joined.hasOneUse() ? *joined.user_begin() : nullptr;
        joined = sinkIntoJoin(builder, joined);
        if (joined)
          unused.insert(reader);
      }
    }
    eraseUnused(unused);
  }

private:
  /// Erases what has no use, and what then has none.
  static void eraseUnused(SetVector<Operation *> &unused) {
    while (!unused.empty()) {
      Operation *op = unused.pop_back_val();
      if (!op->use_empty())
        continue;
      for (Value operand : op->getOperands())
        if (isa_and_present<linalg::GenericOp, tensor::EmptyOp>(
                operand.getDefiningOp()))
          unused.insert(operand.getDefiningOp());
      op->erase();
    }
  }
};

} // namespace
