// A row-major product in terms of cuBLASLt, whose matrices are column-major. A
// row-major matrix with rows of n elements is the transpose of a column-major
// matrix with leading dimension n. So the library computes result^T = rhs^T
// lhs^T, and nothing is copied: A is the right operand, B the left one.

#ifndef MPC_KERNELS_CUDA_CUBLASLT_MATMUL_LAYOUT_H_
#define MPC_KERNELS_CUDA_CUBLASLT_MATMUL_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/cublaslt/cublaslt.h"
#include "kernels/shapes.h"

namespace mpc::kernels {

// A column-major matrix: `ld` is the distance between columns in elements,
// `stride` that between matrices of the batch, 0 if all use the same matrix.
struct ColumnMajor {
  uint64_t rows, columns;
  int64_t ld, stride;
};

struct GemmLayout {
  cuda::cublasComputeType_t compute;
  cuda::cudaDataType type_a, type_b, result_type;
  cuda::cublasOperation_t op_a, op_b;
  // FP8 sums may stay in the accumulators of the tensor cores, which have about
  // 14 bits, instead of being added to f32 sums periodically.
  bool fast_accumulation;
  // Each FP8 operand has a factor in device memory.
  bool scaled;
  Epilogue epilogue;
  size_t result;  // The operand.
  ColumnMajor a, b, d;
  int32_t batch;
  // Byte offsets into the operands, one entry per call. There are several calls
  // only if leading dimensions broadcast in two ways at once.
  struct Offsets {
    size_t a, b, d;
  };
  std::vector<Offsets> calls;
  // Alignment of the addresses of all matrices, given operands aligned to 64.
  uint32_t align_a, align_b, align_d;

  // Everything that the run time depends on, as one word per property.
  std::string key() const;
};

// Returns false, with the reason in `*error`, for a product that would take too
// many calls.
bool gemm_layout(const MatmulShape& shape, GemmLayout* out_layout,
                 std::string* error);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_CUBLASLT_MATMUL_LAYOUT_H_
