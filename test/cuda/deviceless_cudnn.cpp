#include "test/cuda/deviceless_cudnn.h"

#include <dlfcn.h>

#include <map>

namespace mpc::test {
namespace {

using namespace cuda;

// Names of the library that mpc itself does not use, with their numbers.
constexpr auto CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR =
    static_cast<cudnnBackendDescriptorType_t>(38);
constexpr auto CUDNN_ATTR_ENGINEHEUR_DEVICEPROP =
    static_cast<cudnnBackendAttributeName_t>(204);
constexpr auto CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP =
    static_cast<cudnnBackendAttributeName_t>(407);
constexpr auto CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION =
    static_cast<cudnnBackendAttributeName_t>(2702);
constexpr size_t kFirstVersion = 90800;

// The real library, and the table with our wrappers.
Cudnn real, table_of_test;
cudnnBackendDescriptor_t device = nullptr;
// Descriptors that need a device before they are finalized, and the attribute
// for it.
std::map<cudnnBackendDescriptor_t, cudnnBackendAttributeName_t> targeted;

cudnnStatus_t create(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(&real);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t destroy(cudnnHandle_t) { return CUDNN_STATUS_SUCCESS; }

cudnnStatus_t set_stream(cudnnHandle_t, CUstream) {
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t create_descriptor(cudnnBackendDescriptorType_t type,
                                cudnnBackendDescriptor_t* descriptor) {
  const cudnnStatus_t status =
      real.cudnnBackendCreateDescriptor(type, descriptor);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  if (type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
    targeted[*descriptor] = CUDNN_ATTR_ENGINEHEUR_DEVICEPROP;
  if (type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
    targeted[*descriptor] = CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP;
  return status;
}

cudnnStatus_t destroy_descriptor(cudnnBackendDescriptor_t descriptor) {
  targeted.erase(descriptor);
  return real.cudnnBackendDestroyDescriptor(descriptor);
}

// Sets the device instead of the handle.
cudnnStatus_t set_attribute(cudnnBackendDescriptor_t descriptor,
                            cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t type, int64_t count,
                            const void* values) {
  if (type == CUDNN_TYPE_HANDLE) return CUDNN_STATUS_SUCCESS;
  return real.cudnnBackendSetAttribute(descriptor, name, type, count, values);
}

cudnnStatus_t finalize(cudnnBackendDescriptor_t descriptor) {
  const auto found = targeted.find(descriptor);
  if (found != targeted.end()) {
    const cudnnStatus_t status = real.cudnnBackendSetAttribute(
        descriptor, found->second, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &device);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  return real.cudnnBackendFinalize(descriptor);
}

cudnnStatus_t execute(cudnnHandle_t, cudnnBackendDescriptor_t,
                      cudnnBackendDescriptor_t) {
  return CUDNN_STATUS_SUCCESS;
}

// Properties of an H200, except those that depend on the architecture.
std::string properties(int compute_capability) {
  const int shared = compute_capability == 80 ? 166912 : 232448;
  return R"({"deviceName": "a GPU that is not there", "cudaDeviceId": 0,
    "deviceVer": )" +
         std::to_string(compute_capability * 10) +
         R"(, "driverVer": 13000, "totalGlobalMem": 150000000000,
    "maxGridSize": [2147483647, 65535, 65535],
    "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,
    "multiProcessorCount": 132, "smCountOrigin": 0, "warpSize": 32,
    "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": )" +
         std::to_string(shared) +
         R"(, "oversizedSharedMemoryPerBlock": 0,
    "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536,
    "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
    "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1,
    "smClockRateKHz": 1980000, "memClockRateKHz": 3201000,
    "memoryBusWidth": 6144, "l2CacheSize": 62914560})";
}

}  // namespace

const Cudnn* DevicelessCudnn::find(std::string* missing) {
  const Cudnn* library = load_cudnn(missing);
  if (!library) return nullptr;
  if (library->cudnnGetVersion() < kFirstVersion) {
    *missing = "cuDNN " + std::to_string(library->cudnnGetVersion()) +
               " cannot build plans without a device; 9.8 can";
    return nullptr;
  }
  // Parts of the library, which it loads later, link with the driver library.
  // An empty driver library suffices if there is none. It is loaded only when
  // needed, because it stays in the process.
  if (!::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) &&
      !::dlopen(MPC_TEST_EMPTY_DRIVER, RTLD_NOW | RTLD_GLOBAL)) {
    *missing = ::dlerror();
    return nullptr;
  }
  return library;
}

DevicelessCudnn::DevicelessCudnn(const Cudnn& library, int compute_capability) {
  real = table_of_test = library;
  table_of_test.cudnnCreate = create;
  table_of_test.cudnnDestroy = destroy;
  table_of_test.cudnnSetStream = set_stream;
  table_of_test.cudnnBackendCreateDescriptor = create_descriptor;
  table_of_test.cudnnBackendDestroyDescriptor = destroy_descriptor;
  table_of_test.cudnnBackendSetAttribute = set_attribute;
  table_of_test.cudnnBackendFinalize = finalize;
  table_of_test.cudnnBackendExecute = execute;

  const std::string json = properties(compute_capability);
  const auto check = [&](const char* call, cudnnStatus_t status) {
    if (error_.empty() && status != CUDNN_STATUS_SUCCESS)
      error_ = describe_error(library, call, status);
  };
  check("cudnnBackendCreateDescriptor",
        library.cudnnBackendCreateDescriptor(
            CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &device));
  if (error_.empty())
    check(
        "cudnnBackendSetAttribute",
        library.cudnnBackendSetAttribute(
            device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
            static_cast<int64_t>(json.size() + 1), json.c_str()));
  if (error_.empty())
    check("cudnnBackendFinalize", library.cudnnBackendFinalize(device));
}

DevicelessCudnn::~DevicelessCudnn() {
  if (device) real.cudnnBackendDestroyDescriptor(device);
  device = nullptr;
  targeted.clear();
}

const Cudnn* DevicelessCudnn::table() const { return &table_of_test; }

}  // namespace mpc::test
