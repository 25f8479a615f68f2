//===- Differentiate.h - Reverse-mode gradients of train --------*- C++ -*-===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_TRANSFORMS_DIFFERENTIATE_H
#define MPC_COMPILER_DIALECT_TRAIN_TRANSFORMS_DIFFERENTIATE_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mpc::train {

/// Emits the gradient of sum(ys[i] * dys[i]) with respect to each of `xs`: a
/// value of its shape, or null where none of `ys` depends on it through floats,
/// or only by way of ops that stop gradients.
///
/// Ops that take part stand before the insertion point, in its block. They are
/// known by `DifferentiableOpInterface` alone, so what it emits can be
/// differentiated again where gradient ops have that interface themselves. An x
/// may be computed from another one, which then gets what comes by way of it,
/// too. Gradient ops stand in reverse order of the ops they are of; several
/// gradients of one value are added in that order, always the same.
///
/// `ys` are float tensors, and `dys` have their types. Fails after one error at
/// `loc` that lists all ops between `path` ("the parameters and the loss")
/// without a gradient, or after theirs. `visit`, if given, is told of each
/// value between them that has a gradient, in order.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> differentiate(
    mlir::OpBuilder &builder, mlir::ValueRange ys, mlir::ValueRange dys,
    mlir::ValueRange xs, mlir::Location loc, llvm::StringRef path,
    llvm::function_ref<void(mlir::Value value, mlir::Value gradient)> visit =
        nullptr);

/// The same of the sum of y's elements; zeros where it does not depend on an x.
/// `seed`, if given, becomes the constant of rank 0 that all starts from.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
differentiateSum(mlir::OpBuilder &builder, mlir::Value y, mlir::ValueRange xs,
                 mlir::Location loc, llvm::StringRef path,
                 mlir::Operation **seed = nullptr);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_TRANSFORMS_DIFFERENTIATE_H
