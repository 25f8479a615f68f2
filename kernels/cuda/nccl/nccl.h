// The part of NCCL that is used here: types, constants and a table of functions
// of libnccl.so.2. They are declared here so that building needs no toolkit; a
// test compares each declaration with the library's header if that is
// installed. Names and meaning are NCCL's.

#ifndef MPC_KERNELS_CUDA_NCCL_NCCL_H_
#define MPC_KERNELS_CUDA_NCCL_NCCL_H_

#include <cstddef>
#include <string>

#include "kernels/cuda/driver/driver.h"

namespace mpc::cuda {

enum ncclResult_t : int {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};

enum ncclDataType_t : int {
  ncclFloat32 = 7,
  ncclFloat64 = 8,
};

enum ncclRedOp_t : int {
  ncclSum = 0,
};

struct ncclUniqueId {
  char internal[128];
};

using ncclComm_t = struct ncclComm*;

// MPC_CUDA_FUNCTION(result, name, parameters)
#define MPC_NCCL_FUNCTIONS(MPC_CUDA_FUNCTION)                                  \
  MPC_CUDA_FUNCTION(ncclResult_t, ncclGetVersion, (int* version))              \
  MPC_CUDA_FUNCTION(const char*, ncclGetErrorString, (ncclResult_t result))    \
  MPC_CUDA_FUNCTION(const char*, ncclGetLastError, (ncclComm_t comm))          \
  MPC_CUDA_FUNCTION(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * id))        \
  MPC_CUDA_FUNCTION(ncclResult_t, ncclCommInitRank,                            \
                    (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank)) \
  MPC_CUDA_FUNCTION(ncclResult_t, ncclCommGetAsyncError,                       \
                    (ncclComm_t comm, ncclResult_t * error))                   \
  MPC_CUDA_FUNCTION(ncclResult_t, ncclCommAbort, (ncclComm_t comm))            \
  MPC_CUDA_FUNCTION(ncclResult_t, ncclCommDestroy, (ncclComm_t comm))          \
  MPC_CUDA_FUNCTION(                                                           \
      ncclResult_t, ncclAllReduce,                                             \
      (const void* from, void* to, size_t count, ncclDataType_t type,          \
       ncclRedOp_t op, ncclComm_t comm, CUstream stream))

struct Nccl {
#define MPC_CUDA_FUNCTION(result, name, parameters) result(*name) parameters;
  MPC_NCCL_FUNCTIONS(MPC_CUDA_FUNCTION)
#undef MPC_CUDA_FUNCTION
};

// The library of this machine, or null, with the reason in `*missing`. The
// first call that finds the library loads it. Thread-safe.
const Nccl* load_nccl(std::string* missing);

// Sets the table that load_nccl returns from now on, for tests; it must outlive
// its use. Null restores the machine's library.
void replace_nccl(const Nccl* library);

}  // namespace mpc::cuda

#endif  // MPC_KERNELS_CUDA_NCCL_NCCL_H_
