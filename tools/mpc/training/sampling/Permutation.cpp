//===- Permutation.cpp - Random orders of samples -------------------------===//

#include "tools/mpc/training/sampling/Permutation.h"
#include "tools/mpc/base/Philox.h"

#include <cassert>
#include <numeric>
#include <utility>

using namespace mpc::tool;

std::vector<uint64_t> mpc::tool::permute(uint64_t count, uint64_t seed,
                                         uint64_t epoch) {
  std::vector<uint64_t> order(count);
  std::iota(order.begin(), order.end(), uint64_t(0));
  // Fisher-Yates.
  for (uint64_t i = count; i > 1; --i)
    std::swap(order[i - 1], order[below(i, philox(seed, i, epoch))]);
  return order;
}

ComputedPermutation::ComputedPermutation(uint64_t count, uint64_t seed,
                                         uint64_t epoch)
    : count(count) {
  assert(count <= uint64_t(1) << 62 && "too many elements");
  while (uint64_t(1) << 2 * halfBits < count)
    ++halfBits;
  // permute() uses counters up to the number of samples; these are others.
  for (size_t round = 0; round < roundKeys.size(); ++round)
    roundKeys[round] = philox(seed, ~uint64_t(round), epoch);
}

/// The finalizer of SplitMix64 (Steele et al., "Fast splittable pseudorandom
/// number generators", OOPSLA 2014).
static uint64_t mixBits(uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EB;
  return bits ^ bits >> 31;
}

uint64_t ComputedPermutation::encrypt(uint64_t value) const {
  const uint64_t mask = (uint64_t(1) << halfBits) - 1;
  uint64_t left = value >> halfBits, right = value & mask;
  for (uint64_t key : roundKeys) {
    const uint64_t mixed = mixBits(right + key) >> (64 - halfBits);
    left = std::exchange(right, left ^ mixed);
  }
  return left << halfBits | right;
}

// The numbers that the network permutes are fewer than 4 * count, or 4, so that
// walking takes few steps. It ends: the cycle returns to `position`.
uint64_t ComputedPermutation::operator[](uint64_t position) const {
  assert(position < count && "behind the end");
  do
    position = encrypt(position);
  while (position >= count);
  return position;
}
