//===- TrainOptions.h - The options of training -----------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_SETUP_TRAINOPTIONS_H
#define MPC_TOOLS_MPC_TRAINING_SETUP_TRAINOPTIONS_H

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/checkpoints/initial/DrawnWeights.h"
#include "tools/mpc/checkpoints/initial/InitialWeights.h"
#include "tools/mpc/data/DataOptions.h"
#include "tools/mpc/logs/TrainingLog.h"
#include "tools/mpc/training/setup/BatchOption.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace mpc::tool {

class RankGroup;

/// Minimum seconds between checkpoints by default: a short epoch may take less
/// time than writing a checkpoint.
constexpr unsigned kCheckpointPause = 5;

/// Checkpoints to keep by default.
constexpr uint64_t kKeep = 3;

/// What to do after a step that is not finite.
enum class OnNan { Abort, Skip, Rollback };

/// The options that `mpc train` and libmpctrain share.
struct TrainOptions {
  std::string package, evalData, checkpointDir;
  DataOptions data;
  double evalSplit = 0; ///< Fraction of the data to evaluate on; 0: none.
  std::optional<uint64_t> epochs, steps; ///< Both absent: one epoch.
  std::optional<uint64_t> totalSteps;    ///< Absent: see setTotalSteps().
  BatchOption batch;
  std::optional<uint64_t> seed; ///< Absent: 0, or the checkpoint's.
  std::optional<double> learningRate, lossScale;
  /// In steps; 0: after each epoch that ends at least kCheckpointPause seconds
  /// after the last checkpoint.
  uint64_t checkpointEvery = 0;
  uint64_t evalEvery = 0; ///< In steps; 0: after each epoch.
  std::string metrics;    ///< The metrics of evaluations, or empty.
  std::string keepBest;   ///< The metric of the best checkpoint, or empty.
  uint64_t patience = 0;  ///< Evaluations; 0: never stop early.
  std::optional<uint64_t> keep; ///< Checkpoints; 0: all; absent: kKeep.
  bool resume = false, noShuffle = false;
  std::string sampling;   ///< Value of the option: uniform, balanced or empty.
  std::string lastBatch;  ///< Value of the option: drop, train or empty.
  std::string resumeMode; ///< Value of the option: yes, force or empty.
  bool force = false;     ///< Resume even with another loss or optimizer.
  std::string onNanText;  ///< Value of the option, or empty.
  OnNan onNan = OnNan::Abort;
  InitialWeights init;
  DrawnWeights drawn;
  SessionSettings session;
  LogSettings log;
  const RankGroup *ranks = nullptr; ///< Null: this process is alone.
  std::string shard = "none", gradComm = "fp32"; ///< Values of the options.

  bool hasEvaluation() const { return !evalData.empty() || evalSplit > 0; }

  /// Adds all but those of `session.addCodeDirTo` and `log` to a command; this
  /// must outlive the parsing.
  void addTo(CLI::App &command);

  /// Sets the fields that several options determine, after the parsing. Throws
  /// a Failure if options cannot be combined.
  void finish();

  /// Sets the fields that options about several processes determine, when
  /// `ranks` is known, and notes those that have no effect.
  void finishRanks();

  /// Throws a Failure if the program does not support an option.
  void checkProgram(const Program &program) const;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_SETUP_TRAINOPTIONS_H
