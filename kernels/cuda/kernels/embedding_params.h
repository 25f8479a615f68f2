// The by-value parameters of the kernels of embedding.cu, and sizes shared by
// host and device code.

#ifndef MPC_KERNELS_CUDA_KERNELS_EMBEDDING_PARAMS_H_
#define MPC_KERNELS_CUDA_KERNELS_EMBEDDING_PARAMS_H_

#include <cstdint>

namespace mpc::kernels {

// A block sorts kSortTile elements: each of its 8 warps 32 * kSortItems.
constexpr int kSortItems = 8, kSortTile = 256 * kSortItems;
// Number of values of a digit, one per thread of a block.
constexpr int kSortDigits = 256;
// Number of adjacent entries in sorted order that one group of lanes adds up.
constexpr int kSumLength = 32;

// Blocks are groups of `lanes` threads, a power of two up to 32. A group
// processes a row; blockIdx.y is the part of the row.
struct EmbeddingParams {
  int64_t rows;    // Rows of the table.
  int64_t pieces;  // Pieces of a row.
  int64_t count;   // Number of indices.
  int32_t lanes;
};

struct EmbeddingSortParams {
  uint32_t count, blocks;
  uint32_t rows;  // Rows of the table; also the key of an invalid index.
  int32_t shift;  // Shift of the digit.
};

// One level of the sum. Level 0 adds rows of the incoming gradient. Level n + 1
// adds the sums that level n could not complete: for each group of kSumLength
// entries those of the first and the last run of equal keys, if they continue
// in adjacent groups. So each level shrinks the list by a factor of kSumLength
// / 2.
struct EmbeddingSumParams {
  uint32_t entries;  // Entries of the list that is added up.
  uint32_t groups;   // entries / kSumLength, rounded up.
  uint32_t count;    // Number of sorted keys.
  uint32_t rows;     // As above.
  uint64_t span;     // Number of sorted keys that kSumLength entries cover.
  int64_t width;     // Width of a row, in elements.
  int32_t lanes;
};

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_KERNELS_EMBEDDING_PARAMS_H_
