// Compares our declarations of NCCL with the library's header, at compile time.

#include <nccl.h>

#include "kernels/cuda/nccl/nccl.h"
#include "test/cuda/signatures/signatures.h"

namespace mpc::cuda {

#define MPC_CUDA_FUNCTION(result, name, parameters) \
  MPC_CHECK_SIGNATURE(Nccl::name, ::name);
MPC_NCCL_FUNCTIONS(MPC_CUDA_FUNCTION)
#undef MPC_CUDA_FUNCTION

#define MPC_SAME(name)                                     \
  static_assert(static_cast<long long>(mpc::cuda::name) == \
                    static_cast<long long>(::name),        \
                #name " has another value")
MPC_SAME(ncclSuccess);
MPC_SAME(ncclUnhandledCudaError);
MPC_SAME(ncclSystemError);
MPC_SAME(ncclInternalError);
MPC_SAME(ncclInvalidArgument);
MPC_SAME(ncclInvalidUsage);
MPC_SAME(ncclRemoteError);
MPC_SAME(ncclInProgress);
MPC_SAME(ncclFloat32);
MPC_SAME(ncclFloat64);
MPC_SAME(ncclSum);
#undef MPC_SAME

}  // namespace mpc::cuda
