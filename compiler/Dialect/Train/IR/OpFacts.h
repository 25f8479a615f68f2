//===- OpFacts.h - Tables of class, cost and reason -------------*- C++ -*-===//
//
// For sources of this folder only.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_OPFACTS_H
#define MPC_COMPILER_DIALECT_TRAIN_IR_OPFACTS_H

#include "compiler/Dialect/Train/IR/Train.h"

/// Implements PrecisionOpInterface and CostOpInterface of one op: its class,
/// its floating-point operations (an expression that may call members of the
/// op), and the reason for the class.
#define MPC_OP_FACTS(OP, CLASS, FLOPS, REASON)                                 \
  ::mpc::amp::PrecisionClass OP::getPrecisionClass(::mlir::FloatType) {        \
    return ::mpc::amp::PrecisionClass::CLASS;                                  \
  }                                                                            \
  ::llvm::StringRef OP::getPrecisionReason(::mlir::FloatType) {                \
    return REASON;                                                             \
  }                                                                            \
  int64_t OP::getFlops() { return FLOPS; }

/// Implements InferTypeOpInterface of one op by a function of its operands:
/// `LogicalResult infer(operands, optional location, op name, types)`.
#define MPC_INFER_FROM_OPERANDS(OP, INFER)                                     \
  ::mlir::LogicalResult OP::inferReturnTypes(                                  \
      ::mlir::MLIRContext *, std::optional<::mlir::Location> loc,              \
      ::mlir::ValueRange operands, ::mlir::DictionaryAttr,                     \
      ::mlir::OpaqueProperties, ::mlir::RegionRange,                           \
      ::llvm::SmallVectorImpl<::mlir::Type> &types) {                          \
    return INFER(operands, loc, getOperationName(), types);                    \
  }

namespace mpc::train {

inline int64_t countElements(mlir::Value tensor) {
  return mlir::cast<mlir::ShapedType>(tensor.getType()).getNumElements();
}

/// Infers the type of the first operand.
inline llvm::LogicalResult inferSame(mlir::ValueRange operands,
                                     std::optional<mlir::Location>,
                                     llvm::StringRef,
                                     llvm::SmallVectorImpl<mlir::Type> &types) {
  types.push_back(operands[0].getType());
  return mlir::success();
}

/// Infers the type of `grad`, whose shape the other operand has.
inline llvm::LogicalResult
inferUnaryGrad(mlir::ValueRange operands, std::optional<mlir::Location> loc,
               llvm::StringRef name, llvm::SmallVectorImpl<mlir::Type> &types) {
  mlir::Type grad = operands[0].getType(), other = operands[1].getType();
  if (!haveSameShapes(grad, other)) // unary_grad_c1, function_grad_c3
    return mlir::emitOptionalError(
        loc, "'", name, "' op operands must have one shape, but are ", grad,
        " and ", other);
  types.push_back(grad);
  return mlir::success();
}

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_OPFACTS_H
