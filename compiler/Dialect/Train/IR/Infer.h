//===- Infer.h - Inference of result types ----------------------*- C++ -*-===//
//
// Inference checks an op's operands and attributes as far as shapes depend on
// them; it runs in builders and, with a location, in the verifier.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_INFER_H
#define MPC_COMPILER_DIALECT_TRAIN_IR_INFER_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"

namespace mpc::train {

/// Says what is wrong with an op, in the words of `emitOpError`; silent if
/// there is no location. Always a failure.
struct OpError {
  std::optional<mlir::Location> location;
  llvm::StringRef name;

  template <typename... Args>
  llvm::LogicalResult operator()(Args &&...args) const {
    return mlir::emitOptionalError(location, "'", name, "' op ",
                                   std::forward<Args>(args)...);
  }
};

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

/// Refuses an attribute `axis` that is no dimension.
inline llvm::LogicalResult checkAxis(int64_t axis, int64_t rank,
                                     const OpError &error) {
  if (axis >= 0 && axis < rank)
    return mlir::success();
  return error("'axis' must lie in [0, ", rank, "), but is ", axis);
}

/// Refuses an operand that has not the shape `expected`.
inline llvm::LogicalResult checkShape(llvm::StringRef what, mlir::Value operand,
                                      llvm::ArrayRef<int64_t> expected,
                                      const OpError &error) {
  if (shapeOf(operand) == expected)
    return mlir::success();
  return error("'", what, "' must have shape [", expected, "], but has [",
               shapeOf(operand), "]");
}

/// Infers the types of one op by a static function of the source file,
/// `inferTypes(OP::Adaptor, const OpError &, SmallVectorImpl<Type> &)`.
#define MPC_INFER(OP)                                                          \
  LogicalResult OP::inferReturnTypes(                                          \
      MLIRContext *, std::optional<Location> location, ValueRange operands,    \
      DictionaryAttr attributes, OpaqueProperties properties,                  \
      RegionRange regions, SmallVectorImpl<Type> &types) {                     \
    return inferTypes(Adaptor(operands, attributes, properties, regions),      \
                      OpError{location, getOperationName()}, types);           \
  }

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_INFER_H
