// The by-value parameters of the kernels of pool.cu, shared by host and device
// code.

#ifndef MPC_KERNELS_CUDA_KERNELS_POOL_PARAMS_H_
#define MPC_KERNELS_CUDA_KERNELS_POOL_PARAMS_H_

#include <cstdint>

namespace mpc::kernels {

struct PoolParams {
  int64_t elements;  // Elements of the result, one thread each.
  int32_t channels;
  // Extents including pads are below 2^31.
  int32_t input[2], output[2];
  int32_t kernel[2], strides[2], dilations[2], pads[2];
  bool channels_last, count_include_pad;
};

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_KERNELS_POOL_PARAMS_H_
