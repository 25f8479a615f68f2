// The part of CUDA's driver API that is used here: types, constants and a table
// of functions of libcuda.so.1. They are declared here so that building needs
// no toolkit; a test compares each declaration with the toolkit's header if
// that is installed. Names and meaning are CUDA's.

#ifndef MPC_KERNELS_CUDA_DRIVER_DRIVER_H_
#define MPC_KERNELS_CUDA_DRIVER_DRIVER_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace mpc::cuda {

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;

enum CUresult : int {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_INVALID_PTX = 218,
  CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
  CUDA_ERROR_JIT_COMPILATION_DISABLED = 223,
  CUDA_ERROR_INVALID_SOURCE = 300,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900,
  CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901,
  CUDA_ERROR_UNKNOWN = 999,
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
  CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13,  // kHz.
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = 36,
  CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH = 37,
  CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};

enum CUjit_option : int {
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

enum CUstreamCaptureMode : int {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
};

enum CUstreamCaptureStatus : int {
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
  CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
};

enum CUpointer_attribute : int {
  CU_POINTER_ATTRIBUTE_CONTEXT = 1,
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
};

// Flags, which CUDA takes as plain numbers.
enum : unsigned int {
  CU_STREAM_DEFAULT = 0,
  CU_STREAM_NON_BLOCKING = 1,
  CU_EVENT_DEFAULT = 0,
  CU_EVENT_BLOCKING_SYNC = 1,
  CU_EVENT_DISABLE_TIMING = 2,
};

// MPC_CUDA_FUNCTION(name, parameters); each returns a CUresult.
#define MPC_CUDA_DRIVER_FUNCTIONS(MPC_CUDA_FUNCTION)                          \
  MPC_CUDA_FUNCTION(cuInit, (unsigned int flags))                             \
  MPC_CUDA_FUNCTION(cuDriverGetVersion, (int* version))                       \
  MPC_CUDA_FUNCTION(cuGetErrorName, (CUresult error, const char** text))      \
  MPC_CUDA_FUNCTION(cuGetErrorString, (CUresult error, const char** text))    \
  MPC_CUDA_FUNCTION(cuDeviceGetCount, (int* count))                           \
  MPC_CUDA_FUNCTION(cuDeviceGet, (CUdevice * device, int ordinal))            \
  MPC_CUDA_FUNCTION(cuDeviceGetName, (char* name, int size, CUdevice device)) \
  MPC_CUDA_FUNCTION(                                                          \
      cuDeviceGetAttribute,                                                   \
      (int* value, CUdevice_attribute attribute, CUdevice device))            \
  MPC_CUDA_FUNCTION(cuDeviceTotalMem_v2, (size_t * bytes, CUdevice device))   \
  MPC_CUDA_FUNCTION(cuDevicePrimaryCtxRetain,                                 \
                    (CUcontext * context, CUdevice device))                   \
  MPC_CUDA_FUNCTION(cuDevicePrimaryCtxRelease_v2, (CUdevice device))          \
  MPC_CUDA_FUNCTION(cuCtxGetCurrent, (CUcontext * context))                   \
  MPC_CUDA_FUNCTION(cuCtxSetCurrent, (CUcontext context))                     \
  MPC_CUDA_FUNCTION(cuMemGetInfo_v2, (size_t * free, size_t * total))         \
  MPC_CUDA_FUNCTION(cuMemAlloc_v2, (CUdeviceptr * memory, size_t bytes))      \
  MPC_CUDA_FUNCTION(cuMemFree_v2, (CUdeviceptr memory))                       \
  MPC_CUDA_FUNCTION(cuMemHostAlloc,                                           \
                    (void** memory, size_t bytes, unsigned int flags))        \
  MPC_CUDA_FUNCTION(cuMemFreeHost, (void* memory))                            \
  MPC_CUDA_FUNCTION(                                                          \
      cuPointerGetAttribute,                                                  \
      (void* value, CUpointer_attribute attribute, CUdeviceptr pointer))      \
  MPC_CUDA_FUNCTION(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void* from,  \
                                           size_t bytes, CUstream stream))    \
  MPC_CUDA_FUNCTION(cuMemcpyDtoHAsync_v2, (void* to, CUdeviceptr from,        \
                                           size_t bytes, CUstream stream))    \
  MPC_CUDA_FUNCTION(cuMemcpyDtoDAsync_v2, (CUdeviceptr to, CUdeviceptr from,  \
                                           size_t bytes, CUstream stream))    \
  MPC_CUDA_FUNCTION(cuMemsetD8Async, (CUdeviceptr to, unsigned char value,    \
                                      size_t bytes, CUstream stream))         \
  MPC_CUDA_FUNCTION(cuStreamCreate, (CUstream * stream, unsigned int flags))  \
  MPC_CUDA_FUNCTION(cuStreamDestroy_v2, (CUstream stream))                    \
  MPC_CUDA_FUNCTION(cuStreamQuery, (CUstream stream))                         \
  MPC_CUDA_FUNCTION(cuStreamSynchronize, (CUstream stream))                   \
  MPC_CUDA_FUNCTION(cuStreamWaitEvent,                                        \
                    (CUstream stream, CUevent event, unsigned int flags))     \
  MPC_CUDA_FUNCTION(cuStreamBeginCapture_v2,                                  \
                    (CUstream stream, CUstreamCaptureMode mode))              \
  MPC_CUDA_FUNCTION(cuStreamEndCapture, (CUstream stream, CUgraph * graph))   \
  MPC_CUDA_FUNCTION(cuStreamIsCapturing,                                      \
                    (CUstream stream, CUstreamCaptureStatus * status))        \
  MPC_CUDA_FUNCTION(cuEventCreate, (CUevent * event, unsigned int flags))     \
  MPC_CUDA_FUNCTION(cuEventRecord, (CUevent event, CUstream stream))          \
  MPC_CUDA_FUNCTION(cuEventQuery, (CUevent event))                            \
  MPC_CUDA_FUNCTION(cuEventSynchronize, (CUevent event))                      \
  MPC_CUDA_FUNCTION(cuEventElapsedTime,                                       \
                    (float* milliseconds, CUevent begin, CUevent end))        \
  MPC_CUDA_FUNCTION(cuEventDestroy_v2, (CUevent event))                       \
  MPC_CUDA_FUNCTION(                                                          \
      cuGraphInstantiateWithFlags,                                            \
      (CUgraphExec * executable, CUgraph graph, unsigned long long flags))    \
  MPC_CUDA_FUNCTION(cuGraphLaunch, (CUgraphExec executable, CUstream stream)) \
  MPC_CUDA_FUNCTION(cuGraphExecDestroy, (CUgraphExec executable))             \
  MPC_CUDA_FUNCTION(cuGraphDestroy, (CUgraph graph))                          \
  MPC_CUDA_FUNCTION(                                                          \
      cuModuleLoadDataEx,                                                     \
      (CUmodule * module, const void* image, unsigned int num_options,        \
       CUjit_option* options, void** values))                                 \
  MPC_CUDA_FUNCTION(cuModuleUnload, (CUmodule module))                        \
  MPC_CUDA_FUNCTION(cuModuleGetFunction, (CUfunction * function,              \
                                          CUmodule module, const char* name)) \
  MPC_CUDA_FUNCTION(                                                          \
      cuFuncGetAttribute,                                                     \
      (int* value, CUfunction_attribute attribute, CUfunction function))      \
  MPC_CUDA_FUNCTION(                                                          \
      cuFuncSetAttribute,                                                     \
      (CUfunction function, CUfunction_attribute attribute, int value))       \
  MPC_CUDA_FUNCTION(                                                          \
      cuLaunchKernel,                                                         \
      (CUfunction function, unsigned int grid_x, unsigned int grid_y,         \
       unsigned int grid_z, unsigned int block_x, unsigned int block_y,       \
       unsigned int block_z, unsigned int shared_bytes, CUstream stream,      \
       void** parameters, void** extra))

struct Driver {
#define MPC_CUDA_FUNCTION(name, parameters) CUresult(*name) parameters;
  MPC_CUDA_DRIVER_FUNCTIONS(MPC_CUDA_FUNCTION)
#undef MPC_CUDA_FUNCTION
  // The architecture of code it accepts ("sim"), set by simulators; null for
  // real drivers, which accept code for the device.
  const char* architecture = nullptr;
};

// The driver of this machine, or null, with the reason in `*error`. The first
// call that finds the driver loads it, without calling cuInit. Thread-safe.
const Driver* load_driver(std::string* error);

// Loads a driver from another file than libcuda.so.1 into a table of the
// caller.
bool load_driver_from(const char* file, Driver* out_driver, std::string* error);

// Sets the table that load_driver returns from now on, for tests; it must
// outlive its use. Null restores the machine's driver. While `driver_missing`
// is not null, load_driver fails with this reason.
void replace_driver(const Driver* driver, const char* driver_missing = nullptr);

// True if the driver rejected the form of the code, so another form of the same
// code may work.
bool refuses_code(CUresult result);

// The newest CUDA version that the driver supports, 13000 for 13.0; 0 if
// unknown.
int driver_version(const Driver& driver);

// "13.0" for 13000.
std::string cuda_version_text(int version);

// "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
std::string describe_error(const Driver& driver, const char* call,
                           CUresult result);

}  // namespace mpc::cuda

#endif  // MPC_KERNELS_CUDA_DRIVER_DRIVER_H_
