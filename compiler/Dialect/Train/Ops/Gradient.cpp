//===- Gradient.cpp - Helpers for building gradients ----------------------===//

#include "compiler/Dialect/Train/Ops/Gradient.h"

#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

Value mpc::train::reshapeTo(OpBuilder &builder, Location loc, Value value,
                            ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  return ReshapeOp::create(builder, loc, type.clone(shape), value);
}

Value mpc::train::sumToShape(OpBuilder &builder, Location loc, Value grad,
                             ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> from = cast<RankedTensorType>(grad.getType()).getShape();
  assert(from.size() >= shape.size() && "a broadcast adds dimensions");
  size_t added = from.size() - shape.size();
  SmallVector<int64_t> axes;
  for (auto [dim, extent] : llvm::enumerate(from))
    if (dim < added || (shape[dim - added] == 1 && extent != 1))
      axes.push_back(dim);
  if (!axes.empty())
    grad = ReduceSumOp::create(builder, loc, grad,
                               builder.getDenseI64ArrayAttr(axes),
                               /*keepdims=*/UnitAttr());
  return reshapeTo(builder, loc, grad, shape);
}

Value mpc::train::createScalarLike(OpBuilder &builder, Location loc, Value like,
                                   double value) {
  Type element = getElementTypeOrSelf(like.getType());
  auto attr = DenseElementsAttr::get(RankedTensorType::get({}, element),
                                     builder.getFloatAttr(element, value));
  return ConstantOp::create(builder, loc, attr);
}

Value mpc::train::createZeros(OpBuilder &builder, Location loc, Value like) {
  auto type = cast<RankedTensorType>(like.getType());
  FloatAttr zero = builder.getFloatAttr(type.getElementType(), -0.0);
  return ConstantOp::create(builder, loc, DenseElementsAttr::get(type, zero));
}

LogicalResult mpc::train::emitTooHighOrder(Operation *op) {
  return op->emitError("is a gradient of order ")
         << kMaxOrders << " already, the highest order supported";
}

bool mpc::train::isParameter(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto read = dyn_cast<ReadOp>(op)) {
      auto state = SymbolTable::lookupNearestSymbolFrom<StateOp>(
          read, read.getStateAttr());
      return state && state.getKind() == StateKind::Parameter;
    }
    if (!isa<UnpackOp, ReshapeOp, TransposeOp, amp::CastOp>(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

//===----------------------------------------------------------------------===//
// GradientOp
//===----------------------------------------------------------------------===//

LogicalResult GradientOp::verify() {
  if (getXs().getTypes() != getResultTypes()) // gradient_c1
    return emitOpError("results must have the types of the xs");
  for (Value x : getXs())
    if (!isa<BlockArgument>(x) && !x.getDefiningOp<ReadOp>()) // gradient_c2
      return emitOpError("takes gradients only with respect to inputs of the "
                         "function and reads of states, not results of ")
             << x.getDefiningOp()->getName();
  return success();
}
