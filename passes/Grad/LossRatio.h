//===- LossRatio.h - Losses that a model divides itself ---------*- C++ -*-===//
//
// The mean over what a mask lets through, sum(loss * mask) / sum(mask), as
// models write it out. Micro-batches make up one batch if each counts by its
// denominator.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_LOSSRATIO_H
#define MPC_PASSES_GRAD_LOSSRATIO_H

#include "compiler/Dialect/Train/IR/Train.h"

#include <optional>

namespace mpc {

/// A ratio both sides of which depend on the data.
struct LossRatio {
  train::DivOp op;
  /// The denominator is the sum of weights that the data alone gives, the
  /// numerator that of their products with the losses.
  bool isWeightedMean = false;
  /// The number of weights.
  int64_t terms = 0;
};

/// The ratio that a term of a loss (LossTerms.h) is; none if it is none.
std::optional<LossRatio> findLossRatio(mlir::Value term);

/// Lets the backward pass, which starts from `seed`, start from the numerator,
/// as it does if the seed is multiplied by `divisor`, the denominator without
/// dimensions, but also where that is 0; other terms of the loss still start
/// from the product. False, with nothing changed, if there is no such start.
bool skipDenominator(const LossRatio &ratio, train::ConstantOp seed,
                     mlir::Value divisor);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSSRATIO_H
