#include "kernels/cuda/autotune_buffers.h"

#include <algorithm>

#include "kernels/float_types.h"

namespace mpc::kernels {
namespace {

// Number of random values generated on the host; operands repeat them.
constexpr size_t kPatternElements = 1 << 16;
constexpr int kRuns = 5;
// Operands and workspaces begin at multiples of this, as kernels require.
constexpr size_t kAlignment = 256;

size_t bytes_of(const TensorDesc& tensor) {
  size_t bytes = mpc_dtype_size(tensor.dtype);
  for (int64_t extent : tensor.shape) bytes *= static_cast<size_t>(extent);
  return bytes;
}

template <typename T>
std::vector<unsigned char> pattern() {
  std::vector<unsigned char> bytes(kPatternElements * sizeof(T));
  T* values = reinterpret_cast<T*>(bytes.data());
  uint32_t state = 1;
  for (size_t i = 0; i < kPatternElements; ++i) {
    state = state * 1664525 + 1013904223;
    values[i] = T(static_cast<float>(state >> 8) * 0x1p-23f - 1.0f);
  }
  return bytes;
}

// Bytes that are finite in both FP8 formats.
std::vector<unsigned char> pattern_of_bytes() {
  std::vector<unsigned char> bytes = pattern<F16>();
  for (unsigned char& byte : bytes) byte &= 0xb7;
  return bytes;
}

}  // namespace

AutotuneBuffers::AutotuneBuffers(const CudaContext& context)
    : driver_(*context.driver), stream_(context.stream), idle_(context.idle) {}

AutotuneBuffers::~AutotuneBuffers() {
  // No work may still use the memory that is freed.
  driver_.cuStreamSynchronize(stream_);
  for (cuda::CUdeviceptr memory : taken_) driver_.cuMemFree_v2(memory);
  if (begin_) driver_.cuEventDestroy_v2(begin_);
  if (end_) driver_.cuEventDestroy_v2(end_);
}

std::string AutotuneBuffers::allocate(size_t bytes, cuda::CUdeviceptr* memory) {
  if (bytes == 0) return "";
  if (bytes <= idle_.bytes) {
    const size_t used = std::min(
        idle_.bytes, (bytes + kAlignment - 1) / kAlignment * kAlignment);
    *memory = idle_.address;
    idle_ = {idle_.address + used, idle_.bytes - used};
    return "";
  }
  const cuda::CUresult result = driver_.cuMemAlloc_v2(memory, bytes);
  if (result == cuda::CUDA_SUCCESS) {
    taken_.push_back(*memory);
    return "";
  }
  *memory = 0;
  return describe_error(driver_, "cuMemAlloc_v2", result);
}

std::string AutotuneBuffers::fill(mpc_dtype_t dtype, size_t bytes,
                                  cuda::CUdeviceptr memory) {
  const std::vector<unsigned char> values =
      dtype == MPC_DTYPE_F32       ? pattern<float>()
      : dtype == MPC_DTYPE_BF16    ? pattern<Bf16>()
      : mpc_dtype_size(dtype) == 1 ? pattern_of_bytes()
                                   : pattern<F16>();
  size_t filled = std::min(bytes, values.size());
  cuda::CUresult result =
      driver_.cuMemcpyHtoDAsync_v2(memory, values.data(), filled, stream_);
  while (result == cuda::CUDA_SUCCESS && filled < bytes) {
    const size_t more = std::min(filled, bytes - filled);
    result =
        driver_.cuMemcpyDtoDAsync_v2(memory + filled, memory, more, stream_);
    filled += more;
  }
  if (result != cuda::CUDA_SUCCESS)
    return describe_error(driver_, "cuMemcpyAsync", result);
  // `values` is destroyed on return.
  result = driver_.cuStreamSynchronize(stream_);
  if (result == cuda::CUDA_SUCCESS) return "";
  return describe_error(driver_, "cuStreamSynchronize", result);
}

std::unique_ptr<AutotuneBuffers> AutotuneBuffers::make(
    const CudaContext& context, const std::vector<TensorDesc>& operands,
    size_t workspace_bytes, bool timed, std::string* error) {
  std::unique_ptr<AutotuneBuffers> buffers(new AutotuneBuffers(context));
  for (const TensorDesc& operand : operands) {
    buffers->memory_.push_back(0);
    *error = buffers->allocate(bytes_of(operand), &buffers->memory_.back());
    if (error->empty())
      *error = buffers->fill(operand.dtype, bytes_of(operand),
                             buffers->memory_.back());
    if (!error->empty()) return nullptr;
  }
  *error = buffers->allocate(workspace_bytes, &buffers->workspace_);
  if (error->empty() && timed) *error = buffers->prepare_timing();
  if (!error->empty()) return nullptr;
  return buffers;
}

std::string AutotuneBuffers::size_flush() {
  int ordinal = 0, cache = 0;
  cuda::CUdevice device = 0;
  const char* call = "cuPointerGetAttribute";
  cuda::CUresult result = driver_.cuPointerGetAttribute(
      &ordinal, cuda::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory_[0]);
  if (result == cuda::CUDA_SUCCESS) {
    call = "cuDeviceGet";
    result = driver_.cuDeviceGet(&device, ordinal);
  }
  if (result == cuda::CUDA_SUCCESS) {
    call = "cuDeviceGetAttribute";
    result = driver_.cuDeviceGetAttribute(
        &cache, cuda::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, device);
  }
  if (result != cuda::CUDA_SUCCESS)
    return describe_error(driver_, call, result);
  flush_bytes_ = 2 * static_cast<size_t>(cache);
  return "";
}

std::string AutotuneBuffers::prepare_timing() {
  std::string error = size_flush();
  if (error.empty()) error = allocate(flush_bytes_, &flush_);
  for (cuda::CUevent* event : {&begin_, &end_}) {
    if (!error.empty()) return error;
    const cuda::CUresult result =
        driver_.cuEventCreate(event, cuda::CU_EVENT_DEFAULT);
    if (result == cuda::CUDA_SUCCESS) continue;
    *event = nullptr;
    error = describe_error(driver_, "cuEventCreate", result);
  }
  return error;
}

std::string AutotuneBuffers::warm_up(
    const std::function<std::string(cuda::CUstream)>& enqueue) {
  const std::string error = enqueue(stream_);
  const cuda::CUresult result = driver_.cuStreamSynchronize(stream_);
  if (!error.empty() || result == cuda::CUDA_SUCCESS) return error;
  return describe_error(driver_, "cuStreamSynchronize", result);
}

std::string AutotuneBuffers::run_once(
    const std::function<std::string(cuda::CUstream)>& enqueue,
    double* microseconds, bool* fatal) {
  const auto failed = [&](const char* call, cuda::CUresult result) {
    *fatal = true;
    return describe_error(driver_, call, result);
  };
  cuda::CUresult result =
      flush_ ? driver_.cuMemsetD8Async(flush_, 0, flush_bytes_, stream_)
             : cuda::CUDA_SUCCESS;
  if (result != cuda::CUDA_SUCCESS) return failed("cuMemsetD8Async", result);
  result = driver_.cuEventRecord(begin_, stream_);
  if (result != cuda::CUDA_SUCCESS) return failed("cuEventRecord", result);
  const std::string error = enqueue(stream_);
  result = driver_.cuEventRecord(end_, stream_);
  if (result != cuda::CUDA_SUCCESS) return failed("cuEventRecord", result);
  result = driver_.cuEventSynchronize(end_);
  if (result != cuda::CUDA_SUCCESS) return failed("cuEventSynchronize", result);
  if (!error.empty()) return error;
  float milliseconds = 0;
  result = driver_.cuEventElapsedTime(&milliseconds, begin_, end_);
  if (result != cuda::CUDA_SUCCESS) return failed("cuEventElapsedTime", result);
  *microseconds = 1e3 * static_cast<double>(milliseconds);
  return "";
}

std::string AutotuneBuffers::time(
    const std::function<std::string(cuda::CUstream)>& enqueue, double best,
    double* microseconds, bool* fatal) {
  *fatal = false;
  double first;
  // The first run loads code.
  for (int warm = 0; warm < 2; ++warm) {
    const std::string error = run_once(enqueue, &first, fatal);
    if (!error.empty()) return error;
  }
  *microseconds = first;
  if (first > 2 * best) return "";
  std::vector<double> times;
  for (int i = 0; i < kRuns; ++i) {
    double once;
    const std::string error = run_once(enqueue, &once, fatal);
    if (!error.empty()) return error;
    times.push_back(once);
  }
  std::nth_element(times.begin(), times.begin() + kRuns / 2, times.end());
  *microseconds = times[kRuns / 2];
  return "";
}

}  // namespace mpc::kernels
