//===- LossGradients.cpp - Gradients of the gradients of losses -----------===//
//
// Gradients of loss gradients, for models with gradient penalties. These ops
// are linear in `grad`: the gradient with respect to it is their value for a
// grad of ones, times the incoming gradient, summed over the elements that
// belong to one element of `grad`. element_loss_grad has no gradient: such
// losses are computed from an output, after all gradients that the model itself
// takes.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/Lowering.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

static Value filledLike(OpBuilder &builder, Location loc, Value like,
                        double number) {
  return BroadcastToOp::create(builder, loc, like.getType(),
                               createScalarLike(builder, loc, like, number));
}

/// The gradient of a gradient op with respect to its `grad`, from a copy of
/// `op` with a `grad` of ones.
template <typename Op>
static Value gradientOfGrad(OpBuilder &builder, Op op, Value arriving) {
  Location loc = gradientLoc(op.getLoc());
  auto unit = cast<Op>(builder.clone(*op));
  unit.getGradMutable().assign(filledLike(builder, loc, op.getGrad(), 1));
  // The clone was inserted before its new operand.
  unit->moveAfter(unit.getGrad().getDefiningOp());
  Value product =
      MulOp::create(builder, loc, arriving, unit.getResult()).getResult();
  auto from = cast<RankedTensorType>(product.getType());
  auto to = cast<RankedTensorType>(op.getGrad().getType());
  if (from.getShape() == to.getShape())
    return product;
  SmallVector<int64_t> axes = {kClassDim};
  if (to.getRank() == 0)
    axes = allDims(product);
  return ReduceSumOp::create(builder, loc, product, axes, /*keepdims=*/false);
}

LogicalResult NllLossGradOp::buildGradient(OpBuilder &builder,
                                           ValueRange resultGrads,
                                           ArrayRef<bool> needed,
                                           MutableArrayRef<Value> grads) {
  if (getWeight() && needed[3])
    return emitOpError("has no gradient with respect to the class weights; "
                       "mark them as not trainable");
  Location loc = gradientLoc(getLoc());
  if (needed[0])
    grads[0] = gradientOfGrad(builder, *this, resultGrads[0]);
  if (needed[1]) // The loss is linear in the log-probabilities.
    grads[1] = createZeros(builder, loc, getInput());
  return success();
}

// The op is the gradient of nll_loss(log_softmax(x)); its gradients are
// computed from that form.
LogicalResult SoftmaxCrossEntropyGradOp::buildGradient(
    OpBuilder &builder, ValueRange resultGrads, ArrayRef<bool> needed,
    MutableArrayRef<Value> grads) {
  if (getWeight() && needed[3])
    return emitOpError("has no gradient with respect to the class weights; "
                       "mark them as not trainable");
  Location loc = gradientLoc(getLoc());
  if (needed[0])
    grads[0] = gradientOfGrad(builder, *this, resultGrads[0]);
  if (!needed[1])
    return success();
  if (getClasses())
    return emitOpError("has no gradient with respect to padded logits");
  Value logs = LogSoftmaxOp::create(builder, loc, getInput(), kClassDim);
  Value ofLogs = NllLossGradOp::create(
      builder, loc, getGrad(), logs, getLabels(), getWeight(),
      getReductionAttr(), getIgnoreIndexAttr(), getLabelSmoothingAttr(),
      /*classes=*/nullptr);
  auto backward =
      LogSoftmaxGradOp::create(builder, loc, ofLogs, logs, kClassDim);
  SmallVector<Value> inner(2);
  if (failed(
          backward.buildGradient(builder, resultGrads, {false, true}, inner)))
    return failure();
  grads[1] = LogSoftmaxGradOp::create(builder, loc, inner[1], logs, kClassDim);
  return success();
}
