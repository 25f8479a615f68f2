// A fake cuBLASLt in host memory: simple loops over column-major matrices
// according to their descriptions. It rejects whatever the library would reject
// or misread.

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
  // Algorithms in the order in which the heuristic offers them; the number of
  // an algorithm is its index.
  struct Algorithm {
    double microseconds;
    size_t workspace_bytes = 0;
    // The cublasLtReductionScheme_t that it needs.
    unsigned reduction = 0;
    // It is offered but fails when it runs.
    bool broken = false;
    // It is offered, but the check rejects it.
    bool refused = false;
    // The heuristic offers it regardless of the allowed reductions.
    bool ignores_mask = false;
  };
  std::vector<Algorithm> algorithms = {{10}};
  size_t version = 130002;
  // The next call of this name fails, or setting this attribute of a product.
  std::string failing;

  size_t handles = 0, descriptors = 0;  // Currently alive.
  size_t products = 0, heuristics = 0;
  // The algorithm of the last product.
  size_t last = 0;
  bool last_is_fast = false;  // It used fast accumulation.
  // The addresses of its factors for A and B.
  const void* last_scales[2] = {};
  // Queues work on a stream, or returns false. If not set, work runs
  // immediately.
  std::function<bool(cuda::CUstream, std::function<void()>)> queue;
  // Whether it knows algorithms for products with epilogues, the time that one
  // takes longer than without, and what they do: what they should, also RELU
  // (in place of GELU), or nothing to the last half of the rows.
  bool has_epilogues = true;
  double epilogue_microseconds = 0;
  enum class Epilogues {
    kRight,
    kRelu,
    kUnwritten
  } epilogues = Epilogues::kRight;
  // The error of the last rejected call.
  std::string refusal;

  const cuda::CublasLt* table() const;
  // The time of work is added to the clock of `driver`, if any.
  explicit FakeCublasLt(HostDriver* driver = nullptr);
  ~FakeCublasLt();
  FakeCublasLt(const FakeCublasLt&) = delete;

  HostDriver* driver;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_FAKE_CUBLASLT_H_
