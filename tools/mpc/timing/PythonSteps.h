//===- PythonSteps.h - Training steps of PyTorch ----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TIMING_PYTHONSTEPS_H
#define MPC_TOOLS_MPC_TIMING_PYTHONSTEPS_H

#include "tools/mpc/timing/StepTimes.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <sys/types.h>

namespace mpc::tool {

/// A script for PyTorch to compare with, and how it runs.
struct PythonSettings {
  std::string script; ///< Defines make(): module, loss function, batch.
  std::string python = "python3";
  std::string precision; ///< fp32, or the format of autocast: bf16.
  int threads = 1;
};

/// A Python process that trains the module of a script. It waits between runs,
/// so that it does not disturb other measurements.
class PythonSteps {
public:
  /// Starts the process; `mode` is "eager" or "compile". Throws a Failure if
  /// it cannot make the module or its first steps.
  PythonSteps(const PythonSettings &settings, const std::string &mode);
  PythonSteps(const PythonSteps &) = delete;
  /// Ends the process.
  ~PythonSteps();

  /// Runs `count` steps.
  void run(uint64_t count, StepTimes &times);

private:
  std::string readLine();
  void end();

  const PythonSettings &settings;
  const std::string mode;
  pid_t process = -1;
  FILE *toProcess = nullptr, *fromProcess = nullptr;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TIMING_PYTHONSTEPS_H
