//===- CheckWeights.h - Find weights that are not finite --------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_CHECKWEIGHTS_H
#define MPC_TOOLS_MPC_TRAINING_CHECKWEIGHTS_H

#include <string>

namespace mpc::tool {

/// Finds a weight or statistic of a checkpoint that is not finite:
/// "'fc1.weight' holds nan"; "" if all are finite. The checkpoint must be valid
/// otherwise.
std::string findNonFiniteWeight(const std::string &checkpoint);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_CHECKWEIGHTS_H
