//===- LossTerms.h - What a loss adds up ------------------------*- C++ -*-===//
//
// The terms of a loss that the data decides on, and how each of them grows with
// the batch: what micro-batches need to know to make up one.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_LOSS_LOSSTERMS_H
#define MPC_PASSES_GRAD_LOSS_LOSSTERMS_H

#include "passes/Grad/Loss/Sources.h"

namespace mpc {

/// A term of a loss, without what it is multiplied by.
struct LossTerm {
  mlir::Value value;
  double factor = 1; ///< The size of the numbers among what multiplies it.
  bool isDivided =
      false; ///< One of them is 1 / (a multiple of the batch size).
};

struct LossTerms {
  llvm::SmallVector<LossTerm> ofData;
  /// Terms that weights decide on and data does not, as of weight decay.
  llvm::SmallVector<mlir::Value> ofWeights;
};

/// The terms of `loss`, which looks through sums, stacks of terms that are
/// added up, and products and quotients of a term and what data does not decide
/// on. Inputs hold `batchSize` samples, here as below; 0 if that is not known.
LossTerms findLossTerms(mlir::Value loss, const Sources &sources,
                        int64_t batchSize);

/// How the loss of one batch follows from those of its micro-batches.
enum class LossGrowth {
  Mean,     ///< As their mean.
  Sum,      ///< As their sum.
  Weighted, ///< As a mean by weights that the loss op can tell.
  Other     ///< Unknown.
};

/// How `term` grows. It becomes the op that adds up or averages the samples,
/// and is a mean if it is a sum that is divided by the batch size.
LossGrowth growthOf(LossTerm &term, int64_t batchSize, const Sources &sources);

/// An op that puts samples together before the op of `term` (growthOf) adds
/// them up or averages them, so that the loss of a batch is none of its
/// samples; null if none is found. Reductions alone are looked for.
mlir::Operation *findJoinedSamples(const LossTerm &term, int64_t batchSize,
                                   const Sources &sources);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSS_LOSSTERMS_H
