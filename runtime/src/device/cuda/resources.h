// Owners of what a session holds on a device; destructors release it. The
// device must outlive them, and its context must be current when they are made.

#ifndef MPC_RUNTIME_SRC_DEVICE_CUDA_RESOURCES_H_
#define MPC_RUNTIME_SRC_DEVICE_CUDA_RESOURCES_H_

#include <cstdint>
#include <utility>

#include "runtime/src/device/cuda/gpu.h"

namespace mpc::runtime {

// A handle and the driver function that releases it.
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
    // A destructor cannot return a failure, and the driver also returns earlier
    // failures here.
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

// Allocates memory on the device, or pinned memory on the host; `what` names it
// in errors. A size of 0 allocates a few bytes, so that there is an address.
// Device memory is aligned to 256 bytes.
mpc_status_t allocate_device(const Gpu& gpu, uint64_t size, const char* what,
                             DeviceMemory* out_memory);
mpc_status_t allocate_pinned(const Gpu& gpu, uint64_t size, const char* what,
                             PinnedMemory* out_memory);

// Creates a non-blocking stream, which does not synchronize with the default
// stream; an event without timing.
mpc_status_t create_stream(const Gpu& gpu, CudaStream* out_stream);
mpc_status_t create_event(const Gpu& gpu, CudaEvent* out_event);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CUDA_RESOURCES_H_
