//===- Targets.h - Target devices of a compilation --------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_OPTIONS_TARGETS_H
#define MPC_TOOLS_MPC_OPTIONS_TARGETS_H

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace mpc::tool {

/// Accepts a comma-separated list of the targets in kernels/devices.def ("cpu",
/// "cuda" and "cuda:sm_90"), and replaces "cuda" by the architecture that it
/// stands for.
class TargetList : public CLI::Validator {
public:
  TargetList();
};

/// The items of a list that TargetList accepted.
std::vector<std::string> splitTargets(const std::string &list);

/// Throws a Failure if one of the targets cannot compute in `precision`.
void checkPrecision(const std::vector<std::string> &targets,
                    const std::string &precision);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_OPTIONS_TARGETS_H
