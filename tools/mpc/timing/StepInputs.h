//===- StepInputs.h - The batch of measured steps ---------------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TIMING_STEPINPUTS_H
#define MPC_TOOLS_MPC_TIMING_STEPINPUTS_H

#include "tools/mpc/data/Dataset.h"
#include "tools/mpc/timing/RandomBatch.h"

#include <optional>
#include <string>

namespace mpc::tool {

/// One batch: random values, or the first samples of a data set.
class StepInputs {
public:
  /// Random values if the path is empty. Throws a Failure if the
  /// file has less than a batch, or does not fit the inputs.
  StepInputs(const DataOptions &from, const std::vector<Binding> &inputs);

  const std::vector<mpc_tensor_t> &tensors() const { return *batch; }
  uint64_t numSamples() const { return samples; }

  /// For messages: the file, or "random inputs" and the option for others.
  std::string describe() const;

private:
  std::optional<RandomBatch> random;
  std::optional<Dataset> data;
  const std::vector<mpc_tensor_t> *batch;
  uint64_t samples;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TIMING_STEPINPUTS_H
