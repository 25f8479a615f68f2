//===- Differentiate.h - Reverse-mode gradients of train --------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_TRANSFORMS_DIFFERENTIATE_H
#define MPC_COMPILER_DIALECT_TRAIN_TRANSFORMS_DIFFERENTIATE_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpc::train {

/// Emits the gradient of sum(ys[i] * dys[i]) with respect to each of `xs`: a
/// value of its shape, or null if none of `ys` depends on it through floats, or
/// only through ops that stop gradients.
///
/// Differentiates the ops before the insertion point, in its block. It knows
/// them only by `DifferentiableOpInterface`, so the result can be
/// differentiated again if the gradient ops have that interface themselves. An
/// x may be computed from another x, whose gradient then includes the paths
/// through the former. Gradient ops are emitted in reverse order of the forward
/// ops; several gradients of one value are added in that order, so the result
/// is deterministic.
///
/// `ys` are float tensors, and `dys` have their types. Fails with one error at
/// `loc` that lists all ops without a gradient between `path` ("the parameters
/// and the loss"), or after errors of the ops' own. Calls `visit`, if given,
/// with each value on the way that has a gradient, in order.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> differentiate(
    mlir::OpBuilder &builder, mlir::ValueRange ys, mlir::ValueRange dys,
    mlir::ValueRange xs, mlir::Location loc, llvm::StringRef path,
    llvm::function_ref<void(mlir::Value value, mlir::Value gradient)> visit =
        nullptr);

/// The same for the sum of y's elements; an x that it does not depend on gets
/// zeros. Sets `seed`, if given, to the constant of rank 0 that the gradients
/// start from.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
differentiateSum(mlir::OpBuilder &builder, mlir::Value y, mlir::ValueRange xs,
                 mlir::Location loc, llvm::StringRef path,
                 mlir::Operation **seed = nullptr);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_TRANSFORMS_DIFFERENTIATE_H
