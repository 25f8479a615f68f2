//===- Sampler.cpp - Order of samples and batches -------------------------===//

#include "tools/mpc/training/Sampler.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

using namespace mpc::tool;

std::vector<uint64_t> mpc::tool::batchAt(uint64_t first, uint64_t batchSize,
                                         uint64_t numSamples) {
  std::vector<uint64_t> indices(
      first < numSamples ? std::min(batchSize, numSamples - first) : 0);
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

Sampler::Sampler(std::unique_ptr<SampleOrder> order, uint64_t batchSize,
                 uint64_t seed, bool fillsLast, uint64_t together)
    : order(std::move(order)), batchSize(batchSize), seed(seed),
      fillsLast(fillsLast), together(together) {
  assert(batchSize > 0 && batchesPerEpoch() > 0 && "no batch");
}

Sampler::Sampler(uint64_t numSamples, uint64_t batchSize, uint64_t seed,
                 bool shuffle)
    : Sampler(makeOrder(numSamples, shuffle), batchSize, seed) {}

void Sampler::reseed(uint64_t newSeed) {
  seed = newSeed;
  hasBegun = false;
}

void Sampler::setOrder(std::unique_ptr<SampleOrder> newOrder) {
  assert(newOrder->numSamples == order->numSamples && "of another data set");
  order = std::move(newOrder);
  hasBegun = false;
}

Sampler::Position Sampler::nextRound(Position position) const {
  const uint64_t batch = (position.batch + together - 1) / together * together;
  if (together > 1 && batch >= batchesPerEpoch())
    return {position.epoch + 1, 0};
  return {position.epoch, batch};
}

void Sampler::seek(Position position) {
  assert(position.batch < batchesPerEpoch() && "behind the end of the epoch");
  hasBegun &= position.epoch == at.epoch;
  at = position;
}

SampleBatch Sampler::following() const {
  SampleBatch batch;
  batch.seed = seed;
  for (uint64_t i = 0; hasBegun && i < batchSize; ++i) {
    const TakenSample sample =
        order->at((at.batch * batchSize + i) % order->numSamples);
    batch.samples.push_back(sample.index);
    batch.passes.push_back(sample.pass);
  }
  return batch;
}

uint64_t Sampler::countNew() const {
  return std::min(batchSize, order->numSamples - at.batch * batchSize);
}

SampleBatch Sampler::next() {
  if (!hasBegun)
    order->begin(seed, at.epoch);
  hasBegun = true;
  SampleBatch batch = following();
  if (++at.batch == batchesPerEpoch()) {
    at = {at.epoch + 1, 0};
    hasBegun = false;
  }
  return batch;
}
