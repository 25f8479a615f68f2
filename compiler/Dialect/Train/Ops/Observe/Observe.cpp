//===- Observe.cpp - Statistics of tensors --------------------------------===//

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// The result must be one row of `width`.
static LogicalResult verifyRow(Operation *op, int64_t width) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (type.getShape() != ArrayRef(width))
    return op->emitOpError("result must be tensor<")
           << width << "xf64>, but is " << type;
  return success();
}

static RankedTensorType rowType(OpBuilder &builder, int64_t width) {
  return RankedTensorType::get({width}, builder.getF64Type());
}

//===----------------------------------------------------------------------===//
// ObserveOp
//===----------------------------------------------------------------------===//

void ObserveOp::build(OpBuilder &builder, OperationState &state, Value input) {
  build(builder, state, rowType(builder, kObservationWidth), input);
}

LogicalResult ObserveOp::verify() {
  return verifyRow(*this, kObservationWidth); // observe_c1
}

StringRef ObserveOp::getKernelName() { return "observe"; }
SmallVector<int64_t> ObserveOp::getKernelAttributes() { return {}; }

//===----------------------------------------------------------------------===//
// RoundingOp
//===----------------------------------------------------------------------===//

void RoundingOp::build(OpBuilder &builder, OperationState &state, Value value,
                       Value gradient) {
  build(builder, state, rowType(builder, kRoundingWidth), value, gradient);
}

LogicalResult RoundingOp::verify() {
  auto value = cast<RankedTensorType>(getValue().getType());
  auto gradient = cast<RankedTensorType>(getGradient().getType());
  if (value.getShape() != gradient.getShape()) // rounding_c1
    return emitOpError("operands must have one shape, but are ")
           << value << " and " << gradient;
  return verifyRow(*this, kRoundingWidth); // rounding_c2
}

StringRef RoundingOp::getKernelName() { return "rounding"; }
SmallVector<int64_t> RoundingOp::getKernelAttributes() { return {}; }

//===----------------------------------------------------------------------===//
// InjectOp
//===----------------------------------------------------------------------===//

LogicalResult InjectOp::lowerToLinalg(OpBuilder &builder,
                                      SmallVectorImpl<Value> &results) {
  auto body = [&](OpBuilder &b, Location loc,
                  ValueRange args) -> SmallVector<Value> {
    Value input = args[0], place = args[1], fault = args[2];
    Value index = arith::ConstantOp::create(
        b, loc, b.getI32IntegerAttr(static_cast<int32_t>(getIndex())));
    Value isHere =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, place, index);
    return {arith::SelectOp::create(b, loc, isHere, fault, input)};
  };
  results = emitElementwise(builder, getLoc(), getOperation()->getResultTypes(),
                            getOperation()->getOperands(), body);
  return success();
}
