// What the kernels of embedding.cu are given by value, and the sizes that host
// and device agree on.

#ifndef MPC_KERNELS_CUDA_KERNELS_EMBEDDING_PARAMS_H_
#define MPC_KERNELS_CUDA_KERNELS_EMBEDDING_PARAMS_H_

#include <cstdint>

namespace mpc::kernels {

// A block sorts so many elements: each of its 8 warps kSortItems times 32.
constexpr int kSortItems = 8, kSortTile = 256 * kSortItems;
// Values of a digit, one per thread of a block.
constexpr int kSortDigits = 256;
// Neighbours in sorted order that one group of lanes adds up.
constexpr int kSumLength = 32;

// Blocks are groups of `lanes` threads, a power of two up to 32. A group takes
// a row; blockIdx.y says which part of it.
struct EmbeddingParams {
  int64_t rows;    // Rows of the table.
  int64_t pieces;  // Pieces of a row.
  int64_t count;   // Number of indices.
  int32_t lanes;
};

struct EmbeddingSortParams {
  uint32_t count, blocks;
  uint32_t
      rows;  // Rows of the table; also the key of an index that names none.
  int32_t shift;  // Shift of the digit.
};

// One level of adding up. Level 0 adds rows of the gradient that arrives, level
// n + 1 what level n could not add to the end: of kSumLength neighbours the
// sums of the first and of the last run of equal keys, where those go on
// outside. So the list shrinks by kSumLength / 2 with each level.
struct EmbeddingSumParams {
  uint32_t entries;  // Entries of the list that is added up.
  uint32_t groups;   // entries / kSumLength, rounded up.
  uint32_t count;    // Number of sorted keys.
  uint32_t rows;     // As above.
  uint64_t span;     // Sorted keys that kSumLength entries stand for.
  int64_t width;     // Width of a row, in elements.
  int32_t lanes;
};

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_KERNELS_EMBEDDING_PARAMS_H_
