// The part of cuBLASLt that is used here: types, constants and a table of
// functions of its shared library. They are declared here so that building
// needs no toolkit; a test compares each declaration with the library's header
// if that is installed. Names and meaning are the library's.

#ifndef MPC_KERNELS_CUDA_CUBLASLT_CUBLASLT_H_
#define MPC_KERNELS_CUDA_CUBLASLT_CUBLASLT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/driver/driver.h"

namespace mpc::cuda {

enum cublasStatus_t : int {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
};

enum cudaDataType : int {
  CUDA_R_32F = 0,
  CUDA_R_16F = 2,
  CUDA_R_16BF = 14,
  CUDA_R_8F_E4M3 = 28,
  CUDA_R_8F_E5M2 = 29,
};

enum cublasComputeType_t : int {
  CUBLAS_COMPUTE_32F = 68,  // Never TF32.
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};

enum cublasOperation_t : int {
  CUBLAS_OP_N = 0,
  CUBLAS_OP_T = 1,
};

enum cublasLtMatrixLayoutAttribute_t : int {
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,           // int32_t
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,  // int64_t, elements
};

enum cublasLtMatmulDescAttributes_t : int {
  CUBLASLT_MATMUL_DESC_TRANSA = 3,        // int32_t
  CUBLASLT_MATMUL_DESC_TRANSB = 4,        // int32_t
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,      // uint32_t, cublasLtEpilogue_t
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,  // const void*
  // The argument of GELU, which has the type of the result.
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11,  // void*
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12,       // int64_t, elements
  // Device address of the f32 factor of A or B, for FP8; null means 1.
  CUBLASLT_MATMUL_DESC_A_SCALE_POINTER = 17,  // const void*
  CUBLASLT_MATMUL_DESC_B_SCALE_POINTER = 18,
  CUBLASLT_MATMUL_DESC_FAST_ACCUM = 25,  // int8_t, for FP8.
};

// What is done with a product before it is stored. The bias has an element for
// each row; GELU is approximated by tanh.
enum cublasLtEpilogue_t : int {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 164,
  CUBLASLT_EPILOGUE_DGELU = 192,
};

enum cublasLtMatmulPreferenceAttributes_t : int {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,    // uint64_t
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,  // uint32_t
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,  // uint32_t
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
};

// How partial sums of a sum that is split along k are combined.
enum cublasLtReductionScheme_t : int {
  CUBLASLT_REDUCTION_SCHEME_NONE = 0,
  CUBLASLT_REDUCTION_SCHEME_INPLACE = 1,  // In the result.
  CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2,
  CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE = 4,
  CUBLASLT_REDUCTION_SCHEME_MASK = 7,
};

enum cublasLtMatmulAlgoConfigAttributes_t : int {
  CUBLASLT_ALGO_CONFIG_ID = 0,                // int32_t
  CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME = 3,  // uint32_t
};

struct cublasLtMatmulDescOpaque_t;
struct cublasLtMatrixLayoutOpaque_t;
struct cublasLtMatmulPreferenceOpaque_t;
using cublasLtHandle_t = struct cublasLtContext*;
using cublasLtMatmulDesc_t = cublasLtMatmulDescOpaque_t*;
using cublasLtMatrixLayout_t = cublasLtMatrixLayoutOpaque_t*;
using cublasLtMatmulPreference_t = cublasLtMatmulPreferenceOpaque_t*;

// May be stored and reused with the same version of the library.
struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};

struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

// MPC_CUDA_FUNCTION(result, name, parameters)
#define MPC_CUBLASLT_FUNCTIONS(MPC_CUDA_FUNCTION)                              \
  MPC_CUDA_FUNCTION(size_t, cublasLtGetVersion, (void))                        \
  MPC_CUDA_FUNCTION(const char*, cublasLtGetStatusName,                        \
                    (cublasStatus_t status))                                   \
  MPC_CUDA_FUNCTION(cublasStatus_t, cublasLtCreate,                            \
                    (cublasLtHandle_t * handle))                               \
  MPC_CUDA_FUNCTION(cublasStatus_t, cublasLtDestroy,                           \
                    (cublasLtHandle_t handle))                                 \
  MPC_CUDA_FUNCTION(cublasStatus_t, cublasLtMatrixLayoutCreate,                \
                    (cublasLtMatrixLayout_t * layout, cudaDataType type,       \
                     uint64_t rows, uint64_t cols, int64_t ld))                \
  MPC_CUDA_FUNCTION(cublasStatus_t, cublasLtMatrixLayoutDestroy,               \
                    (cublasLtMatrixLayout_t layout))                           \
  MPC_CUDA_FUNCTION(cublasStatus_t, cublasLtMatrixLayoutSetAttribute,          \
                    (cublasLtMatrixLayout_t layout,                            \
                     cublasLtMatrixLayoutAttribute_t attribute,                \
                     const void* value, size_t bytes))                         \
  MPC_CUDA_FUNCTION(cublasStatus_t, cublasLtMatmulDescCreate,                  \
                    (cublasLtMatmulDesc_t * desc, cublasComputeType_t compute, \
                     cudaDataType scale))                                      \
  MPC_CUDA_FUNCTION(cublasStatus_t, cublasLtMatmulDescDestroy,                 \
                    (cublasLtMatmulDesc_t desc))                               \
  MPC_CUDA_FUNCTION(                                                           \
      cublasStatus_t, cublasLtMatmulDescSetAttribute,                          \
      (cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,    \
       const void* value, size_t bytes))                                       \
  MPC_CUDA_FUNCTION(cublasStatus_t, cublasLtMatmulPreferenceCreate,            \
                    (cublasLtMatmulPreference_t * preference))                 \
  MPC_CUDA_FUNCTION(cublasStatus_t, cublasLtMatmulPreferenceDestroy,           \
                    (cublasLtMatmulPreference_t preference))                   \
  MPC_CUDA_FUNCTION(cublasStatus_t, cublasLtMatmulPreferenceSetAttribute,      \
                    (cublasLtMatmulPreference_t preference,                    \
                     cublasLtMatmulPreferenceAttributes_t attribute,           \
                     const void* value, size_t bytes))                         \
  MPC_CUDA_FUNCTION(cublasStatus_t, cublasLtMatmulAlgoGetHeuristic,            \
                    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,       \
                     cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,       \
                     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,       \
                     cublasLtMatmulPreference_t preference, int requested,     \
                     cublasLtMatmulHeuristicResult_t* results, int* found))    \
  MPC_CUDA_FUNCTION(cublasStatus_t, cublasLtMatmulAlgoCheck,                   \
                    (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,       \
                     cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,       \
                     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,       \
                     const cublasLtMatmulAlgo_t* algo,                         \
                     cublasLtMatmulHeuristicResult_t* result))                 \
  MPC_CUDA_FUNCTION(cublasStatus_t, cublasLtMatmulAlgoConfigGetAttribute,      \
                    (const cublasLtMatmulAlgo_t* algo,                         \
                     cublasLtMatmulAlgoConfigAttributes_t attribute,           \
                     void* value, size_t bytes, size_t* written))              \
  MPC_CUDA_FUNCTION(                                                           \
      cublasStatus_t, cublasLtMatmul,                                          \
      (cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,  \
       const void* a, cublasLtMatrixLayout_t a_layout, const void* b,          \
       cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,       \
       cublasLtMatrixLayout_t c_layout, void* d,                               \
       cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo,      \
       void* workspace, size_t workspace_bytes, CUstream stream))

struct CublasLt {
#define MPC_CUDA_FUNCTION(result, name, parameters) result(*name) parameters;
  MPC_CUBLASLT_FUNCTIONS(MPC_CUDA_FUNCTION)
#undef MPC_CUDA_FUNCTION
};

// The files to look for, in this order, with a driver of this version
// (driver_version): the library of CUDA 13 does not start on a driver for CUDA
// 12.
std::vector<const char*> cublaslt_files(int driver_version);

// The library of this machine, of CUDA 13 or 12, or null, with the files looked
// for in `*missing`. The first call that finds the library loads it.
// Thread-safe.
const CublasLt* load_cublaslt(std::string* missing);

// Sets the table that load_cublaslt returns from now on, for tests; it must
// outlive its use. Null restores the machine's library.
void replace_cublaslt(const CublasLt* library);

// "cublasLtMatmul: CUBLAS_STATUS_NOT_SUPPORTED".
std::string describe_error(const CublasLt& library, const char* call,
                           cublasStatus_t status);

}  // namespace mpc::cuda

#endif  // MPC_KERNELS_CUDA_CUBLASLT_CUBLASLT_H_
