//===- CheckWeights.h - Weights of a checkpoint that are no numbers -*- C++
//-*-//
#ifndef MPC_TOOLS_MPC_TRAINING_CHECKWEIGHTS_H
#define MPC_TOOLS_MPC_TRAINING_CHECKWEIGHTS_H

#include <string>

namespace mpc::tool {

/// What of a checkpoint's weights and statistics is not finite: "'fc1.weight'
/// holds nan"; "" if all are. The checkpoint must be whole otherwise.
std::string findNonFiniteWeight(const std::string &checkpoint);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_CHECKWEIGHTS_H
