//===- LossScaleArguments.h - How fp16 scales the loss ----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_LOSSSCALEARGUMENTS_H
#define MPC_TOOLS_MPC_LOSSSCALEARGUMENTS_H

#include "passes/Pipeline.h"

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace mpc::tool {

/// --loss-scale, and what makes a dynamic one.
class LossScaleArguments {
public:
  /// Adds the options to a command; this must outlive the parsing.
  void addTo(CLI::App &command);

  /// What they say, for programs of that precision. Throws a Failure if one of
  /// them means nothing, or if they contradict each other.
  LossScaling toScaling(const std::string &precision) const;

private:
  std::string kind = "dynamic"; ///< Or "off", or a number.
  LossScaling dynamic;
  std::vector<const CLI::Option *> added; ///< The first is --loss-scale.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_LOSSSCALEARGUMENTS_H
