//===- TrainerRanks.cpp - What ranks agree on -----------------------------===//

#include "tools/mpc/base/Text.h"
#include "tools/mpc/training/Trainer.h"
#include "tools/mpc/training/ranks/RankGroup.h"

#include <exception>

using namespace mpc::tool;

bool Trainer::isFirstRank() const {
  return !options.ranks || options.ranks->isFirst();
}

void Trainer::onFirstRank(const std::function<void()> &action) const {
  if (options.ranks)
    options.ranks->onFirst(action);
  else
    action();
}

/// The first rank saves. Others take part if ranks share states, whose parts
/// they send, or round gradients.
void Trainer::save(const std::string &path) const {
  const auto saveOwn = [&] {
    check(mpc_session_save_checkpoint(session.get(), path.c_str()), path);
  };
  bool isTogether = options.session.shard != MPC_SHARD_NONE ||
                    options.session.roundsGradients;
  if (!isTogether || !options.ranks)
    return onFirstRank(saveOwn);
  std::exception_ptr failure;
  try {
    saveOwn();
  } catch (const Failure &) {
    if (!isFirstRank())
      throw;
    failure = std::current_exception();
  }
  onFirstRank([&] {
    if (failure)
      std::rethrow_exception(failure);
  });
}

/// The batches of an update, of all ranks.
uint64_t Trainer::microBatches() const {
  return program.microBatches() * (options.ranks ? options.ranks->size() : 1);
}

/// Throws if ranks have other options that decide when they do something
/// together.
void Trainer::checkRankOptions() const {
  if (!options.ranks)
    return;
  options.ranks->checkEqual(
      "options",
      format("--eval-every=%llu --checkpoint-every=%llu --patience=%llu "
             "--keep-best=%s --on-nan=%s --shard=%d --grad-comm=%s%s%s",
             static_cast<unsigned long long>(options.evalEvery),
             static_cast<unsigned long long>(options.checkpointEvery),
             static_cast<unsigned long long>(options.patience),
             options.keepBest.c_str(), options.onNanText.c_str(),
             static_cast<int>(options.session.shard),
             options.session.roundsGradients ? "bf16" : "fp32",
             options.checkpointDir.empty() ? "" : " --checkpoint-dir",
             evalData ? " --eval-data" : ""));
}

/// Throws if the ranks do not have the same program, data and weights: then
/// they would train different models without notice.
void Trainer::checkRanks() const {
  if (!options.ranks)
    return;
  const RankGroup &ranks = *options.ranks;
  ranks.checkEqual("step to continue from", std::to_string(step));
  ranks.checkEqual("number of steps", std::to_string(totalSteps()));
  ranks.checkEqual("number of samples", std::to_string(data.numSamples()));
  ranks.checkEqual("batch size", std::to_string(data.batchSize()));
  ranks.checkEqual(
      "order of samples",
      options.noShuffle
          ? "that of the file"
          : format("%s with seed %llu",
                   *sampler.orderName() ? sampler.orderName() : "shuffled",
                   static_cast<unsigned long long>(seed)));
  ranks.checkEqual("training data", data.fingerprint());
  ranks.checkEqual("package", program.fingerprint());
  ranks.checkEqual("initial states", session.fingerprint());
}

void Trainer::noteShares() const {
  uint64_t own, all;
  mpc_session_sharded_bytes(session.get(), &own, &all);
  if (all > 0)
    note(format("ranks share %s of states; this one keeps %s of them",
                formatBytes(all).c_str(), formatBytes(own).c_str()));
}

/// Whether training stops after the step that has ended: if it is to stop on
/// one rank, it stops on all.
bool Trainer::mustStop() {
  const char *own = observer.stopReason();
  if (!options.ranks) {
    stopped = own ? own : "";
    return own != nullptr;
  }
  const std::vector<std::string> reasons =
      options.ranks->gather(own ? own : "");
  for (uint32_t rank = 0; rank < reasons.size(); ++rank)
    if (!reasons[rank].empty() && stopped.empty())
      stopped = reasons[rank] + (rank == options.ranks->rank()
                                     ? ""
                                     : " on rank " + std::to_string(rank));
  return !stopped.empty();
}
