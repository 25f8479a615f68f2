//===- Fp8Arguments.h - How fp8 scales tensors ------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_FP8ARGUMENTS_H
#define MPC_TOOLS_MPC_FP8ARGUMENTS_H

#include "passes/Pipeline.h"

#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace mpc::tool {

/// --fp8-scaling and what goes with it.
class Fp8Arguments {
public:
  /// Adds the options to a command; this must outlive the parsing.
  void addTo(CLI::App &command);

  /// What they say, for programs of that precision. Throws a Failure if one of
  /// them means nothing.
  Fp8Scaling toScaling(const std::string &precision) const;

private:
  Fp8Scaling scaling;
  std::vector<const CLI::Option *> added;
  const CLI::Option *history = nullptr;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_FP8ARGUMENTS_H
