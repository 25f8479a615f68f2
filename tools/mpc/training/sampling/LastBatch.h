//===- LastBatch.h - Samples that do not fill a batch -----------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_TRAINING_SAMPLING_LASTBATCH_H
#define MPC_TOOLS_MPC_TRAINING_SAMPLING_LASTBATCH_H

#include "tools/mpc/data/Dataset.h"

#include <cstdint>

namespace mpc::tool {

/// Lets programs train on batches that are filled up with samples that do not
/// count: their labels become the one that the loss ignores, or their weights
/// become 0.
class LastBatch {
public:
  /// Throws a Failure if the loss supports neither. `inputs` are those of the
  /// step, in the order of the tensors of `data`.
  LastBatch(const Program &program, const std::vector<Binding> &inputs);

  /// Makes the first `counted` samples of the batch that `data` has gathered
  /// the only ones that count.
  void leaveOutRest(Dataset &data, uint64_t counted) const;

private:
  size_t input = 0;
  double value = 0; ///< The value for samples that do not count.
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_TRAINING_SAMPLING_LASTBATCH_H
