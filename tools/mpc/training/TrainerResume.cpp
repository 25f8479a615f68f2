//===- TrainerResume.cpp - Continue training from a checkpoint ------------===//

#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/checkpoints/TrainProperties.h"
#include "tools/mpc/checkpoints/TrainedOptions.h"
#include "tools/mpc/training/Trainer.h"
#include "tools/mpc/training/sampling/ContinueOrder.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

using namespace mpc::tool;

/// True if `folder` contains anything named like a checkpoint.
static bool hasCheckpoints(const std::string &folder) {
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().filename().string().rfind("step-", 0) == 0)
      return true;
  return false;
}

/// Creates the checkpoint folder and locks it before reading from it: if two
/// runs start at the same time, one fails here.
void Trainer::openCheckpointDir() {
  const std::string &folder = options.checkpointDir;
  onFirstRank([&] {
    createFolders(folder);
    lock.take(folder);
    // Leftovers of a run or of a removal that was killed.
    check(mpc_checkpoint_remove_leftovers(folder.c_str()), folder);
  });
  if (!options.resume && hasCheckpoints(folder))
    throw Failure(Usage,
                  "'" + folder +
                      "' contains checkpoints of another run; use --resume to "
                      "continue it, or choose another folder");
}

/// Reads a numeric property that checkpoints of `mpc train` must have.
uint64_t Trainer::readCount(const Session &session, const char *name) {
  std::optional<std::string> text = session.property(name);
  if (!text)
    throw Failure(Damaged, std::string("the checkpoint was not written by mpc "
                                       "train: it lacks '") +
                               name + "'");
  char *end = nullptr;
  errno = 0;
  uint64_t value = std::strtoull(text->c_str(), &end, 10);
  if (errno != 0 || end == text->c_str() || *end != 0)
    throw Failure(Damaged, std::string("the checkpoint's '") + name +
                               "' is not a number: '" + *text + "'");
  return value;
}

/// Returns whether there is a checkpoint to continue from.
bool Trainer::resume(bool isNew) {
  std::string mismatch;
  std::string loaded = session.loadLatest(options.checkpointDir, mismatch);
  if (loaded.empty()) {
    note("'" + options.checkpointDir + "' " +
         (isNew ? "does not exist yet" : "contains no checkpoint yet") +
         "; starting from the beginning");
    return false;
  }
  checkTrainedOptions(mismatch);
  restorePosition();
  noteOtherData();
  noteOtherAugmentation();
  epochLoss.restore(session.property(kLoss).value_or(""));
  std::optional<std::string> before = session.property(kBestSoFar);
  if (best && before && !best->restore(*before))
    note("the checkpoint kept the best checkpoint by another metric; the "
         "search for the best one starts anew");
  lastCheckpoint = loaded;
  note("continuing after step " + std::to_string(step) + " from '" + loaded +
       "'");
  return true;
}

/// "optimizer 'adamw', but the package uses 'sgd'".
static std::string
describeIncompatible(const std::vector<OptionChange> &changes) {
  if (changes.size() == 1)
    return changes[0].name + " " + changes[0].before +
           ", but the package uses " + changes[0].now;
  std::vector<std::string> texts;
  for (const OptionChange &change : changes)
    texts.push_back(change.name + " " + change.before + " (the package uses " +
                    change.now + ")");
  return joinWords(texts);
}

/// Describes an optimizer state that only the program or only the checkpoint
/// has.
static std::string describeMismatch(const std::string &mismatch) {
  const std::string extra = "the program does not use ", lacking = "it has no ";
  if (mismatch.rfind(extra, 0) == 0)
    return "optimizer states that the package does not use are dropped, such "
           "as " +
           mismatch.substr(extra.size());
  if (mismatch.rfind(lacking, 0) == 0)
    return "optimizer states that the checkpoint does not contain start anew, "
           "such as " +
           mismatch.substr(lacking.size());
  return "optimizer states that do not fit the package start anew: " + mismatch;
}

/// Notes options that differ between program and checkpoint. Training continues
/// with those of the program; options that would make it a different training
/// are an error unless --resume=force is given. `mismatch` describes an
/// optimizer state that only one of them has, or is "".
void Trainer::checkTrainedOptions(const std::string &mismatch) {
  OptionChanges changes = compareOptions(session, program);
  if (!changes.incompatible.empty() && !options.force)
    throw Failure(Usage,
                  "the checkpoint was trained with " +
                      describeIncompatible(changes.incompatible) +
                      "; use --resume=force to continue anyway" +
                      (mismatch.empty() ? "" : ", with the optimizer reset"));
  if (!mismatch.empty() && !options.force && !changes.states)
    throw Failure(Damaged,
                  "the checkpoint was made for another program: " + mismatch);
  std::vector<std::string> said;
  for (const auto *list : {&changes.incompatible, &changes.compatible})
    for (const OptionChange &change : *list)
      if (change.name != "lr" || !options.learningRate)
        said.push_back(change.name + " " + change.now + " instead of " +
                       change.before);
  if (!said.empty())
    note("continuing with " + joinWords(said));
  if (!mismatch.empty() && !changes.states)
    note(describeMismatch(mismatch));
  if (!changes.known)
    note(format("the checkpoint does not record its training options; its "
                "learning rate is %g",
                readRate().value_or(0)));
  // A rate that changed in the program is intended; otherwise the rate of the
  // checkpoint, which --lr may have set, is kept.
  const char *totalSteps = program.stateOf(MPC_STATE_TOTAL_STEPS);
  if (changes.totalSteps && totalSteps)
    session.writeCounter(
        totalSteps,
        std::strtoll(program.option("total-steps").c_str(), nullptr, 10));
  if (changes.rate)
    setRate(std::strtod(program.option("lr").c_str(), nullptr));
  std::string before = session.property(kBatchSize).value_or("");
  if (!before.empty() && before != std::to_string(data.batchSize()))
    note("continuing with batches of " + std::to_string(data.batchSize()) +
         " instead of " + before);
}

/// Notes which arrays differ from those of the checkpoint, according to their
/// fingerprints. The change may be intended.
void Trainer::noteOtherData() const {
  std::optional<std::string> before = session.property(kData);
  if (!before)
    return;
  std::vector<std::string> others = data.differencesFrom(*before);
  if (!others.empty())
    note(joinWords(others) + (others.size() > 1 ? " differ" : " differs") +
         " from the data that the checkpoint was trained on");
}

/// Notes an augmentation that differs from that of the checkpoint. The change
/// may be intended: some schedules end with less of it.
void Trainer::noteOtherAugmentation() const {
  std::string before = session.property(kAugment).value_or(""),
              now = data.augmentation();
  auto textOf = [](const std::string &what) {
    return what.empty() ? "no augmentation" : "--augment=" + what;
  };
  if (before != now)
    note("continuing with " + textOf(now) + " instead of " + textOf(before));
}

/// Evaluates again if that was due after the step of the checkpoint, which is
/// saved first: an interruption does not change which checkpoint is the best.
void Trainer::resumeBest() {
  if (!best || !evalData || firstStep == 0 || best->lastStep() == step ||
      !isEvaluationDue(sampler.position().batch == 0))
    return;
  evaluateNow();
}

void Trainer::restorePosition() {
  uint64_t savedSeed = readCount(session, kSeed);
  if (options.seed && *options.seed != savedSeed)
    throw Failure(Usage,
                  format("--seed=%llu differs from the checkpoint's %llu; omit "
                         "--seed, or start a new run in another folder",
                         static_cast<unsigned long long>(*options.seed),
                         static_cast<unsigned long long>(savedSeed)));
  bool savedShuffle = readCount(session, kShuffle) != 0;
  if (savedShuffle == options.noShuffle)
    throw Failure(
        Usage, savedShuffle
                   ? "--no-shuffle cannot be added when resuming; omit it, or "
                     "start a new run in another folder"
                   : "the checkpoint was trained with --no-shuffle; add it, "
                     "or start a new run in another folder");
  uint64_t savedSamples = readCount(session, kSamples);
  if (savedSamples != data.numSamples())
    throw Failure(Usage, data.path + " has " +
                             formatCount(data.numSamples(), "sample") +
                             ", but the checkpoint was trained on " +
                             formatCount(savedSamples));
  Sampler::Position position = {readCount(session, kEpoch),
                                readCount(session, kBatch)};
  // Between epochs the batch size may change. Old checkpoints do not record it.
  auto canTake = [&](uint64_t size) {
    const std::vector<uint64_t> sizes = program.batchSizes(program.stepEntry());
    return std::find(sizes.begin(), sizes.end(), size) != sizes.end();
  };
  uint64_t savedBatch = session.property(kBatchSize)
                            ? readCount(session, kBatchSize)
                            : data.batchSize();
  if (savedBatch != data.batchSize() && position.batch != 0)
    throw Failure(
        Usage, format("the checkpoint was written in the middle of an epoch "
                      "with batches of %llu, but this run takes batches "
                      "of %llu; %s --batch=%llu",
                      static_cast<unsigned long long>(savedBatch),
                      static_cast<unsigned long long>(data.batchSize()),
                      canTake(savedBatch) ? "give" : "compile the model with",
                      static_cast<unsigned long long>(savedBatch)));
  const bool savedFills = session.property(kLastBatch).has_value();
  if (savedFills != lastBatch.has_value())
    throw Failure(
        Usage,
        savedFills
            ? "the checkpoint was trained with --last-batch=train; add it, or "
              "start a new run in another folder"
            : "--last-batch=train cannot be added when resuming; omit it, or "
              "start a new run in another folder");
  constexpr const char *past =
      "the checkpoint's position is past the end of the epoch";
  if (position.batch > data.numSamples())
    throw Failure(Damaged, past);
  const Sampler::Position round = sampler.nextRound(position);
  if (round.epoch != position.epoch || round.batch != position.batch)
    note(format("the checkpoint's position does not begin a round of one batch "
                "for each rank: training continues at batch %llu of epoch %llu",
                static_cast<unsigned long long>(round.batch + 1),
                static_cast<unsigned long long>(round.epoch + 1)));
  position = round;
  if (position.batch >= sampler.batchesPerEpoch())
    throw Failure(Damaged, past);
  if (auto order = orderToContinue(session.property(kOrder).value_or(""),
                                   sampler.orderName(), data.numSamples()))
    sampler.setOrder(std::move(order));
  seed = savedSeed;
  sampler.reseed(seed);
  sampler.seek(position);
  step = firstStep = readCount(session, kStep);
}
