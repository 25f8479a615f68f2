#include "test/cuda/host_driver.h"

#include <cstdlib>
#include <cstring>

namespace mpc::test {
namespace {

using namespace cuda;

HostDriver* current = nullptr;

struct Event {
  double microseconds = 0;
};

CUresult status(const char* call) {
  return current->failing == call ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

CUresult get_error_name(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == CUDA_ERROR_NOT_FOUND   ? "CUDA_ERROR_NOT_FOUND"
          : error == CUDA_ERROR_UNKNOWN     ? "CUDA_ERROR_UNKNOWN"
                                            : "CUDA_ERROR_LAUNCH_FAILED";
  return CUDA_SUCCESS;
}

CUresult get_error_string(CUresult, const char** text) {
  *text = "as asked for";
  return CUDA_SUCCESS;
}

CUresult mem_alloc(CUdeviceptr* memory, size_t bytes) {
  if (current->used_bytes + bytes > current->memory_bytes)
    return CUDA_ERROR_OUT_OF_MEMORY;
  // Exactly the requested bytes, so that a sanitizer detects overruns.
  void* place = nullptr;
  if (::posix_memalign(&place, 256, bytes) != 0)
    return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(place, 0xfb, bytes);
  *memory = reinterpret_cast<CUdeviceptr>(place);
  current->allocations[*memory] = bytes;
  current->used_bytes += bytes;
  return CUDA_SUCCESS;
}

CUresult mem_free(CUdeviceptr memory) {
  const auto found = current->allocations.find(memory);
  if (found == current->allocations.end()) return CUDA_ERROR_INVALID_VALUE;
  current->used_bytes -= found->second;
  current->allocations.erase(found);
  std::free(reinterpret_cast<void*>(memory));
  return CUDA_SUCCESS;
}

CUresult copy_to_device(CUdeviceptr to, const void* from, size_t bytes,
                        CUstream) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return status("cuMemcpyHtoDAsync_v2");
}

CUresult copy_to_host(void* to, CUdeviceptr from, size_t bytes, CUstream) {
  std::memcpy(to, reinterpret_cast<void*>(from), bytes);
  return status("cuMemcpyDtoHAsync_v2");
}

CUresult copy_on_device(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                        CUstream) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from),
              bytes);
  return status("cuMemcpyDtoDAsync_v2");
}

CUresult set_bytes(CUdeviceptr to, unsigned char value, size_t bytes,
                   CUstream) {
  // Flushing caches before each run of a trial would take too long.
  std::memset(reinterpret_cast<void*>(to), value, bytes);
  return status("cuMemsetD8Async");
}

CUresult pointer_attribute(void* value, CUpointer_attribute, CUdeviceptr) {
  *static_cast<int*>(value) = 0;
  return status("cuPointerGetAttribute");
}

CUresult device_get(CUdevice* device, int ordinal) {
  *device = ordinal;
  return status("cuDeviceGet");
}

// Only the size of the L2 cache is queried.
CUresult device_attribute(int* value, CUdevice_attribute, CUdevice) {
  *value = 4096;
  return status("cuDeviceGetAttribute");
}

CUresult synchronize(CUstream) { return status("cuStreamSynchronize"); }

CUresult event_create(CUevent* event, unsigned) {
  *event = reinterpret_cast<CUevent>(new Event);
  current->events.insert(*event);
  return status("cuEventCreate");
}

CUresult event_destroy(CUevent event) {
  if (current->events.erase(event) == 0) return CUDA_ERROR_INVALID_HANDLE;
  delete reinterpret_cast<Event*>(event);
  return CUDA_SUCCESS;
}

CUresult event_record(CUevent event, CUstream) {
  reinterpret_cast<Event*>(event)->microseconds = current->microseconds;
  return status("cuEventRecord");
}

CUresult event_synchronize(CUevent) { return status("cuEventSynchronize"); }

CUresult event_elapsed(float* milliseconds, CUevent begin, CUevent end) {
  *milliseconds =
      static_cast<float>((reinterpret_cast<Event*>(end)->microseconds -
                          reinterpret_cast<Event*>(begin)->microseconds) *
                         1e-3);
  return status("cuEventElapsedTime");
}

CUresult module_load(CUmodule* module, const void* image, unsigned,
                     CUjit_option*, void**) {
  const auto refused = current->refused.find(image);
  if (refused != current->refused.end()) return refused->second;
  current->image = image;
  *module = reinterpret_cast<CUmodule>(current);
  return status("cuModuleLoadDataEx");
}

CUresult driver_get_version(int* version) {
  *version = current->version;
  return status("cuDriverGetVersion");
}

CUresult module_unload(CUmodule) { return CUDA_SUCCESS; }

CUresult module_get_function(CUfunction* function, CUmodule, const char* name) {
  const auto found = current->kernels.find(name);
  if (found == current->kernels.end()) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(&found->second);
  return status("cuModuleGetFunction");
}

CUresult launch(CUfunction function, unsigned grid_x, unsigned grid_y,
                unsigned grid_z, unsigned block_x, unsigned block_y,
                unsigned block_z, unsigned shared_bytes, CUstream,
                void** parameters, void**) {
  ++current->launches;
  current->launch_error = (*reinterpret_cast<HostDriver::Kernel*>(function))(
      {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes},
      parameters);
  return current->launch_error.empty() ? status("cuLaunchKernel")
                                       : CUDA_ERROR_LAUNCH_FAILED;
}

const Driver& host_table() {
  static const Driver table = [] {
    Driver driver = {};
    driver.cuGetErrorName = get_error_name;
    driver.cuGetErrorString = get_error_string;
    driver.cuDriverGetVersion = driver_get_version;
    driver.cuMemAlloc_v2 = mem_alloc;
    driver.cuMemFree_v2 = mem_free;
    driver.cuMemcpyHtoDAsync_v2 = copy_to_device;
    driver.cuMemcpyDtoHAsync_v2 = copy_to_host;
    driver.cuMemcpyDtoDAsync_v2 = copy_on_device;
    driver.cuMemsetD8Async = set_bytes;
    driver.cuPointerGetAttribute = pointer_attribute;
    driver.cuDeviceGet = device_get;
    driver.cuDeviceGetAttribute = device_attribute;
    driver.cuStreamSynchronize = synchronize;
    driver.cuEventCreate = event_create;
    driver.cuEventDestroy_v2 = event_destroy;
    driver.cuEventRecord = event_record;
    driver.cuEventSynchronize = event_synchronize;
    driver.cuEventElapsedTime = event_elapsed;
    driver.cuModuleLoadDataEx = module_load;
    driver.cuModuleUnload = module_unload;
    driver.cuModuleGetFunction = module_get_function;
    driver.cuLaunchKernel = launch;
    return driver;
  }();
  return table;
}

}  // namespace

HostDriver::HostDriver() { current = this; }
HostDriver::~HostDriver() { current = nullptr; }
const Driver* HostDriver::table() const { return &host_table(); }

}  // namespace mpc::test
