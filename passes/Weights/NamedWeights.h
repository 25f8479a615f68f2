//===- NamedWeights.h - The weights of a file by name -----------*- C++ -*-===//
#ifndef MPC_PASSES_WEIGHTS_NAMEDWEIGHTS_H
#define MPC_PASSES_WEIGHTS_NAMEDWEIGHTS_H

#include "passes/Weights/WeightsFile.h"

#include <map>
#include <string>
#include <vector>

namespace mpc {

/// A file with weights, and the names that its tensors have in a program: the
/// options `init` and `map-names`.
class NamedWeights {
public:
  /// `maps` are REGEX=TEXT: each is replaced in all names, one after the other.
  /// Throws a WeightsError if one is malformed, or if two tensors get the same
  /// name.
  NamedWeights(std::unique_ptr<WeightsFile> file,
               const std::vector<std::string> &maps);

  const WeightsFile &file() const { return *opened; }

  /// The tensors by the names of the program.
  const std::map<std::string, const StoredWeight *> &tensors() const {
    return named;
  }

private:
  std::unique_ptr<WeightsFile> opened;
  std::map<std::string, const StoredWeight *> named;
};

} // namespace mpc

#endif // MPC_PASSES_WEIGHTS_NAMEDWEIGHTS_H
