// Matrix products in f32. Operands have any strides, and those of 16 bits are
// widened while they are packed, so that all types run at the rate of f32. The
// order of a sum depends on its length and the kind of CPU alone: any division
// of rows and columns gives the same bits.

#ifndef MPC_KERNELS_CPU_GEMM_GEMM_H_
#define MPC_KERNELS_CPU_GEMM_GEMM_H_

#include <cstddef>
#include <cstdint>

#include "mpc/dtype.h"

namespace mpc::kernels::cpu {

// How a matrix lies in memory: strides in elements.
struct MatrixLayout {
  mpc_dtype_t dtype;  // f32, bf16 or f16.
  int64_t row_stride, column_stride;
};

// result [m, n] = lhs [m, k] * rhs [k, n], or is increased by it, with the bits
// that adding a separate product would give. Extents are at least 1.
struct GemmShape {
  int64_t m, n, k;
  MatrixLayout lhs, rhs, result;
  bool adds = false;  // Requires an f32 result.
};

// A prepared product. Several threads may run it at the same time, each with
// its own scratch memory.
class Gemm {
 public:
  // `run` uses up to `threads` threads, and gives the same bits for any number.
  explicit Gemm(const GemmShape& shape, int threads = 1);

  // Scratch memory is aligned to kOperandAlignment. If the previous product
  // with this scratch memory, `previous`, had the same right operand, perhaps
  // with another number of columns, its packed columns are used again.
  size_t scratch_bytes() const { return scratch_bytes_; }
  void run(const void* lhs, const void* rhs, void* result, void* scratch,
           const Gemm* previous = nullptr) const;

 private:
  class Run;

  void run_blocks_of_columns(const void* lhs, const void* rhs, void* result,
                             void* scratch) const;
  // Floats for the packed rows of a tile, and of a block.
  int64_t lhs_tile_floats() const;
  int64_t lhs_block_floats() const;
  // The columns of the right operand that `previous` has packed as this product
  // needs them.
  int64_t packed_columns(const Gemm& previous) const;
  void choose_tiles();
  void choose_blocks();
  void choose_owners();
  void choose_tasks();
  // Threads that have packed columns and sums of their own.
  int owners() const { return owns_columns_ ? threads_ : 1; }

  GemmShape shape_;
  int threads_;
  bool is_swapped_ = false;  // The transposed product is computed.
  int64_t tile_rows_, tile_columns_;
  bool packs_lhs_, packs_rhs_;
  // A block has `depth_` steps along k, which are summed in registers, `rows_`
  // rows, whose packed copy stays in the cache, and `columns_` columns. Blocks
  // of `summed_rows_` rows are finished one after another.
  int64_t depth_, rows_, columns_, summed_rows_;
  // Sums of several steps are complete before they are rounded, or added.
  bool sums_first_;
  bool keeps_lhs_;  // All of the left operand is packed, once.
  // Each thread packs and multiplies blocks of columns by itself, so that they
  // stay in its cache.
  bool owns_columns_ = false;
  // A task is a part of a block that one thread computes.
  int64_t task_rows_, task_columns_;
  // Floats of scratch memory: of rows for each thread unless `keeps_lhs_`, of
  // columns and sums for each owner.
  size_t lhs_floats_, rhs_floats_, sum_floats_, edge_floats_;
  size_t scratch_bytes_;
};

// The instructions that products use, for display.
const char* gemm_instructions();

}  // namespace mpc::kernels::cpu

#endif  // MPC_KERNELS_CPU_GEMM_GEMM_H_
