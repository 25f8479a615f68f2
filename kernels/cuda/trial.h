// Times candidates for a kernel on memory like that of a call.

#ifndef MPC_KERNELS_CUDA_TRIAL_H_
#define MPC_KERNELS_CUDA_TRIAL_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/kernel.h"

namespace mpc::kernels {

// Memory like that of a call: random values in the inputs (speed and power
// depend on them), and caches that hold none of it when a run begins, as in a
// step. It is taken from what is idle, then from the device; everything is free
// again when it goes.
class Trial {
 public:
  // Null, and why in `*error`, if the device has no room. `operands` are all
  // filled, those of results too. Only a timed one has what `time` needs.
  static std::unique_ptr<Trial> make(const CudaContext& context,
                                     const std::vector<TensorDesc>& operands,
                                     size_t workspace_bytes, bool timed,
                                     std::string* error);
  ~Trial();
  Trial(const Trial&) = delete;

  const cuda::CUdeviceptr* operands() const { return memory_.data(); }
  cuda::CUdeviceptr workspace() const { return workspace_; }

  // Runs what `enqueue` queues once: that loads code, which a capture may not.
  // Returns what failed.
  std::string rehearse(
      const std::function<std::string(cuda::CUstream)>& enqueue);

  // Runs what `enqueue` queues a few times and gives the median in
  // microseconds; a candidate that takes more than twice `best` is run once.
  // Returns what failed. After an error of the device nothing works any more,
  // and `*fatal` is set.
  std::string time(const std::function<std::string(cuda::CUstream)>& enqueue,
                   double best, double* microseconds, bool* fatal);

 private:
  explicit Trial(const CudaContext& context);
  std::string allocate(size_t bytes, cuda::CUdeviceptr* memory);
  std::string prepare_timing();
  std::string size_flush();
  std::string fill(mpc_dtype_t dtype, size_t bytes, cuda::CUdeviceptr memory);
  std::string run_once(
      const std::function<std::string(cuda::CUstream)>& enqueue,
      double* microseconds, bool* fatal);

  const cuda::Driver& driver_;
  cuda::CUstream stream_;
  IdleMemory idle_;  // What is left of it.
  std::vector<cuda::CUdeviceptr> memory_;
  std::vector<cuda::CUdeviceptr> taken_;  // From the device.
  cuda::CUdeviceptr workspace_ = 0;
  // Written before each run: twice the L2 cache.
  cuda::CUdeviceptr flush_ = 0;
  size_t flush_bytes_ = 0;
  cuda::CUevent begin_ = nullptr, end_ = nullptr;
};

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_TRIAL_H_
