//===- LossFacts.h - What a package records about its loss ------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_METRICS_LOSSFACTS_H
#define MPC_TOOLS_MPC_METRICS_LOSSFACTS_H

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/metrics/Metric.h"

#include <map>
#include <optional>
#include <string>

namespace mpc::tool {

/// What the loss of a program compares, from the options "loss" and
/// "loss-parts" that the compiler wrote (passes/Grad/Loss/LossParts.h).
struct LossFacts {
  explicit LossFacts(const Program &program);

  /// "mse"; "" for a loss of the graph that is not known to be one of these.
  std::string kind;
  bool isAdded = false; ///< The compiler added the loss to an output.
  /// The output and the input that are compared; "" if they are not known.
  std::string output, input;
  std::optional<size_t> axis;           ///< The dimension of classes.
  std::map<std::string, Scores> scores; ///< By output; logits if absent.
  std::map<std::string, std::string> activations;

  /// Whether the graph computes a loss of a known kind from values that are
  /// not outputs: shifted logits, for example.
  bool isIndirect() const { return !kind.empty() && output.empty(); }

  /// The task that the kind belongs to; none for an unknown loss.
  std::optional<Task> task() const;
};

/// The keys of the losses that `evaluate` returns beside their sum: "loss:box".
std::vector<std::string> keysOfLosses(const Program &program);

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_METRICS_LOSSFACTS_H
