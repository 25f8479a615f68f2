//===- TrainerReport.cpp - Logs and summaries of training -----------------===//

#include "tools/mpc/base/Output.h"
#include "tools/mpc/base/Print.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/checkpoints/MasterWeights.h"
#include "tools/mpc/training/Trainer.h"

#include "kernels/devices.h"

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

/// Prints one line of JSON about a step.
void Trainer::log(const mpc_step_info_t &info, double loss, uint64_t step) {
  if (!options.json && !logFiles)
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
  } catch (const Failure &) {
    saveCheckpoint();
    throw;
  }
  if (!options.json || std::puts(json.dump().c_str()) >= 0 ||
      signals.received())
    return;
  std::string cause = std::strerror(errno);
  saveCheckpoint();
  throw Failure(InputOutput,
                format("cannot write the output of step %llu: %s",
                       static_cast<unsigned long long>(step), cause.c_str()));
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

/// Prints or logs one line about the last evaluation.
void Trainer::logEvaluation() {
  nlohmann::ordered_json json = toJson(*lastEvaluation);
  json["step"] = evaluatedStep;
  json["epoch"] = currentEpoch();
  if (options.json)
    std::puts(json.dump().c_str());
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
  if (!info.skipped && !std::isfinite(loss)) {
    progress.clear();
    throw Failure(Numeric,
                  format("the loss of step %llu is %g: training diverged; a "
                         "lower --lr or --clip-norm may help",
                         static_cast<unsigned long long>(step),
                         unsignedNan(loss)));
  }
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
  state.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
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

void Trainer::printSummary(const ProgressState &state) const {
  uint64_t steps = step - firstStep;
  if (steps == 0) {
    std::printf("training is already complete: step %llu was the last\n",
                static_cast<unsigned long long>(step));
  } else {
    std::printf("trained %s in %s (%s samples/s), %s\n",
                formatCount(steps, "step").c_str(),
                formatDuration(state.seconds).c_str(),
                formatCount(std::llround(state.samplesPerSecond)).c_str(),
                describeLoss(skipped < steps).c_str());
    if (double waited = data.secondsWaited();
        waited > std::max(0.05, 0.02 * state.seconds))
      std::printf("waited %s for data (%.0f %% of the time)\n",
                  formatDuration(waited).c_str(), 100 * waited / state.seconds);
    if (leftOut > 0)
      std::printf("skipped %s whose loss or gradients were not finite\n",
                  formatCount(leftOut, "step").c_str());
    if (skipped > leftOut)
      std::printf("%s skipped because a gradient overflowed; loss scale %.9g\n",
                  formatCount(skipped - leftOut, "step").c_str(), lossScale);
  }
  if (lastEvaluation)
    std::printf(
        "%s: %s%s\n", evalData->path.c_str(),
        printable(formatEvaluation(*lastEvaluation)).c_str(),
        printable(formatMatrices(lastEvaluation->metrics), true).c_str());
  if (best && best->isOutOfPatience())
    std::printf("stopped early: %s without a better one\n",
                formatCount(options.patience, "evaluation").c_str());
  if (!lastCheckpoint.empty())
    std::printf("checkpoint: %s\n", lastCheckpoint.c_str());
  if (best && !best->describe().empty())
    std::printf("%s%s%s\n", best->describe().c_str(),
                options.checkpointDir.empty() ? "" : ": ",
                options.checkpointDir.empty()
                    ? ""
                    : (options.checkpointDir + "/" + kBest).c_str());
}

/// Prints the device and its kernels, unless the device is the default one,
/// with or without a remark ("cpu (no CUDA driver found ...").
void Trainer::printDevice() const {
  const std::string device = mpc_session_device(session.get());
  if (device.rfind(mpc::kernels::kDevices[0].name, 0) == 0)
    return;
  nlohmann::ordered_json json;
  json["device"] = device;
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
  printJson(json);
}
