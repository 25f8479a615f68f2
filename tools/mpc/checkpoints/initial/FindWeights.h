//===- FindWeights.h - The file of the option --init ------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_INITIAL_FINDWEIGHTS_H
#define MPC_TOOLS_MPC_CHECKPOINTS_INITIAL_FINDWEIGHTS_H

#include "passes/Weights/WeightsFile.h"

#include <string>

namespace mpc::tool {

/// The safetensors file of a checkpoint or of the newest one of a folder, or
/// the file itself. Throws a Failure if a folder has no checkpoint.
std::string findWeights(const std::string &given);

/// Throws the Failure for an error about the file.
[[noreturn]] void throwFailure(const WeightsError &error);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_INITIAL_FINDWEIGHTS_H
