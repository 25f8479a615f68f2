//===- Trainer.h - The training loop ----------------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_TRAINER_H
#define MPC_TOOLS_MPC_TRAINING_TRAINER_H

#include "tools/mpc/checkpoints/FolderLock.h"
#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/logs/TrainingLog.h"
#include "tools/mpc/training/BestCheckpoint.h"
#include "tools/mpc/training/EpochLoss.h"
#include "tools/mpc/training/Evaluate.h"
#include "tools/mpc/training/Progress.h"
#include "tools/mpc/training/Sampler.h"
#include "tools/mpc/training/TrainObserver.h"
#include "tools/mpc/training/sampling/LastBatch.h"
#include "tools/mpc/training/setup/TrainOptions.h"

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mpc::tool {

/// Maximum number of consecutive steps that are left out, and of rollbacks.
constexpr unsigned kMaxFaults = 20;
constexpr unsigned kMaxRollbacks = 3;

/// Trains a session on a data set: batches, epochs, evaluations, checkpoints,
/// and resuming from a checkpoint. A step is one update of the weights, or an
/// update that was skipped because a gradient overflowed.
///
/// Everything that determines the course of training is in the session and
/// saved with it; the sampler's position is one of its properties.
///
/// Steps are queued, and on a GPU the result of a step is known one call later.
/// Before anything that depends on results (a checkpoint, an evaluation, the
/// end), the trainer waits for all queued steps, so that asynchronous execution
/// changes neither the training nor the log.
///
/// With several ranks each has such a trainer. All of them go through all
/// batches, and run those of their own: a rank is a micro-batch. So each knows
/// the position, the samples of a step and what is due, without being told.
/// Only the first one writes files.
class Trainer {
public:
  /// `evalData` and its `metrics` may be null. All must outlive the trainer.
  Trainer(const TrainOptions &options, const Program &program, Dataset &data,
          Dataset *evalData, TrainObserver &observer,
          MetricSet *metrics = nullptr);

  /// Trains to the end, or until the observer stops it: returns false then.
  /// May be called again.
  bool run();

  /// What stopped the run, such as "SIGTERM" or "SIGTERM on rank 1".
  const std::string &stopReason() const { return stopped; }

  /// Makes one update and what is due after it, and waits for both. Does
  /// nothing at the end of training.
  void stepOnce();

  /// The following may be called between updates that have ended.
  bool hasEnded() const { return isEnded; } ///< All is done.
  uint64_t stepsDone() const { return step; }
  bool hasTrained() const { return step > firstStep; } ///< In this run.
  uint64_t totalSteps() const;
  uint64_t currentEpoch() const;
  bool isBetweenEpochs() const { return sampler.position().batch == 0; }
  ProgressState progressState() const;
  Session &currentSession() { return session; }

  /// The newest checkpoint; "" if there is none.
  const std::string &checkpoint() const { return lastCheckpoint; }

  /// Saves a checkpoint, if there is a folder for it and it does not exist yet.
  void saveCheckpoint();

  /// Evaluates the current weights, which does not change the course of
  /// training.
  Evaluation evaluateWeights();

  /// The results, in several lines.
  std::string summary() const;

private:
  /// A queued batch whose result is not known yet.
  struct Queued {
    uint64_t call; ///< As in mpc_step_info_t: counted from 1.
    std::vector<uint64_t> samples;
    uint64_t counted = 0; ///< Those that count: the first ones.
  };

  /// A step that was not finite.
  struct NumericFault {
    uint64_t step;
    double loss;
    std::string text;
  };

  static uint64_t readCount(const Session &session, const char *name);
  void openCheckpointDir();
  bool resume(bool isNew);
  void initializeWeights();
  void setRate(double rate);
  void setTotalSteps();
  std::optional<double> readRate() const;
  void noteKeptRate() const;
  void checkTrainedOptions(const std::string &mismatch);
  void restorePosition();
  void noteOtherAugmentation() const;
  void noteOtherData() const;
  void noteLastBatch() const;
  bool noteLastRound() const;
  void noteBatchesLeftOut();
  void queueBatch();
  void runRound();
  void finishUpdate();
  void waitForQueue();
  void recordResult(const mpc_step_info_t &info);
  bool mustSynchronize() const;
  void reachStep();
  void checkLoss(const mpc_step_info_t &info) const;
  void handleStatus(mpc_status_t status, const mpc_step_info_t &info);
  NumericFault explain(const std::string &cause, const mpc_step_info_t &info);
  void handleFault(const std::string &cause, const mpc_step_info_t &info);
  void rollBack();
  void report(const mpc_step_info_t &info, double loss);
  void log(const mpc_step_info_t &info, double loss, uint64_t step);
  void logEvaluation();
  void logSpeed();
  void logWeights();
  void openLog();
  bool isFirstRank() const;
  void onFirstRank(const std::function<void()> &action) const;
  void checkRankOptions() const;
  void checkRanks() const;
  void noteShares() const;
  void save(const std::string &path) const;
  uint64_t microBatches() const;
  bool isEvaluationDue(bool epochEnds) const;
  void evaluateNow();
  void resumeBest();
  void setProperties();
  bool isCheckpointDue();
  bool mustStop();
  uint64_t updatesLeft() const;
  ProgressState epochState() const;
  std::string describeLoss(bool learned) const;
  bool isDone() const;
  void begin();
  bool advance(bool waits);
  void end();

  using Clock = std::chrono::steady_clock;

  const TrainOptions &options;
  const Program &program;
  Dataset &data;
  Dataset *const evalData;
  MetricSet *const metrics;
  uint64_t seed;
  const bool isScheduled; ///< The program computes the learning rates.
  FolderLock lock;        ///< Lock on the checkpoint folder, if there is one.
  Session session;
  Sampler sampler;
  std::optional<LastBatch> lastBatch; ///< None if it is left out.
  TrainObserver &observer;
  std::optional<TrainingLog> logFiles;

  std::deque<Queued> queued;
  uint64_t calls = 0;                ///< Calls of mpc_session_step.
  std::vector<uint64_t> stepSamples; ///< Samples of the current step so far.
  uint64_t stepCounted = 0;          ///< Those of them that count.
  std::optional<double> currentRate; ///< Rate of all steps, unless scheduled.

  uint64_t step = 0;      ///< Since the beginning, including skipped steps.
  uint64_t firstStep = 0; ///< First step of this run.
  uint64_t lastStep = 0;  ///< After the last epoch, as far as is known.
  uint64_t skipped = 0;   ///< Skipped steps in this run.
  uint64_t leftOut = 0;   ///< Steps skipped by --on-nan, not for an overflow.
  unsigned faultsInARow = 0, rollbacks = 0;
  bool isFaulty = false; ///< A batch of the current step was not finite.
  bool hasBegun = false, isEnded = false;
  bool epochEnds = false; ///< The last queued batch ended its epoch.
  std::string stopped;    ///< What stopped another rank; "": nothing.
  Clock::time_point beginTime = Clock::now(); ///< Begin of this run.
  Clock::time_point lastSave = beginTime; ///< Last checkpoint, or `beginTime`.
  uint64_t samplesTaken = 0;              ///< In this run.
  /// What logSpeed() has not logged begins with this.
  struct {
    Clock::time_point begin;
    uint64_t samples;
    double waited;
  } unlogged = {};
  double smoothLoss = 0; ///< A moving average.
  EpochLoss epochLoss;
  float lossScale = 1;
  std::optional<Evaluation> lastEvaluation;
  uint64_t evaluatedStep = 0;
  std::optional<BestCheckpoint> best;
  std::string lastCheckpoint;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_TRAINER_H
