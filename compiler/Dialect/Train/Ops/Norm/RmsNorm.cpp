//===- RmsNorm.cpp - Root mean square normalization -----------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/Emit.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

//===----------------------------------------------------------------------===//
// Classes, costs, reasons
//===----------------------------------------------------------------------===//

MPC_OP_FACTS(RmsNormOp, Internal, 4 * countElements(getInput()),
             "normalized values are small; squares, their sum and scale in f32")
MPC_OP_FACTS(RmsNormGradOp, Internal, 11 * countElements(getInput()),
             "row sums, and the gradient of scale, in f32")

bool RmsNormOp::isOperandPinned(unsigned index) { return index != 0; }
bool RmsNormOp::isResultPinned(unsigned index) { return index != 0; }
bool RmsNormGradOp::isOperandPinned(unsigned index) { return index > 1; }
ErrorPropagation RmsNormGradOp::getErrorPropagation(unsigned result) {
  return result == 0 ? ErrorPropagation::Projected : ErrorPropagation::Summed;
}
bool RmsNormGradOp::isResultPinned(unsigned index) { return index != 0; }

//===----------------------------------------------------------------------===//
// RmsNormOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(RmsNormOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  auto axis = static_cast<int64_t>(op.getAxis());
  if (failed(checkAxis(axis, shape.size(), error)) || // rms_norm_c1
      failed(checkShape("scale", op.getScale(), shape.drop_front(axis),
                        error))) // rms_norm_c2
    return failure();
  types.assign({RankedTensorType::get(shape, elementOf(op.getInput())),
                pinnedType(shape.take_front(axis), op.getInput())});
  return success();
}
MPC_INFER(RmsNormOp, inferTypes)

LogicalResult RmsNormOp::buildGradient(OpBuilder &builder,
                                       ValueRange resultGrads,
                                       ArrayRef<bool> needed,
                                       MutableArrayRef<Value> operandGrads) {
  if (resultGrads[1])
    return emitOpError("has no gradient through its root mean square; only its "
                       "first result may lead to the loss");
  auto gradients =
      RmsNormGradOp::create(builder, gradientLoc(getLoc()), resultGrads[0],
                            getInput(), getScale(), getInvRms(), getAxis());
  for (auto [index, isNeeded] : llvm::enumerate(needed))
    if (isNeeded)
      operandGrads[index] = gradients.getResult(index);
  return success();
}

LogicalResult RmsNormOp::lowerToLinalg(OpBuilder &builder,
                                       SmallVectorImpl<Value> &results) {
  Emitter emit(builder, getLoc(), shapeOf(getInput()),
               getComputeType(getOperands(), getResultTypes()));
  SmallVector<int64_t> kept = Emitter::range(0, getAxis()),
                       tail = Emitter::range(getAxis(), emit.rank());
  double count = emit.count(tail), epsilon = getEpsilon().convertToDouble();
  Value squares =
      emit.sum(tail, {{getInput(), emit.all()}},
               [](Scalars s, ValueRange v) { return s.mul(v[0], v[0]); });
  Value invRms = emit.combine(squares, [&](Scalars s, ValueRange v) {
    Value mean = s.div(v[0], s.constant(count, v[0]));
    Value root = s.sqrt(s.add(mean, s.constant(epsilon, mean)));
    return s.div(s.constant(1, root), root);
  });
  results.push_back(emit.map(
      getResult().getType(),
      {{getInput(), emit.all()}, {invRms, kept}, {getScale(), tail}},
      [](Scalars s, ValueRange v) { return s.mul(s.mul(v[0], v[1]), v[2]); }));
  results.push_back(emit.round(invRms, getInvRms().getType()));
  return success();
}

//===----------------------------------------------------------------------===//
// RmsNormGradOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(RmsNormGradOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  auto axis = static_cast<int64_t>(op.getAxis());
  if (failed(checkAxis(axis, shape.size(), error)))
    return failure();
  ArrayRef<int64_t> tail = shape.drop_front(axis);
  if (failed(checkShape("grad", op.getGrad(), shape, error)) ||
      failed(checkShape("scale", op.getScale(), tail, error)) ||
      failed(
          checkShape("inv_rms", op.getInvRms(), shape.take_front(axis), error)))
    return failure(); // rms_norm_grad_c1
  types.assign({RankedTensorType::get(shape, elementOf(op.getGrad())),
                pinnedType(tail, op.getInput())});
  return success();
}
MPC_INFER(RmsNormGradOp, inferTypes)

// With g = grad * scale, x^ = input * inv_rms and means over the normalized
// dimensions:
//   grad_input = inv_rms * (g - x^ * mean(g * x^))
//   grad_scale = sum(grad * x^)
LogicalResult RmsNormGradOp::lowerToLinalg(OpBuilder &builder,
                                           SmallVectorImpl<Value> &results) {
  Emitter emit(builder, getLoc(), shapeOf(getInput()),
               getComputeType(getOperands(), getResultTypes()));
  SmallVector<int64_t> kept = Emitter::range(0, getAxis()),
                       tail = Emitter::range(getAxis(), emit.rank());
  Indexed grad{getGrad(), emit.all()}, input{getInput(), emit.all()},
      scale{getScale(), tail}, invRms{getInvRms(), kept};
  Value product =
      emit.sum(tail, {grad, scale, input, invRms}, [](Scalars s, ValueRange v) {
        return s.mul(s.mul(v[0], v[1]), s.mul(v[2], v[3]));
      });
  double factor = 1 / emit.count(tail);
  results.push_back(emit.map(
      getGradInput().getType(), {grad, scale, input, invRms, {product, kept}},
      [&](Scalars s, ValueRange v) {
        Value mean = s.mul(v[4], s.constant(factor, v[4]));
        Value along = s.mul(s.mul(v[2], v[3]), mean);
        return s.mul(v[3], s.sub(s.mul(v[0], v[1]), along));
      }));
  Value gradScale =
      emit.sum(kept, {grad, input, invRms}, [](Scalars s, ValueRange v) {
        return s.mul(v[0], s.mul(v[1], v[2]));
      });
  results.push_back(emit.round(gradScale, getGradScale().getType()));
  return success();
}
