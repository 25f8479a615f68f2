//===- RandomBatch.h - Inputs for measurements ------------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TIMING_RANDOMBATCH_H
#define MPC_TOOLS_MPC_TIMING_RANDOMBATCH_H

#include "tools/mpc/base/Runtime.h"

#include <cstdint>
#include <vector>

namespace mpc::tool {

/// Random values for all inputs of an entry point: floats in [0, 1), integers
/// within the declared range, booleans. The same in every run.
class RandomBatch {
public:
  explicit RandomBatch(const std::vector<Binding> &inputs);
  RandomBatch(const RandomBatch &) = delete;

  /// They live as long as this.
  const std::vector<mpc_tensor_t> &tensors() const { return allTensors; }

  /// The samples of the batch; 1 if no input has a batch dimension.
  uint64_t numSamples() const { return samples; }

private:
  const std::vector<Binding> inputs;
  std::vector<std::vector<char>> buffers;
  std::vector<mpc_tensor_t> allTensors;
  uint64_t samples = 1;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TIMING_RANDOMBATCH_H
