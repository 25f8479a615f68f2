//===- SampleOrder.cpp - Which samples an epoch takes ---------------------===//

#include "tools/mpc/training/sampling/SampleOrder.h"
#include "tools/mpc/base/Philox.h"

#include <cassert>

using namespace mpc::tool;

void StoredOrder::begin(uint64_t seed, uint64_t newEpoch) {
  epoch = newEpoch;
  order = permute(numSamples, seed, epoch);
}

void ComputedOrder::begin(uint64_t seed, uint64_t newEpoch) {
  epoch = newEpoch;
  order.emplace(numSamples, seed, epoch);
}

BalancedOrder::BalancedOrder(uint64_t numSamples, ClassMembers classes)
    : SampleOrder(numSamples), classes(std::move(classes)) {
  assert(!this->classes.empty() && "no class");
}

void BalancedOrder::begin(uint64_t newSeed, uint64_t newEpoch) {
  seed = newSeed;
  epoch = newEpoch;
  slots.emplace(numSamples, seed, epoch);
}

// Class c has every k-th slot of an epoch from slot c on. Slots are counted
// from the beginning of training, so that an epoch continues where the one
// before has stopped.
TakenSample BalancedOrder::at(uint64_t position) const {
  const uint64_t slot = (*slots)[position], number = slot % classes.size();
  const std::vector<uint64_t> &members = classes[number];
  const uint64_t perEpoch =
      (numSamples - number + classes.size() - 1) / classes.size();
  const uint64_t taken = epoch * perEpoch + slot / classes.size();
  const uint64_t pass = taken / members.size();
  const ComputedPermutation order(members.size(),
                                  philox(seed, number, ~uint64_t(0)), pass);
  return {members[order[taken % members.size()]], pass};
}

std::unique_ptr<SampleOrder> mpc::tool::makeOrder(uint64_t numSamples,
                                                  bool shuffle) {
  if (!shuffle)
    return std::make_unique<FileOrder>(numSamples);
  if (numSamples <= kMaxStoredOrder)
    return std::make_unique<StoredOrder>(numSamples);
  return std::make_unique<ComputedOrder>(numSamples);
}
