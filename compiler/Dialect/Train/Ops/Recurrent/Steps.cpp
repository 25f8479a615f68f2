//===- Steps.cpp - Recurrent layers written out step by step --------------===//

#include "compiler/Dialect/Train/Ops/Recurrent/Steps.h"

#include "compiler/Dialect/Train/Ops/Gradient.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

/// The number of rows of a tensor, all but its last dimension.
static int64_t countRows(Value value) {
  return ShapedType::getNumElements(shapeOf(value).drop_back());
}

/// Positions [begin, begin + count) of a sequence [T, N, E].
static Value slice(OpBuilder &builder, Location loc, Value sequence,
                   int64_t begin, int64_t count) {
  auto type = cast<RankedTensorType>(sequence.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] = count;
  int64_t offsets[] = {begin, 0, 0};
  return SliceOp::create(builder, loc, type.clone(shape), sequence,
                         builder.getDenseI64ArrayAttr(offsets));
}

Value Steps::at(Value sequence, int64_t position) {
  return reshapeTo(builder, loc, slice(builder, loc, sequence, position, 1),
                   shapeOf(sequence).drop_front());
}

Value Steps::stack(ArrayRef<Value> rows) {
  auto parts = llvm::map_to_vector(rows, [&](Value row) {
    SmallVector<int64_t> shape = {1};
    llvm::append_range(shape, shapeOf(row));
    return reshapeTo(builder, loc, row, shape);
  });
  return ConcatOp::create(builder, loc, parts, /*axis=*/0);
}

SmallVector<Value> Steps::split(Value rows, int64_t width) {
  SmallVector<int64_t> sizes(shapeOf(rows)[1] / width, width);
  auto op = SplitOp::create(builder, loc, rows, /*axis=*/1, sizes);
  return llvm::to_vector_of<Value>(op.getParts());
}

Value Steps::join(ArrayRef<Value> parts) {
  return ConcatOp::create(builder, loc, ValueRange(parts), /*axis=*/1);
}

Value Steps::add(Value a, Value b) { return AddOp::create(builder, loc, a, b); }
Value Steps::sub(Value a, Value b) { return SubOp::create(builder, loc, a, b); }
Value Steps::mul(Value a, Value b) { return MulOp::create(builder, loc, a, b); }
Value Steps::sigmoid(Value x) { return SigmoidOp::create(builder, loc, x); }
Value Steps::tanh(Value x) { return TanhOp::create(builder, loc, x); }

Value Steps::multiply(Value lhs, Value rhs, bool transposeRhs) {
  return MatmulOp::create(builder, loc, lhs, rhs, /*transpose_lhs=*/UnitAttr(),
                          transposeRhs ? builder.getUnitAttr() : UnitAttr(),
                          /*weight_gradient=*/UnitAttr(),
                          /*layer=*/StringAttr());
}

Value Steps::sigmoidGrad(Value grad, Value y) {
  Value one = createScalarLike(builder, loc, y, 1);
  return mul(grad, mul(y, sub(one, y)));
}

Value Steps::tanhGrad(Value grad, Value y) {
  Value one = createScalarLike(builder, loc, y, 1);
  return mul(grad, sub(one, mul(y, y)));
}

Value mpc::train::buildRecurrenceGrad(OpBuilder &builder, Location loc,
                                      Value grads, Value hidden, Value states,
                                      bool reverse, bool isWeight) {
  auto product = [&](Value grads, Value states) -> Value {
    auto rows = [&](Value value) {
      return reshapeTo(builder, loc, value,
                       {countRows(value), shapeOf(value).back()});
    };
    return MatmulOp::create(
        builder, loc, rows(grads), rows(states),
        /*transpose_lhs=*/builder.getUnitAttr(), /*transpose_rhs=*/UnitAttr(),
        isWeight ? builder.getUnitAttr() : UnitAttr(), /*layer=*/StringAttr());
  };
  int64_t steps = shapeOf(grads)[0], first = reverse ? steps - 1 : 0;
  Value result = product(slice(builder, loc, grads, first, 1), hidden);
  if (steps == 1)
    return result;
  // The state after a step belongs to the gradient of the next one.
  Value later = slice(builder, loc, grads, reverse ? 0 : 1, steps - 1);
  Value before = slice(builder, loc, states, reverse ? 1 : 0, steps - 1);
  return AddOp::create(builder, loc, product(later, before), result);
}
