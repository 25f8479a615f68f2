//===- StepTimes.h - Measure training steps ---------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TIMING_STEPTIMES_H
#define MPC_TOOLS_MPC_TIMING_STEPTIMES_H

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/timing/StepInputs.h"

#include <cstdint>
#include <vector>

namespace mpc::tool {

/// The times of some steps in seconds.
class StepTimes {
public:
  void add(double seconds) { times.push_back(seconds); }
  uint64_t count() const { return times.size(); }
  double sum() const;
  /// The time that the share `part` of the steps does not exceed: 0.5 for the
  /// median. There must be steps.
  double quantile(double part) const;

private:
  std::vector<double> times;
};

/// Runs training steps on the same batch. A step is one update.
class StepRunner {
public:
  StepRunner(Session &session, const Program &program, const StepInputs &inputs)
      : session(session), program(program), inputs(inputs) {}

  /// Runs `count` steps and waits for them. On an accelerator, where a call
  /// only queues a step, each step takes the mean time of these.
  void run(uint64_t count, StepTimes &times);

private:
  Session &session;
  const Program &program;
  const StepInputs &inputs;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TIMING_STEPTIMES_H
