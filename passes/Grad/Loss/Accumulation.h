//===- Accumulation.h - How micro-batches make up one batch -----*- C++ -*-===//
#ifndef MPC_PASSES_GRAD_LOSS_ACCUMULATION_H
#define MPC_PASSES_GRAD_LOSS_ACCUMULATION_H

#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

/// How micro-batches make up one batch. Losses that are sums are summed.
/// Others are means: a micro-batch counts by its `divisor`, 1 where all are
/// the same, the sums are over `terms`, and `apply` divides by the sum of the
/// divisors, so that an update of fewer micro-batches is exact as well.
struct Accumulation {
  double terms;
  bool isMean = true;
  mlir::Value divisor = nullptr; ///< The micro-batch's; null stands for 1.
  /// The gradients are those of the sum already, not those of the mean.
  bool hasGradientOfSum = false;
};

/// How `count` micro-batches of `func` come together: what the terms of `loss`
/// say; its mean, with a note, where they say nothing or different things.
/// The backward pass starts from `seed`.
Accumulation analyzeAccumulation(mlir::OpBuilder &builder,
                                 mlir::func::FuncOp func, mlir::Value loss,
                                 train::ConstantOp seed, int64_t count);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSS_ACCUMULATION_H
