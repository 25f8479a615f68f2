// What a session owns on a device, given back by destructors. The device must
// outlive them, and its context be current when they are made.

#ifndef MPC_RUNTIME_SRC_DEVICE_CUDA_RESOURCES_H_
#define MPC_RUNTIME_SRC_DEVICE_CUDA_RESOURCES_H_

#include <cstdint>
#include <utility>

#include "runtime/src/device/cuda/gpu.h"

namespace mpc::runtime {

// A handle and the function of the driver that gives it back.
template <typename Handle, cuda::CUresult (*cuda::Driver::*release)(Handle)>
class CudaHandle {
 public:
  CudaHandle() = default;
  CudaHandle(const Gpu& gpu, Handle handle) : gpu_(&gpu), handle_(handle) {}
  CudaHandle(CudaHandle&& other) noexcept
      : gpu_(other.gpu_), handle_(std::exchange(other.handle_, Handle{})) {}
  CudaHandle& operator=(CudaHandle&& other) noexcept {
    std::swap(gpu_, other.gpu_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~CudaHandle() {
    if (!handle_) return;
    ContextScope scope(*gpu_);
    // A failure has nobody to go to; the driver repeats earlier ones here.
    (void)(gpu_->driver().*release)(handle_);
  }
  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Handle{}; }

 private:
  const Gpu* gpu_ = nullptr;
  Handle handle_{};
};

using DeviceMemory = CudaHandle<cuda::CUdeviceptr, &cuda::Driver::cuMemFree_v2>;
using PinnedMemory = CudaHandle<void*, &cuda::Driver::cuMemFreeHost>;
using CudaStream =
    CudaHandle<cuda::CUstream, &cuda::Driver::cuStreamDestroy_v2>;
using CudaEvent = CudaHandle<cuda::CUevent, &cuda::Driver::cuEventDestroy_v2>;
using CudaModule = CudaHandle<cuda::CUmodule, &cuda::Driver::cuModuleUnload>;
using CudaGraph = CudaHandle<cuda::CUgraph, &cuda::Driver::cuGraphDestroy>;
using CudaGraphExec =
    CudaHandle<cuda::CUgraphExec, &cuda::Driver::cuGraphExecDestroy>;

// Takes memory of the device, or of the host where the device reaches it;
// `what` names it in the error. A size of 0 takes a little, so that there is an
// address. Device memory is aligned to 256.
mpc_status_t allocate_device(const Gpu& gpu, uint64_t size, const char* what,
                             DeviceMemory* out_memory);
mpc_status_t allocate_pinned(const Gpu& gpu, uint64_t size, const char* what,
                             PinnedMemory* out_memory);

// A stream that work of other streams does not wait for; an event that knows
// that it happened, not when.
mpc_status_t create_stream(const Gpu& gpu, CudaStream* out_stream);
mpc_status_t create_event(const Gpu& gpu, CudaEvent* out_event);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CUDA_RESOURCES_H_
