//===- Trainer.cpp - The training loop ------------------------------------===//

#include "tools/mpc/training/Trainer.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/checkpoints/ClassProperty.h"
#include "tools/mpc/checkpoints/TrainProperties.h"
#include "tools/mpc/checkpoints/TrainedOptions.h"
#include "tools/mpc/training/ranks/RankGroup.h"
#include "tools/mpc/training/sampling/BalanceClasses.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

using namespace mpc::tool;

/// Session settings for training. With --on-nan=skip or rollback, steps are
/// synchronous: a fault must be known before the next step.
static SessionSettings forTraining(const TrainOptions &options, uint64_t seed) {
  SessionSettings settings = options.session;
  settings.seed = seed;
  settings.asynchronous = options.onNan == OnNan::Abort;
  if (options.ranks)
    settings.communicator = options.ranks->get();
  return settings;
}

/// The batches that ranks compute together: norms that use all of them need one
/// of each rank.
static uint64_t batchesTogether(const Program &program,
                                const TrainOptions &options) {
  return options.ranks && !program.option("sync-batchnorm").empty()
             ? options.ranks->size()
             : 1;
}

static Sampler makeSampler(const Program &program, const Dataset &data,
                           uint64_t seed, const TrainOptions &options) {
  const bool fillsLast = options.lastBatch == "train";
  if (data.numSamples() < data.batchSize() && !fillsLast)
    throw Failure(Usage,
                  format("%s has %s, fewer than one batch of %llu; compile the "
                         "model with a smaller --batch, or add "
                         "--last-batch=train",
                         data.path.c_str(),
                         formatCount(data.numSamples(), "sample").c_str(),
                         static_cast<unsigned long long>(data.batchSize())));
  const uint64_t batches =
      (data.numSamples() + (fillsLast ? data.batchSize() - 1 : 0)) /
      data.batchSize();
  const uint64_t together = batchesTogether(program, options);
  if (batches < together)
    throw Failure(
        Usage, format("%s has %s, fewer than the %llu of an update: with "
                      "--sync-batchnorm every process needs a batch",
                      data.path.c_str(), formatCount(batches, "batch").c_str(),
                      static_cast<unsigned long long>(together)));
  return Sampler(options.sampling == "balanced"
                     ? balanceClasses(data)
                     : makeOrder(data.numSamples(), !options.noShuffle),
                 data.batchSize(), seed, fillsLast, together);
}

//===----------------------------------------------------------------------===//
// Beginning
//===----------------------------------------------------------------------===//

/// Whether the program computes the learning rate of each step.
static bool hasSchedule(const Program &program) {
  const char *last = program.has("apply") ? "apply" : "step";
  for (const Binding &output : program.outputs(last))
    if (output.name == "learning_rate")
      return true;
  return false;
}

/// Whether batch norms keep running statistics.
static bool hasStatistics(const Program &program) {
  return std::any_of(program.states().begin(), program.states().end(),
                     [](const mpc_state_info_t &state) {
                       return state.role == MPC_STATE_STATISTIC;
                     });
}

/// The session needs a seed, but the seed of a checkpoint is not known before
/// the session has loaded it; resume() corrects it.
Trainer::Trainer(const TrainOptions &options, const Program &program,
                 Dataset &data, Dataset *evalData, TrainObserver &observer,
                 MetricSet *metrics)
    : options(options), program(program), data(data), evalData(evalData),
      metrics(metrics), seed(options.seed.value_or(0)),
      isScheduled(hasSchedule(program)),
      session(program, forTraining(options, seed)),
      sampler(makeSampler(program, data, seed, options)), observer(observer) {
  observer.begin();
  checkRankOptions();
  if (options.lastBatch == "train")
    lastBatch.emplace(program, program.inputs(program.stepEntry()));
  std::error_code ignored;
  bool isNew = !std::filesystem::exists(options.checkpointDir, ignored);
  if (options.ranks) // Before the first one creates it.
    isNew = options.ranks->gather(isNew ? "new" : "").front() == "new";
  if (!options.keepBest.empty() || options.patience > 0)
    best.emplace(options.keepBest.empty() ? "loss" : options.keepBest,
                 options.patience);
  if (!options.checkpointDir.empty())
    openCheckpointDir();
  bool isResumed = options.resume && resume(isNew);
  if (!isResumed)
    initializeWeights();
  else
    for (auto [isGiven, name] :
         {std::pair(options.init.isGiven(), "--init"),
          std::pair(options.drawn.isGiven(), "--reinit")})
      if (isGiven)
        note(std::string(name) +
             " has no effect: the checkpoint has the weights");
  if (options.learningRate)
    setRate(*options.learningRate);
  if (options.lossScale)
    session.writeScalar(program.stateOf(MPC_STATE_LOSS_SCALE),
                        *options.lossScale);
  lastStep = step + updatesLeft();
  observer.plan(step, totalSteps());
  setTotalSteps();
  // Read it only once, because reading a state waits for the device.
  if (!isScheduled)
    currentRate = readRate();
  noteKeptRate();
  if (isFirstRank())
    openLog();
  checkRanks();
  noteShares();
}

/// Replaces the weights of the package by those of --init and --reinit.
void Trainer::initializeWeights() {
  std::map<std::string, Distribution> drawn = options.drawn.select(program);
  if (options.init.isGiven()) {
    std::set<std::string> others;
    for (const auto &[name, distribution] : drawn)
      others.insert(name);
    options.init.apply(session, program, others);
  }
  drawWeights(session, program, drawn, seed);
}

/// Notes a learning rate that the checkpoint has from an earlier --lr.
void Trainer::noteKeptRate() const {
  double compiled = std::strtod(program.option("lr").c_str(), nullptr);
  if (firstStep == 0 || options.learningRate || !currentRate ||
      program.learningRates().size() != 1 ||
      static_cast<float>(*currentRate) == static_cast<float>(compiled))
    return;
  note(
      format("the learning rate is %g, as in the checkpoint (package: %g); use "
             "--lr to change it",
             *currentRate, compiled));
}

/// Sets all learning rates, if there are several.
void Trainer::setRate(double rate) {
  std::vector<std::string> names = program.learningRates();
  if (names.empty())
    throw Failure(Usage,
                  "--lr does not apply: the model brings its own training "
                  "step, which has no adjustable learning rate");
  double least = std::strtod(program.option("lr-min").c_str(), nullptr);
  if (isScheduled && rate < least)
    throw Failure(
        Usage,
        format("--lr=%g is below the --lr-min=%g that the package was compiled "
               "with, so the rate would rise; compile with another",
               rate, least));
  for (const std::string &name : names)
    session.writeScalar(name.c_str(), rate);
}

/// The first learning rate; none if the program has none.
std::optional<double> Trainer::readRate() const {
  std::vector<std::string> names = program.learningRates();
  if (names.empty())
    return std::nullopt;
  return session.readScalar(names.front().c_str());
}

/// The steps of the warm-up; 0 if it is a fraction of all steps.
static uint64_t warmupSteps(const Program &program) {
  double value = std::strtod(program.option("warmup").c_str(), nullptr);
  return value >= 1 ? value : 0;
}

/// Whether the schedule has an end. A schedule may also need the number of
/// steps only for a warm-up that is a fraction of it.
static bool endsRate(const Program &program) {
  std::string schedule = program.option("lr-schedule");
  for (const char *kind : {"cosine", "linear", "polynomial", "one-cycle"})
    if (schedule.rfind(kind, 0) == 0 &&
        schedule.rfind("cosine-restarts", 0) != 0)
      return true;
  return false;
}

/// The last rate of a schedule that ends.
static std::string lastRate(const Program &program) {
  std::string least = program.option("lr-min");
  return least.empty() ? "0" : least;
}

/// Sets the length of the schedule to the number of updates in the first run,
/// unless the program was compiled with a length. Only --total-steps changes it
/// later.
void Trainer::setTotalSteps() {
  const char *state = program.stateOf(MPC_STATE_TOTAL_STEPS);
  if (!state) {
    if (options.totalSteps)
      throw Failure(Usage,
                    "--total-steps requires a package compiled with an "
                    "--lr-schedule that depends on the length of training");
    return;
  }
  int64_t before = session.readCounter(state);
  uint64_t now =
      options.totalSteps.value_or(before > 0 ? before : totalSteps());
  if (now != uint64_t(before))
    session.writeCounter(state, now);
  if (uint64_t rise = warmupSteps(program); rise >= now && rise > 0)
    note(format("the rate rises for %s and is scheduled for %s, so it never "
                "falls",
                formatCount(rise, "step").c_str(), formatCount(now).c_str()));
  if (now == totalSteps())
    return;
  std::string scheduled =
      format("the learning rate is scheduled for %s, and this run goes to step "
             "%llu",
             formatCount(now, "step").c_str(),
             static_cast<unsigned long long>(totalSteps()));
  bool isChosen =
      options.totalSteps ||
      std::strtoull(program.option("total-steps").c_str(), nullptr, 10) > 0;
  if (now < totalSteps() && firstStep > 0 && !isChosen && endsRate(program))
    throw Failure(
        Usage,
        format("%s: after the end of the schedule the rate stays at its last "
               "value, %s; use --total-steps=%llu for a schedule that ends "
               "with this run, or --total-steps=%llu to keep the schedule",
               scheduled.c_str(), lastRate(program).c_str(),
               static_cast<unsigned long long>(totalSteps()),
               static_cast<unsigned long long>(now)));
  note(scheduled + "; use --total-steps to change it");
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

uint64_t Trainer::totalSteps() const {
  return options.steps.value_or(lastStep);
}

/// The number of updates from the sampler's position to the end of the last
/// epoch. No batches of an update may have been taken yet.
uint64_t Trainer::updatesLeft() const {
  uint64_t epochs = options.epochs.value_or(1),
           batches = sampler.batchesPerEpoch(), each = microBatches();
  auto [epoch, batch] = sampler.position();
  if (epoch >= epochs)
    return 0;
  if (!program.weighsUpdates())
    return ((epochs - epoch) * batches - batch) / each;
  // Incomplete updates are supported: the last update ends with its epoch.
  auto updates = [&](uint64_t count) { return (count + each - 1) / each; };
  return updates(batches - batch) + (epochs - epoch - 1) * updates(batches);
}

bool Trainer::isDone() const {
  if (best && best->isOutOfPatience())
    return true;
  if (options.steps)
    return step >= *options.steps;
  return sampler.position().epoch >= options.epochs.value_or(1);
}

/// Throws if the loss is nan because all labels of the step are ignored.
void Trainer::checkLoss(const mpc_step_info_t &info) const {
  if (!std::isnan(info.update_loss))
    return;
  if (std::string cause = data.explainNoLabels(stepSamples); !cause.empty())
    throw Failure(Usage, format("the loss of step %llu is nan: %s",
                                static_cast<unsigned long long>(step + 1),
                                cause.c_str()));
}

/// Queues the next batch. Settles earlier batches whose results have become
/// known.
void Trainer::queueBatch() {
  if (options.ranks)
    return runRound();
  const uint64_t counted = sampler.countNew();
  const SampleBatch batch = sampler.next();
  const std::vector<mpc_tensor_t> &inputs = data.gather(batch);
  if (lastBatch)
    lastBatch->leaveOutRest(data, counted);
  data.prefetch(sampler.following());
  queued.push_back({++calls, batch.samples, counted});
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  mpc_status_t status =
      mpc_session_step(session.get(), inputs.data(), inputs.size(), &info);
  handleStatus(status, info);
}

/// Takes a batch for each rank, in their order, and runs that of this one. At
/// the end of an epoch there may be fewer batches than ranks. Nothing may be
/// queued.
void Trainer::runRound() {
  std::optional<SampleBatch> own;
  uint64_t ownCounted = 0, counted = 0;
  std::vector<uint64_t> samples;
  const uint64_t epoch = sampler.position().epoch;
  for (uint32_t rank = 0; rank < options.ranks->size(); ++rank) {
    if (sampler.position().epoch != epoch)
      break;
    const uint64_t isNew = sampler.countNew();
    SampleBatch batch = sampler.next();
    counted += isNew;
    samples.insert(samples.end(), batch.samples.begin(), batch.samples.end());
    if (rank != options.ranks->rank())
      continue;
    own = std::move(batch);
    ownCounted = isNew;
  }
  if (!own) { // The round is part of the update that ends with the epoch.
    stepSamples.insert(stepSamples.end(), samples.begin(), samples.end());
    stepCounted += counted;
    samplesTaken += counted;
    return;
  }
  const std::vector<mpc_tensor_t> &inputs = data.gather(*own);
  if (lastBatch)
    lastBatch->leaveOutRest(data, ownCounted);
  queued.push_back({++calls, std::move(samples), counted});
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  mpc_status_t status =
      mpc_session_step(session.get(), inputs.data(), inputs.size(), &info);
  handleStatus(status, info);
}

/// Makes an incomplete update from the last batches of an epoch, if any remain.
/// The queue must be empty.
void Trainer::finishUpdate() {
  if (stepSamples.empty() || !program.weighsUpdates())
    return;
  queued.push_back({++calls, {}});
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  mpc_status_t status = mpc_session_finish_update(session.get(), &info);
  handleStatus(status, info);
}

/// Waits for all queued steps.
void Trainer::waitForQueue() {
  if (queued.empty())
    return;
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  mpc_status_t status = mpc_session_synchronize(session.get(), &info);
  handleStatus(status, info);
}

/// Handles the status and result of a call.
void Trainer::handleStatus(mpc_status_t status, const mpc_step_info_t &info) {
  if (status && mpc_status_code(status) == MPC_NUMERIC && info.call != 0) {
    std::string cause = mpc_status_message(status);
    mpc_status_free(status);
    return handleFault(cause, info);
  }
  check(status, format("step %llu", static_cast<unsigned long long>(step + 1)));
  recordResult(info);
}

/// Explains a step that was not finite: what the runtime found out, and where
/// in the data the cause may be. Throws if all labels of the step are ignored.
Trainer::NumericFault Trainer::explain(const std::string &cause,
                                       const mpc_step_info_t &info) {
  // Earlier steps may not be settled yet if both became known at the same time.
  uint64_t before = info.call - queued.front().call;
  const std::vector<uint64_t> &samples = queued[before].samples;
  uint64_t batches = stepSamples.size() / data.batchSize() + before;
  uint64_t failed = step + 1 + batches / microBatches();
  bool ends = info.updated || info.skipped;
  double loss = ends ? info.update_loss : info.loss;
  auto number = static_cast<unsigned long long>(failed);
  std::vector<uint64_t> all = stepSamples;
  all.insert(all.end(), samples.begin(), samples.end());
  std::string labels = std::isnan(loss) ? data.explainNoLabels(all) : "";
  if (!labels.empty()) {
    log(info, loss, failed);
    throw Failure(Usage, format("the loss of step %llu is nan: %s", number,
                                labels.c_str()));
  }
  std::string place = data.explainNonFinite(samples), said = cause;
  std::string indices =
      std::isnan(loss) && place.empty() ? program.explainIndices() : "";
  // Remove the advice on the learning rate if the data is bad.
  constexpr std::string_view advice =
      "; lower the learning rate or check the data";
  if (size_t at = said.rfind(advice); !place.empty() && at != std::string::npos)
    said.erase(at, advice.size());
  // The kernel consists of several ops.
  else if (place.empty() && said.find(" of its kernel") != std::string::npos &&
           !program.has("observe"))
    said += "; compile with --check-numerics to find the op";
  return {failed, loss,
          format("step %llu: %s%s%s%s%s", number, said.c_str(),
                 place.empty() ? "" : "; ", place.c_str(),
                 indices.empty() ? "" : "; ", indices.c_str())};
}

/// True if gradients overflow although the loss scale cannot shrink further.
static bool isAtFloor(const mpc_step_info_t &info, const Program &program) {
  return info.skipped && std::isfinite(info.update_loss) &&
         program.stateOf(MPC_STATE_LOSS_SCALE) != nullptr;
}

/// Handles a step that was not finite according to --on-nan.
void Trainer::handleFault(const std::string &cause,
                          const mpc_step_info_t &info) {
  NumericFault fault = explain(cause, info);
  std::string limit;
  bool retries = false;
  if (options.onNan == OnNan::Skip && !isAtFloor(info, program)) {
    retries = ++faultsInARow < kMaxFaults;
    limit = format("the last of %u in a row, ", kMaxFaults);
  } else if (options.onNan == OnNan::Rollback) {
    retries = ++rollbacks <= kMaxRollbacks;
    limit = format("after %u rollbacks, ", kMaxRollbacks);
  }
  if (!retries) {
    log(info, fault.loss, fault.step);
    throw Failure(Numeric, limit + fault.text);
  }
  warn(fault.text);
  if (options.onNan == OnNan::Rollback) {
    log(info, fault.loss, fault.step);
    return rollBack();
  }
  isFaulty = true;
  recordResult(info);
}

/// Returns to the newest checkpoint, but continues with the next batches, so
/// that the data that made the step fail, or its order, is not repeated.
void Trainer::rollBack() {
  check(mpc_session_load_checkpoint(session.get(), lastCheckpoint.c_str()),
        lastCheckpoint);
  queued.clear();
  stepSamples.clear();
  stepCounted = 0;
  step = readCount(session, kStep);
  lastStep = step + updatesLeft();
  note("rolled back to '" + lastCheckpoint +
       "'; continuing with the batch after the failed one");
}

/// Records the result of a call, unless that is already known. Each result
/// becomes known once, in the order of calls.
void Trainer::recordResult(const mpc_step_info_t &info) {
  if (queued.empty() || info.call < queued.front().call)
    return;
  if (info.call != queued.front().call)
    throw Failure(Error,
                  format("the runtime reported call %llu before %llu; only the "
                         "trainer may step its session",
                         static_cast<unsigned long long>(info.call),
                         static_cast<unsigned long long>(queued.front().call)));
  const std::vector<uint64_t> &samples = queued.front().samples;
  stepSamples.insert(stepSamples.end(), samples.begin(), samples.end());
  stepCounted += queued.front().counted;
  samplesTaken += queued.front().counted;
  queued.pop_front();
  if (!info.updated && !info.skipped)
    return;
  checkLoss(info);
  if (info.updated)
    epochLoss.add(currentEpoch(), info.update_loss, stepCounted);
  stepSamples.clear();
  stepCounted = 0;
  ++step;
  if (isFaulty)
    leftOut += info.skipped;
  else if (info.updated)
    faultsInARow = 0;
  isFaulty = false;
  report(info, info.update_loss);
}

/// True if queued results must be known before the next batch, because they may
/// end training or an epoch, or make a checkpoint due.
bool Trainer::mustSynchronize() const {
  if (queued.empty())
    return false;
  if (epochEnds || observer.stopReason())
    return true;
  // Queued calls are batches; an update may consist of several.
  uint64_t batches = stepSamples.size() / data.batchSize() + queued.size();
  uint64_t updates = batches / microBatches();
  if (updates == 0)
    return false;
  uint64_t reached = step + updates;
  if (options.steps && reached >= *options.steps)
    return true;
  if (observer.isBoundary(reached))
    return true;
  if (evalData && options.evalEvery != 0 && reached % options.evalEvery == 0)
    return true;
  return !options.checkpointDir.empty() && options.checkpointEvery != 0 &&
         reached % options.checkpointEvery == 0;
}

/// Tells the observer where training is, if no step is under way.
void Trainer::reachStep() {
  if (queued.empty() && stepSamples.empty())
    observer.reach(session, step);
}

//===----------------------------------------------------------------------===//
// Evaluations and checkpoints
//===----------------------------------------------------------------------===//

void Trainer::evaluateNow() {
  if (!evalData || (lastEvaluation && evaluatedStep == step))
    return;
  observer.beginEvaluation(session);
  lastEvaluation =
      evaluate(session, program, *evalData, metrics, options.ranks);
  observer.endEvaluation(session);
  evaluatedStep = step;
  logEvaluation();
  if (!best || !best->add(*lastEvaluation, step) ||
      options.checkpointDir.empty())
    return;
  setProperties();
  save(options.checkpointDir + "/" + kBest);
}

Evaluation Trainer::evaluateWeights() {
  if (!evalData)
    throw Failure(Usage, "there is no data to evaluate on; use --eval-data or "
                         "--eval-split");
  if (lastEvaluation && evaluatedStep == step)
    return *lastEvaluation;
  return evaluate(session, program, *evalData, metrics, options.ranks);
}

bool Trainer::isEvaluationDue(bool epochEnds) const {
  return options.evalEvery != 0 ? step % options.evalEvery == 0 : epochEnds;
}

bool Trainer::isCheckpointDue() {
  if (options.checkpointDir.empty())
    return false;
  if (options.checkpointEvery != 0)
    return step % options.checkpointEvery == 0;
  // Save the last checkpoint before its evaluation, which may fail.
  if (isDone())
    return true;
  if (!epochEnds)
    return false;
  // Gradients that are rounded depend on when checkpoints are saved, so the
  // clock must not decide about that.
  if (options.session.roundsGradients)
    return true;
  bool isDue =
      Clock::now() - lastSave >= std::chrono::seconds(kCheckpointPause);
  // The clocks of ranks differ.
  return options.ranks
             ? options.ranks->gather(isDue ? "due" : "").front() == "due"
             : isDue;
}

/// Sets the properties that resuming needs.
void Trainer::setProperties() {
  session.setProperty(kEpoch, std::to_string(sampler.position().epoch));
  session.setProperty(kBatch, std::to_string(sampler.position().batch));
  session.setProperty(kBatchSize, std::to_string(data.batchSize()));
  session.setProperty(kStep, std::to_string(step));
  session.setProperty(kSeed, std::to_string(seed));
  session.setProperty(kSamples, std::to_string(data.numSamples()));
  session.setProperty(kShuffle, options.noShuffle ? "0" : "1");
  if (*sampler.orderName())
    session.setProperty(kOrder, sampler.orderName());
  if (lastBatch)
    session.setProperty(kLastBatch, "train");
  std::string augmentation = data.augmentation();
  if (!augmentation.empty() || session.property(kAugment))
    session.setProperty(kAugment, augmentation);
  session.setProperty(kLoss, epochLoss.toText());
  session.setProperty(kData, data.fingerprint());
  rememberClasses(session, data.classes());
  if (best)
    session.setProperty(kBestSoFar, best->toText());
  rememberOptions(session, program);
}

void Trainer::saveCheckpoint() {
  std::string path = options.checkpointDir + "/step-" + std::to_string(step);
  if (options.checkpointDir.empty() || path == lastCheckpoint)
    return;
  setProperties();
  save(path);
  lastCheckpoint = path;
  lastSave = Clock::now();
  observer.saved();
  if (uint64_t keep = options.keep.value_or(kKeep); keep > 0)
    onFirstRank([&] {
      check(mpc_checkpoint_prune(options.checkpointDir.c_str(), keep),
            options.checkpointDir);
    });
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// Notes the batches that each epoch leaves out, because not every rank has
/// one. Returns whether there are any.
bool Trainer::noteLastRound() const {
  const uint64_t batch = data.batchSize(), samples = data.numSamples();
  const uint64_t batches = (samples + (lastBatch ? batch - 1 : 0)) / batch;
  const uint64_t left = batches - sampler.batchesPerEpoch();
  if (left == 0)
    return false;
  const uint64_t rest = lastBatch ? 0 : samples % batch;
  std::string leaves = formatCount(left, "batch");
  if (rest > 0)
    leaves += " and " + formatCount(rest, "sample") + " that fill no batch";
  note(format("%s cannot be divided evenly among %s, which normalize their "
              "batches together: each epoch leaves out %s",
              formatCount(batches, "batch").c_str(),
              formatCount(batchesTogether(program, options), "rank").c_str(),
              leaves.c_str()));
  return true;
}

/// Notes how many samples each epoch leaves out, or fills up the last batch
/// with.
void Trainer::noteLastBatch() const {
  uint64_t left = data.numSamples() % data.batchSize();
  if (isDone() || noteLastRound() || left == 0)
    return;
  if (lastBatch)
    return note(format(
        "%s do not fill batches of %llu: the last batch of an epoch has %llu "
        "of them and repeats %llu, which do not count in the loss%s",
        formatCount(data.numSamples(), "sample").c_str(),
        static_cast<unsigned long long>(data.batchSize()),
        static_cast<unsigned long long>(left),
        static_cast<unsigned long long>(data.batchSize() - left),
        hasStatistics(program) ? ", but in the statistics of batch norms"
                               : ""));
  note(format("%s do not fill batches of %llu: %llu of them are left out in "
              "each epoch%s",
              formatCount(data.numSamples(), "sample").c_str(),
              static_cast<unsigned long long>(data.batchSize()),
              static_cast<unsigned long long>(left),
              options.noShuffle ? "" : ", different ones each time"));
}

/// Notes batches that are left out at the end, because an older program does
/// not support incomplete updates.
void Trainer::noteBatchesLeftOut() {
  if (stepSamples.empty())
    return;
  note(format("the last %s of %s do not make a whole update of %llu and change "
              "no weight; compile the model again with this version of mpc, "
              "which supports incomplete updates",
              formatCount(stepSamples.size() / data.batchSize()).c_str(),
              formatCount(sampler.batchesPerEpoch(), "batch").c_str(),
              static_cast<unsigned long long>(microBatches())));
}

void Trainer::begin() {
  if (hasBegun)
    return;
  hasBegun = true;
  noteLastBatch();
  resumeBest();
  if (options.onNan == OnNan::Rollback)
    saveCheckpoint();
  beginTime = lastSave = unlogged.begin = Clock::now();
}

/// Queues a batch and does what is due after it. Returns whether a step has
/// ended and none is queued; with `waits`, this only depends on whether the
/// batch is the last one of its update.
bool Trainer::advance(bool waits) {
  uint64_t epoch = sampler.position().epoch;
  reachStep();
  queueBatch();
  epochEnds |= sampler.position().epoch != epoch;
  if (waits || mustSynchronize())
    waitForQueue();
  if (epochEnds && queued.empty())
    finishUpdate();
  // Programs without support for incomplete updates carry the gradients from
  // the end of an epoch over to the next.
  bool stepEnds = queued.empty() && (stepSamples.empty() || isDone());
  if (stepEnds) {
    if (epochEnds) {
      logSpeed();
      logWeights();
    }
    // Save first, so that a failing evaluation does not lose the epoch.
    if (isCheckpointDue())
      saveCheckpoint();
    bool isEvaluated = evalData && isEvaluationDue(epochEnds);
    if (isEvaluated)
      evaluateNow();
    if (epochEnds || isEvaluated)
      observer.printLine(epochEnds ? epochState() : progressState());
    // Saving and evaluating do not count as training.
    if (epochEnds)
      unlogged.begin = Clock::now();
    epochEnds = false;
  }
  return stepEnds;
}

void Trainer::end() {
  if (isEnded)
    return;
  reachStep();
  noteBatchesLeftOut();
  saveCheckpoint();
  evaluateNow();
  isEnded = true;
}

bool Trainer::run() {
  begin();
  while (!isDone()) {
    bool stepEnds = advance(/*waits=*/false);
    if (stepEnds && mustStop()) {
      saveCheckpoint();
      return false;
    }
    observer.update(progressState());
  }
  end();
  return true;
}

void Trainer::stepOnce() {
  begin();
  while (!isDone() && !advance(/*waits=*/true)) {
  }
  if (isDone())
    end();
}
