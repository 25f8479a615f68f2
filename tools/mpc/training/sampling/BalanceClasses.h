//===- BalanceClasses.h - Equally many samples of each class ----*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_SAMPLING_BALANCECLASSES_H
#define MPC_TOOLS_MPC_TRAINING_SAMPLING_BALANCECLASSES_H

#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/training/sampling/SampleOrder.h"

#include <memory>

namespace mpc::tool {

/// The order for --sampling=balanced. A note says how often samples are taken.
std::unique_ptr<SampleOrder> balanceClasses(const Dataset &data);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_SAMPLING_BALANCECLASSES_H
