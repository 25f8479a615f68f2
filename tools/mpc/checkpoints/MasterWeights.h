//===- MasterWeights.h - Weights as numbers of f32 --------------*- C++ -*-===//
//
// A program keeps weights in f32, or in bf16 with the rounding error beside
// them, or in bf16 alone. Who exports or averages them wants f32.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_MASTERWEIGHTS_H
#define MPC_TOOLS_MPC_CHECKPOINTS_MASTERWEIGHTS_H

#include "tools/mpc/base/Runtime.h"

#include <vector>

namespace mpc::tool {

/// Whether the state is a weight of a program without f32 masters.
bool isNarrowWeight(const mpc_state_info_t &info);

/// All that is kept of a state of f32, or of such a weight.
std::vector<float> readFloats(const Session &session, const Program &program,
                              const mpc_state_info_t &info);

/// Rounds the numbers to such a weight, and keeps the rounding error if the
/// program does.
void writeWeight(Session &session, const Program &program,
                 const mpc_state_info_t &info,
                 const std::vector<float> &values);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_MASTERWEIGHTS_H
