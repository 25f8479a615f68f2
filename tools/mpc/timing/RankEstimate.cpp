//===- RankEstimate.cpp - Estimated times with several ranks --------------===//

#include "tools/mpc/timing/RankEstimate.h"

#include "tools/mpc/base/Runtime.h"

#include "runtime/src/program/roles.h"
#include "runtime/src/ranks/shards.h"

#include <algorithm>
#include <numeric>

using namespace mpc::tool;
using mpc::program::EntryRole;
using mpc::program::StateRole;
using mpc::runtime::Piece;

static const mpc::program::Variant &
findVariant(const mpc::program::Program &root, const std::string &device) {
  const mpc::program::Variant *variant =
      mpc::runtime::find_variant(root, device);
  if (!variant)
    throw Failure(Damaged, "the package has no program for '" + device + "'");
  return *variant;
}

double Network::exchange(double bytes, uint32_t ranks) const {
  const double others = ranks - 1;
  return latency +
         std::max(others * message(), bytes * others / ranks / bandwidth);
}

/// The time of each instruction of an entry point.
static std::vector<double> courseOf(const mpc::report::Device &device,
                                    const mpc::program::Entry &entry,
                                    const mpc::Machine &machine) {
  for (const mpc::report::Device::Entry &reported : device.entries) {
    if (reported.name != entry.name()->str())
      continue;
    std::vector<double> course =
        mpc::report::courseOf(device, reported, machine);
    if (entry.instructions() && course.size() == entry.instructions()->size())
      return course;
  }
  throw Failure(Usage, "--ranks: the package was compiled by an earlier "
                       "version of mpc, whose report does not say in which "
                       "order kernels run; compile the model again");
}

RankEstimator::RankEstimator(const Package &package,
                             const report::Device &device,
                             const Machine &machine, Network network,
                             mpc_shard_t shard)
    : variant(findVariant(package.root(), device.name)), network(network),
      shard(shard), microBatches(package.root().accumulate()),
      bytes(package.root().state_size() + variant.arena_size()) {
  for (const program::State *state : *package.root().states())
    if (runtime::role_of(*state) == StateRole::RankGradients ||
        runtime::role_of(*state) == StateRole::GradientSum)
      gradients = state;
  bool isParallel = false;
  if (package.root().options())
    for (const program::Option *option : *package.root().options())
      isParallel |= option->name()->str() == "data-parallel";
  int batchIndex = -1, applyIndex = -1;
  for (uint32_t i = 0; i < variant.entries()->size(); ++i) {
    const program::Entry &entry = *variant.entries()->Get(i);
    if (entry.role() == EntryRole::Accumulate && entry.other_batch() == 0)
      batchIndex = int(i);
    if (entry.role() == EntryRole::Apply)
      applyIndex = int(i);
  }
  if (!isParallel || !gradients || batchIndex < 0 || applyIndex < 0)
    throw Failure(Usage, "--ranks: the package is for one process; compile the "
                         "model with --data-parallel");
  batchEntry = uint32_t(batchIndex), applyEntry = uint32_t(applyIndex);
  batch = courseOf(device, *variant.entries()->Get(batchEntry), machine);
  for (const program::Instruction *instruction :
       *variant.entries()->Get(batchEntry)->instructions())
    hasMeans |= runtime::is_mean_over_ranks(*instruction);
  update = courseOf(device, *variant.entries()->Get(applyEntry), machine);
  buckets =
      runtime::make_buckets(variant, {batchEntry}, batchEntry,
                            gradients->offset(), runtime::bytes_of(*gradients));
}

RankEstimate RankEstimator::of(uint32_t ranks) const {
  RankEstimate estimate;
  estimate.ranks = ranks;
  estimate.bytes = bytes;
  estimate.computing =
      double(microBatches) * std::accumulate(batch.begin(), batch.end(), 0.0);
  if (ranks > 1) {
    addMeans(estimate);
    addLastBatch(estimate);
  }
  addUpdate(estimate);
  return estimate;
}

void RankEstimator::addMeans(RankEstimate &estimate) const {
  if (!hasMeans)
    return;
  // Before each batch, ranks agree that all have one.
  double agreeing = double(microBatches) * network.exchange(0, estimate.ranks);
  estimate.communicating += agreeing;
  estimate.exposed += agreeing;
  for (const program::Instruction *instruction :
       *variant.entries()->Get(batchEntry)->instructions()) {
    if (!runtime::is_mean_over_ranks(*instruction))
      continue;
    // Every rank receives what all others have.
    double time =
        double(microBatches) *
        network.exchange(
            double(estimate.ranks) *
                double(runtime::bytes_of(*instruction->operands()->Get(0))),
            estimate.ranks);
    estimate.communicating += time;
    estimate.exposed += time;
  }
}

void RankEstimator::addLastBatch(RankEstimate &estimate) const {
  std::vector<double> ends(batch.size() + 1);
  std::partial_sum(batch.begin(), batch.end(), ends.begin() + 1);
  // When the link has nothing to do. Ranks that compute means in the batch add
  // up gradients after it.
  double free = hasMeans ? ends.back() : 0;
  for (const runtime::Bucket &bucket : buckets) {
    // Gathered as well, unless each rank keeps only its part.
    double time =
        network.exchange(double(bucket.end - bucket.begin), estimate.ranks) *
        (shard == MPC_SHARD_NONE ? 2 : 1);
    free = std::max(free, ends[bucket.ready[batchEntry]]) + time;
    estimate.communicating += time;
  }
  estimate.exposed += std::max(0.0, free - ends.back());
}

void RankEstimator::addUpdate(RankEstimate &estimate) const {
  const double whole = std::accumulate(update.begin(), update.end(), 0.0);
  if (estimate.ranks == 1) {
    estimate.computing += whole;
    return;
  }
  // Losses, divisors and flags of all ranks.
  double waits = network.exchange(0, estimate.ranks);
  if (shard == MPC_SHARD_NONE) {
    estimate.computing += whole;
  } else {
    // The last rank has the largest part.
    const uint32_t last = estimate.ranks - 1;
    const runtime::Shards shards(variant, applyEntry, *gradients, buckets, last,
                                 estimate.ranks);
    const auto &instructions =
        *variant.entries()->Get(applyEntry)->instructions();
    for (uint32_t i = 0; i < instructions.size(); ++i)
      estimate.computing +=
          update[i] /
          (instructions.Get(i)->item_elements() ? estimate.ranks : 1);
    uint64_t gathered = 0, messages = 1;
    const auto gather = [&](const std::vector<Piece> &pieces) {
      for (const Piece &piece : pieces)
        gathered += piece.end - piece.begin;
      messages += !pieces.empty();
    };
    for (const runtime::Shards::Step &step : shards.steps())
      gather(step.gathers);
    gather(shards.last_gathers());
    for (const Piece &piece : shards.kept()) {
      uint64_t own = 0, used = 0;
      for (const runtime::ByteRange &range : shards.ranges_of(piece, last))
        own += range.end - range.begin;
      for (const runtime::ByteRange &place : piece.used)
        used += place.end - place.begin;
      gathered += used;
      estimate.bytes -= piece.end - piece.begin - own -
                        used / estimate.ranks * (estimate.ranks - 1);
    }
    if (shard == MPC_SHARD_GRADIENTS)
      estimate.bytes -= runtime::bytes_of(*gradients) -
                        runtime::bytes_of(*gradients) / estimate.ranks;
    waits += network.exchange(double(gathered), estimate.ranks) +
             double(messages - 1) * network.latency;
  }
  estimate.communicating += waits;
  estimate.exposed += waits;
}
