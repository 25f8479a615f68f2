//===- Progress.h - Progress of training on stderr --------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_PROGRESS_H
#define MPC_TOOLS_MPC_TRAINING_PROGRESS_H

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace mpc::tool {

/// The progress of training at one moment.
struct ProgressState {
  std::string title; ///< What is trained: "mlp.mpc".
  uint64_t done = 0; ///< Steps, of `total`.
  uint64_t total = 0;
  uint64_t epoch = 0;          ///< Counted from 1; 0: not shown.
  uint64_t epochs = 0;         ///< 0: no number of epochs is given.
  double trainLoss = 0;        ///< Smoothed, or the mean of an epoch.
  bool hasPerplexity = false;  ///< Shown beside losses: exp(loss).
  double seconds = 0;          ///< Including evaluations and checkpoints.
  double samplesPerSecond = 0; ///< 0: not known yet.
  float lossScale = 1;         ///< Shown unless 1.
  std::optional<double> evalLoss,
      evalAccuracy;        ///< Results of the last evaluation.
  std::string evalMetrics; ///< Its other metrics: "eval f1 0.9421".
  double secondsLeft = -1; ///< Below 0: not known yet.
};

/// One line of at most `columns` columns for a terminal. If there is not enough
/// room, fields are dropped in this order: the title and the perplexities, the
/// accuracy, the evaluation's loss and the rate, the loss scale, and finally
/// the bar.
std::string formatProgressBar(const ProgressState &state, unsigned columns,
                              bool utf8);

/// One line for a log.
std::string formatProgressLine(const ProgressState &state);

/// Prints the progress of training: a line for each epoch. On a terminal, there
/// is also a bar below these lines, which is redrawn about ten times a second;
/// elsewhere, an additional line for each minute of an epoch.
class Progress {
public:
  /// `quiet`: prints nothing at all.
  Progress(std::FILE *stream, bool quiet);
  ~Progress() { clear(); }

  /// Prints the progress if it is time to do so; otherwise cheap.
  void update(const ProgressState &state);

  /// Prints the line of an epoch that has ended, or of an evaluation.
  void printLine(const ProgressState &state);

  /// Draws the final state and leaves it on the terminal. Prints nothing to a
  /// log.
  void finish(const ProgressState &state);

  /// Removes the bar so that other text can be printed; the next update draws
  /// it again.
  void clear();

private:
  using Clock = std::chrono::steady_clock;

  std::FILE *const stream;
  const bool quiet, terminal, utf8;
  bool drawn = false;
  Clock::time_point nextTime;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_PROGRESS_H
