//===- AlongAxis.cpp - Sums, extremes and order along a dimension ---------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/ElementBody.h"
#include "compiler/Support/Locations.h"

#include <cmath>

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

using Values = ElementBody::Values;

MPC_OP_FACTS(CumSumOp, Sensitive, countElements(getResult()), "a long sum")
MPC_OP_FACTS(ArgExtremeOp, Sensitive, countElements(getInput()),
             "rounded numbers would tie")
MPC_OP_FACTS(TopIndicesOp, Sensitive, countElements(getInput()),
             "rounded numbers would tie")

/// Fails if the axis is not a dimension, or has no elements.
static LogicalResult checkRow(int64_t axis, ArrayRef<int64_t> shape,
                              const OpError &error) {
  if (failed(checkAxis(axis, shape.size(), error)))
    return failure();
  if (shape[axis] < 1)
    return error("dimension ", axis, " must have elements, but has extent ",
                 shape[axis]);
  return success();
}

/// The indices of the element at `index` along `axis`, and at the position of
/// the result element in the other dimensions. `removed`: the result lacks
/// `axis`.
static Values indicesAlong(ElementBody &body, int64_t rank, int64_t axis,
                           Value index, bool removed = false) {
  Values indices;
  for (int64_t dim = 0; dim < rank; ++dim)
    indices.push_back(
        dim == axis ? index : body.position(dim - (removed && dim > axis)));
  return indices;
}

//===----------------------------------------------------------------------===//
// CumSumOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(CumSumOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  if (failed(checkRow(op.getAxis(), shapeOf(op.getInput()),
                      error))) // cumsum_c1
    return failure();
  types.push_back(op.getInput().getType());
  return success();
}
MPC_INFER(CumSumOp, inferTypes)

LogicalResult CumSumOp::buildGradient(OpBuilder &builder,
                                      ValueRange resultGrads,
                                      ArrayRef<bool> needed,
                                      MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] =
        CumSumOp::create(builder, gradientLoc(getLoc()), resultGrads[0],
                         getAxis(), getExclusive(), !getReverse());
  return success();
}

static Value addNumbers(ElementBody &body, Value a, Value b) {
  return isa<FloatType>(a.getType()) ? body.add(a, b) : body.plus(a, b);
}

/// Computes the sums of blocks of the dimension first, so that each result adds
/// up few block sums and few elements: for 1024 elements, 32 and 32.
LogicalResult CumSumOp::lowerToLinalg(OpBuilder &builder,
                                      SmallVectorImpl<Value> &results) {
  Location loc = getLoc();
  Value input = getInput();
  auto type = cast<RankedTensorType>(getType());
  int64_t axis = getAxis(), rank = type.getRank(),
          extent = type.getDimSize(axis);
  FloatType compute = getComputeType(input, type);
  bool isFloat = isa<FloatType>(type.getElementType());
  Type sumType = isFloat ? Type(compute) : type.getElementType();
  bool reverse = getReverse(), exclusive = getExclusive();

  constexpr int64_t kOneBlock = 64;
  int64_t block = extent;
  if (extent > kOneBlock)
    block = std::ceil(std::sqrt(double(extent)));
  int64_t blocks = llvm::divideCeil(extent, block);
  Value sums;
  if (blocks > 1) {
    SmallVector<int64_t> shape(type.getShape());
    shape[axis] = blocks;
    sums = emitComputed(
        builder, loc, RankedTensorType::get(shape, sumType), {}, compute,
        [&](ElementBody body, ValueRange) -> Values {
          Value first = body.times(body.position(axis), block);
          Value zero = body.zero(sumType);
          return body.loop(
              block, zero, [&](Value turn, ValueRange sum) -> Values {
                Value index = body.plus(first, turn);
                Value element =
                    body.readIf(body.isWithin(index, extent), input,
                                indicesAlong(body, rank, axis, index), zero);
                return {addNumbers(body, sum[0], element)};
              });
        })[0];
  }
  results = emitComputed(
      builder, loc, TypeRange(type), {}, compute,
      [&](ElementBody body, ValueRange) -> Values {
        Value own = body.position(axis), zero = body.zero(sumType);
        Value ownBlock = body.dividedBy(own, block);
        // True if `index` comes before `until` in the direction of summation.
        auto isBefore = [&](Value index, Value until) {
          return reverse ? body.isLess(until, index)
                         : body.isLess(index, until);
        };
        Value total = zero;
        if (blocks > 1)
          total = body.loop(
              blocks, zero, [&](Value turn, ValueRange sum) -> Values {
                Value added = addNumbers(
                    body, sum[0],
                    body.read(sums, indicesAlong(body, rank, axis, turn)));
                return {body.select(isBefore(turn, ownBlock), added, sum[0])};
              })[0];
        Value first = body.times(ownBlock, block);
        return body.loop(
            block, total, [&](Value turn, ValueRange sum) -> Values {
              Value index = body.plus(first, turn);
              Value counts = isBefore(index, own);
              if (!exclusive)
                counts = body.orOf(counts, body.equals(index, own));
              counts = body.andOf(counts, body.isWithin(index, extent));
              Value element = body.readIf(
                  counts, input, indicesAlong(body, rank, axis, index), zero);
              return {addNumbers(body, sum[0], element)};
            });
      });
  return success();
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

namespace {

/// The order of elements: NaN is larger than any number, and equal to itself.
struct Order {
  ElementBody &body;
  bool smallest;
  bool nanFirst; ///< NaN comes first in either direction.

  Value isNan(Value x) { return body.compare(arith::CmpFPredicate::UNO, x, x); }
  Value both(Value a, Value b) { return body.andOf(a, b); }
  Value inverse(Value a) { return body.xorOf(a, body.trueLike(a)); }

  Value isBefore(Value a, Value b) {
    if (a.getType().isInteger(1)) // Bools: 1 is larger.
      return smallest ? both(inverse(a), b) : both(a, inverse(b));
    if (!isa<FloatType>(a.getType()))
      return body.compare(smallest ? arith::CmpIPredicate::slt
                                   : arith::CmpIPredicate::sgt,
                          a, b);
    Value isOrdered = body.compare(
        smallest ? arith::CmpFPredicate::OLT : arith::CmpFPredicate::OGT, a, b);
    Value ofNan = smallest && !nanFirst ? both(inverse(isNan(a)), isNan(b))
                                        : both(isNan(a), inverse(isNan(b)));
    return body.orOf(isOrdered, ofNan);
  }
  Value isEqual(Value a, Value b) {
    if (!isa<FloatType>(a.getType()))
      return body.equals(a, b);
    return body.orOf(body.compare(arith::CmpFPredicate::OEQ, a, b),
                     both(isNan(a), isNan(b)));
  }
};

} // namespace

static LogicalResult inferTypes(ArgExtremeOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> shape(shapeOf(op.getInput()));
  auto axis = static_cast<int64_t>(op.getAxis());
  if (failed(checkRow(axis, shape, error))) // arg_extreme_c1
    return failure();
  shape.erase(shape.begin() + axis);
  types.push_back(RankedTensorType::get(
      shape, IntegerType::get(op.getInput().getContext(), 64)));
  return success();
}
MPC_INFER(ArgExtremeOp, inferTypes)

LogicalResult ArgExtremeOp::lowerToLinalg(OpBuilder &builder,
                                          SmallVectorImpl<Value> &results) {
  Value input = getInput();
  int64_t axis = getAxis(), rank = shapeOf(input).size();
  int64_t extent = shapeOf(input)[axis];
  FloatType compute = getComputeType(input);
  results = emitComputed(
      builder, getLoc(), TypeRange(getType()), {}, compute,
      [&](ElementBody body, ValueRange) -> Values {
        Order order{body, getSmallest(), /*nanFirst=*/true};
        auto elementAt = [&](Value index) {
          return body.read(input, indicesAlong(body, rank, axis, index,
                                               /*removed=*/true));
        };
        Value zero = body.indexConstant(0);
        Value best = body.loop(
            extent, {elementAt(zero), zero},
            [&](Value index, ValueRange best) -> Values {
              Value element = elementAt(index);
              Value isBetter = order.isBefore(element, best[0]);
              if (getLast())
                isBetter = body.orOf(isBetter, order.isEqual(element, best[0]));
              return {body.select(isBetter, element, best[0]),
                      body.select(isBetter, index, best[1])};
            })[1];
        return {body.toInteger(best, builder.getI64Type())};
      });
  return success();
}

static LogicalResult inferTypes(TopIndicesOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  SmallVector<int64_t> shape(shapeOf(op.getInput()));
  auto axis = static_cast<int64_t>(op.getAxis());
  if (failed(checkRow(axis, shape, error))) // top_indices_c1
    return failure();
  auto k = static_cast<int64_t>(op.getK());
  if (k < 1 || k > shape[axis]) // top_indices_c2
    return error("'k' must lie in [1, ", shape[axis], "], but is ", k);
  shape[axis] = k;
  types.push_back(RankedTensorType::get(
      shape, IntegerType::get(op.getInput().getContext(), 64)));
  return success();
}
MPC_INFER(TopIndicesOp, inferTypes)

/// Counts for each element how many elements of its row come before it; this is
/// its rank. Each result then finds the element of its rank.
LogicalResult TopIndicesOp::lowerToLinalg(OpBuilder &builder,
                                          SmallVectorImpl<Value> &results) {
  Value input = getInput();
  int64_t axis = getAxis(), rank = shapeOf(input).size();
  int64_t extent = shapeOf(input)[axis];
  FloatType compute = getComputeType(input);
  Type i32 = builder.getI32Type();
  Value ranks = emitComputed(
      builder, getLoc(), RankedTensorType::get(shapeOf(input), i32), input,
      compute, [&](ElementBody body, ValueRange own) -> Values {
        Order order{body, getSmallest(), /*nanFirst=*/false};
        Value index = body.position(axis), zero = body.zero(i32);
        Value one = body.integer(1, zero);
        return body.loop(extent, zero, [&](Value turn, ValueRange n) -> Values {
          Value other = body.read(input, indicesAlong(body, rank, axis, turn));
          Value isFirst = body.andOf(order.isEqual(other, own[0]),
                                     body.isLess(turn, index));
          Value before = body.orOf(order.isBefore(other, own[0]), isFirst);
          return {body.plus(n[0], body.select(before, one, zero))};
        });
      })[0];
  results = emitComputed(
      builder, getLoc(), TypeRange(getType()), {}, compute,
      [&](ElementBody body, ValueRange) -> Values {
        Value wanted = body.toInteger(body.position(axis), i32);
        Value found = body.loop(
            extent, body.indexConstant(0),
            [&](Value turn, ValueRange n) -> Values {
              Value other =
                  body.read(ranks, indicesAlong(body, rank, axis, turn));
              return {body.select(body.equals(other, wanted), turn, n[0])};
            })[0];
        return {body.toInteger(found, builder.getI64Type())};
      });
  return success();
}
