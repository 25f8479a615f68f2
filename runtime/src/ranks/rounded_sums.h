// Adds up gradients that travel in bf16.

#ifndef MPC_RUNTIME_SRC_RANKS_ROUNDED_SUMS_H_
#define MPC_RUNTIME_SRC_RANKS_ROUNDED_SUMS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "mpc/communicator.h"
#include "runtime/src/base/memory.h"

namespace mpc::runtime {

// What rounding loses is added to the same gradient of the next update (error
// feedback: Seide et al., "1-Bit Stochastic Gradient Descent and its
// Application to Data-Parallel Distributed Training of Speech DNNs",
// INTERSPEECH 2014), so that it is delayed, not lost: for values on their way
// to the rank that adds them up, and for the sums on their way back. All ranks
// get the same bits.
class RoundedSums {
 public:
  // For `elements` gradients, added up in parts of at most `longest`.
  static mpc_status_t create(const mpc_communicator_t& communicator,
                             uint64_t elements, uint64_t longest,
                             std::unique_ptr<RoundedSums>* out);

  // Replaces elements bounds.front() up to bounds.back() of `gradients` by the
  // sums of all ranks, each rank's own range from bounds[rank] on or, with
  // `gathers`, all of them.
  mpc_status_t sum(float* gradients, const std::vector<uint64_t>& bounds,
                   bool gathers);

  // Forgets what rounding has lost: the updates that it was lost from have been
  // skipped, or a session that continues from a checkpoint does not have it.
  void clear();

 private:
  explicit RoundedSums(const mpc_communicator_t& communicator)
      : communicator_(communicator) {}

  const mpc_communicator_t communicator_;
  Memory residuals_;  // One f32 for each gradient.
  Memory rounded_;    // The part that is being added up.
  Memory received_;   // What other ranks have of the own range.
};

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_RANKS_ROUNDED_SUMS_H_
