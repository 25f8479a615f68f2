//===- SampleOrder.h - Which samples an epoch takes -------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_SAMPLING_SAMPLEORDER_H
#define MPC_TOOLS_MPC_TRAINING_SAMPLING_SAMPLEORDER_H

#include "tools/mpc/training/sampling/Permutation.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

/// A sample at a position of an epoch.
struct TakenSample {
  uint64_t index;
  uint64_t pass; ///< See SampleBatch.
};

/// The samples of each epoch, in the order in which they are taken. An order
/// depends only on its arguments, the seed and the epoch, so that training can
/// be resumed at any position.
class SampleOrder {
public:
  /// `numSamples` is the number of samples that an epoch takes.
  explicit SampleOrder(uint64_t numSamples) : numSamples(numSamples) {}
  virtual ~SampleOrder() = default;

  const uint64_t numSamples;

  /// Its name in checkpoints; "" for orders that older versions of mpc know.
  virtual const char *name() const { return ""; }

  /// Prepares for at(). May take long.
  virtual void begin(uint64_t seed, uint64_t epoch) = 0;

  /// The sample at a position of the epoch that has been begun.
  virtual TakenSample at(uint64_t position) const = 0;
};

/// The order of the data.
class FileOrder : public SampleOrder {
public:
  using SampleOrder::SampleOrder;
  void begin(uint64_t, uint64_t newEpoch) override { epoch = newEpoch; }
  TakenSample at(uint64_t position) const override { return {position, epoch}; }

private:
  uint64_t epoch = 0;
};

/// A random order of all samples, which is kept in memory.
class StoredOrder : public SampleOrder {
public:
  using SampleOrder::SampleOrder;
  void begin(uint64_t seed, uint64_t newEpoch) override;
  TakenSample at(uint64_t position) const override {
    return {order[position], epoch};
  }

private:
  uint64_t epoch = 0;
  std::vector<uint64_t> order;
};

/// A random order of all samples, which takes no memory.
class ComputedOrder : public SampleOrder {
public:
  using SampleOrder::SampleOrder;
  static constexpr char kName[] = "computed";
  const char *name() const override { return kName; }
  void begin(uint64_t seed, uint64_t newEpoch) override;
  TakenSample at(uint64_t position) const override {
    return {(*order)[position], epoch};
  }

private:
  uint64_t epoch = 0;
  std::optional<ComputedPermutation> order;
};

/// The samples of each class, by their indices.
using ClassMembers = std::vector<std::vector<uint64_t>>;

/// Takes equally many samples of each class in an epoch, in a random order. The
/// samples of a class are taken one after the other, in a new random order each
/// time all have been taken; those of rare classes therefore several times in
/// an epoch, and those of frequent classes not in every epoch.
class BalancedOrder : public SampleOrder {
public:
  /// No class may be empty.
  BalancedOrder(uint64_t numSamples, ClassMembers classes);
  static constexpr char kName[] = "balanced";
  const char *name() const override { return kName; }
  void begin(uint64_t seed, uint64_t epoch) override;
  TakenSample at(uint64_t position) const override;

private:
  const ClassMembers classes;
  uint64_t seed = 0, epoch = 0;
  std::optional<ComputedPermutation> slots;
};

/// The largest number of samples whose shuffled order is kept in memory, of 8
/// MiB. Larger data sets are shuffled by ComputedOrder.
constexpr uint64_t kMaxStoredOrder = uint64_t(1) << 20;

/// The order of all samples that training uses by default.
std::unique_ptr<SampleOrder> makeOrder(uint64_t numSamples, bool shuffle);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_SAMPLING_SAMPLEORDER_H
