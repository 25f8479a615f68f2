//===- Sampler.cpp - Order of samples and batches -------------------------===//

#include "tools/mpc/training/Sampler.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

using namespace mpc::tool;

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
/// SC 2011): 64 of its 128 bits for a 64-bit key and a 128-bit counter.
static uint64_t philox(uint64_t key, uint64_t counterLow,
                       uint64_t counterHigh) {
  uint32_t k0 = key, k1 = key >> 32;
  uint32_t c0 = counterLow, c1 = counterLow >> 32, c2 = counterHigh,
           c3 = counterHigh >> 32;
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t(0xD2511F53) * c0;
    uint64_t product1 = uint64_t(0xCD9E8D57) * c2;
    c0 = uint32_t(product1 >> 32) ^ c1 ^ k0;
    c1 = uint32_t(product1);
    c2 = uint32_t(product0 >> 32) ^ c3 ^ k1;
    c3 = uint32_t(product0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return uint64_t(c1) << 32 | c0;
}

std::vector<uint64_t> mpc::tool::permute(uint64_t count, uint64_t seed,
                                         uint64_t epoch) {
  std::vector<uint64_t> order(count);
  std::iota(order.begin(), order.end(), uint64_t(0));
  // Fisher-Yates. The high half of the product maps 64 random bits to [0, i)
  // with a bias of i / 2^64, which is negligible.
  for (uint64_t i = count; i > 1; --i) {
    unsigned __int128 product =
        static_cast<unsigned __int128>(philox(seed, i, epoch)) * i;
    std::swap(order[i - 1], order[static_cast<uint64_t>(product >> 64)]);
  }
  return order;
}

std::vector<uint64_t> mpc::tool::batchAt(uint64_t first, uint64_t batchSize,
                                         uint64_t numSamples) {
  std::vector<uint64_t> indices(
      first < numSamples ? std::min(batchSize, numSamples - first) : 0);
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

Sampler::Sampler(uint64_t numSamples, uint64_t batchSize, uint64_t seed,
                 bool shuffle)
    : numSamples(numSamples), batchSize(batchSize), seed(seed),
      shuffle(shuffle), batch(batchSize) {
  assert(batchSize > 0 && numSamples >= batchSize && "no whole batch");
}

void Sampler::reseed(uint64_t newSeed) {
  seed = newSeed;
  order.clear();
}

void Sampler::seek(Position position) {
  assert(position.batch < batchesPerEpoch() && "behind the end of the epoch");
  if (position.epoch != at.epoch)
    order.clear();
  at = position;
}

void Sampler::fill(uint64_t position, std::vector<uint64_t> &indices) const {
  uint64_t first = position * batchSize;
  for (uint64_t i = 0; i < batchSize; ++i)
    indices[i] = shuffle ? order[first + i] : first + i;
}

std::vector<uint64_t> Sampler::following() const {
  if (shuffle && order.empty())
    return {};
  std::vector<uint64_t> indices(batchSize);
  fill(at.batch, indices);
  return indices;
}

const std::vector<uint64_t> &Sampler::next() {
  if (shuffle && order.empty())
    order = permute(numSamples, seed, at.epoch);

  fill(at.batch, batch);
  if (++at.batch == batchesPerEpoch()) {
    at = {at.epoch + 1, 0};
    order.clear();
  }
  return batch;
}
