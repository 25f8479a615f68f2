//===- Predictions.h - Collect the outputs of batches -----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_PREDICTIONS_PREDICTIONS_H
#define MPC_TOOLS_MPC_PREDICTIONS_PREDICTIONS_H

#include "tools/mpc/base/Runtime.h"
#include "tools/npz/Npz.h"

#include <vector>

namespace mpc::tool {

/// Collects the outputs of an entry point for all batches into one array per
/// output.
class Predictions {
public:
  /// Throws a Failure if there is more than one batch and an output has no
  /// batch dimension, so that its results could not be joined.
  Predictions(const std::vector<Binding> &outputs, uint64_t batch,
              uint64_t samples);

  /// The tensors for the outputs of the next batch, one per output.
  const std::vector<mpc_tensor_t> &tensors() const { return batchTensors; }

  /// Stores the first `count` samples of the batch at position `first`.
  void store(uint64_t first, uint64_t count);

  /// The arrays, named like the outputs. bf16 outputs become float32, since
  /// NumPy has no bfloat16.
  npz::Arrays take();

private:
  struct Column {
    Binding output;
    uint64_t outer = 1, innerBytes = 0; ///< Around the samples, as in Dataset.
    uint64_t rows = 1;                  ///< Rows per sample.
    std::vector<char> batch, all;
  };

  const uint64_t batch, samples;
  std::vector<Column> columns;
  std::vector<mpc_tensor_t> batchTensors;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_PREDICTIONS_PREDICTIONS_H
