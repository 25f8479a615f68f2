// The parts of make_cuda_kernel, one per family. Shapes have been checked. On
// failure each returns null, with the reason in `*error`, without the kernel's
// name.

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
std::unique_ptr<CudaKernel> make_cuda_attention(const AttentionShape& shape,
                                                const CudaContext& context,
                                                std::string* error);
// Attention from products and a softmax kernel. implementation() includes
// `why`, the reason why cuDNN is not used. Heads of the keys are processed
// together as long as their scores take no more than `score_bytes`.
std::unique_ptr<CudaKernel> make_composed_attention(
    const AttentionShape& shape, const CudaContext& context, std::string why,
    std::string* error, int64_t score_bytes = 1 << 28);
// Attention of [B, T, H, D], or of packed operands, by `inner`, a kernel for
// the same shape as [B, H, T, D]: copies operands and results.
std::unique_ptr<CudaKernel> make_bshd_attention(
    const AttentionShape& shape, const CudaContext& context,
    std::unique_ptr<CudaKernel> inner, std::string* error);
std::unique_ptr<CudaKernel> make_cuda_embedding(const EmbeddingShape& shape,
                                                const CudaContext& context,
                                                std::string* error);
std::unique_ptr<CudaKernel> make_cuda_embedding_grad(
    const EmbeddingShape& shape, const CudaContext& context,
    std::string* error);
std::unique_ptr<CudaKernel> make_cuda_observe(KernelId id,
                                              const ObserveShape& shape,
                                              const CudaContext& context,
                                              std::string* error);
std::unique_ptr<CudaKernel> make_cuda_bytes(KernelId id, size_t bytes,
                                            const CudaContext& context);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_FAMILIES_H_
