//===- Reduction.cpp - Sums, means and maxima -----------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/ScalarMath.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

MPC_OP_FACTS(ReduceSumOp, Internal, countElements(getInput()),
             "reads 16 bit, sums and stores f32")
MPC_OP_FACTS(ReduceMeanOp, Internal, countElements(getInput()),
             "reads 16 bit, sums and stores f32")

MPC_OP_FACTS(ReduceMaxOp, Follow, countElements(getInput()),
             "passes one of its elements")

ErrorPropagation ReduceSumOp::getErrorPropagation(unsigned) {
  return ErrorPropagation::Summed;
}
ErrorPropagation ReduceMeanOp::getErrorPropagation(unsigned) {
  return ErrorPropagation::Averaged;
}

Value ReduceSumOp::getSummands() { return getInput(); }
Value ReduceMeanOp::getSummands() { return nullptr; }

#define MPC_BATCH_LOSS(OP, ADDS_UP)                                            \
  bool OP::isSumReduction() { return ADDS_UP; }                                \
  bool OP::isWeighted() { return false; }                                      \
  int64_t OP::countTerms() { return 1; }                                       \
  Value OP::buildDivisor(OpBuilder &) { return nullptr; }
MPC_BATCH_LOSS(ReduceSumOp, true)
MPC_BATCH_LOSS(ReduceMeanOp, false)
#undef MPC_BATCH_LOSS

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

template <typename Adaptor>
static LogicalResult inferReduction(Adaptor op, const OpError &error,
                                    SmallVectorImpl<Type> &types) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  if (failed(checkAxes(op.getAxes(), input.getRank(), error))) // reduce_c1
    return failure();
  types.push_back(input.clone(
      reducedShape(input.getShape(), op.getAxes(), op.getKeepdims())));
  return success();
}

MPC_INFER(ReduceSumOp, inferReduction)
MPC_INFER(ReduceMeanOp, inferReduction)
MPC_INFER(ReduceMaxOp, inferReduction)

/// Without axes nothing is reduced.
template <typename Op> static OpFoldResult foldReduction(Op op) {
  if (op.getAxes().empty() && op.getInput().getType() == op.getType())
    return op.getInput();
  return nullptr;
}

OpFoldResult ReduceSumOp::fold(FoldAdaptor) { return foldReduction(*this); }
OpFoldResult ReduceMeanOp::fold(FoldAdaptor) { return foldReduction(*this); }
OpFoldResult ReduceMaxOp::fold(FoldAdaptor) { return foldReduction(*this); }

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The number of elements that are reduced to one element of the result.
template <typename Op> static int64_t countReduced(Op op) {
  int64_t count = 1;
  for (int64_t axis : op.getAxes())
    count *= op.getInput().getType().getDimSize(axis);
  return count;
}

/// Repeats `grad` over the reduced dimensions.
template <typename Op>
static Value spreadGradient(Op op, OpBuilder &builder, Value grad) {
  Location loc = gradientLoc(op.getLoc());
  RankedTensorType input = op.getInput().getType();
  grad = reshapeTo(builder, loc, grad,
                   reducedShape(input.getShape(), op.getAxes(),
                                /*keepdims=*/true));
  auto type = input.clone(getElementTypeOrSelf(grad.getType()));
  return BroadcastToOp::create(builder, loc, type, grad);
}

LogicalResult ReduceSumOp::buildGradient(OpBuilder &builder,
                                         ValueRange resultGrads,
                                         ArrayRef<bool> needed,
                                         MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] = spreadGradient(*this, builder, resultGrads[0]);
  return success();
}

LogicalResult ReduceMeanOp::buildGradient(OpBuilder &builder,
                                          ValueRange resultGrads,
                                          ArrayRef<bool> needed,
                                          MutableArrayRef<Value> operandGrads) {
  if (!needed[0])
    return success();
  Location loc = gradientLoc(getLoc());
  Value factor =
      createScalarLike(builder, loc, resultGrads[0], 1.0 / countReduced(*this));
  Value scaled = MulOp::create(builder, loc, resultGrads[0], factor);
  operandGrads[0] = spreadGradient(*this, builder, scaled);
  return success();
}

LogicalResult ReduceMaxOp::buildGradient(OpBuilder &builder,
                                         ValueRange resultGrads,
                                         ArrayRef<bool> needed,
                                         MutableArrayRef<Value> operandGrads) {
  if (!needed[0])
    return success();
  Location loc = gradientLoc(getLoc());
  Value grad = resultGrads[0], input = getInput();
  ArrayRef<int64_t> shape = getInput().getType().getShape();
  SmallVector<int64_t> kept = reducedShape(shape, getAxes(), /*keepdims=*/true);
  Value largest = reshapeTo(builder, loc, getResult(), kept);
  Value isLargest =
      CompareOp::create(builder, loc, input, largest, Comparison::Equal);
  Value ones = CastOp::create(builder, loc, isLargest,
                              getElementTypeOrSelf(grad.getType()));
  Value count = ReduceSumOp::create(builder, loc, ones, getAxesAttr(),
                                    builder.getUnitAttr());
  Value share =
      DivOp::create(builder, loc, reshapeTo(builder, loc, grad, kept), count);
  operandGrads[0] = SelectOp::create(builder, loc, isLargest, share,
                                     createScalarLike(builder, loc, grad, 0));
  return success();
}

//===----------------------------------------------------------------------===//
// Lowering
//===----------------------------------------------------------------------===//

/// Reduces in the compute type, multiplies by `factor`, rounds, and restores
/// unit dimensions with a view.
template <typename Op>
static Value lowerReduction(Op op, OpBuilder &builder, double factor,
                            Combiner combiner = Combiner::Sum) {
  Location loc = op.getLoc();
  RankedTensorType input = op.getInput().getType();
  Value sum = emitReduction(builder, loc, input.getShape(), op.getAxes(),
                            combiner, op.getInput(), allDims(op.getInput()),
                            [](OpBuilder &, Location, ValueRange x) {
                              return SmallVector<Value>{x[0]};
                            })[0];
  auto type = cast<RankedTensorType>(sum.getType())
                  .clone(op.getType().getElementType());
  if (factor != 1.0 || type != sum.getType())
    sum = emitElementwise(
        builder, loc, TypeRange(type), sum,
        [&](OpBuilder &inner, Location loc, ValueRange x) {
          ScalarMath m(inner, loc);
          return SmallVector<Value>{
              factor == 1.0 ? x[0] : m.mul(x[0], m.constant(factor, x[0]))};
        })[0];
  return emitReshape(builder, loc, sum, op.getType().getShape());
}

LogicalResult ReduceSumOp::lowerToLinalg(OpBuilder &builder,
                                         SmallVectorImpl<Value> &results) {
  results.assign(1, lowerReduction(*this, builder, 1.0));
  return success();
}

LogicalResult ReduceMeanOp::lowerToLinalg(OpBuilder &builder,
                                          SmallVectorImpl<Value> &results) {
  results.assign(1, lowerReduction(*this, builder, 1.0 / countReduced(*this)));
  return success();
}

LogicalResult ReduceMaxOp::lowerToLinalg(OpBuilder &builder,
                                         SmallVectorImpl<Value> &results) {
  results.assign(1, lowerReduction(*this, builder, 1.0, Combiner::Max));
  return success();
}
