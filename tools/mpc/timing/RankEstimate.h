//===- RankEstimate.h - Estimated times with several ranks ------*- C++ -*-===//
//
// Estimates how long an update of the weights takes if several ranks train a
// program, without running anything: the course of each entry point from the
// rates of a machine, and when the runtime's buckets of gradients travel from
// the rates of a network.
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TOOLS_MPC_TIMING_RANKESTIMATE_H
#define MPC_TOOLS_MPC_TIMING_RANKESTIMATE_H

#include "tools/mpc/base/Package.h"

#include "compiler/Report/Cost/Estimate.h"
#include "mpc/session.h"
#include "runtime/src/ranks/overlap.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace mpc::tool {

/// How a rank reaches the others. Its link carries as much in each direction.
struct Network {
  double bandwidth = 0; ///< Bytes per nanosecond.
  double latency = 0;   ///< Nanoseconds of a small message.

  /// What sending and receiving a message costs the thread that does so, in
  /// nanoseconds: at most what two ranks need for one of 8 bytes, which is 9.6
  /// us by TCP and 0.9 us by shared memory between two cores of a Zen 5
  /// (test/bench/ranks/messages.py), and at most the latency.
  double message() const { return std::min(9600.0, latency); }

  /// The time in which each of `ranks` sends its part of `bytes` to all others.
  double exchange(double bytes, uint32_t ranks) const;
};

/// An update with a number of ranks. Times are in nanoseconds.
struct RankEstimate {
  uint32_t ranks = 1;
  double computing = 0;     ///< Batches, and the update without waiting.
  double communicating = 0; ///< All messages.
  double exposed = 0;       ///< The part of them for which ranks wait.
  uint64_t bytes = 0;       ///< The memory of a rank for states and values.

  double step() const { return computing + exposed; }
};

/// Estimates for one program on one kind of machine.
class RankEstimator {
public:
  /// `device` is the CPU's report in `package`, which must outlive this object.
  /// Throws a Failure if the program is not for several ranks.
  RankEstimator(const Package &package, const report::Device &device,
                const Machine &machine, Network network, mpc_shard_t shard);

  RankEstimate of(uint32_t ranks) const;

private:
  /// Adds the means that batches compute with those of other ranks.
  void addMeans(RankEstimate &estimate) const;
  /// Adds the time of the last batch, during which gradients are added up.
  void addLastBatch(RankEstimate &estimate) const;
  void addUpdate(RankEstimate &estimate) const;
  const program::Variant &variant;
  const program::State *gradients = nullptr;
  uint32_t batchEntry = 0, applyEntry = 0;
  std::vector<double> batch, update; ///< See report::courseOf.
  bool hasMeans = false;             ///< See the kernel mean_over_ranks.
  std::vector<runtime::Bucket> buckets;
  const Network network;
  const mpc_shard_t shard;
  const uint64_t microBatches, bytes;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TIMING_RANKESTIMATE_H
