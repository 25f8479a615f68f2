//===- SampleBatch.h - Samples of one batch ---------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_AUGMENT_SAMPLEBATCH_H
#define MPC_TOOLS_MPC_DATA_AUGMENT_SAMPLEBATCH_H

#include <cstdint>
#include <vector>

namespace mpc::tool {

/// The samples of a batch, and what their augmentation depends on.
struct SampleBatch {
  std::vector<uint64_t> samples;
  /// For each sample: how often training has gone through the data, or through
  /// the samples of its class, before. Empty if samples are not augmented.
  std::vector<uint64_t> passes;
  uint64_t seed = 0;

  bool isAugmented() const { return !passes.empty(); }
  bool operator==(const SampleBatch &other) const {
    return samples == other.samples && passes == other.passes &&
           seed == other.seed;
  }
  bool operator!=(const SampleBatch &other) const { return !(*this == other); }
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_AUGMENT_SAMPLEBATCH_H
