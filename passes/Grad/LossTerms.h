//===- LossTerms.h - What a loss adds up ------------------------*- C++ -*-===//
//
// The terms of a loss that the data decides on, and how each of them grows with
// the batch: what micro-batches need to know to make up one.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_LOSSTERMS_H
#define MPC_PASSES_GRAD_LOSSTERMS_H

#include "compiler/Dialect/Train/IR/Train.h"

namespace mpc {

/// What a value is computed from.
struct Sources {
  bool data = false, parameters = false;
};
Sources sourcesOf(mlir::Value value);

/// Whether neither data nor weights decide on the value.
bool isFixed(mlir::Value value);

/// A term of a loss, without what it is multiplied by.
struct LossTerm {
  mlir::Value value;
  double factor = 1; ///< The size of the numbers among what multiplies it.
};

struct LossTerms {
  llvm::SmallVector<LossTerm> ofData;
  /// Terms that weights decide on and data does not, as of weight decay.
  llvm::SmallVector<mlir::Value> ofWeights;
};

/// The terms of `loss`, which looks through sums, and through products and
/// quotients of a term and what the data does not decide on.
LossTerms findLossTerms(mlir::Value loss);

/// How the loss of one batch follows from those of its micro-batches.
enum class LossGrowth {
  Mean,     ///< As their mean.
  Sum,      ///< As their sum.
  Weighted, ///< As a mean by weights that the loss op can tell.
  Other     ///< Unknown.
};

/// How `term` grows, in a function whose inputs hold `batchSize` samples (0:
/// unknown). A sum that is divided by a multiple of that is a mean.
LossGrowth growthOf(const LossTerm &term, int64_t batchSize);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSSTERMS_H
