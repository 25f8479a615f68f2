//===- Infer.h - Inference of result types ----------------------*- C++ -*-===//
//
// Inference checks the operands and attributes of an op that determine shapes.
// It runs in builders and, with a location, in the verifier.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_INFER_H
#define MPC_COMPILER_DIALECT_TRAIN_IR_INFER_H

#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"

namespace mpc::train {

/// Reports an error of an op like `emitOpError`; silent if there is no
/// location. Always returns failure.
struct OpError {
  std::optional<mlir::Location> location;
  llvm::StringRef name;

  template <typename... Args>
  llvm::LogicalResult operator()(Args &&...args) const {
    return mlir::emitOptionalError(location, "'", name, "' op ",
                                   std::forward<Args>(args)...);
  }
};

/// The dimension of logits and log-probabilities that counts classes.
inline constexpr int64_t kClassDim = 1;

inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value tensor) {
  return llvm::cast<mlir::RankedTensorType>(tensor.getType()).getShape();
}

inline mlir::Type elementOf(mlir::Value tensor) {
  return llvm::cast<mlir::RankedTensorType>(tensor.getType()).getElementType();
}

/// The type of a pinned result that goes with `data`: f32, or f64 if `data`
/// has f64 elements.
inline mlir::RankedTensorType pinnedType(llvm::ArrayRef<int64_t> shape,
                                         mlir::Value data) {
  mlir::Type element = elementOf(data);
  if (!element.isF64())
    element = mlir::Float32Type::get(data.getContext());
  return mlir::RankedTensorType::get(shape, element);
}

/// Fails if the attribute `axis` is not a dimension.
inline llvm::LogicalResult checkAxis(int64_t axis, int64_t rank,
                                     const OpError &error) {
  if (axis >= 0 && axis < rank)
    return mlir::success();
  return error("'axis' must lie in [0, ", rank, "), but is ", axis);
}

/// Fails if the attribute `axes` is not a sorted set of dimensions.
inline llvm::LogicalResult checkAxes(llvm::ArrayRef<int64_t> axes, int64_t rank,
                                     const OpError &error) {
  for (auto [i, axis] : llvm::enumerate(axes))
    if (axis < 0 || axis >= rank || (i > 0 && axis <= axes[i - 1]))
      return error("'axes' must be distinct, sorted and in [0, ", rank,
                   "), but are [", axes, "]");
  return mlir::success();
}

/// Returns `shape` after a reduction: removes the reduced dimensions or makes
/// them 1.
inline llvm::SmallVector<int64_t> reducedShape(llvm::ArrayRef<int64_t> shape,
                                               llvm::ArrayRef<int64_t> axes,
                                               bool keepdims) {
  llvm::SmallVector<int64_t> result;
  for (auto [dim, extent] : llvm::enumerate(shape)) {
    if (!llvm::is_contained(axes, static_cast<int64_t>(dim)))
      result.push_back(extent);
    else if (keepdims)
      result.push_back(1);
  }
  return result;
}

/// Infers [I.., D..], the type of rows of a table [V, D..] at indices [I..].
inline llvm::LogicalResult inferRows(mlir::Value table, mlir::Value indices,
                                     const OpError &error,
                                     llvm::SmallVectorImpl<mlir::Type> &types) {
  if (shapeOf(table).empty())
    return error("the table must have rank 1 or more, but has rank 0");
  llvm::SmallVector<int64_t> result(shapeOf(indices));
  llvm::append_range(result, shapeOf(table).drop_front());
  types.push_back(mlir::RankedTensorType::get(result, elementOf(table)));
  return mlir::success();
}

/// Fails if an operand does not have the shape `expected`.
inline llvm::LogicalResult checkShape(llvm::StringRef what, mlir::Value operand,
                                      llvm::ArrayRef<int64_t> expected,
                                      const OpError &error) {
  if (shapeOf(operand) == expected)
    return mlir::success();
  return error("'", what, "' must have shape [", expected, "], but has [",
               shapeOf(operand), "]");
}

/// Infers the type of the first operand.
template <typename Adaptor>
llvm::LogicalResult inferSame(Adaptor op, const OpError &,
                              llvm::SmallVectorImpl<mlir::Type> &types) {
  types.push_back(op.getOperands()[0].getType());
  return mlir::success();
}

/// Infers the type of `grad`, the first operand; the other operand must have
/// its shape.
template <typename Adaptor>
llvm::LogicalResult inferUnaryGrad(Adaptor op, const OpError &error,
                                   llvm::SmallVectorImpl<mlir::Type> &types) {
  mlir::Type grad = op.getOperands()[0].getType();
  mlir::Type other = op.getOperands()[1].getType();
  if (!haveSameShapes(grad, other)) // unary_grad_c1, function_grad_c3
    return error("operands must have one shape, but are ", grad, " and ",
                 other);
  types.push_back(grad);
  return mlir::success();
}

/// Implements InferTypeOpInterface of one op by a function of the same source
/// file, `INFER(OP::Adaptor, const OpError &, SmallVectorImpl<Type> &)`. A
/// function that serves a single op is called `inferTypes`.
#define MPC_INFER(OP, INFER)                                                   \
  ::llvm::LogicalResult OP::inferReturnTypes(                                  \
      ::mlir::MLIRContext *, std::optional<::mlir::Location> location,         \
      ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,          \
      ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,        \
      ::llvm::SmallVectorImpl<::mlir::Type> &types) {                          \
    return INFER(Adaptor(operands, attributes, properties, regions),           \
                 ::mpc::train::OpError{location, getOperationName()}, types);  \
  }

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_INFER_H
