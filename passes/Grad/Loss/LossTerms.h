//===- LossTerms.h - The terms of a loss ------------------------*- C++ -*-===//
//
// The terms of a loss that depend on the data, and how each grows with the
// batch size. This determines how micro-batches are combined.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_LOSS_LOSSTERMS_H
#define MPC_PASSES_GRAD_LOSS_LOSSTERMS_H

#include "passes/Grad/Loss/Sources.h"

namespace mpc {

/// A term of a loss, without its factors.
struct LossTerm {
  mlir::Value value;
  double factor = 1;      ///< Absolute product of its constant factors.
  bool isDivided = false; ///< One factor is 1 / (a multiple of the batch size).
};

struct LossTerms {
  llvm::SmallVector<LossTerm> dataTerms;
  /// Terms that depend on weights but not on data, such as weight decay.
  llvm::SmallVector<mlir::Value> weightTerms;
};

/// Finds the terms of `loss`. Looks through sums, stacked terms that are added
/// up, and products and quotients of a term and a value that does not depend on
/// data. Inputs hold `batchSize` samples, here and below; 0 if unknown.
LossTerms findLossTerms(mlir::Value loss, const Sources &sources,
                        int64_t batchSize);

/// How the loss of a batch is computed from the losses of its micro-batches.
enum class BatchReduction {
  Mean,     ///< As their mean.
  Sum,      ///< As their sum.
  Weighted, ///< As a mean with weights that the loss op provides.
  Other     ///< Unknown.
};

/// How `term` combines the samples. Sets `term` to the op that sums or averages
/// the samples; a sum that is divided by the batch size counts as a mean.
BatchReduction batchReductionOf(LossTerm &term, int64_t batchSize,
                                const Sources &sources);

/// An op that combines samples before the op of `term` (see batchReductionOf)
/// sums or averages them, so that the loss of a batch is not the sum or mean of
/// losses of its samples; null if none is found. Considers reductions only.
mlir::Operation *findCrossSampleReduction(const LossTerm &term,
                                          int64_t batchSize,
                                          const Sources &sources);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSS_LOSSTERMS_H
