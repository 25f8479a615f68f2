//===- EpochLoss.h - The mean loss of an epoch ------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_EPOCHLOSS_H
#define MPC_TOOLS_MPC_TRAINING_EPOCHLOSS_H

#include <cstdint>
#include <optional>
#include <string>

namespace mpc::tool {

/// The mean loss of the updates of an epoch, weighted by their numbers of
/// samples. It is saved in checkpoints, so that interruptions do not change it.
class EpochLoss {
public:
  /// Adds an update; the first update of a new epoch resets the mean.
  void add(uint64_t epoch, double loss, uint64_t samples);

  /// Counted from 1; 0 before the first update.
  uint64_t epoch() const { return current; }

  /// None before the first update.
  std::optional<double> mean() const;

  /// An exact text form for restore().
  std::string toText() const;

  /// Restores what toText() returned; any other text resets the mean.
  void restore(const std::string &text);

private:
  uint64_t current = 0, samples = 0;
  double sum = 0;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_EPOCHLOSS_H
