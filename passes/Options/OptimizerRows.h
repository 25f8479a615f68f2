//===- OptimizerRows.h - Optimizers and schedules by name -------*- C++ -*-===//
//
// What passes/Grad/Update/Optimizers.def and Schedules.def say about options.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_PASSES_OPTIONS_OPTIMIZERROWS_H
#define MPC_PASSES_OPTIONS_OPTIMIZERROWS_H

#include "passes/Options/Options.h"

#include <string>
#include <vector>

namespace mpc {

std::vector<std::string> optimizerNames();

/// Whether the formula of this optimizer reads the option, "epsilon" or
/// "betas".
bool optimizerTakes(const std::string &optimizer, const std::string &option);

/// `given`, where it says nothing the defaults of the optimizer, if that is
/// one.
OptimizerOptions withDefaults(const std::string &optimizer,
                              OptimizerOptions given);

struct ScheduleRow {
  const char *name;
  std::vector<std::string> takes; ///< Options that it looks at.
  std::vector<std::string> needs; ///< Those that have to be given.
  bool hasEnd;                    ///< Looks at how many updates there will be.
  double warmup;                  ///< If none is given.
};
const std::vector<ScheduleRow> &schedules();

/// Null if there is none of that name.
const ScheduleRow *findSchedule(const std::string &name);
std::vector<std::string> scheduleNames();

/// "sgd, adamw (default)".
std::string listing(const std::vector<std::string> &names,
                    const std::string &byDefault);

/// The numbers of fp16's loss scale that option 'loss-scale' stands for.
struct LossScale {
  bool enabled;
  double init, min, max; ///< Between bounds that meet nothing moves.

  explicit LossScale(const LossScalingOptions &options);
  bool isFixed() const { return min == max; }
};

} // namespace mpc

#endif // MPC_PASSES_OPTIONS_OPTIMIZERROWS_H
