//===- Steps.h - Recurrent layers written out step by step ------*- C++ -*-===//
//
// Helpers of recurrent ops, most of them for their decompositions on devices
// without a kernel for them.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_COMPILER_DIALECT_TRAIN_OPS_RECURRENT_STEPS_H
#define MPC_COMPILER_DIALECT_TRAIN_OPS_RECURRENT_STEPS_H

#include "compiler/Dialect/Train/IR/Infer.h"
#include "compiler/Dialect/Train/IR/Train.h"

namespace mpc::train {

/// The type of a tensor of `shape` with the elements of `like`.
inline mlir::Type typeLike(mlir::Value like, llvm::ArrayRef<int64_t> shape) {
  return mlir::RankedTensorType::get(shape, elementOf(like));
}

/// Emits the ops of one step after another.
class Steps {
public:
  /// `sequence` is [T, N, ..]; with `reverse` the first step is T - 1.
  Steps(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value sequence,
        bool reverse)
      : builder(builder), loc(loc), count(shapeOf(sequence)[0]),
        reverse(reverse) {}

  /// The position in a sequence of step `i`.
  int64_t position(int64_t i) const { return reverse ? count - 1 - i : i; }

  /// Element [`position`] of a sequence, [N, E].
  mlir::Value at(mlir::Value sequence, int64_t position);
  /// The sequence of [N, E] for each position.
  mlir::Value stack(llvm::ArrayRef<mlir::Value> rows);
  /// The parts of the columns of [N, E], `width` each.
  llvm::SmallVector<mlir::Value> split(mlir::Value rows, int64_t width);
  /// The columns of several matrices, one after another.
  mlir::Value join(llvm::ArrayRef<mlir::Value> parts);

  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value sub(mlir::Value a, mlir::Value b);
  mlir::Value mul(mlir::Value a, mlir::Value b);
  mlir::Value sigmoid(mlir::Value x);
  mlir::Value tanh(mlir::Value x);
  /// The matrix product of `lhs` and `rhs`, or its transpose.
  mlir::Value multiply(mlir::Value lhs, mlir::Value rhs, bool transposeRhs);
  /// `grad` times the derivative of the sigmoid, or of tanh, whose result is y.
  mlir::Value sigmoidGrad(mlir::Value grad, mlir::Value y);
  mlir::Value tanhGrad(mlir::Value grad, mlir::Value y);

  mlir::OpBuilder &builder;
  const mlir::Location loc;
  const int64_t count;

private:
  const bool reverse;
};

/// The gradient of the recurrence weights from `grads` [T, N, G], the gradients
/// of the products with the states before each step: these are `hidden` [N, H]
/// before the first step and then `states` [T, N, H], all but the last.
mlir::Value buildRecurrenceGrad(mlir::OpBuilder &builder, mlir::Location loc,
                                mlir::Value grads, mlir::Value hidden,
                                mlir::Value states, bool reverse,
                                bool isWeight);

} // namespace mpc::train

#endif // MPC_COMPILER_DIALECT_TRAIN_OPS_RECURRENT_STEPS_H
