// The fake driver's devices, contexts and memory.

#include <stdlib.h>

#include <algorithm>
#include <cstring>

#include "test/cuda/fake/fake_state.h"

namespace mpc::test {

using namespace mpc::cuda;
using State = FakeDriver::State;

namespace {

// A context is the number of its device, counted from 1.
thread_local CUcontext current_context = nullptr;

CUcontext context_of(int device) {
  return reinterpret_cast<CUcontext>(static_cast<uintptr_t>(device) + 1);
}

struct Named {
  CUresult result;
  const char* name;
  const char* text;
};
constexpr Named kErrors[] = {
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE",
     "no CUDA-capable device is detected"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX",
     "a PTX JIT compilation failed"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED",
     "unspecified launch failure"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
     "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const Named* find_error(CUresult result) {
  auto found = std::find_if(
      std::begin(kErrors), std::end(kErrors),
      [result](const Named& named) { return named.result == result; });
  return found == std::end(kErrors) ? nullptr : found;
}

// Whether [address, address + bytes) lies in one block; size_of returns its
// size.
template <class Map, class SizeOf>
bool lies_in(const Map& map, uintptr_t address, size_t bytes, SizeOf size_of) {
  auto after = map.upper_bound(address);
  if (after == map.begin()) return false;
  auto block = std::prev(after);
  size_t size = size_of(block->second);
  return address - block->first <= size &&
         bytes <= size - (address - block->first);
}

// Allocates exactly the requested bytes, so that AddressSanitizer detects
// overruns.
void* take(size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 256, std::max<size_t>(bytes, 1)) != 0)
    return nullptr;
  std::memset(memory, 0xcd, bytes);
  return memory;
}

}  // namespace

CUresult State::cuInit(unsigned) {
  if (options.devices == 0) return CUDA_ERROR_NO_DEVICE;
  initialized = true;
  return CUDA_SUCCESS;
}

CUresult State::cuDriverGetVersion(int* version) {
  *version = options.version;
  return CUDA_SUCCESS;
}

CUresult State::cuGetErrorName(CUresult result, const char** text) {
  const Named* found = find_error(result);
  *text = found ? found->name : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult State::cuGetErrorString(CUresult result, const char** text) {
  const Named* found = find_error(result);
  *text = found ? found->text : nullptr;
  return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult State::cuDeviceGetCount(int* count) {
  *count = options.devices;
  return CUDA_SUCCESS;
}

CUresult State::cuDeviceGet(CUdevice* device, int ordinal) {
  if (ordinal < 0 || ordinal >= options.devices)
    return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult State::cuDeviceGetName(char* name, int size, CUdevice) {
  std::strncpy(name, options.model.c_str(), static_cast<size_t>(size));
  return CUDA_SUCCESS;
}

CUresult State::cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                                     CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = options.compute_capability / 10;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = options.compute_capability % 10;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 4;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = 160 << 10;
      break;
    default:
      *value = 1 << 20;
  }
  return CUDA_SUCCESS;
}

CUresult State::cuDeviceTotalMem_v2(size_t* bytes, CUdevice) {
  *bytes = options.memory;
  return CUDA_SUCCESS;
}

CUresult State::cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  ++retained[static_cast<size_t>(device)];
  *context = context_of(device);
  return CUDA_SUCCESS;
}

CUresult State::cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  int& uses = retained[static_cast<size_t>(device)];
  if (uses == 0) return CUDA_ERROR_INVALID_CONTEXT;
  --uses;
  return CUDA_SUCCESS;
}

int State::current_device() const {
  auto device = reinterpret_cast<uintptr_t>(current_context);
  if (device == 0 || device > retained.size() || retained[device - 1] == 0)
    return -1;
  return static_cast<int>(device - 1);
}

CUresult State::cuCtxGetCurrent(CUcontext* context) {
  *context = current_context;
  return CUDA_SUCCESS;
}

CUresult State::cuCtxSetCurrent(CUcontext context) {
  current_context = context;
  return CUDA_SUCCESS;
}

CUresult State::cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = *free = options.memory;
  for (const auto& [address, block] : device_memory)
    if (block.device == current_device()) *free -= block.bytes;
  return CUDA_SUCCESS;
}

CUresult State::cuMemAlloc_v2(CUdeviceptr* memory, size_t bytes) {
  size_t free, total;
  (void)cuMemGetInfo_v2(&free, &total);
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  void* block = bytes <= free ? take(bytes) : nullptr;
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  device_memory[reinterpret_cast<uintptr_t>(block)] = {bytes, current_device()};
  *memory = reinterpret_cast<CUdeviceptr>(block);
  return CUDA_SUCCESS;
}

CUresult State::cuMemFree_v2(CUdeviceptr memory) {
  run_all();  // Like CUDA.
  if (device_memory.erase(memory) == 0) return CUDA_ERROR_INVALID_VALUE;
  free(reinterpret_cast<void*>(memory));
  return CUDA_SUCCESS;
}

CUresult State::cuMemHostAlloc(void** memory, size_t bytes, unsigned) {
  void* block = take(bytes);
  if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
  pinned_memory[reinterpret_cast<uintptr_t>(block)] = bytes;
  *memory = block;
  return CUDA_SUCCESS;
}

CUresult State::cuMemFreeHost(void* memory) {
  run_all();
  if (pinned_memory.erase(reinterpret_cast<uintptr_t>(memory)) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  free(memory);
  return CUDA_SUCCESS;
}

CUresult State::cuPointerGetAttribute(void* value,
                                      CUpointer_attribute attribute,
                                      CUdeviceptr pointer) {
  auto after = device_memory.upper_bound(pointer);
  if (attribute != CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL ||
      !is_device(pointer, 0) || after == device_memory.begin())
    return CUDA_ERROR_INVALID_VALUE;
  *static_cast<int*>(value) = std::prev(after)->second.device;
  return CUDA_SUCCESS;
}

bool State::is_device(CUdeviceptr address, size_t bytes) const {
  return lies_in(device_memory, address, bytes,
                 [](const Block& block) { return block.bytes; });
}

bool State::is_pinned(const void* address, size_t bytes) const {
  return lies_in(pinned_memory, reinterpret_cast<uintptr_t>(address), bytes,
                 [](size_t size) { return size; });
}

CUresult State::copy(void* to, const void* from, size_t bytes,
                     CUstream stream) {
  return enqueue(stream, [to, from, bytes] {
    std::memcpy(to, from, bytes);
    return CUDA_SUCCESS;
  });
}

CUresult State::cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from,
                                     size_t bytes, CUstream stream) {
  if (!is_device(to, bytes))
    return refuse(CUDA_ERROR_INVALID_VALUE, "a copy to memory nobody took");
  auto* target = reinterpret_cast<void*>(to);
  if (is_pinned(from, bytes)) return copy(target, from, bytes, stream);
  // Memory that is not pinned is read before the call returns.
  ++pageable_copies;
  const auto* first = static_cast<const uint8_t*>(from);
  std::vector<uint8_t> content(first, first + bytes);
  return enqueue(stream, [target, content = std::move(content)] {
    std::memcpy(target, content.data(), content.size());
    return CUDA_SUCCESS;
  });
}

CUresult State::cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes,
                                     CUstream stream) {
  if (!is_device(from, bytes))
    return refuse(CUDA_ERROR_INVALID_VALUE, "a copy from memory nobody took");
  CUresult result =
      copy(to, reinterpret_cast<const void*>(from), bytes, stream);
  if (result != CUDA_SUCCESS || is_pinned(to, bytes)) return result;
  // A copy to memory that is not pinned is done when the call returns.
  ++pageable_copies;
  FakeStream* queue = find_stream(stream);
  if (queue->capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  run(queue);
  return broken;
}

CUresult State::cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from,
                                     size_t bytes, CUstream stream) {
  if (!is_device(to, bytes) || !is_device(from, bytes))
    return refuse(CUDA_ERROR_INVALID_VALUE, "a copy in memory nobody took");
  return copy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from),
              bytes, stream);
}

CUresult State::cuMemsetD8Async(CUdeviceptr to, unsigned char value,
                                size_t bytes, CUstream stream) {
  if (!is_device(to, bytes))
    return refuse(CUDA_ERROR_INVALID_VALUE, "memory nobody took is set");
  return enqueue(stream, [to, value, bytes] {
    std::memset(reinterpret_cast<void*>(to), value, bytes);
    return CUDA_SUCCESS;
  });
}

}  // namespace mpc::test
