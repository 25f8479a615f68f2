//===- Predictions.h - Outputs of batches, put together ---------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_DATA_PREDICTIONS_H
#define MPC_TOOLS_MPC_DATA_PREDICTIONS_H

#include "tools/mpc/base/Runtime.h"
#include "tools/npz/Npz.h"

#include <vector>

namespace mpc::tool {

/// Collects what an entry point gives for each batch into one array per output.
class Predictions {
public:
  /// Throws a Failure if an output has no dimension for samples and there is
  /// more than one batch, so that it would be several.
  Predictions(const std::vector<Binding> &outputs, uint64_t batch,
              uint64_t samples);

  /// Where the next batch goes: one tensor per output.
  const std::vector<mpc_tensor_t> &tensors() const { return batchTensors; }

  /// Keeps the first `count` samples of the batch as those from `first` on.
  void store(uint64_t first, uint64_t count);

  /// The arrays, named like the outputs. bf16 outputs become float32, since
  /// NumPy has no bfloat16.
  npz::Arrays take();

private:
  struct Column {
    Binding output;
    uint64_t outer = 1, innerBytes = 0; ///< Around the samples, as in Dataset.
    uint64_t rows = 1;                  ///< Rows of each sample.
    std::vector<char> batch, all;
  };

  const uint64_t batch, samples;
  std::vector<Column> columns;
  std::vector<mpc_tensor_t> batchTensors;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_DATA_PREDICTIONS_H
