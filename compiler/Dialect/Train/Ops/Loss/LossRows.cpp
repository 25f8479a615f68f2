//===- LossRows.cpp - Losses of some rows at a time -----------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/Train.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// What the mean of the losses of rows divides by: the sum of the weights of
/// labels.
template <typename Op> static Value divisorOfMean(OpBuilder &builder, Op op) {
  Value counted = IsCountedOp::create(builder, op.getLoc(), op.getLabels(),
                                      op.getWeight(), op.getIgnoreIndexAttr());
  return ReduceSumOp::create(builder, op.getLoc(), counted,
                             ArrayRef<int64_t>{0}, /*keepdims=*/false);
}

template <typename Op>
static Value reduceLosses(OpBuilder &builder, Op op, Value losses) {
  if (op.getReduction() == LossReduction::None)
    return losses;
  Value sum = ReduceSumOp::create(builder, op.getLoc(), losses,
                                  ArrayRef<int64_t>{0}, /*keepdims=*/false);
  if (op.getReduction() == LossReduction::Sum)
    return sum;
  return DivOp::create(builder, op.getLoc(), sum, divisorOfMean(builder, op));
}

template <typename Op> static Value rowGradsOf(OpBuilder &builder, Op op) {
  Value grad = op.getGrad();
  if (op.getReduction() == LossReduction::None)
    return grad;
  if (op.getReduction() == LossReduction::Mean)
    grad =
        DivOp::create(builder, op.getLoc(), grad, divisorOfMean(builder, op));
  auto type =
      RankedTensorType::get(shapeOf(op.getLabels()), elementOf(op.getGrad()));
  return BroadcastToOp::create(builder, op.getLoc(), type, grad);
}

#define MPC_LOSS_ROWS(OP)                                                      \
  void OP::computeRows(Value) { setReduction(LossReduction::None); }           \
  Value OP::reduceRows(OpBuilder &builder, Value rows) {                       \
    return reduceLosses(builder, *this, rows);                                 \
  }
MPC_LOSS_ROWS(SoftmaxCrossEntropyOp)
MPC_LOSS_ROWS(NllLossOp)
#undef MPC_LOSS_ROWS

#define MPC_LOSS_GRAD_ROWS(OP)                                                 \
  Value OP::buildRowGrads(OpBuilder &builder) {                                \
    return rowGradsOf(builder, *this);                                         \
  }                                                                            \
  void OP::computeRows(Value rowGrads) {                                       \
    setReduction(LossReduction::None);                                         \
    getGradMutable().assign(rowGrads);                                         \
  }
MPC_LOSS_GRAD_ROWS(SoftmaxCrossEntropyGradOp)
MPC_LOSS_GRAD_ROWS(NllLossGradOp)
#undef MPC_LOSS_GRAD_ROWS

void IsCorrectOp::computeRows(Value) {}
