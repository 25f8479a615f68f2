// A cuDNN table over host memory: descriptors are recorded and checked as the
// library does, and a plan computes its convolution by plain loops from the
// dimensions and strides it was given.

#ifndef MPC_TEST_CUDA_FAKE_CUDNN_H_
#define MPC_TEST_CUDA_FAKE_CUDNN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/cuda/cudnn/cudnn.h"
#include "test/cuda/host_driver.h"

namespace mpc::test {

struct FakeCudnn {
  struct Engine {
    double microseconds;
    size_t workspace_bytes = 0;
    std::vector<cuda::cudnnBackendNumericalNote_t> notes = {};
    // It computes an f32 result of 16-bit operands.
    bool mixed = false;
    // It is proposed, but its plan cannot be made, or does not run.
    bool unfinished = false, broken = false;
    // Only the fallback mode proposes it.
    bool fallback = false;
    // It computes attention too.
    bool attention = true;
  };
  // An engine's number is its index.
  std::vector<Engine> engines = {{10}};
  size_t version = 92800;
  // The name of a call that fails from now on, or empty.
  std::string failing;

  size_t handles = 0, descriptors = 0;  // That are alive.
  size_t plans = 0, executions = 0;     // That were made.
  size_t restored = 0;                  // Plans that were made of text.
  bool wordless = false;                // No plan is given out as text.
  // Engine of the last execution.
  size_t last = 0;
  cuda::CUstream stream = nullptr;
  // Does work when its stream comes to it, or returns false; at once if nothing
  // is set.
  std::function<bool(cuda::CUstream, std::function<void()>)> queue;
  // What was wrong with the last call that was refused.
  std::string refusal;

  const cuda::Cudnn* table() const;
  // The time that work takes is added to the clock of `driver`, if any.
  explicit FakeCudnn(HostDriver* driver = nullptr);
  ~FakeCudnn();
  FakeCudnn(const FakeCudnn&) = delete;

  HostDriver* driver;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_FAKE_CUDNN_H_
