//===- EpochLoss.h - The mean loss of an epoch ------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_EPOCHLOSS_H
#define MPC_TOOLS_MPC_TRAINING_EPOCHLOSS_H

#include <cstdint>
#include <optional>
#include <string>

namespace mpc::tool {

/// The mean of the losses that the updates of an epoch had, each weighted by
/// its samples. Checkpoints carry it, so that it does not depend on stops.
class EpochLoss {
public:
  /// Adds an update; the first of another epoch begins anew.
  void add(uint64_t epoch, double loss, uint64_t samples);

  /// Counts from 1; 0: there was no update yet.
  uint64_t epoch() const { return current; }

  /// None before the first update.
  std::optional<double> mean() const;

  /// As restore() takes it, with every bit.
  std::string toText() const;

  /// Takes what toText() gave; anything else is no update yet.
  void restore(const std::string &text);

private:
  uint64_t current = 0, samples = 0;
  double sum = 0;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_EPOCHLOSS_H
