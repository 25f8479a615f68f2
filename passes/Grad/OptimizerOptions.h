//===- OptimizerOptions.h - Options of weight updates -----------*- C++ -*-===//
#ifndef MPC_PASSES_GRAD_OPTIMIZEROPTIONS_H
#define MPC_PASSES_GRAD_OPTIMIZEROPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace mpc {

/// Options of a formula (Optimizers.h). Below 0 they are the optimizer's
/// default.
struct OptimizerOptions {
  double weightDecay = -1;
  double beta1 = -1;
  double beta2 = -1;
  double epsilon = -1;
  double momentum = -1;
  double alpha = -1; ///< Of rmsprop.
  bool nesterov = false;
  bool correctBias = true; ///< Of moments.
};

/// All that decides how gradients change weights.
struct UpdateOptions : OptimizerOptions {
  std::string optimizer = "adamw";
  double lr = 1e-3;
  std::vector<std::string> groups;  ///< "REGEX:lr=0.1x,weight-decay=0".
  std::vector<std::string> noDecay; ///< norms, biases, or regexes.
  double clipValue = 0;             ///< Of each gradient; 0: no clipping.
  double clipNorm = 0;              ///< 0: no clipping.
  int64_t accumulate = 1;           ///< Micro-batches per update.
  double ema = 0; ///< Decay of an average of the weights; 0: none.
  bool emaWarmup = false;

  /// How the rate changes by step: train.scheduled_rate, which the numbers
  /// below go to.
  std::string schedule = "constant";
  double warmup = 0;
  double lrMin = 0;
  double lrGamma = 0.1;
  double lrPeriod = 1;
  double lrFactor = 1;
  double lrPower = 1;
  int64_t totalSteps = 0; ///< Updates it is made for; 0: said by who trains.
};

} // namespace mpc

#endif // MPC_PASSES_GRAD_OPTIMIZEROPTIONS_H
