//===- Trainer.cpp - The training loop ------------------------------------===//

#include "tools/mpc/Trainer.h"
#include "tools/mpc/Output.h"
#include "tools/mpc/Print.h"
#include "tools/mpc/Text.h"
#include "tools/mpc/TrainedOptions.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

using namespace mpc::tool;

// Properties of the session: what the loop needs to go on.
static constexpr const char *kEpoch = "train.epoch";
static constexpr const char *kBatch = "train.batch";
static constexpr const char *kBatchSize = "train.batch_size";
static constexpr const char *kStep = "train.step";
static constexpr const char *kSeed = "train.seed";
static constexpr const char *kSamples = "train.samples";
static constexpr const char *kShuffle = "train.shuffle";

/// The state that says how long a schedule is.
static constexpr const char *kTotalSteps = "total_steps";

/// Who goes on after a step that is not finite must know of it before the next.
static SessionSettings forTraining(const TrainOptions &options, uint64_t seed) {
  SessionSettings settings = options.session;
  settings.seed = seed;
  settings.asynchronous = options.onNan == OnNan::Abort;
  return settings;
}

static Sampler makeSampler(const Dataset &data, uint64_t seed, bool shuffle) {
  if (data.numSamples() < data.batchSize())
    throw Failure(
        Usage, format("%s: has %s, fewer than one batch of %llu; compile the "
                      "model with a smaller --batch",
                      data.path.c_str(),
                      formatCount(data.numSamples(), "sample").c_str(),
                      static_cast<unsigned long long>(data.batchSize())));
  return Sampler(data.numSamples(), data.batchSize(), seed, shuffle);
}

//===----------------------------------------------------------------------===//
// Beginning
//===----------------------------------------------------------------------===//

/// True if `folder` holds anything named like a checkpoint.
static bool hasCheckpoints(const std::string &folder) {
  std::error_code error;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().filename().string().rfind("step-", 0) == 0)
      return true;
  return false;
}

/// Whether the program makes the rate of each step itself.
static bool hasSchedule(const Program &program) {
  const char *last = program.has("apply") ? "apply" : "step";
  for (const Binding &output : program.outputs(last))
    if (output.name == "learning_rate")
      return true;
  return false;
}

/// The seed of a checkpoint in `folder` is not known before a session exists
/// that can read it, and the session wants one: it is put right by resume().
Trainer::Trainer(const TrainOptions &options, const Program &program,
                 Dataset &data, Dataset *evalData)
    : options(options), program(program), data(data), evalData(evalData),
      seed(options.seed.value_or(0)), isScheduled(hasSchedule(program)),
      session(program, forTraining(options, seed)),
      sampler(makeSampler(data, seed, !options.noShuffle)),
      progress(stderr, options.quiet) {
  if (!options.checkpointDir.empty())
    openCheckpointDir();
  if (options.resume)
    resume();
  if (options.learningRate)
    setRate(*options.learningRate);
  if (options.lossScale)
    session.writeScalar("loss_scale", *options.lossScale);
  setTotalSteps();
  // Read once: reading a state waits for the device.
  if (!isScheduled)
    currentRate = readRate();
}

/// Of several, all get it.
void Trainer::setRate(double rate) {
  std::vector<std::string> names = program.learningRates();
  if (names.empty())
    throw Failure(Usage, "--lr does not apply: the model brings its own "
                         "training step, which has no learning rate that "
                         "could be set");
  double least = std::strtod(program.option("lr-min").c_str(), nullptr);
  if (isScheduled && rate < least)
    throw Failure(Usage, format("--lr=%g is below the --lr-min=%g that the "
                                "package was compiled with, to which the rate "
                                "would rise; compile with another",
                                rate, least));
  for (const std::string &name : names)
    session.writeScalar(name.c_str(), rate);
}

/// That of the first; none if there is none that stays.
std::optional<double> Trainer::readRate() const {
  std::vector<std::string> names = program.learningRates();
  if (names.empty())
    return std::nullopt;
  return session.readScalar(names.front().c_str());
}

/// Steps of a warm-up that is no share of all.
static uint64_t warmupSteps(const Program &program) {
  double value = std::strtod(program.option("warmup").c_str(), nullptr);
  return value >= 1 ? value : 0;
}

/// A schedule is made for as many updates as it was compiled for, or as the
/// first run has; only --total-steps changes that.
void Trainer::setTotalSteps() {
  if (!program.hasState(kTotalSteps)) {
    if (options.totalSteps)
      throw Failure(Usage, "--total-steps is for programs compiled with an "
                           "--lr-schedule that looks at the end of training");
    return;
  }
  int64_t before = session.readCounter(kTotalSteps);
  uint64_t now =
      options.totalSteps.value_or(before > 0 ? before : totalSteps());
  if (now != uint64_t(before))
    session.writeCounter(kTotalSteps, now);
  if (uint64_t rise = warmupSteps(program); rise >= now && rise > 0)
    std::fprintf(stderr,
                 "mpc: note: the rate rises for %s and is scheduled for %s: it "
                 "never falls\n",
                 formatCount(rise, "step").c_str(), formatCount(now).c_str());
  if (now != totalSteps())
    std::fprintf(stderr,
                 "mpc: note: the learning rate is scheduled for %s, and this "
                 "run goes to step %llu; --total-steps changes that\n",
                 formatCount(now, "step").c_str(),
                 static_cast<unsigned long long>(totalSteps()));
}

/// Makes the folder for checkpoints and locks it before anything is read from
/// it: of two runs that start at once, one ends here.
void Trainer::openCheckpointDir() {
  const std::string &folder = options.checkpointDir;
  createFolders(folder);
  lock.take(folder);
  if (!options.resume && hasCheckpoints(folder))
    throw Failure(Usage, "'" + folder +
                             "' holds checkpoints of another run; give "
                             "--resume to go on with it, or another folder");
}

static uint64_t readCount(const Session &session, const char *name) {
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
                               "' is no number: '" + *text + "'");
  return value;
}

void Trainer::resume() {
  std::string misfit;
  std::string loaded = session.loadLatest(options.checkpointDir, misfit);
  if (loaded.empty()) {
    std::fprintf(stderr,
                 "mpc: note: '%s' holds no checkpoint yet: starting "
                 "from the beginning\n",
                 options.checkpointDir.c_str());
    return;
  }
  takeOptions(misfit);
  restorePosition();
  lastCheckpoint = loaded;
  std::fprintf(stderr, "mpc: note: going on after step %llu from '%s'\n",
               static_cast<unsigned long long>(step), loaded.c_str());
}

/// Says what the program was compiled with and the checkpoint was not. Training
/// goes on with the program's; that it is the same training must be true, or
/// asked for. `misfit` is what of the optimizer's the checkpoint lacks or has
/// too much.
void Trainer::takeOptions(const std::string &misfit) {
  OptionChanges changes = compareOptions(session, program);
  if (!changes.graver.empty() && !options.force)
    throw Failure(Usage, "the checkpoint was trained with other options: " +
                             joinWords(changes.graver) +
                             "; give --resume=force to go on all the same" +
                             (misfit.empty() ? "" : ", the optimizer anew"));
  if (!misfit.empty() && !options.force && !changes.states)
    throw Failure(Damaged,
                  "the checkpoint belongs to another program: " + misfit);
  std::vector<std::string> said = changes.graver;
  said.insert(said.end(), changes.milder.begin(), changes.milder.end());
  if (!said.empty())
    std::fprintf(stderr, "mpc: note: going on with %s\n",
                 joinWords(said).c_str());
  if (!misfit.empty() && !changes.states)
    std::fprintf(stderr,
                 "mpc: note: the optimizer starts anew where the "
                 "checkpoint does not fit it: %s\n",
                 misfit.c_str());
  if (!changes.known)
    std::fprintf(stderr,
                 "mpc: note: the checkpoint does not say what it was trained "
                 "with; its learning rate is %g\n",
                 readRate().value_or(0));
  // A rate that was compiled anew is meant; otherwise that of the checkpoint,
  // which --lr may have set, goes on.
  if (changes.totalSteps && program.hasState(kTotalSteps))
    session.writeCounter(
        kTotalSteps,
        std::strtoll(program.option("total-steps").c_str(), nullptr, 10));
  if (changes.rate)
    setRate(std::strtod(program.option("lr").c_str(), nullptr));
  std::string before = session.property(kBatchSize).value_or("");
  if (!before.empty() && before != std::to_string(data.batchSize()))
    std::fprintf(
        stderr, "mpc: note: going on with batches of %llu instead of %s\n",
        static_cast<unsigned long long>(data.batchSize()), before.c_str());
}

void Trainer::restorePosition() {
  uint64_t savedSeed = readCount(session, kSeed);
  if (options.seed && *options.seed != savedSeed)
    throw Failure(Usage,
                  format("--seed=%llu differs from the checkpoint's %llu",
                         static_cast<unsigned long long>(*options.seed),
                         static_cast<unsigned long long>(savedSeed)));
  bool savedShuffle = readCount(session, kShuffle) != 0;
  if (savedShuffle == options.noShuffle)
    throw Failure(Usage, savedShuffle
                             ? "the checkpoint was trained without --no-shuffle"
                             : "the checkpoint was trained with --no-shuffle");
  uint64_t savedSamples = readCount(session, kSamples);
  if (savedSamples != data.numSamples())
    throw Failure(Usage, data.path + ": has " +
                             formatCount(data.numSamples(), "sample") +
                             ", but the checkpoint was trained on " +
                             formatCount(savedSamples));
  Sampler::Position position = {readCount(session, kEpoch),
                                readCount(session, kBatch)};
  // Between epochs any batch will do. Checkpoints did not always say it.
  uint64_t savedBatch = session.property(kBatchSize)
                            ? readCount(session, kBatchSize)
                            : data.batchSize();
  if (savedBatch != data.batchSize() && position.batch != 0)
    throw Failure(
        Usage,
        format(
            "the checkpoint stands within an epoch of batches of %llu, but "
            "the program takes batches of %llu; compile it with --batch=%llu",
            static_cast<unsigned long long>(savedBatch),
            static_cast<unsigned long long>(data.batchSize()),
            static_cast<unsigned long long>(savedBatch)));
  if (position.batch >= sampler.batchesPerEpoch())
    throw Failure(Damaged, "the checkpoint's position lies behind the end of "
                           "the epoch");
  seed = savedSeed;
  sampler.reseed(seed);
  sampler.seek(position);
  step = firstStep = readCount(session, kStep);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

uint64_t Trainer::totalSteps() const {
  if (options.steps)
    return *options.steps;
  uint64_t batches = options.epochs.value_or(1) * sampler.batchesPerEpoch();
  return batches / program.microBatches();
}

bool Trainer::isDone() const {
  if (options.steps)
    return step >= *options.steps;
  return sampler.position().epoch >= options.epochs.value_or(1);
}

/// A batch none of whose labels counts makes the mean of the loss nan, though
/// nothing in it is.
void Trainer::checkLoss(const mpc_step_info_t &info) const {
  if (!std::isnan(info.update_loss))
    return;
  if (std::string cause = data.explainNoLabels(stepSamples); !cause.empty())
    throw Failure(Usage, format("the loss of step %llu is nan: %s",
                                static_cast<unsigned long long>(step + 1),
                                cause.c_str()));
}

/// Queues the next batch. What is known by now of earlier ones is settled.
void Trainer::queueBatch() {
  const std::vector<uint64_t> &samples = sampler.next();
  const std::vector<mpc_tensor_t> &inputs = data.gather(samples);
  queued.push_back({++calls, samples});
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  mpc_status_t status =
      mpc_session_step(session.get(), inputs.data(), inputs.size(), &info);
  take(status, info);
}

/// Waits for all that is queued.
void Trainer::drain() {
  if (queued.empty())
    return;
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  mpc_status_t status = mpc_session_synchronize(session.get(), &info);
  take(status, info);
}

/// Settles what a call told of.
void Trainer::take(mpc_status_t status, const mpc_step_info_t &info) {
  if (status && mpc_status_code(status) == MPC_NUMERIC && info.call != 0) {
    std::string cause = mpc_status_message(status);
    mpc_status_free(status);
    return takeFault(cause, info);
  }
  check(status, format("step %llu", static_cast<unsigned long long>(step + 1)));
  settle(info);
}

/// Says what the runtime found out about a step that was not finite, and where
/// in the data it may come from. Throws if labels are missing.
Trainer::NumericFault Trainer::explain(const std::string &cause,
                                       const mpc_step_info_t &info) {
  // Steps before it are not settled if both became known at once.
  uint64_t before = info.call - queued.front().call;
  const std::vector<uint64_t> &samples = queued[before].samples;
  uint64_t batches = stepSamples.size() / data.batchSize() + before;
  uint64_t failed = step + 1 + batches / program.microBatches();
  bool ends = info.updated || info.skipped;
  double loss = ends ? info.update_loss : info.loss;
  auto number = static_cast<unsigned long long>(failed);
  std::vector<uint64_t> all = stepSamples;
  all.insert(all.end(), samples.begin(), samples.end());
  std::string labels = std::isnan(loss) ? data.explainNoLabels(all) : "";
  if (!labels.empty()) {
    log(info, loss, failed);
    progress.clear();
    throw Failure(Usage, format("the loss of step %llu is nan: %s", number,
                                labels.c_str()));
  }
  std::string place = data.explainNonFinite(samples), said = cause;
  // No learning rate mends bad data.
  constexpr std::string_view advice =
      "; lower the learning rate or look at the data";
  if (size_t at = said.rfind(advice); !place.empty() && at != std::string::npos)
    said.erase(at, advice.size());
  // A kernel of several ops.
  else if (place.empty() && said.find(" more'") != std::string::npos &&
           !program.has("observe"))
    said += "; a package compiled with --check-numerics says in which op";
  return {failed, loss,
          format("step %llu: %s%s%s", number, said.c_str(),
                 place.empty() ? "" : "; ", place.c_str())};
}

/// True if the loss scale can shrink no more, and still gradients overflow.
static bool isAtFloor(const mpc_step_info_t &info, const Program &program) {
  return info.skipped && std::isfinite(info.update_loss) &&
         program.hasState("loss_scale");
}

/// Does about a step that was not finite what --on-nan says.
void Trainer::takeFault(const std::string &cause, const mpc_step_info_t &info) {
  NumericFault fault = explain(cause, info);
  std::string limit;
  bool goesOn = false;
  if (options.onNan == OnNan::Skip && !isAtFloor(info, program)) {
    goesOn = ++faultsInARow < kMostFaults;
    limit = format("the last of %u in a row, ", kMostFaults);
  } else if (options.onNan == OnNan::Rollback) {
    goesOn = ++rollbacks <= kMostRollbacks;
    limit = format("after %u rollbacks, ", kMostRollbacks);
  }
  progress.clear();
  if (!goesOn) {
    log(info, fault.loss, fault.step);
    throw Failure(Numeric, limit + fault.text);
  }
  std::fprintf(stderr, "mpc: warning: %s\n", fault.text.c_str());
  if (options.onNan == OnNan::Rollback) {
    log(info, fault.loss, fault.step);
    return rollBack();
  }
  isFaulty = true;
  settle(info);
}

/// Goes back to the weights of the newest checkpoint. Batches go on: what made
/// the step fail, data or their order, does not come again.
void Trainer::rollBack() {
  check(mpc_session_load_checkpoint(session.get(), lastCheckpoint.c_str()),
        lastCheckpoint);
  queued.clear();
  stepSamples.clear();
  step = readCount(session, kStep);
  std::fprintf(stderr,
               "mpc: note: going on after step %llu from '%s', with "
               "the batches behind that one\n",
               static_cast<unsigned long long>(step), lastCheckpoint.c_str());
}

/// Takes note of what one call did, unless that is known already. Calls become
/// known in their order, each once.
void Trainer::settle(const mpc_step_info_t &info) {
  if (queued.empty() || info.call < queued.front().call)
    return;
  if (info.call != queued.front().call)
    throw Failure(Error,
                  format("the runtime told of call %llu before %llu",
                         static_cast<unsigned long long>(info.call),
                         static_cast<unsigned long long>(queued.front().call)));
  const std::vector<uint64_t> &samples = queued.front().samples;
  stepSamples.insert(stepSamples.end(), samples.begin(), samples.end());
  queued.pop_front();
  if (!info.updated && !info.skipped)
    return;
  checkLoss(info);
  stepSamples.clear();
  ++step;
  if (isFaulty)
    leftOut += info.skipped;
  else if (info.updated)
    faultsInARow = 0;
  isFaulty = false;
  report(info, info.update_loss);
}

/// True if what is queued may have to be known before the next batch: it may
/// end training, or an epoch, or bring a checkpoint.
bool Trainer::mustDrain(bool epochEnds) const {
  if (queued.empty())
    return false;
  uint64_t reached = step + queued.size();
  if (epochEnds || signals.received() ||
      (options.steps && reached >= *options.steps))
    return true;
  return !options.checkpointDir.empty() && options.checkpointEvery != 0 &&
         reached % options.checkpointEvery == 0;
}

/// The double with the fewest digits that rounds to the float `value`: 0.001
/// rather than 0.0010000000474974513. Reading it as a float gives the same
/// bits. What is no float is left alone.
static double asShortest(double value) {
  if (!std::isfinite(value) || static_cast<float>(value) != value)
    return value; // Written as null, or as the double it is.
  for (int digits = 6; digits < 9; ++digits) {
    std::string text = format("%.*g", digits, value);
    if (std::strtof(text.c_str(), nullptr) == static_cast<float>(value))
      return std::strtod(text.c_str(), nullptr);
  }
  return value;
}

/// Prints one line of JSON about a step.
void Trainer::log(const mpc_step_info_t &info, double loss, uint64_t step) {
  if (!options.json)
    return;
  nlohmann::ordered_json json;
  json["step"] = step;
  json["loss"] = asShortest(static_cast<float>(loss));
  if (hasPerplexity(program))
    json["perplexity"] = asShortest(static_cast<float>(std::exp(loss)));
  json["loss_scale"] = asShortest(info.loss_scale);
  json["skipped"] = info.skipped != 0;
  if (isScheduled)
    json["lr"] = asShortest(info.learning_rate);
  else if (currentRate)
    json["lr"] = asShortest(*currentRate);
  json["grad_norm"] = asShortest(info.grad_norm);
  // A log that ends in the middle is worth stopping for; training is not lost.
  if (std::puts(json.dump().c_str()) >= 0 || signals.received())
    return;
  std::string cause = std::strerror(errno);
  saveCheckpoint();
  throw Failure(InputOutput,
                format("cannot write the output of step %llu: %s",
                       static_cast<unsigned long long>(step), cause.c_str()));
}

void Trainer::report(const mpc_step_info_t &info, double loss) {
  lossScale = info.loss_scale;
  skipped += info.skipped;
  if (!info.skipped) {
    constexpr double memory = 0.95;
    smoothLoss =
        smoothLoss == 0 ? loss : memory * smoothLoss + (1 - memory) * loss;
  }

  log(info, loss, step);
  if (!info.skipped && !std::isfinite(loss)) {
    progress.clear();
    throw Failure(Numeric,
                  format("the loss of step %llu is %g: training diverged; a "
                         "lower --lr or --clip-norm may help",
                         static_cast<unsigned long long>(step), loss));
  }
}

ProgressState Trainer::progressState() const {
  ProgressState state;
  state.title = std::filesystem::path(program.path).filename().string();
  state.done = step;
  state.total = totalSteps();
  // An epoch that has just ended is still the one to be shown.
  Sampler::Position at = sampler.position();
  state.epoch = at.batch == 0 && at.epoch > 0 ? at.epoch : at.epoch + 1;
  state.epochs = options.steps ? 0 : options.epochs.value_or(1);
  state.loss = smoothLoss;
  state.hasPerplexity = hasPerplexity(program);
  state.lossScale = lossScale;
  if (lastEvaluation && lastEvaluation->accuracy)
    state.accuracy = *lastEvaluation->accuracy;
  state.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  uint64_t steps = step - firstStep;
  if (steps > 0 && state.seconds > 0) {
    state.samplesPerSecond =
        steps * program.microBatches() * data.batchSize() / state.seconds;
    state.secondsLeft =
        state.seconds / steps * (state.total > step ? state.total - step : 0);
  }
  return state;
}

//===----------------------------------------------------------------------===//
// Evaluations and checkpoints
//===----------------------------------------------------------------------===//

void Trainer::evaluateNow() {
  if (!evalData || (lastEvaluation && evaluatedStep == step))
    return;
  lastEvaluation = evaluate(session, program, *evalData);
  evaluatedStep = step;
  if (options.json)
    std::puts(toJson(*lastEvaluation).dump().c_str());
}

bool Trainer::isCheckpointDue(bool epochEnds) const {
  if (options.checkpointDir.empty())
    return false;
  if (options.checkpointEvery != 0)
    return step % options.checkpointEvery == 0;
  // The last one does not wait for its evaluation, which may fail.
  if (isDone())
    return true;
  return epochEnds &&
         Clock::now() - lastSave >= std::chrono::seconds(kCheckpointPause);
}

void Trainer::saveCheckpoint() {
  std::string path = options.checkpointDir + "/step-" + std::to_string(step);
  if (options.checkpointDir.empty() || path == lastCheckpoint)
    return;
  session.setProperty(kEpoch, std::to_string(sampler.position().epoch));
  session.setProperty(kBatch, std::to_string(sampler.position().batch));
  session.setProperty(kBatchSize, std::to_string(data.batchSize()));
  session.setProperty(kStep, std::to_string(step));
  session.setProperty(kSeed, std::to_string(seed));
  session.setProperty(kSamples, std::to_string(data.numSamples()));
  session.setProperty(kShuffle, options.noShuffle ? "0" : "1");
  rememberOptions(session, program);
  check(mpc_session_save_checkpoint(session.get(), path.c_str()), path);
  lastCheckpoint = path;
  lastSave = Clock::now();
  if (options.keep > 0)
    check(mpc_checkpoint_prune(options.checkpointDir.c_str(), options.keep),
          options.checkpointDir);
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

/// Says how many samples each epoch leaves out.
void Trainer::noteSamplesLeftOut() const {
  uint64_t left = data.numSamples() % data.batchSize();
  if (left == 0 || isDone())
    return;
  std::fprintf(stderr,
               "mpc: note: %s do not fill batches of %llu: %llu of them are "
               "left out in each epoch%s\n",
               formatCount(data.numSamples(), "sample").c_str(),
               static_cast<unsigned long long>(data.batchSize()),
               static_cast<unsigned long long>(left),
               options.noShuffle ? "" : ", other ones each time");
}

/// What computed the steps. The plain CPU needs no mention.
void Trainer::printDevice() const {
  nlohmann::ordered_json json;
  json["device"] = mpc_session_device(session.get());
  if (json["device"] == "cpu")
    return;
  json["kernels"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < mpc_session_num_kernels(session.get()); ++i) {
    mpc_kernel_info_t info = {};
    info.struct_size = sizeof(info);
    check(mpc_session_kernel_info(session.get(), i, &info), program.path);
    json["kernels"].push_back({{"kernel", info.kernel},
                               {"implementation", info.implementation},
                               {"entry", info.entry},
                               {"instruction", info.instruction},
                               {"calls", info.calls},
                               {"workspace_bytes", info.workspace_bytes}});
  }
  sayJson(json);
}

ExitCode Trainer::run() {
  noteSamplesLeftOut();
  if (options.onNan == OnNan::Rollback)
    saveCheckpoint();
  begin = lastSave = Clock::now();
  bool epochEnds = false;
  while (!isDone()) {
    uint64_t epoch = sampler.position().epoch;
    queueBatch();
    epochEnds |= sampler.position().epoch != epoch;
    if (mustDrain(epochEnds))
      drain();
    // Whoever trains epoch by epoch leaves gradients that do not make up a
    // whole update where they are.
    bool stepEnds = queued.empty() && (stepSamples.empty() || isDone());
    if (stepEnds) {
      // The checkpoint first: an evaluation that fails must not cost the epoch.
      if (isCheckpointDue(epochEnds))
        saveCheckpoint();
      if (epochEnds)
        evaluateNow();
      epochEnds = false;
      if (const char *signal = signals.received())
        return stop(signal);
    }
    progress.update(progressState());
  }
  saveCheckpoint();
  evaluateNow();
  ProgressState state = progressState();
  if (step > firstStep)
    progress.finish(state);
  if (options.json)
    printDevice();
  else
    printSummary(state);
  return Ok;
}

ExitCode Trainer::stop(const char *signal) {
  progress.clear();
  if (options.checkpointDir.empty())
    throw Failure(Stopped,
                  format("stopped by %s after step %llu; without "
                         "--checkpoint-dir nothing is kept to resume from",
                         signal, static_cast<unsigned long long>(step)));
  saveCheckpoint();
  std::fprintf(stderr,
               "mpc: stopped by %s after step %llu; '%s' is written: the same "
               "command with --resume goes on\n",
               signal, static_cast<unsigned long long>(step),
               lastCheckpoint.c_str());
  return Stopped;
}

void Trainer::printSummary(const ProgressState &state) const {
  uint64_t steps = step - firstStep;
  if (steps == 0) {
    std::printf("nothing left to train: step %llu was the last\n",
                static_cast<unsigned long long>(step));
  } else {
    std::string perplexity =
        state.hasPerplexity ? format(", perplexity %.2f", std::exp(smoothLoss))
                            : "";
    bool learned = skipped < steps;
    std::printf("trained %s in %s (%s samples/s), %s%s\n",
                formatCount(steps, "step").c_str(),
                formatDuration(state.seconds).c_str(),
                formatCount(std::llround(state.samplesPerSecond)).c_str(),
                learned ? format("loss %.4f", smoothLoss).c_str()
                        : "no weight changed",
                learned ? perplexity.c_str() : "");
    if (leftOut > 0)
      std::printf("%s left out, not being finite\n",
                  formatCount(leftOut, "step").c_str());
    if (skipped > leftOut)
      std::printf("%s skipped because a gradient overflowed; loss scale %.9g\n",
                  formatCount(skipped - leftOut, "step").c_str(), lossScale);
  }
  if (lastEvaluation)
    std::printf("%s: %s\n", evalData->path.c_str(),
                formatEvaluation(*lastEvaluation).c_str());
  if (!lastCheckpoint.empty())
    std::printf("checkpoint: %s\n", lastCheckpoint.c_str());
}
