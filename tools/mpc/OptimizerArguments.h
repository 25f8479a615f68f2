//===- OptimizerArguments.h - How weights are updated -----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_OPTIMIZERARGUMENTS_H
#define MPC_TOOLS_MPC_OPTIMIZERARGUMENTS_H

#include "passes/Pipeline.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace mpc::tool {

/// The options about updates and about the learning rate.
class OptimizerArguments {
public:
  /// Adds the options to a command; this must outlive the parsing.
  void addTo(CLI::App &command);

  /// Says in `options` what they say. Throws a Failure if one of them means
  /// nothing to the optimizer or to the schedule, or if they contradict each
  /// other.
  void fill(CompileOptions &options) const;

private:
  void addUpdateOptions(CLI::App &command);
  void addFormulaOptions(CLI::App &command);
  void addScheduleOptions(CLI::App &command);
  void checkFormula() const;
  void checkSchedule() const;
  CLI::Option *find(const std::string &name) const;

  UpdateOptions chosen;
  std::optional<std::pair<double, double>> betas;
  std::optional<double> warmup;
  std::vector<CLI::Option *> added;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_OPTIMIZERARGUMENTS_H
