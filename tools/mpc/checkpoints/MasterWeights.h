//===- MasterWeights.h - Read and write weights as f32 ----------*- C++ -*-===//
//
// A program keeps master weights in f32, in bf16 with their rounding errors, or
// in bf16 alone. Exporting and averaging use f32.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_MPC_CHECKPOINTS_MASTERWEIGHTS_H
#define MPC_TOOLS_MPC_CHECKPOINTS_MASTERWEIGHTS_H

#include "tools/mpc/base/Runtime.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace mpc::tool {

/// Whether the state is a bf16 weight.
bool isBf16Weight(const mpc_state_info_t &info);

/// Reads an f32 state, or a bf16 weight plus its rounding error if the program
/// keeps it.
std::vector<float> readFloats(const Session &session, const Program &program,
                              const mpc_state_info_t &info);

/// Writes a bf16 weight: rounds the values, and stores the rounding errors if
/// the program keeps them.
void writeWeight(Session &session, const Program &program,
                 const mpc_state_info_t &info,
                 const std::vector<float> &values);

/// Writes a state of floats or a bf16 weight. `valueAt` returns the value of
/// each element, in their order.
void writeFloats(Session &session, const Program &program,
                 const mpc_state_info_t &info,
                 const std::function<double(uint64_t)> &valueAt);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_CHECKPOINTS_MASTERWEIGHTS_H
