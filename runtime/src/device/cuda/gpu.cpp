#include "runtime/src/device/cuda/gpu.h"

#include <utility>

namespace mpc::runtime {

using namespace mpc::cuda;

Gpu::~Gpu() {
  if (context_) (void)driver_->cuDevicePrimaryCtxRelease_v2(device_);
}

mpc_status_t Gpu::check(CUresult result, const char* call, mpc_code_t code,
                        const char* detail) const {
  if (result == CUDA_SUCCESS) return nullptr;
  if (result == CUDA_ERROR_OUT_OF_MEMORY && code != MPC_DEVICE_LOST)
    code = MPC_OUT_OF_MEMORY;
  return mpc_status_make(code, "%s%s%s",
                         describe_error(*driver_, call, result).c_str(),
                         detail ? "; " : "", detail ? detail : "");
}

mpc_status_t Gpu::open(int index, const char* alternative) {
  std::string missing;
  driver_ = load_driver(&missing);
  if (!driver_) {
    // "libcuda.so.1" if the file does not exist.
    const std::string begin = "cannot load ";
    if (missing.find("No such file") != std::string::npos &&
        missing.rfind(begin, 0) == 0)
      missing = missing.substr(begin.size(), missing.find(':') - begin.size());
    return mpc_status_make(
        MPC_UNAVAILABLE,
        "no CUDA driver found (%s); install NVIDIA's driver, or %s",
        missing.c_str(), alternative);
  }
  int count = 0;
  CUresult result = driver_->cuInit(0);
  if (result != CUDA_ERROR_NO_DEVICE) {
    MPC_RETURN_IF_ERROR(check(result, "cuInit", MPC_UNAVAILABLE));
    MPC_RETURN_IF_ERROR(
        MPC_CUDA(*this, MPC_UNAVAILABLE, cuDeviceGetCount, &count));
  }
  if (count == 0)
    return mpc_status_make(MPC_UNAVAILABLE,
                           "there is no CUDA device on this machine, although "
                           "the driver is there");
  if (index >= count)
    return mpc_status_make(MPC_UNAVAILABLE,
                           "there is no device 'cuda:%d' on this machine, "
                           "which has %d, counted from 0",
                           index, count);
  index_ = index;
  MPC_RETURN_IF_ERROR(
      MPC_CUDA(*this, MPC_UNAVAILABLE, cuDeviceGet, &device_, index));
  MPC_RETURN_IF_ERROR(describe_device());
  CUcontext context = nullptr;
  MPC_RETURN_IF_ERROR(MPC_CUDA(*this, MPC_UNAVAILABLE, cuDevicePrimaryCtxRetain,
                               &context, device_));
  context_ = context;
  return nullptr;
}

mpc_status_t Gpu::describe_device() {
  char model[256] = "";
  int major = 0, minor = 0;
  MPC_RETURN_IF_ERROR(MPC_CUDA(*this, MPC_UNAVAILABLE, cuDeviceGetName, model,
                               static_cast<int>(sizeof(model)) - 1, device_));
  MPC_RETURN_IF_ERROR(
      MPC_CUDA(*this, MPC_UNAVAILABLE, cuDeviceGetAttribute, &major,
               CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device_));
  MPC_RETURN_IF_ERROR(
      MPC_CUDA(*this, MPC_UNAVAILABLE, cuDeviceGetAttribute, &minor,
               CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device_));
  MPC_RETURN_IF_ERROR(
      MPC_CUDA(*this, MPC_UNAVAILABLE, cuDeviceGetAttribute, &max_shared_bytes_,
               CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device_));
  compute_capability_ = 10 * major + minor;
  architecture_ = driver_->architecture
                      ? driver_->architecture
                      : "sm_" + std::to_string(compute_capability_);
  model_ = model;
  name_ = "cuda:" + std::to_string(index_) + " " + model_;
  return nullptr;
}

ContextScope::ContextScope(const Gpu& gpu) : gpu_(gpu) {
  status_ = MPC_CUDA(gpu, MPC_DEVICE_LOST, cuCtxGetCurrent, &before_);
  if (before_ == gpu.context()) return;
  // Destructors need the context even if querying the previous one failed,
  // which is then unknown and not restored.
  CUresult result = gpu.driver().cuCtxSetCurrent(gpu.context());
  if (status_) return;
  changed_ = result == CUDA_SUCCESS;
  status_ = gpu.check(result, "cuCtxSetCurrent", MPC_DEVICE_LOST);
}

ContextScope::~ContextScope() {
  mpc_status_free(status_);
  if (changed_) (void)gpu_.driver().cuCtxSetCurrent(before_);
}

mpc_status_t ContextScope::take_status() {
  return std::exchange(status_, nullptr);
}

}  // namespace mpc::runtime
