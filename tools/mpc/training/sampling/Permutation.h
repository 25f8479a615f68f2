//===- Permutation.h - Random orders of samples -----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_SAMPLING_PERMUTATION_H
#define MPC_TOOLS_MPC_TRAINING_SAMPLING_PERMUTATION_H

#include <array>
#include <cstdint>
#include <vector>

namespace mpc::tool {

/// A permutation of 0 ... count-1 that depends only on `seed`, `epoch` and
/// `count`. Every permutation is equally likely, up to the quality of Philox.
std::vector<uint64_t> permute(uint64_t count, uint64_t seed, uint64_t epoch);

/// A permutation of 0 ... count-1 that needs no memory for its elements: a
/// Feistel network with cycle walking. It depends only on `count`, `seed` and
/// `epoch`.
class ComputedPermutation {
public:
  /// `count` must be at most 2^62.
  ComputedPermutation(uint64_t count, uint64_t seed, uint64_t epoch);

  /// The element at a position below `count`.
  uint64_t operator[](uint64_t position) const;

private:
  uint64_t encrypt(uint64_t value) const;

  uint64_t count;
  unsigned halfBits = 1; ///< The network permutes numbers of twice as many.
  std::array<uint64_t, 8> roundKeys;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_SAMPLING_PERMUTATION_H
