// Compares our declarations of cuBLASLt with the library's header, at compile
// time.

#include <cublasLt.h>

#include "kernels/cuda/cublaslt/cublaslt.h"
#include "test/cuda/signatures/signatures.h"

namespace mpc::cuda {

#define MPC_CUDA_FUNCTION(result, name, parameters) \
  MPC_CHECK_SIGNATURE(CublasLt::name, ::name);
MPC_CUBLASLT_FUNCTIONS(MPC_CUDA_FUNCTION)
#undef MPC_CUDA_FUNCTION

#define MPC_SAME(name)                                     \
  static_assert(static_cast<long long>(mpc::cuda::name) == \
                    static_cast<long long>(::name),        \
                #name " has another value")
MPC_SAME(CUBLAS_STATUS_SUCCESS);
MPC_SAME(CUBLAS_STATUS_NOT_INITIALIZED);
MPC_SAME(CUBLAS_STATUS_ALLOC_FAILED);
MPC_SAME(CUBLAS_STATUS_INVALID_VALUE);
MPC_SAME(CUBLAS_STATUS_EXECUTION_FAILED);
MPC_SAME(CUBLAS_STATUS_NOT_SUPPORTED);
MPC_SAME(CUDA_R_32F);
MPC_SAME(CUDA_R_16F);
MPC_SAME(CUDA_R_16BF);
MPC_SAME(CUDA_R_8F_E4M3);
MPC_SAME(CUDA_R_8F_E5M2);
MPC_SAME(CUBLAS_COMPUTE_32F);
MPC_SAME(CUBLAS_COMPUTE_32F_FAST_TF32);
MPC_SAME(CUBLAS_OP_N);
MPC_SAME(CUBLAS_OP_T);
MPC_SAME(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
MPC_SAME(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
MPC_SAME(CUBLASLT_MATMUL_DESC_TRANSA);
MPC_SAME(CUBLASLT_MATMUL_DESC_TRANSB);
MPC_SAME(CUBLASLT_MATMUL_DESC_EPILOGUE);
MPC_SAME(CUBLASLT_MATMUL_DESC_BIAS_POINTER);
MPC_SAME(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER);
MPC_SAME(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD);
MPC_SAME(CUBLASLT_EPILOGUE_DEFAULT);
MPC_SAME(CUBLASLT_EPILOGUE_BIAS);
MPC_SAME(CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
MPC_SAME(CUBLASLT_EPILOGUE_DGELU);
MPC_SAME(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
MPC_SAME(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
MPC_SAME(CUBLASLT_MATMUL_DESC_FAST_ACCUM);
MPC_SAME(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
MPC_SAME(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
MPC_SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
MPC_SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
MPC_SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
MPC_SAME(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
MPC_SAME(CUBLASLT_REDUCTION_SCHEME_NONE);
MPC_SAME(CUBLASLT_REDUCTION_SCHEME_INPLACE);
MPC_SAME(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
MPC_SAME(CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
MPC_SAME(CUBLASLT_REDUCTION_SCHEME_MASK);
MPC_SAME(CUBLASLT_ALGO_CONFIG_ID);
MPC_SAME(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);

static_assert(sizeof(cublasLtMatmulAlgo_t) == sizeof(::cublasLtMatmulAlgo_t),
              "cublasLtMatmulAlgo_t");
using Theirs = ::cublasLtMatmulHeuristicResult_t;
static_assert(sizeof(cublasLtMatmulHeuristicResult_t) == sizeof(Theirs) &&
                  offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) ==
                      offsetof(Theirs, workspaceSize) &&
                  offsetof(cublasLtMatmulHeuristicResult_t, state) ==
                      offsetof(Theirs, state) &&
                  offsetof(cublasLtMatmulHeuristicResult_t, wavesCount) ==
                      offsetof(Theirs, wavesCount),
              "cublasLtMatmulHeuristicResult_t");

}  // namespace mpc::cuda
