#include "runtime/src/device/cuda/resources.h"

#include <algorithm>
#include <string>

#include "runtime/src/base/byte_text.h"

namespace mpc::runtime {

using namespace mpc::cuda;

namespace {

constexpr uint64_t kMinAllocation = 256;

// "12.0 GB for the arena".
std::string amount(uint64_t size, const char* what) {
  return std::string(ByteText(size).c_str()) + " for " + what;
}

}  // namespace

mpc_status_t allocate_device(const Gpu& gpu, uint64_t size, const char* what,
                             DeviceMemory* out_memory) {
  CUdeviceptr memory = 0;
  CUresult result =
      gpu.driver().cuMemAlloc_v2(&memory, std::max(size, kMinAllocation));
  MPC_RETURN_IF_ERROR(gpu.check(result, "cuMemAlloc_v2", MPC_UNAVAILABLE,
                                amount(size, what).c_str()));
  *out_memory = DeviceMemory(gpu, memory);
  return nullptr;
}

mpc_status_t allocate_pinned(const Gpu& gpu, uint64_t size, const char* what,
                             PinnedMemory* out_memory) {
  void* memory = nullptr;
  CUresult result =
      gpu.driver().cuMemHostAlloc(&memory, std::max(size, kMinAllocation), 0);
  MPC_RETURN_IF_ERROR(gpu.check(result, "cuMemHostAlloc", MPC_UNAVAILABLE,
                                amount(size, what).c_str()));
  *out_memory = PinnedMemory(gpu, memory);
  return nullptr;
}

mpc_status_t create_stream(const Gpu& gpu, CudaStream* out_stream) {
  CUstream stream = nullptr;
  MPC_RETURN_IF_ERROR(MPC_CUDA(gpu, MPC_UNAVAILABLE, cuStreamCreate, &stream,
                               CU_STREAM_NON_BLOCKING));
  *out_stream = CudaStream(gpu, stream);
  return nullptr;
}

mpc_status_t create_event(const Gpu& gpu, CudaEvent* out_event) {
  CUevent event = nullptr;
  MPC_RETURN_IF_ERROR(MPC_CUDA(gpu, MPC_UNAVAILABLE, cuEventCreate, &event,
                               CU_EVENT_DISABLE_TIMING));
  *out_event = CudaEvent(gpu, event);
  return nullptr;
}

}  // namespace mpc::runtime
