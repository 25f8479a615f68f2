// The parts of make_cuda_kernel, one per family. Shapes are checked. Each
// returns null and says why in `*error`, without the kernel's name.

#ifndef MPC_KERNELS_CUDA_FAMILIES_H_
#define MPC_KERNELS_CUDA_FAMILIES_H_

#include <memory>
#include <string>

#include "kernels/cuda/kernel.h"
#include "kernels/shapes.h"

namespace mpc::kernels {

std::unique_ptr<CudaKernel> make_cuda_matmul(const MatmulShape& shape,
                                             const CudaContext& context,
                                             std::string* error);
std::unique_ptr<CudaKernel> make_cuda_conv(KernelId id, const ConvShape& shape,
                                           const CudaContext& context,
                                           std::string* error);
std::unique_ptr<CudaKernel> make_cuda_pool(KernelId id, const PoolShape& shape,
                                           const CudaContext& context,
                                           std::string* error);
std::unique_ptr<CudaKernel> make_cuda_bytes(KernelId id, size_t bytes,
                                            const CudaContext& context);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_FAMILIES_H_
