// Times candidates for a kernel under the conditions of a real call.

#ifndef MPC_KERNELS_CUDA_AUTOTUNE_BUFFERS_H_
#define MPC_KERNELS_CUDA_AUTOTUNE_BUFFERS_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/kernel.h"

namespace mpc::kernels {

// Provides memory as in a real call: inputs have random values, because speed
// and power depend on them, and the caches hold none of them when a run begins.
// The memory comes from idle memory, then from the device, and is freed by the
// destructor.
class AutotuneBuffers {
 public:
  // Returns null, with the reason in `*error`, if the device has not enough
  // memory. All `operands` are filled, including results. Only an object made
  // with `timed` supports time().
  static std::unique_ptr<AutotuneBuffers> make(
      const CudaContext& context, const std::vector<TensorDesc>& operands,
      size_t workspace_bytes, bool timed, std::string* error);
  ~AutotuneBuffers();
  AutotuneBuffers(const AutotuneBuffers&) = delete;

  const cuda::CUdeviceptr* operands() const { return memory_.data(); }
  cuda::CUdeviceptr workspace() const { return workspace_; }

  // Runs the work of `enqueue` once, which loads code: a capture must not do
  // that. Returns what failed, or "".
  std::string warm_up(
      const std::function<std::string(cuda::CUstream)>& enqueue);

  // Runs the work of `enqueue` a few times and sets `*microseconds` to the
  // median; runs it only once if it takes more than twice `best`. Returns what
  // failed, or "". Sets `*fatal` after a device error, because nothing works
  // any more then.
  std::string time(const std::function<std::string(cuda::CUstream)>& enqueue,
                   double best, double* microseconds, bool* fatal);

 private:
  explicit AutotuneBuffers(const CudaContext& context);
  std::string allocate(size_t bytes, cuda::CUdeviceptr* memory);
  std::string prepare_timing();
  std::string size_flush();
  std::string fill(mpc_dtype_t dtype, size_t bytes, cuda::CUdeviceptr memory);
  std::string run_once(
      const std::function<std::string(cuda::CUstream)>& enqueue,
      double* microseconds, bool* fatal);

  const cuda::Driver& driver_;
  cuda::CUstream stream_;
  IdleMemory idle_;  // The unused rest of it.
  std::vector<cuda::CUdeviceptr> memory_;
  std::vector<cuda::CUdeviceptr> taken_;  // Allocated on the device.
  cuda::CUdeviceptr workspace_ = 0;
  // Written before each run: twice the L2 cache.
  cuda::CUdeviceptr flush_ = 0;
  size_t flush_bytes_ = 0;
  cuda::CUevent begin_ = nullptr, end_ = nullptr;
};

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_AUTOTUNE_BUFFERS_H_
