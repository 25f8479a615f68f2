//===- ContinueOrder.cpp - The order of samples of a checkpoint -----------===//

#include "tools/mpc/training/sampling/ContinueOrder.h"
#include "tools/mpc/base/Runtime.h"

using namespace mpc::tool;

std::unique_ptr<SampleOrder>
mpc::tool::orderToContinue(const std::string &saved, const std::string &begun,
                           uint64_t numSamples) {
  if (saved == begun)
    return nullptr;
  if (saved == BalancedOrder::kName)
    throw Failure(Usage, "the checkpoint was trained with --sampling=balanced; "
                         "add it, or start a new run in another folder");
  if (begun == BalancedOrder::kName)
    throw Failure(Usage, "--sampling=balanced cannot be added when resuming; "
                         "omit it, or start a new run in another folder");
  if (!saved.empty())
    throw Failure(Damaged, "the checkpoint takes samples in the order '" +
                               saved +
                               "', which this version of mpc does not "
                               "know; continue with the version that "
                               "wrote it");
  // Older versions kept the order of any number of samples in memory.
  return std::make_unique<StoredOrder>(numSamples);
}
