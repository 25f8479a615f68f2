//===- ScatterReduce.cpp - Lowering of scatter_reduce ---------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/ElementBody.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Dialect/Train/Ops/Indexing/IndexGroups.h"
#include "compiler/Support/Locations.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

using Values = ElementBody::Values;
using Kind = IntegerOperation;

MPC_OP_FACTS(ScatterReduceOp, Sensitive, countElements(getUpdates()),
             "rounded numbers would tie")

static LogicalResult inferTypes(ScatterReduceOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> init = shapeOf(op.getInit());
  ArrayRef<int64_t> indices = shapeOf(op.getIndices());
  ArrayRef<int64_t> updates = shapeOf(op.getUpdates());
  if (indices.size() != 1 || init.empty() || updates.empty() ||
      updates[0] != indices[0] ||
      updates.drop_front() != init.drop_front()) // scatter_reduce_c1
    return error(
        "'indices' must be flat and 'updates' have a row of 'init' for "
        "each, but the shapes are [",
        indices, "], [", updates, "] and [", init, "]");
  if (elementOf(op.getInit()) !=
      elementOf(op.getUpdates())) // scatter_reduce_c2
    return error("'init' and 'updates' must have one element type, but have ",
                 elementOf(op.getInit()), " and ", elementOf(op.getUpdates()));
  Kind kind = op.getKind();
  if (kind != Kind::Add && kind != Kind::Mul && kind != Kind::Max &&
      kind != Kind::Min) // scatter_reduce_c3
    return error("'kind' must be add, mul, max or min, but is ",
                 stringifyIntegerOperation(kind));
  if (failed(IndexGroups::from(op).verify(init[0], indices[0],
                                          error))) // scatter_reduce_c4
    return failure();
  types.push_back(op.getInit().getType());
  return success();
}
MPC_INFER(ScatterReduceOp, inferTypes)

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

static Value combine(ElementBody &body, OpBuilder &builder, Location loc,
                     Kind kind, Value a, Value b) {
  bool isFloat = isa<FloatType>(a.getType());
  switch (kind) {
  case Kind::Add:
    return isFloat ? body.add(a, b) : body.plus(a, b);
  case Kind::Mul:
    return isFloat ? body.mul(a, b)
                   : arith::MulIOp::create(builder, loc, a, b).getResult();
  case Kind::Max:
    return isFloat ? body.max(a, b) : body.greatest(a, b);
  case Kind::Min:
    return isFloat ? body.min(a, b) : body.least(a, b);
  default:
    llvm_unreachable("the verifier knows the others");
  }
}

LogicalResult ScatterReduceOp::lowerToLinalg(OpBuilder &builder,
                                             SmallVectorImpl<Value> &results) {
  auto type = cast<RankedTensorType>(getType());
  FloatType compute = getComputeType(getInit());
  const auto groups = IndexGroups::from(*this);
  const int64_t count = groups.countOf(shapeOf(getIndices())[0]);
  results = emitElementwise(
      builder, getLoc(), TypeRange(getType()), getInit(),
      [&](OpBuilder &inner, Location loc, ValueRange own) -> Values {
        ElementBody body(inner, loc, compute);
        Value row = body.position(0);
        Values places(1);
        for (int64_t dim = 1; dim < type.getRank(); ++dim)
          places.push_back(body.position(dim));
        return body.loop(
            count, own[0], [&](Value turn, ValueRange all) -> Values {
              Value at =
                  groups.indexAt(body, row, type.getDimSize(0), turn, count);
              Value named = body.toIndex(body.read(getIndices(), at));
              Value isOurs = body.equals(named, row);
              places[0] = at;
              Value update = body.readIf(isOurs, getUpdates(), places, all[0]);
              Value both = combine(body, inner, loc, getKind(), all[0], update);
              return {body.select(isOurs, both, all[0])};
            });
      });
  return success();
}

//===----------------------------------------------------------------------===//
// Gradient
//===----------------------------------------------------------------------===//

namespace {

/// Builds the gradients of one op. Rows are those of the table.
class ScatterReduceGradient {
public:
  ScatterReduceGradient(OpBuilder &builder, ScatterReduceOp op)
      : builder(builder), loc(gradientLoc(op.getLoc())), op(op),
        zero(createScalarLike(builder, loc, op.getInit(), 0)),
        one(createScalarLike(builder, loc, op.getInit(), 1)) {}

  std::pair<Value, Value> ofSum(Value grad) { return {grad, gatherRows(grad)}; }
  std::pair<Value, Value> ofExtreme(Value grad);
  std::pair<Value, Value> ofProduct(Value grad);

private:
  /// Gathers `rows` at the indices, one row for each update.
  Value gatherRows(Value rows) {
    return GatherOp::create(builder, loc, rows, op.getIndices());
  }
  Value scatterAdd(Value updates) {
    return EmbeddingGradOp::create(builder, loc, updates, op.getIndices(),
                                   shapeOf(op.getInit())[0]);
  }
  Value equal(Value a, Value b) {
    return CompareOp::create(builder, loc, a, b, Comparison::Equal);
  }
  Value select(Value condition, Value a, Value b) {
    return SelectOp::create(builder, loc, condition, a, b);
  }
  template <typename OpTy> Value of(Value a, Value b) {
    return OpTy::create(builder, loc, a, b);
  }

  OpBuilder &builder;
  Location loc;
  ScatterReduceOp op;
  Value zero, one;
};

} // namespace

std::pair<Value, Value> ScatterReduceGradient::ofExtreme(Value grad) {
  Value isInit = equal(op.getInit(), op.getResult());
  Value isUpdate = equal(op.getUpdates(), gatherRows(op.getResult()));
  Value count = of<AddOp>(select(isInit, one, zero),
                          scatterAdd(select(isUpdate, one, zero)));
  Value share = of<DivOp>(grad, count);
  return {select(isInit, share, zero),
          select(isUpdate, gatherRows(share), zero)};
}

/// The gradient with respect to a factor is the product of the others. If no
/// factor is 0, divides the product by the factor; if one is 0, only its
/// gradient is not 0: the product of the nonzero factors; if several are 0, all
/// gradients are 0.
std::pair<Value, Value> ScatterReduceGradient::ofProduct(Value grad) {
  Value isInitZero = equal(op.getInit(), zero);
  Value isUpdateZero = equal(op.getUpdates(), zero);
  Value product = ScatterReduceOp::create(
      builder, loc, select(isInitZero, one, op.getInit()), op.getIndices(),
      select(isUpdateZero, one, op.getUpdates()), Kind::Mul, op.getGroups(),
      op.getLanes());
  Value zeros = of<AddOp>(select(isInitZero, one, zero),
                          scatterAdd(select(isUpdateZero, one, zero)));
  // The gradients with respect to factors that are 0, and to those that are
  // not.
  Value scaled = of<MulOp>(grad, product);
  Value whenZero = select(equal(zeros, one), scaled, zero);
  Value otherwise = select(equal(zeros, zero), scaled, zero);
  auto gradOf = [&](Value x, Value isZero, Value ofZero, Value ofOther) {
    return select(isZero, ofZero, of<DivOp>(ofOther, select(isZero, one, x)));
  };
  return {gradOf(op.getInit(), isInitZero, whenZero, otherwise),
          gradOf(op.getUpdates(), isUpdateZero, gatherRows(whenZero),
                 gatherRows(otherwise))};
}

LogicalResult
ScatterReduceOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                               ArrayRef<bool> needed,
                               MutableArrayRef<Value> operandGrads) {
  ScatterReduceGradient gradient(builder, *this);
  auto [init, updates] = getKind() == Kind::Add ? gradient.ofSum(resultGrads[0])
                         : getKind() == Kind::Mul
                             ? gradient.ofProduct(resultGrads[0])
                             : gradient.ofExtreme(resultGrads[0]);
  if (needed[0])
    operandGrads[0] = init;
  if (needed[2])
    operandGrads[2] = updates;
  return success();
}
