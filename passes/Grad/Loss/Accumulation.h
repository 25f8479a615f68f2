//===- Accumulation.h - Combine micro-batches into a batch ------*- C++ -*-===//
#ifndef MPC_PASSES_GRAD_LOSS_ACCUMULATION_H
#define MPC_PASSES_GRAD_LOSS_ACCUMULATION_H

#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

/// How micro-batches make up one batch. Losses that are sums are summed. Others
/// are means: each micro-batch is weighted by its `divisor` (1 if all are
/// equal), shares are divided by `terms`, and `apply` divides by the sum of the
/// divisors, so that an update with fewer micro-batches is exact as well.
struct Accumulation {
  double terms;
  bool isMean = true;
  mlir::Value divisor = nullptr; ///< Divisor of the micro-batch; null means 1.
  /// The gradients already are those of the sum, not of the mean.
  bool hasGradientOfSum = false;
};

/// Determines how `count` micro-batches of `func` are combined, from the terms
/// of `loss`. If these are inconclusive or disagree, the loss is averaged, with
/// a note. The backward pass starts from `seed`.
Accumulation analyzeAccumulation(mlir::OpBuilder &builder,
                                 mlir::func::FuncOp func, mlir::Value loss,
                                 train::ConstantOp seed, int64_t count);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSS_ACCUMULATION_H
