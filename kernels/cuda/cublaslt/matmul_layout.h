// A row-major product in the terms of cuBLASLt, whose matrices are
// column-major: what is row-major with rows of n reads as column-major with
// leading dimension n, transposed. So result^T = rhs^T lhs^T is asked for, and
// nothing is copied: A is the right operand, B the left one.

#ifndef MPC_KERNELS_CUDA_CUBLASLT_MATMUL_LAYOUT_H_
#define MPC_KERNELS_CUDA_CUBLASLT_MATMUL_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/cuda/cublaslt/cublaslt.h"
#include "kernels/shapes.h"

namespace mpc::kernels {

// A column-major matrix, `ld` elements from column to column; `stride` from
// one of the batch to the next, 0 where all use one.
struct ColumnMajor {
  uint64_t rows, columns;
  int64_t ld, stride;
};

struct GemmLayout {
  cuda::cublasComputeType_t compute;
  cuda::cudaDataType type_a, type_b, result_type;
  cuda::cublasOperation_t op_a, op_b;
  // Sums of FP8 may stay in the accumulators of the tensor cores, which keep
  // some 14 bits, instead of being added up in f32 on the way.
  bool fast_accumulation;
  // Each operand of FP8 has a factor in the device's memory.
  bool scaled;
  ColumnMajor a, b, d;
  int32_t batch;
  // Bytes from the operands' beginnings, one entry per call. More than one only
  // where leading dimensions broadcast in two ways at once.
  struct Offsets {
    size_t a, b, d;
  };
  std::vector<Offsets> calls;
  // What divides the address of every matrix, of operands aligned to 64.
  uint32_t align_a, align_b, align_d;

  // All that time depends on, as one word per fact.
  std::string key() const;
};

// False, and why in `*error`, for a product that would take too many calls.
bool gemm_layout(const MatmulShape& shape, GemmLayout* out_layout,
                 std::string* error);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_CUBLASLT_MATMUL_LAYOUT_H_
