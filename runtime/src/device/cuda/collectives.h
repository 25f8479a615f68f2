// Ranks whose GPUs add up memory by NCCL.

#ifndef MPC_RUNTIME_SRC_DEVICE_CUDA_COLLECTIVES_H_
#define MPC_RUNTIME_SRC_DEVICE_CUDA_COLLECTIVES_H_

#include <memory>
#include <string>

#include "kernels/cuda/nccl/nccl.h"
#include "runtime/src/device/cuda/calls.h"
#include "runtime/src/device/device.h"

namespace mpc::runtime {

// Joins the GPUs of all ranks, which must all call it. `*out_ranks` is null if
// that is not possible, and `*out_why` the reason. `stream` has the work that
// computes what is added up.
mpc_status_t join_gpus(const Gpu& gpu, CudaAddresses addresses,
                       cuda::CUstream stream,
                       const mpc_communicator_t& communicator,
                       std::unique_ptr<DeviceRanks>* out_ranks,
                       std::string* out_why);

}  // namespace mpc::runtime

#endif  // MPC_RUNTIME_SRC_DEVICE_CUDA_COLLECTIVES_H_
