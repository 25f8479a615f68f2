//===- Sampler.h - Order of samples and batches -----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_SAMPLER_H
#define MPC_TOOLS_MPC_TRAINING_SAMPLER_H

#include "tools/mpc/data/augment/SampleBatch.h"
#include "tools/mpc/training/sampling/SampleOrder.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace mpc::tool {

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

  /// Samples that do not fill the last batch of an epoch are left out; with
  /// shuffling, these differ from epoch to epoch. The order must then have at
  /// least `batchSize` samples. With `fillsLast`, the last batch is filled up
  /// with samples from the beginning of the epoch instead. An epoch has a
  /// multiple of `together` batches; others at its end are left out, too.
  Sampler(std::unique_ptr<SampleOrder> order, uint64_t batchSize, uint64_t seed,
          bool fillsLast = false, uint64_t together = 1);

  /// The same for the order of makeOrder().
  Sampler(uint64_t numSamples, uint64_t batchSize, uint64_t seed, bool shuffle);

  uint64_t batchesPerEpoch() const {
    return (order->numSamples + (fillsLast ? batchSize - 1 : 0)) / batchSize /
           together * together;
  }
  Position position() const { return at; }

  /// The name of the order in checkpoints.
  const char *orderName() const { return order->name(); }

  /// Uses the orders of another seed from now on.
  void reseed(uint64_t newSeed);

  /// Uses another order from now on, of the same number of samples.
  void setOrder(std::unique_ptr<SampleOrder> newOrder);

  /// The first round that begins at or after `position`, which another number
  /// of ranks may have reached. A round is `together` batches.
  Position nextRound(Position position) const;

  /// Goes to a position with `batch` below batchesPerEpoch().
  void seek(Position position);

  SampleBatch next();

  /// How many samples of the batch that next() will return are new in this
  /// epoch: all, or the first ones of a batch that is filled up.
  uint64_t countNew() const;

  /// The batch that next() will return; without samples at the beginning of an
  /// epoch, whose order is not yet known.
  SampleBatch following() const;

private:
  std::unique_ptr<SampleOrder> order;
  const uint64_t batchSize;
  uint64_t seed;
  const bool fillsLast;
  const uint64_t together;
  Position at;
  bool hasBegun = false; ///< Whether the order is that of epoch `at.epoch`.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_SAMPLER_H
