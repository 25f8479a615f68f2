//===- StepProfiler.h - Profile some steps of a training run ----*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_CONSOLE_STEPPROFILER_H
#define MPC_TOOLS_MPC_TRAINING_CONSOLE_STEPPROFILER_H

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/timing/ProfileFile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace mpc::tool {

/// The options `--profile` and `--profile-steps`.
struct ProfileSettings {
  std::string file;  ///< FILE.json: a timeline; FILE.txt: a table; "": none.
  std::string steps; ///< "A-B", "N" or "".

  /// Adds them to a subcommand.
  void addTo(CLI::App &command);
};

/// Steps before the profiled ones, unless the user chooses steps: the first
/// touch memory and code for the first time.
constexpr uint64_t kProfileWarmUp = 3;
constexpr uint64_t kProfileSteps = 10;

/// Starts and stops the profile of a session between steps, and writes it. The
/// caller calls reach() before the first step and whenever isBoundary() is
/// true, with all queued steps finished.
class StepProfiler {
public:
  /// Throws a Failure if the file cannot be written. `inputs` are files that
  /// must not be overwritten.
  StepProfiler(const ProfileSettings &settings,
               const std::vector<InputFile> &inputs);

  /// Chooses the steps of a run that begins after step `before` and ends with
  /// step `last`. Throws a Failure if the run does not have the chosen ones.
  void plan(uint64_t before, uint64_t last);

  /// True if profiling starts or stops after this step.
  bool isBoundary(uint64_t step) const {
    return step + 1 == first || step == last;
  }
  void reach(Session &session, const Program &program, uint64_t step);

  /// Leaves out what the session does until resume(), such as an evaluation.
  void pause(Session &session);
  void resume(Session &session);

  /// Stops, writes the file and prints the table, or one JSON object.
  void finish(Session &session, const SessionSettings &settings, bool json);

private:
  void start(Session &session, const Program &program);
  void stop(Session &session);

  const ProfileSettings &settings;
  const ProfileFile file;
  uint64_t first = 0, last = 0; ///< Steps to profile, counted from 1.
  uint64_t reached = 0;
  bool isRunning = false, hasRun = false, isPaused = false;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_CONSOLE_STEPPROFILER_H
