//===- OpFacts.h - Precision class and cost of ops --------------*- C++ -*-===//
//
// For sources of this folder only.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_IR_OPFACTS_H
#define MPC_COMPILER_DIALECT_TRAIN_IR_OPFACTS_H

#include "compiler/Dialect/Train/IR/Train.h"

/// Implements PrecisionOpInterface and CostOpInterface of one op from its
/// class, its number of floating-point operations (an expression that may call
/// members of the op), and the reason for the class.
#define MPC_OP_FACTS(OP, CLASS, FLOPS, REASON)                                 \
  ::mpc::amp::PrecisionClass OP::getPrecisionClass(::mlir::FloatType) {        \
    return ::mpc::amp::PrecisionClass::CLASS;                                  \
  }                                                                            \
  ::llvm::StringRef OP::getPrecisionReason(::mlir::FloatType) {                \
    return REASON;                                                             \
  }                                                                            \
  int64_t OP::getFlops() { return FLOPS; }

namespace mpc::train {

inline int64_t countElements(mlir::Value tensor) {
  return mlir::cast<mlir::ShapedType>(tensor.getType()).getNumElements();
}

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_IR_OPFACTS_H
