//===- Integer.cpp - Integer arithmetic and products ----------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/ElementBody.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"

#include "mlir/Dialect/Traits.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

using Values = ElementBody::Values;

MPC_OP_FACTS(IntegerOp, Sensitive, 0, "computes with integers alone")
MPC_OP_FACTS(ReduceByOp, Sensitive, countElements(getInput()),
             "a product grows fast")
MPC_OP_FACTS(ProductOfOthersOp, Sensitive, countElements(getInput()),
             "a product grows fast")

//===----------------------------------------------------------------------===//
// IntegerOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(IntegerOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> lhs = shapeOf(op.getLhs()), rhs = shapeOf(op.getRhs());
  SmallVector<int64_t> shape;
  if (!OpTrait::util::getBroadcastedShape(lhs, rhs, shape)) // integer_c1
    return error("shapes must broadcast, but are [", lhs, "] and [", rhs, "]");
  if (elementOf(op.getLhs()) != elementOf(op.getRhs())) // integer_c2
    return error("operands must have one element type, but have ",
                 elementOf(op.getLhs()), " and ", elementOf(op.getRhs()));
  types.push_back(RankedTensorType::get(shape, elementOf(op.getLhs())));
  return success();
}
MPC_INFER(IntegerOp, inferTypes)

/// Never divides by zero, nor the smallest integer by -1.
static Value divide(ElementBody &m, OpBuilder &builder, Location loc,
                    IntegerOperation operation, Value a, Value b) {
  Value zero = m.integer(0, a), one = m.integer(1, a);
  Value isZero = m.equals(b, zero);
  Value isMinus = m.equals(b, m.integer(-1, a));
  Value divisor = m.select(m.orOf(isZero, isMinus), one, b);
  if (operation == IntegerOperation::Div) {
    Value quotient = arith::DivSIOp::create(builder, loc, a, divisor);
    return m.select(isZero, zero,
                    m.select(isMinus, m.minus(zero, a), quotient));
  }
  Value rest = arith::RemSIOp::create(builder, loc, a, divisor);
  if (operation == IntegerOperation::Mod) {
    // Gives the result the sign of b.
    Value differs =
        m.isLess(arith::XOrIOp::create(builder, loc, rest, divisor), zero);
    Value wraps =
        m.andOf(differs, m.compare(arith::CmpIPredicate::ne, rest, zero));
    rest = m.select(wraps, m.plus(rest, divisor), rest);
  }
  return m.select(m.orOf(isZero, isMinus), zero, rest);
}

static Value apply(ElementBody &m, OpBuilder &builder, Location loc,
                   IntegerOperation operation, Value a, Value b) {
  bool isFloat = isa<FloatType>(a.getType());
  switch (operation) {
  case IntegerOperation::Add:
    return m.plus(a, b);
  case IntegerOperation::Sub:
    return m.minus(a, b);
  case IntegerOperation::Mul:
    return isFloat ? m.mul(a, b)
                   : arith::MulIOp::create(builder, loc, a, b).getResult();
  case IntegerOperation::Div:
  case IntegerOperation::Mod:
  case IntegerOperation::Rem:
    return divide(m, builder, loc, operation, a, b);
  case IntegerOperation::Max:
    return m.greatest(a, b);
  case IntegerOperation::Min:
    return m.least(a, b);
  case IntegerOperation::And:
    return m.andOf(a, b);
  case IntegerOperation::Or:
    return m.orOf(a, b);
  case IntegerOperation::Xor:
    return m.xorOf(a, b);
  }
  llvm_unreachable("all operations are listed");
}

LogicalResult IntegerOp::lowerToLinalg(OpBuilder &builder,
                                       SmallVectorImpl<Value> &results) {
  results = emitElementwise(
      builder, getLoc(), TypeRange(getType()), {getLhs(), getRhs()},
      [&](OpBuilder &inner, Location loc, ValueRange x) -> Values {
        ElementBody body(inner, loc, inner.getF32Type());
        return {apply(body, inner, loc, getKind(), x[0], x[1])};
      });
  return success();
}

//===----------------------------------------------------------------------===//
// ReduceByOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(ReduceByOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  Type element = elementOf(op.getInput());
  if (failed(checkAxes(op.getAxes(), shape.size(), error))) // reduce_by_c1
    return failure();
  using Kind = IntegerOperation;
  Kind kind = op.getKind();
  bool isKnown =
      kind == Kind::Mul ||
      (!isa<FloatType>(element) &&
       (kind == Kind::Add || kind == Kind::Max || kind == Kind::Min));
  if (!isKnown) // reduce_by_c2
    return error("'kind' cannot be ", stringifyIntegerOperation(kind),
                 " for elements of ", element);
  types.push_back(RankedTensorType::get(
      reducedShape(shape, op.getAxes(), op.getKeepdims()), element));
  return success();
}
MPC_INFER(ReduceByOp, inferTypes)

namespace {

/// Iterates over the elements of the reduced dimensions `axes`, in row-major
/// order.
struct Box {
  ArrayRef<int64_t> shape, axes;

  int64_t size() const {
    int64_t count = 1;
    for (int64_t axis : axes)
      count *= shape[axis];
    return count;
  }
  /// The places of element `turn` in the reduced dimensions; in the other
  /// dimensions, those of `others`, in order.
  Values placesAt(ElementBody &body, Value turn, ValueRange others) const {
    Values places(shape.size());
    for (int64_t axis : llvm::reverse(axes)) {
      places[axis] = body.modulo(turn, shape[axis]);
      turn = body.dividedBy(turn, shape[axis]);
    }
    auto next = others.begin();
    for (Value &place : places)
      if (!place)
        place = *next++;
    return places;
  }
};

} // namespace

static Value identityOf(ElementBody &body, OpBuilder &builder, Location loc,
                        IntegerOperation operation, Type element) {
  if (isa<FloatType>(element))
    return body.number(1);
  unsigned width = element.getIntOrFloatBitWidth();
  APInt value(width, operation == IntegerOperation::Mul ? 1 : 0);
  if (operation == IntegerOperation::Max)
    value = APInt::getSignedMinValue(width);
  if (operation == IntegerOperation::Min)
    value = APInt::getSignedMaxValue(width);
  return arith::ConstantOp::create(builder, loc,
                                   IntegerAttr::get(element, value));
}

Value ReduceByOp::getSummands() {
  return getKind() == IntegerOperation::Add ? getInput() : Value();
}

LogicalResult ReduceByOp::lowerToLinalg(OpBuilder &builder,
                                        SmallVectorImpl<Value> &results) {
  Value input = getInput();
  Box box{shapeOf(input), getAxes()};
  Type element = elementOf(input);
  FloatType compute = getComputeType(input);
  auto kept = cast<RankedTensorType>(getType()).clone(
      reducedShape(box.shape, box.axes, /*keepdims=*/false));
  Value reduced = emitElementwise(
      builder, getLoc(), TypeRange(kept), {},
      [&](OpBuilder &inner, Location loc, ValueRange) -> Values {
        ElementBody body(inner, loc, compute);
        Values others;
        for (int64_t dim = 0; dim < kept.getRank(); ++dim)
          others.push_back(body.position(dim));
        Value first = identityOf(body, inner, loc, getKind(), element);
        return body.loop(
            box.size(), first, [&](Value turn, ValueRange all) -> Values {
              Value next = body.read(input, box.placesAt(body, turn, others));
              return {apply(body, inner, loc, getKind(), all[0], next)};
            });
      })[0];
  results.assign(1,
                 emitReshape(builder, getLoc(), reduced, shapeOf(getResult())));
  return success();
}

LogicalResult ReduceByOp::buildGradient(OpBuilder &builder,
                                        ValueRange resultGrads,
                                        ArrayRef<bool> needed,
                                        MutableArrayRef<Value> operandGrads) {
  if (!needed[0])
    return success();
  Location loc = gradientLoc(getLoc());
  Value grad = reshapeTo(
      builder, loc, resultGrads[0],
      reducedShape(shapeOf(getInput()), getAxes(), /*keepdims=*/true));
  Value others =
      ProductOfOthersOp::create(builder, loc, getInput(), getAxesAttr());
  operandGrads[0] = MulOp::create(builder, loc, grad, others);
  return success();
}

//===----------------------------------------------------------------------===//
// ProductOfOthersOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(ProductOfOthersOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  if (failed(checkAxes(op.getAxes(), shapeOf(op.getInput()).size(),
                       error))) // product_of_others_c1
    return failure();
  types.push_back(op.getInput().getType());
  return success();
}
MPC_INFER(ProductOfOthersOp, inferTypes)

LogicalResult
ProductOfOthersOp::lowerToLinalg(OpBuilder &builder,
                                 SmallVectorImpl<Value> &results) {
  Value input = getInput();
  Box box{shapeOf(input), getAxes()};
  FloatType compute = getComputeType(input);
  results = emitComputed(
      builder, getLoc(), TypeRange(getType()), {}, compute,
      [&](ElementBody body, ValueRange) -> Values {
        Values others;
        Value own = body.indexConstant(0);
        for (auto [dim, extent] : llvm::enumerate(box.shape)) {
          Value place = body.position(dim);
          if (llvm::is_contained(box.axes, int64_t(dim)))
            own = body.plus(body.times(own, extent), place);
          else
            others.push_back(place);
        }
        Value one = body.number(1);
        return body.loop(
            box.size(), one, [&](Value turn, ValueRange all) -> Values {
              Value next = body.read(input, box.placesAt(body, turn, others));
              next = body.select(body.equals(turn, own), one, next);
              return {body.mul(all[0], next)};
            });
      });
  return success();
}
