// One CUDA device, opened: its context, and calls of the driver as statuses.

#ifndef MPC_RUNTIME_SRC_DEVICE_CUDA_GPU_H_
#define MPC_RUNTIME_SRC_DEVICE_CUDA_GPU_H_

#include <cstdint>
#include <string>

#include "kernels/cuda/driver/driver.h"
#include "mpc/status.h"

namespace mpc::runtime {

class Gpu {
 public:
  Gpu() = default;
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;
  // Gives the context back.
  ~Gpu();

  // Opens device `index` of this machine. MPC_UNAVAILABLE says what is missing:
  // the driver's library, a device, that device.
  mpc_status_t open(int index);

  const cuda::Driver& driver() const { return *driver_; }
  cuda::CUcontext context() const { return context_; }
  int index() const { return index_; }
  // 80: what CUDA calls 8.0.
  int compute_capability() const { return compute_capability_; }
  // What code must be for: "sm_80".
  const std::string& architecture() const { return architecture_; }
  // "NVIDIA H200".
  const std::string& model() const { return model_; }
  // "cuda:0 NVIDIA H200".
  const std::string& name() const { return name_; }

  // A status for the result of a call of the driver, null for success. `code`
  // is that of a failure, but a lack of memory is MPC_OUT_OF_MEMORY unless the
  // code is MPC_DEVICE_LOST. `detail`, if not null, is appended after "; ".
  mpc_status_t check(cuda::CUresult result, const char* call, mpc_code_t code,
                     const char* detail = nullptr) const;

 private:
  mpc_status_t describe_device();

  const cuda::Driver* driver_ = nullptr;
  cuda::CUdevice device_ = 0;
  cuda::CUcontext context_ = nullptr;
  int index_ = 0;
  int compute_capability_ = 0;
  std::string architecture_;
  std::string model_;
  std::string name_;
};

// Makes the context of a device the thread's while it lives, then the one from
// before again. Every function that calls the driver starts with one.
class ContextScope {
 public:
  explicit ContextScope(const Gpu& gpu);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  // Owned by the caller, who must look at it before anything else.
  mpc_status_t take_status();

 private:
  const Gpu& gpu_;
  cuda::CUcontext before_ = nullptr;
  bool changed_ = false;
  mpc_status_t status_ = nullptr;
};

// Calls a function of the driver: MPC_CUDA(gpu, code, cuStreamQuery, stream).
#define MPC_CUDA(gpu, code, function, ...) \
  (gpu).check((gpu).driver().function(__VA_ARGS__), #function, code)

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CUDA_GPU_H_
