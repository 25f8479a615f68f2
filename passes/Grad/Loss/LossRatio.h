//===- LossRatio.h - Losses that a model normalizes itself ------*- C++ -*-===//
//
// Models write a masked mean out as sum(loss * mask) / sum(mask). Micro-batches
// add up to one batch if each is weighted by its denominator.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_GRAD_LOSS_LOSSRATIO_H
#define MPC_PASSES_GRAD_LOSS_LOSSRATIO_H

#include "passes/Grad/Loss/Sources.h"

#include <optional>

namespace mpc {

/// A quotient whose numerator and denominator both depend on the data.
struct LossRatio {
  train::DivOp op;
  /// The denominator is a sum of weights that only depend on the data, and the
  /// numerator is the sum of their products with the losses.
  bool isWeightedMean = false;
  /// The number of weights.
  int64_t terms = 0;
};

/// Returns the ratio that computes `term` of a loss (LossTerms.h), if there is
/// one.
std::optional<LossRatio> findLossRatio(mlir::Value term,
                                       const Sources &sources);

/// Makes the backward pass, which starts at `seed`, start at the numerator.
/// This equals multiplying the seed by `divisor`, the denominator as a scalar,
/// but also works where that is 0; gradients of other terms of the loss are
/// multiplied. Returns false and changes nothing if the backward pass has
/// another form.
bool startBackwardAtNumerator(const LossRatio &ratio, train::ConstantOp seed,
                              mlir::Value divisor, const Sources &sources);

} // namespace mpc

#endif // MPC_PASSES_GRAD_LOSS_LOSSRATIO_H
