//===- Indexing.cpp - Elements selected by index --------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/ElementBody.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Dialect/Train/Ops/Indexing/IndexGroups.h"
#include "compiler/Support/Locations.h"

#include "mlir/Dialect/Traits.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

using Values = ElementBody::Values;

/// Out of range for every table.
static constexpr int64_t kNowhere = std::numeric_limits<int64_t>::min();

MPC_OP_FACTS(FlatIndexOp, Sensitive, 0, "computes with integers alone")
MPC_OP_FACTS(GatherOp, Transparent, 0, "only copies elements")
MPC_OP_FACTS(LastIndexOp, Sensitive, 0, "computes with integers alone")

static Type i64Tensor(ArrayRef<int64_t> shape, Value like) {
  return RankedTensorType::get(shape, IntegerType::get(like.getContext(), 64));
}

/// The positions in dimensions [first, end) of the result.
static Values positions(ElementBody &body, int64_t first, int64_t end) {
  Values places;
  for (int64_t dim = first; dim < end; ++dim)
    places.push_back(body.position(dim));
  return places;
}

/// `index` as a place in a dimension of `extent`, and whether it is in range.
static std::pair<Value, Value> placeOf(ElementBody &body, Value index,
                                       int64_t extent) {
  Value place = body.toIndex(index);
  Value fromEnd = body.plus(place, body.indexConstant(extent));
  place =
      body.select(body.isLess(place, body.indexConstant(0)), fromEnd, place);
  return {place, body.isWithin(place, extent)};
}

//===----------------------------------------------------------------------===//
// FlatIndexOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(FlatIndexOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> axes = op.getAxes(), extents = op.getExtents();
  if (axes.empty() || op.getIndices().size() != axes.size()) // flat_index_c1
    return error("must have an operand for each of its axes, but has ",
                 op.getIndices().size(), " for ", axes.size());
  SmallVector<int64_t> shape;
  for (Value indices : op.getIndices()) {
    SmallVector<int64_t> before = shape;
    if (!OpTrait::util::getBroadcastedShape(before, shapeOf(indices),
                                            shape)) // flat_index_c1
      return error("operands must broadcast, but one has shape [",
                   shapeOf(indices), "]");
  }
  auto rank = static_cast<int64_t>(extents.size());
  if (failed(checkAxes(axes, rank, error))) // flat_index_c2
    return failure();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(axes, dim) &&
        (dim >= int64_t(shape.size()) ||
         shape[dim] > extents[dim])) // flat_index_c3
      return error("dimension ", dim,
                   " of 'extents' must be one of the result, which is no "
                   "larger; the result has shape [",
                   shape, "]");
  types.push_back(i64Tensor(shape, op.getIndices()[0]));
  return success();
}
MPC_INFER(FlatIndexOp, inferTypes)

LogicalResult FlatIndexOp::lowerToLinalg(OpBuilder &builder,
                                         SmallVectorImpl<Value> &results) {
  FloatType compute = builder.getF32Type();
  results = emitComputed(
      builder, getLoc(), getOperation()->getResultTypes(), getIndices(),
      compute, [&](ElementBody body, ValueRange indices) -> Values {
        Value flat = body.indexConstant(0), exists;
        const auto *axis = getAxes().begin();
        for (auto [dim, extent] : llvm::enumerate(getExtents())) {
          Value place;
          if (axis != getAxes().end() && *axis == int64_t(dim)) {
            Value isInRange;
            std::tie(place, isInRange) =
                placeOf(body, indices[axis++ - getAxes().begin()], extent);
            exists = exists ? body.andOf(exists, isInRange) : isInRange;
          } else {
            place = body.position(dim);
          }
          flat = body.plus(body.times(flat, extent), place);
        }
        Value row = body.toInteger(flat, builder.getI64Type());
        return {body.select(exists, row, body.integer(kNowhere, row))};
      });
  return success();
}

//===----------------------------------------------------------------------===//
// GatherOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(GatherOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  return inferRows(op.getTable(), op.getIndices(), error, types); // gather_c1
}
MPC_INFER(GatherOp, inferTypes)

int64_t GatherOp::countReads(unsigned operand) {
  return countElements(operand == 0 ? Value(getResult()) : Value(getIndices()));
}

/// The gradient of a table of updates from which `last` selects rows: an update
/// that is the last at its row has the row's gradient, any other has 0.
static Value gatherGradOfLast(OpBuilder &builder, Location loc, Value grad,
                              LastIndexOp last) {
  Value rows = last.getIndices();
  const int64_t count = shapeOf(rows)[0];
  auto sum = [&](Value a, Value b) -> Value {
    return IntegerOp::create(builder, loc, a, b, IntegerOperation::Add);
  };
  auto integers = [&](ArrayRef<int64_t> shape, int64_t value) -> Value {
    auto type = RankedTensorType::get(shape, builder.getI64Type());
    return ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(type, builder.getI64IntegerAttr(value)));
  };
  // Counted from 1, because an index out of range gathers 0.
  Value one = integers({}, 1);
  Value number =
      FlatIndexOp::create(builder, loc, integers({count, 1}, 0),
                          ArrayRef<int64_t>{1}, ArrayRef<int64_t>{count, 1});
  number = sum(reshapeTo(builder, loc, number, count), one);
  Value winner = GatherOp::create(builder, loc, sum(last, one), rows);
  Value isLast =
      CompareOp::create(builder, loc, winner, number, Comparison::Equal);
  SmallVector<int64_t> shape(shapeOf(grad).size(), 1);
  shape[0] = count;
  return SelectOp::create(builder, loc, reshapeTo(builder, loc, isLast, shape),
                          GatherOp::create(builder, loc, grad, rows),
                          createScalarLike(builder, loc, grad, 0));
}

/// The gradient of elements gathered along an axis: each element looks at the
/// few indices that can name it. Null if there are too many.
static Value sumWithinGroups(OpBuilder &builder, Location loc, Value grad,
                             GatherOp op) {
  const IndexGroups groups = IndexGroups::of(op.getIndices());
  const int64_t count = countElements(op.getIndices());
  if (shapeOf(op.getTable()).size() != 1 || !groups.areFew(count))
    return nullptr;
  auto flat = [&](Value value) {
    return reshapeTo(builder, loc, value, count);
  };
  return ScatterReduceOp::create(
      builder, loc, createZeros(builder, loc, op.getTable()),
      flat(op.getIndices()), flat(grad), IntegerOperation::Add, groups.groups,
      groups.lanes);
}

LogicalResult GatherOp::buildGradient(OpBuilder &builder,
                                      ValueRange resultGrads,
                                      ArrayRef<bool> needed,
                                      MutableArrayRef<Value> operandGrads) {
  if (!needed[0])
    return success();
  Location loc = gradientLoc(getLoc());
  if (auto last = getIndices().getDefiningOp<LastIndexOp>())
    operandGrads[0] = gatherGradOfLast(builder, loc, resultGrads[0], last);
  else if (Value sums = sumWithinGroups(builder, loc, resultGrads[0], *this))
    operandGrads[0] = sums;
  else
    operandGrads[0] = EmbeddingGradOp::create(
        builder, loc, resultGrads[0], getIndices(), shapeOf(getTable())[0]);
  return success();
}

LogicalResult GatherOp::lowerToLinalg(OpBuilder &builder,
                                      SmallVectorImpl<Value> &results) {
  Value table = getTable();
  int64_t indexRank = shapeOf(getIndices()).size();
  int64_t rank = getType().getRank();
  Type element = elementOf(getResult());
  FloatType compute = getComputeType(table, getType());
  // Indices lie along the first dimensions of the result.
  SmallVector<SmallVector<int64_t>> dims = {
      llvm::to_vector(llvm::seq<int64_t>(0, indexRank))};
  results = emitIndexed(
      builder, getLoc(), TypeRange(getType()), getIndices(), dims,
      [&](OpBuilder &inner, Location loc, ValueRange x) -> Values {
        ElementBody body(inner, loc, compute);
        auto [place, exists] = placeOf(body, x[0], shapeOf(table)[0]);
        Values places = {place};
        llvm::append_range(places, positions(body, indexRank, rank));
        Value none =
            isa<FloatType>(element) ? body.number(NAN) : body.zero(element);
        return {body.readIf(exists, table, places, none)};
      });
  return success();
}

//===----------------------------------------------------------------------===//
// LastIndexOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(LastIndexOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  if (shapeOf(op.getIndices()).size() != 1) // last_index_c1
    return error("'indices' must have rank 1, but has shape [",
                 shapeOf(op.getIndices()), "]");
  auto rows = static_cast<int64_t>(op.getRows());
  if (rows < 1) // last_index_c2
    return error("'rows' must be at least 1, but is ", rows);
  if (failed(IndexGroups::from(op).verify(rows, shapeOf(op.getIndices())[0],
                                          error))) // last_index_c3
    return failure();
  types.push_back(i64Tensor({rows}, op.getIndices()));
  return success();
}
MPC_INFER(LastIndexOp, inferTypes)

LogicalResult LastIndexOp::lowerToLinalg(OpBuilder &builder,
                                         SmallVectorImpl<Value> &results) {
  Value indices = getIndices();
  const auto groups = IndexGroups::from(*this);
  const int64_t rows = getRows();
  const int64_t count = groups.countOf(shapeOf(indices)[0]);
  results = emitComputed(
      builder, getLoc(), TypeRange(getType()), {}, builder.getF32Type(),
      [&](ElementBody body, ValueRange) -> Values {
        Value row = body.position(0);
        Value none = body.indexConstant(kNowhere);
        Value last =
            body.loop(count, none, [&](Value turn, ValueRange found) -> Values {
              Value at = groups.indexAt(body, row, rows, turn, count);
              Value named = body.toIndex(body.read(indices, at));
              return {body.select(body.equals(named, row), at, found[0])};
            })[0];
        return {body.toInteger(last, builder.getI64Type())};
      });
  return success();
}
