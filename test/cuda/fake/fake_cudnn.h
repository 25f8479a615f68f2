// A fake cuDNN in host memory: descriptors are recorded and checked like in the
// library, and a plan computes its convolution with simple loops from the given
// dimensions and strides.

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
    // It computes an f32 result from 16-bit operands.
    bool mixed = false;
    // It is proposed, but its plan cannot be made (unfinished) or fails
    // (broken).
    bool unfinished = false, broken = false;
    // It is proposed only in fallback mode.
    bool fallback = false;
    // It also computes attention.
    bool attention = true;
  };
  // The number of an engine is its index.
  std::vector<Engine> engines = {{10}};
  size_t version = 92800;
  // The name of a call that fails from now on, or empty.
  std::string failing;

  size_t handles = 0, descriptors = 0;  // Currently alive.
  size_t plans = 0, executions = 0;     // Made so far.
  size_t restored = 0;                  // Plans restored from text.
  bool cannot_serialize_plans = false;  // Plans cannot be written as text.
  // The engine of the last execution.
  size_t last = 0;
  cuda::CUstream stream = nullptr;
  // Queues work on a stream, or returns false. If not set, work runs
  // immediately.
  std::function<bool(cuda::CUstream, std::function<void()>)> queue;
  // The error of the last rejected call.
  std::string refusal;

  const cuda::Cudnn* table() const;
  // The time of work is added to the clock of `driver`, if any.
  explicit FakeCudnn(HostDriver* driver = nullptr);
  ~FakeCudnn();
  FakeCudnn(const FakeCudnn&) = delete;

  HostDriver* driver;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_FAKE_CUDNN_H_
