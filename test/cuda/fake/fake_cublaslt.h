// A cuBLASLt table over host memory: plain loops over the column-major matrices
// that it is given descriptions of. What the library would refuse or read
// wrongly is refused here.

#ifndef MPC_TEST_CUDA_FAKE_CUBLASLT_H_
#define MPC_TEST_CUDA_FAKE_CUBLASLT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/cuda/cublaslt/cublaslt.h"
#include "test/cuda/host_driver.h"

namespace mpc::test {

struct FakeCublasLt {
  // Algorithms that the heuristic offers, in this order; an algorithm's number
  // is its index.
  struct Algorithm {
    double microseconds;
    size_t workspace_bytes = 0;
    // cublasLtReductionScheme_t that it needs.
    unsigned reduction = 0;
    // It is offered, but does not run.
    bool broken = false;
    // Only the check knows that it cannot run.
    bool refused = false;
    // The heuristic offers it whatever reductions are asked for.
    bool ignores_mask = false;
  };
  std::vector<Algorithm> algorithms = {{10}};
  size_t version = 130002;
  // The next call of this name fails, or setting the attribute of a product.
  std::string failing;

  size_t handles = 0, descriptors = 0;  // That are alive.
  size_t products = 0, heuristics = 0;
  // Algorithm of the last product.
  size_t last = 0;
  bool last_is_fast = false;  // It had fast accumulation.
  // Where it had the factors of A and B.
  const void* last_scales[2] = {};
  // Does work when its stream comes to it, or returns false; at once if nothing
  // is set.
  std::function<bool(cuda::CUstream, std::function<void()>)> queue;
  // What was wrong with the last call that was refused.
  std::string refusal;

  const cuda::CublasLt* table() const;
  // The time that work takes is added to the clock of `driver`, if any.
  explicit FakeCublasLt(HostDriver* driver = nullptr);
  ~FakeCublasLt();
  FakeCublasLt(const FakeCublasLt&) = delete;

  HostDriver* driver;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_FAKE_CUBLASLT_H_
