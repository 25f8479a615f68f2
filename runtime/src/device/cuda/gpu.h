// An open CUDA device: its context, and driver calls that return statuses.

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
  // Releases the context.
  ~Gpu();

  // Opens device `index` of this machine. Returns MPC_UNAVAILABLE if the driver
  // library, any device or this device is missing; the message says which.
  // `alternative` is what an error suggests if there is no driver.
  mpc_status_t open(int index,
                    const char* alternative = "use the device 'cpu'");

  const cuda::Driver& driver() const { return *driver_; }
  cuda::CUcontext context() const { return context_; }
  int index() const { return index_; }
  // 80 for CUDA's compute capability 8.0.
  int compute_capability() const { return compute_capability_; }
  // The shared memory that a block can have.
  int max_shared_bytes() const { return max_shared_bytes_; }
  // The architecture that code must be compiled for: "sm_80".
  const std::string& architecture() const { return architecture_; }
  // "NVIDIA H200".
  const std::string& model() const { return model_; }
  // "cuda:0 NVIDIA H200".
  const std::string& name() const { return name_; }

  // Converts the result of a driver call to a status, null for success. A
  // failure gets code `code`, except that out of memory gets MPC_OUT_OF_MEMORY
  // unless `code` is MPC_DEVICE_LOST. `detail`, if not null, is appended to the
  // message after "; ".
  mpc_status_t check(cuda::CUresult result, const char* call, mpc_code_t code,
                     const char* detail = nullptr) const;

 private:
  mpc_status_t describe_device();

  const cuda::Driver* driver_ = nullptr;
  cuda::CUdevice device_ = 0;
  cuda::CUcontext context_ = nullptr;
  int index_ = 0;
  int compute_capability_ = 0;
  int max_shared_bytes_ = 0;
  std::string architecture_;
  std::string model_;
  std::string name_;
};

// Makes the context of a device current in this thread, and restores the
// previous context when destroyed. Every function that calls the driver starts
// with one.
class ContextScope {
 public:
  explicit ContextScope(const Gpu& gpu);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  // Owned by the caller, who must check it before anything else.
  mpc_status_t take_status();

 private:
  const Gpu& gpu_;
  cuda::CUcontext before_ = nullptr;
  bool changed_ = false;
  mpc_status_t status_ = nullptr;
};

// Calls a driver function: MPC_CUDA(gpu, code, cuStreamQuery, stream).
#define MPC_CUDA(gpu, code, function, ...) \
  (gpu).check((gpu).driver().function(__VA_ARGS__), #function, code)

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CUDA_GPU_H_
