//===- WeightMatch.h - The weights of a model and of a file -----*- C++ -*-===//
#ifndef MPC_PASSES_WEIGHTS_WEIGHTMATCH_H
#define MPC_PASSES_WEIGHTS_WEIGHTMATCH_H

#include "passes/Weights/NamedWeights.h"

namespace mpc {

/// Compares the names of a model's weights with those of a file. Ask for each
/// name of the model once.
class WeightMatch {
public:
  explicit WeightMatch(const NamedWeights &weights)
      : weights(weights), rest(weights.tensors()) {}

  /// The tensor with this name, which the model uses; null if there is none.
  const StoredWeight *take(const std::string &name);
  /// The same for a weight that the file should have.
  const StoredWeight *takeNeeded(const std::string &name);
  /// Removes a tensor that the model does not need; the file need not have it.
  void skip(const std::string &name) { rest.erase(name); }
  /// Whether the file has a tensor with this name that was not taken.
  bool has(const std::string &name) const { return rest.count(name) > 0; }

  /// A note that says what was taken. Throws a WeightsError if nothing was, or,
  /// if it `isStrict`, if the names differ.
  std::string finish(bool isStrict) const;

private:
  const NamedWeights &weights;
  std::map<std::string, const StoredWeight *> rest;
  std::vector<std::string> missing;
  std::vector<const StoredWeight *> used;
};

} // namespace mpc

#endif // MPC_PASSES_WEIGHTS_WEIGHTMATCH_H
