// How a depthwise convolution is divided among blocks.

#ifndef MPC_KERNELS_CUDA_DEPTHWISE_DEPTHWISE_PLAN_H_
#define MPC_KERNELS_CUDA_DEPTHWISE_DEPTHWISE_PLAN_H_

#include <optional>

#include "kernels/cuda/depthwise/depthwise_params.h"
#include "kernels/shapes.h"

namespace mpc::kernels {

// The grid and the parameters of mpc_depthwise or mpc_depthwise_grad_weight.
struct DepthwisePlan {
  unsigned grid[3], threads, shared_bytes;
  // mpc_depthwise uses `weight.image` only.
  DepthwiseWeightParams weight;
  int64_t parts = 0;  // Sums for each element of the gradient of the weight.

  int64_t taps() const {
    return int64_t{weight.image.kernel[0]} * weight.image.kernel[1];
  }
};

// Nothing if the kernels cannot compute it.
std::optional<DepthwisePlan> plan_depthwise(KernelId id, const ConvShape& s);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_DEPTHWISE_DEPTHWISE_PLAN_H_
