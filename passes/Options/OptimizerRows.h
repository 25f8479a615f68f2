//===- OptimizerRows.h - Optimizers and schedules by name -------*- C++ -*-===//
//
// What passes/Grad/Update/Optimizers.def and Schedules.def define about
// options.
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

/// `given`, with unset options replaced by the defaults of the optimizer, if it
/// exists.
OptimizerOptions withDefaults(const std::string &optimizer,
                              OptimizerOptions given);

struct ScheduleRow {
  const char *name;
  std::vector<std::string> takes; ///< Options that it uses.
  std::vector<std::string> needs; ///< Options that must be given.
  bool hasEnd;                    ///< Uses the total number of updates.
  double warmup;                  ///< Default warm-up.
};
const std::vector<ScheduleRow> &schedules();

/// Returns null if there is no schedule of that name.
const ScheduleRow *findSchedule(const std::string &name);
std::vector<std::string> scheduleNames();

/// "sgd, adamw (default)".
std::string listing(const std::vector<std::string> &names,
                    const std::string &byDefault);

/// The numbers of fp16's loss scale that option 'loss-scale' stands for.
struct LossScale {
  bool enabled;
  double init, min, max; ///< With min == max the scale is fixed.

  explicit LossScale(const LossScalingOptions &options);
  bool isFixed() const { return min == max; }
};

} // namespace mpc

#endif // MPC_PASSES_OPTIONS_OPTIMIZERROWS_H
