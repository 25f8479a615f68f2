// Products followed by a bias, GELU or its derivative.

#ifndef MPC_KERNELS_CUDA_CUBLASLT_EPILOGUE_H_
#define MPC_KERNELS_CUDA_CUBLASLT_EPILOGUE_H_

#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/kernel.h"
#include "kernels/shapes.h"

namespace mpc::kernels {

// A product by cuBLASLt alone, which also computes the epilogue. Null, with the
// reason in `*error`, if the library cannot.
std::unique_ptr<CudaKernel> make_cublaslt_matmul(const MatmulShape& shape,
                                                 const CudaContext& context,
                                                 std::string* error);

// Operands for trials of the product.
std::vector<TensorDesc> autotune_operands(const MatmulShape& shape);

// A product with a bias, GELU or its derivative: by cuBLASLt alone, or by
// cuBLASLt and a kernel of epilogues.cu, whichever is faster; by both in
// deterministic mode, by cuBLASLt in builds without nvcc. Null, with the reason
// in `*error`, if neither works.
std::unique_ptr<CudaKernel> make_cuda_epilogue(const MatmulShape& shape,
                                               const CudaContext& context,
                                               std::string* error);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_CUBLASLT_EPILOGUE_H_
