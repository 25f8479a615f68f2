//===- Sampler.h - Order of samples and batches -----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_SAMPLER_H
#define MPC_TOOLS_MPC_TRAINING_SAMPLER_H

#include <cstdint>
#include <vector>

namespace mpc::tool {

/// A permutation of 0 ... count-1 that depends only on `seed`, `epoch` and
/// `count`. Every permutation is equally likely, up to the quality of Philox.
std::vector<uint64_t> permute(uint64_t count, uint64_t seed, uint64_t epoch);

/// The samples of the batch that begins at `first`, if batches are taken in
/// order: as many as there are, none behind the end.
std::vector<uint64_t> batchAt(uint64_t first, uint64_t batchSize,
                              uint64_t numSamples);

/// Returns the samples of a data set in batches, epoch after epoch. The batches
/// depend only on the arguments and the position, so that training continues
/// after an interruption as if there had been none.
class Sampler {
public:
  struct Position {
    uint64_t epoch = 0; ///< Completed epochs.
    uint64_t batch = 0; ///< Batches of this epoch that have been returned.
  };

  /// `numSamples` must be at least `batchSize`. Samples that do not fill the
  /// last batch of an epoch are left out; with shuffling, these differ from
  /// epoch to epoch.
  Sampler(uint64_t numSamples, uint64_t batchSize, uint64_t seed, bool shuffle);

  uint64_t batchesPerEpoch() const { return numSamples / batchSize; }
  Position position() const { return at; }

  /// Uses the orders of another seed from now on.
  void reseed(uint64_t newSeed);

  /// Goes to a position with `batch` below batchesPerEpoch().
  void seek(Position position);

  /// Indices of the next batch; valid until the next call.
  const std::vector<uint64_t> &next();

  /// Indices of the batch that next() will return; none at the end of an epoch,
  /// where the next order is not yet known.
  std::vector<uint64_t> following() const;

private:
  /// The batch at a position of the current order.
  void fill(uint64_t position, std::vector<uint64_t> &indices) const;

  const uint64_t numSamples, batchSize;
  uint64_t seed;
  const bool shuffle;
  Position at;
  std::vector<uint64_t>
      order; ///< Order of epoch `at.epoch`; empty: not yet computed.
  std::vector<uint64_t> batch;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_SAMPLER_H
