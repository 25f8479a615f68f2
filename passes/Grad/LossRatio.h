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

/// A loss that is a ratio, both sides of which depend on the data, or one to
/// which numbers are added and by which they are multiplied.
struct LossRatio {
  train::DivOp op;
  /// The denominator is the sum of weights that the data alone gives, the
  /// numerator that of their products with the losses.
  bool isWeightedMean = false;
  /// The number of weights.
  int64_t terms = 0;
};

/// None if the loss is none: a mean, whose denominator is always the same.
std::optional<LossRatio> findLossRatio(mlir::Value loss);

/// Lets the backward pass, which starts from `seed`, start from the numerator,
/// as it does if the seed is multiplied by the denominator, but also where that
/// is 0. False, with nothing changed, if the backward pass is another one.
bool skipDenominator(const LossRatio &ratio, train::ConstantOp seed);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSSRATIO_H
