//===- TrainerReport.cpp - Logs and summaries of training -----------------===//

#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/checkpoints/MasterWeights.h"
#include "tools/mpc/training/Trainer.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

using namespace mpc::tool;

/// The double with the fewest digits that rounds to the float `value`: 0.001
/// rather than 0.0010000000474974513. Reading it as a float gives the same
/// bits. Values that are not exactly floats are returned unchanged.
static double asShortest(double value) {
  if (!std::isfinite(value) || static_cast<float>(value) != value)
    return value; // Printed as null or as a double.
  for (int digits = 6; digits <= 9; ++digits) {
    std::string text = format("%.*g", digits, value);
    if (std::strtof(text.c_str(), nullptr) == static_cast<float>(value))
      return std::strtod(text.c_str(), nullptr);
  }
  return value;
}

/// Reports the result of a step to the logs and the observer.
void Trainer::log(const mpc_step_info_t &info, double loss, uint64_t step) {
  observer.stepped(info, loss);
  if (!logFiles && !observer.wantsRows())
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
  json["grad_norm"] = asShortest(static_cast<float>(info.grad_norm));
  // An incomplete log is a reason to stop; the training itself is not lost.
  try {
    if (logFiles) {
      nlohmann::ordered_json row = json;
      row["epoch"] = currentEpoch();
      logFiles->add(row);
    }
    observer.stepRow(json);
  } catch (const Failure &) {
    saveCheckpoint();
    throw;
  }
}

void Trainer::openLog() {
  if (options.log.isEmpty())
    return;
  std::string place;
  if (!options.log.file.empty())
    place =
        resolveOutputPath(options.log.file, {{"the package", options.package},
                                             {"the data", options.data.path},
                                             {"the data", options.evalData}});
  logFiles.emplace(options.log, place, firstStep,
                   metrics ? metrics->keys() : std::vector<std::string>());
}

/// Reports the last evaluation to the logs and the observer.
void Trainer::logEvaluation() {
  nlohmann::ordered_json json = toJson(*lastEvaluation);
  json["step"] = evaluatedStep;
  json["epoch"] = currentEpoch();
  observer.evaluated(*lastEvaluation, json);
  if (logFiles)
    logFiles->add(json);
}

/// Logs how fast the last epoch was.
void Trainer::logSpeed() {
  if (!logFiles)
    return;
  const Clock::time_point now = Clock::now();
  const double waited = data.secondsWaited();
  const double seconds =
      std::chrono::duration<double>(now - unlogged.begin).count();
  if (seconds > 0)
    logFiles->addSpeed(step, (samplesTaken - unlogged.samples) / seconds,
                       (waited - unlogged.waited) / seconds);
  unlogged = {now, samplesTaken, waited};
}

/// Logs the distributions of all weights that are trained, if the user wants
/// them.
void Trainer::logWeights() {
  if (!logFiles || !logFiles->wantsWeights())
    return;
  for (const mpc_state_info_t &state : program.states())
    if (state.role == MPC_STATE_PARAMETER &&
        (state.dtype == MPC_DTYPE_F32 || isBf16Weight(state)))
      logFiles->addWeight(step, state.name,
                          readFloats(session, program, state));
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
  if (!info.skipped && !std::isfinite(loss))
    throw Failure(Numeric,
                  format("the loss of step %llu is %g: training diverged; a "
                         "lower --lr or --clip-norm may help",
                         static_cast<unsigned long long>(step),
                         unsignedNan(loss)));
}

/// The epoch to show; an epoch that has just ended is still shown.
uint64_t Trainer::currentEpoch() const {
  Sampler::Position at = sampler.position();
  return at.batch == 0 && at.epoch > 0 ? at.epoch : at.epoch + 1;
}

ProgressState Trainer::epochState() const {
  ProgressState state = progressState();
  if (epochLoss.mean())
    state.trainLoss = *epochLoss.mean();
  return state;
}

ProgressState Trainer::progressState() const {
  ProgressState state;
  state.title = std::filesystem::path(program.path).filename().string();
  state.done = step;
  state.total = totalSteps();
  state.epoch = currentEpoch();
  state.epochs = options.steps ? 0 : options.epochs.value_or(1);
  state.trainLoss = smoothLoss;
  state.hasPerplexity = hasPerplexity(program);
  state.lossScale = lossScale;
  if (lastEvaluation) {
    state.evalLoss = lastEvaluation->loss;
    state.evalAccuracy = lastEvaluation->accuracy;
    state.evalMetrics =
        printable(formatMetrics(lastEvaluation->metrics, "eval "));
  }
  state.seconds =
      std::chrono::duration<double>(Clock::now() - beginTime).count();
  uint64_t steps = step - firstStep;
  if (steps > 0 && state.seconds > 0) {
    state.samplesPerSecond = samplesTaken / state.seconds;
    state.secondsLeft =
        state.seconds / steps * (state.total > step ? state.total - step : 0);
  }
  return state;
}

/// The mean loss of the last epoch, which may be incomplete.
std::string Trainer::describeLoss(bool learned) const {
  if (!learned)
    return "no weight changed";
  if (!epochLoss.mean())
    return format("train loss %.4f", unsignedNan(smoothLoss));
  double mean = *epochLoss.mean();
  std::string text = format("train loss %.4f", unsignedNan(mean));
  if (hasPerplexity(program))
    text += format(", train perplexity %.2f", std::exp(mean));
  return text + format(" (mean of epoch %llu)",
                       static_cast<unsigned long long>(epochLoss.epoch()));
}

std::string Trainer::summary() const {
  const ProgressState state = progressState();
  uint64_t steps = step - firstStep;
  std::vector<std::string> lines;
  if (steps == 0) {
    lines.push_back(
        format("training is already complete: step %llu was the last",
               static_cast<unsigned long long>(step)));
  } else {
    lines.push_back(
        format("trained %s in %s (%s samples/s), %s",
               formatCount(steps, "step").c_str(),
               formatDuration(state.seconds).c_str(),
               formatCount(std::llround(state.samplesPerSecond)).c_str(),
               describeLoss(skipped < steps).c_str()));
    if (double waited = data.secondsWaited();
        waited > std::max(0.05, 0.02 * state.seconds))
      lines.push_back(format("waited %s for data (%.0f %% of the time)",
                             formatDuration(waited).c_str(),
                             100 * waited / state.seconds));
    if (leftOut > 0)
      lines.push_back("skipped " + formatCount(leftOut, "step") +
                      " whose loss or gradients were not finite");
    if (skipped > leftOut)
      lines.push_back(
          format("%s skipped because a gradient overflowed; loss scale %.9g",
                 formatCount(skipped - leftOut, "step").c_str(), lossScale));
  }
  if (lastEvaluation)
    lines.push_back(
        evalData->path + ": " + printable(formatEvaluation(*lastEvaluation)) +
        printable(formatMatrices(lastEvaluation->metrics), /*lines=*/true));
  if (best && best->isOutOfPatience())
    lines.push_back(
        "stopped early: " + formatCount(options.patience, "evaluation") +
        " without a better one");
  if (!lastCheckpoint.empty())
    lines.push_back("checkpoint: " + lastCheckpoint);
  if (best && !best->describe().empty())
    lines.push_back(best->describe() +
                    (options.checkpointDir.empty()
                         ? ""
                         : ": " + options.checkpointDir + "/" + kBest));
  std::string text;
  for (const std::string &line : lines)
    text += (text.empty() ? "" : "\n") + line;
  return text;
}
