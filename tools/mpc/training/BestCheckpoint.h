//===- BestCheckpoint.h - The best evaluation so far ------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_BESTCHECKPOINT_H
#define MPC_TOOLS_MPC_TRAINING_BESTCHECKPOINT_H

#include "tools/mpc/training/Evaluate.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mpc::tool {

/// The name of the best checkpoint in a folder of checkpoints.
constexpr const char *kBest = "best";

/// Finds the best of all evaluations: `--keep-best` and `--patience`. A value
/// is better only if it differs, so that the first of equal ones is kept.
class BestCheckpoint {
public:
  /// `text` is "loss", "accuracy:max", "f1:logits", ...: see parseBest(), which
  /// throws a Failure for anything else.
  /// `patience` is the number of evaluations in a row that may be no better
  /// than the best one; 0: any number.
  BestCheckpoint(const std::string &text, uint64_t patience);

  /// Adds the evaluation after `step`; returns whether it is the best one.
  /// Throws a Failure if the evaluation does not have the metric.
  bool add(const Evaluation &evaluation, uint64_t step);

  bool isOutOfPatience() const { return patience > 0 && since >= patience; }

  /// The step of the last added evaluation, or of none: 0.
  uint64_t lastStep() const { return last; }

  /// "best accuracy 98.32 % at step 120"; "" before the first evaluation.
  std::string describe() const;

  /// An exact text form for restore().
  std::string toText() const;

  /// Continues from what toText() returned for the same metric; otherwise
  /// starts anew and returns false.
  bool restore(const std::string &text);

private:
  std::string metric; ///< "loss", "accuracy", "f1:logits", ...
  bool isMax;
  uint64_t patience;
  std::optional<double> best;
  uint64_t bestStep = 0, last = 0;
  uint64_t since = 0; ///< Evaluations since the best one.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_BESTCHECKPOINT_H
