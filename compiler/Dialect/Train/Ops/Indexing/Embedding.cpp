//===- Embedding.cpp - Rows of a table by index ---------------------------===//

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/OpFacts.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Ops/Gradient.h"
#include "compiler/Support/Locations.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::train;

//===----------------------------------------------------------------------===//
// EmbeddingOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(EmbeddingOp::Adaptor op, const OpError &error,
                                SmallVectorImpl<Type> &types) {
  return inferRows(op.getTable(), op.getIndices(), error,
                   types); // embedding_c1
}
MPC_INFER(EmbeddingOp, inferTypes)

LogicalResult EmbeddingOp::buildGradient(OpBuilder &builder,
                                         ValueRange resultGrads,
                                         ArrayRef<bool> needed,
                                         MutableArrayRef<Value> operandGrads) {
  if (needed[0])
    operandGrads[0] =
        EmbeddingGradOp::create(builder, gradientLoc(getLoc()), resultGrads[0],
                                getIndices(), shapeOf(getTable())[0]);
  return success();
}

MPC_OP_FACTS(EmbeddingOp, Transparent, 0, "only copies rows")

int64_t EmbeddingOp::countReads(unsigned operand) {
  return countElements(operand == 0 ? getResult() : Value(getIndices()));
}

StringRef EmbeddingOp::getKernelName() { return "embedding"; }
SmallVector<int64_t> EmbeddingOp::getKernelAttributes() { return {}; }

//===----------------------------------------------------------------------===//
// EmbeddingGradOp
//===----------------------------------------------------------------------===//

static LogicalResult inferTypes(EmbeddingGradOp::Adaptor op,
                                const OpError &error,
                                SmallVectorImpl<Type> &types) {
  ArrayRef<int64_t> grad = shapeOf(op.getGrad());
  ArrayRef<int64_t> indices = shapeOf(op.getIndices());
  if (grad.take_front(indices.size()) != indices) // embedding_grad_c1
    return error("'grad' must begin with the dimensions of 'indices', [",
                 indices, "], but has shape [", grad, "]");
  auto rows = static_cast<int64_t>(op.getRows());
  if (rows < 1) // embedding_grad_c2
    return error("'rows' must be at least 1, but is ", rows);
  SmallVector<int64_t> table{rows};
  llvm::append_range(table, grad.drop_front(indices.size()));
  types.push_back(pinnedType(table, op.getGrad()));
  return success();
}
MPC_INFER(EmbeddingGradOp, inferTypes)

LogicalResult
EmbeddingGradOp::buildGradient(OpBuilder &builder, ValueRange resultGrads,
                               ArrayRef<bool> needed,
                               MutableArrayRef<Value> operandGrads) {
  if (!needed[0])
    return success();
  Location loc = gradientLoc(getLoc());
  Value rows = EmbeddingOp::create(builder, loc, resultGrads[0], getIndices());
  // Rows of an index out of range were skipped: their gradient is 0.
  Value zero = createScalarLike(builder, loc, rows, 0.0);
  auto limit = [&](int64_t value) -> Value {
    Type element = elementOf(getIndices());
    return ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(RankedTensorType::get({}, element),
                               builder.getIntegerAttr(element, value)));
  };
  auto count = static_cast<int64_t>(getRows());
  Value isAbove = CompareOp::create(builder, loc, limit(-count), getIndices(),
                                    Comparison::LessOrEqual);
  Value isBelow = CompareOp::create(builder, loc, getIndices(), limit(count),
                                    Comparison::Less);
  Value exists = AndOp::create(builder, loc, isAbove, isBelow);
  SmallVector<int64_t> shape(shapeOf(getIndices()));
  shape.resize(shapeOf(rows).size(), 1);
  operandGrads[0] = SelectOp::create(
      builder, loc, reshapeTo(builder, loc, exists, shape), rows, zero);
  return success();
}

MPC_OP_FACTS(EmbeddingGradOp, Internal, countElements(getGrad()),
             "gradients of equal rows are added in f32")
bool EmbeddingGradOp::isOperandPinned(unsigned) { return false; }
bool EmbeddingGradOp::isResultPinned(unsigned) { return true; }
ErrorPropagation EmbeddingGradOp::getErrorPropagation(unsigned) {
  return ErrorPropagation::Summed;
}

StringRef EmbeddingGradOp::getKernelName() { return "embedding_grad"; }
SmallVector<int64_t> EmbeddingGradOp::getKernelAttributes() { return {}; }
