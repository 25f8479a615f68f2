// Depthwise convolutions by the kernels of depthwise.cu.

#ifndef MPC_KERNELS_CUDA_DEPTHWISE_DEPTHWISE_H_
#define MPC_KERNELS_CUDA_DEPTHWISE_DEPTHWISE_H_

#include <memory>
#include <string>

#include "kernels/cuda/kernel.h"
#include "kernels/shapes.h"

namespace mpc::kernels {

// Whether make_depthwise supports a convolution or gradient: one channel per
// group, channels last, strides of at most 8, a window whose inputs fit in
// shared memory, and a build with CUDA kernels.
bool is_depthwise(KernelId id, const ConvShape& shape);

std::unique_ptr<CudaKernel> make_depthwise(KernelId id, const ConvShape& shape,
                                           const CudaContext& context,
                                           std::string* error);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_DEPTHWISE_DEPTHWISE_H_
