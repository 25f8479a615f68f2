//===- ContinueOrder.h - The order of samples of a checkpoint ---*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_SAMPLING_CONTINUEORDER_H
#define MPC_TOOLS_MPC_TRAINING_SAMPLING_CONTINUEORDER_H

#include "tools/mpc/training/sampling/SampleOrder.h"

#include <memory>
#include <string>

namespace mpc::tool {

/// The order to continue a run with: null for the order that it would begin
/// with, whose name is `begun`, or the order of an older version of mpc.
/// `saved` is the name in the checkpoint. Throws a Failure if the checkpoint is
/// of another kind of sampling.
std::unique_ptr<SampleOrder> orderToContinue(const std::string &saved,
                                             const std::string &begun,
                                             uint64_t numSamples);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_SAMPLING_CONTINUEORDER_H
