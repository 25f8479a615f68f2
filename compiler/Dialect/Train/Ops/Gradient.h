//===- Gradient.h - Helpers for building gradients --------------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_OPS_GRADIENT_H
#define MPC_COMPILER_DIALECT_TRAIN_OPS_GRADIENT_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace mpc::train {

/// The gradient of a broadcast: sums the elements of `grad` that come from the
/// same element of a tensor of this shape, which broadcasts to grad's shape.
mlir::Value sumToShape(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value grad, llvm::ArrayRef<int64_t> shape);

/// A `train.reshape`, or `value` itself if it has the shape.
mlir::Value reshapeTo(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, llvm::ArrayRef<int64_t> shape);

/// A `train.constant` of rank 0 with the element type of the tensor `like`.
mlir::Value createScalarLike(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value like, double value);

/// Zeros of the type of `like`: -0, which additions fold away.
mlir::Value createZeros(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value like);

/// The highest `order` of a gradient op.
constexpr int64_t kMaxOrders = 4;
/// Reports that the gradient of `op` would exceed the highest order.
mlir::LogicalResult emitTooHighOrder(mlir::Operation *op);

/// Returns true if the value is a parameter of the model: read from a
/// parameter state, perhaps unpacked, reshaped, transposed or cast since.
bool isParameter(mlir::Value value);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_OPS_GRADIENT_H
