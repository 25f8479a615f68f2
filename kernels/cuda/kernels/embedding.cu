// Looks up rows of a table by index, and computes the gradient of the table.
// The gradient sorts the indices (stable radix sort, 8 bits at a time), so that
// equal ones are adjacent, and adds up adjacent rows in a tree that depends
// only on positions. This needs no atomics and always gives the same bits. Its
// speed does not depend on how many indices are equal.

#include "kernels/cuda/kernels/device.h"
#include "kernels/cuda/kernels/embedding_params.h"
#include "kernels/float_types.h"

namespace {

using mpc::kernels::EmbeddingParams;
using mpc::kernels::EmbeddingSortParams;
using mpc::kernels::EmbeddingSumParams;
using mpc::kernels::kSortDigits;
using mpc::kernels::kSortItems;
using mpc::kernels::kSortTile;
using mpc::kernels::kSumLength;

constexpr unsigned kAll = 0xffffffff;
constexpr int kWarps = kSortDigits / 32;

__device__ __forceinline__ int64_t row_of(int64_t index, int64_t rows) {
  if (index < 0) index += rows;
  return index >= 0 && index < rows ? index : -1;
}

//----------------------------------------------------------------------------
// Looking up
//----------------------------------------------------------------------------

// All bits set is a NaN in every float type.
__device__ __forceinline__ void fill_with_nan(uint16_t* to) { *to = 0xffff; }
__device__ __forceinline__ void fill_with_nan(uint32_t* to) { *to = kAll; }
__device__ __forceinline__ void fill_with_nan(uint2* to) {
  *to = make_uint2(kAll, kAll);
}
__device__ __forceinline__ void fill_with_nan(uint4* to) {
  *to = make_uint4(kAll, kAll, kAll, kAll);
}

template <typename Piece, typename Index>
__device__ __forceinline__ void embedding(const EmbeddingParams& p,
                                          const Piece* table,
                                          const Index* indices, Piece* y) {
  constexpr int kTogether = 4;  // Loads in flight at the same time.
  const int lane = static_cast<int>(threadIdx.x) & (p.lanes - 1);
  const int64_t groups = blockDim.x / p.lanes;
  const int64_t step = int64_t{p.lanes} * kTogether;
#pragma unroll 1
  for (int64_t i = blockIdx.x * groups + threadIdx.x / p.lanes; i < p.count;
       i += gridDim.x * groups) {
    const int64_t row = row_of(indices[i], p.rows);
    const Piece* from = table + row * p.pieces;
    Piece* to = y + i * p.pieces;
#pragma unroll 1
    for (int64_t first = blockIdx.y * step + lane; first < p.pieces;
         first += gridDim.y * step) {
      Piece values[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        const int64_t at = first + k * p.lanes;
        fill_with_nan(&values[k]);
        if (row >= 0 && at < p.pieces) values[k] = from[at];
      }
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        const int64_t at = first + k * p.lanes;
        if (at < p.pieces) to[at] = values[k];
      }
    }
  }
}

//----------------------------------------------------------------------------
// Sorting
//----------------------------------------------------------------------------

// The source of the elements of a pass: the indices themselves, or the previous
// pass.
template <typename Index>
struct Indices {
  const Index* indices;
  uint32_t rows;
  __device__ __forceinline__ uint32_t key(uint32_t i) const {
    const int64_t row = row_of(indices[i], rows);
    return row < 0 ? rows : static_cast<uint32_t>(row);
  }
  __device__ __forceinline__ uint32_t position(uint32_t i) const { return i; }
};

struct Sorted {
  const uint32_t* keys;
  const uint32_t* positions;
  __device__ __forceinline__ uint32_t key(uint32_t i) const { return keys[i]; }
  __device__ __forceinline__ uint32_t position(uint32_t i) const {
    return positions[i];
  }
};

// The warp's first element in the tile of the block. A warp takes its elements
// in order, 32 at a time.
__device__ __forceinline__ uint32_t first_element() {
  return blockIdx.x * kSortTile + threadIdx.x / 32 * (32 * kSortItems) +
         threadIdx.x % 32;
}

// Counts the digits of each warp's elements. Sets, for each element of this
// thread, its key and the number of earlier elements of the warp with the same
// digit.
template <typename Source>
__device__ __forceinline__ void count_digits(const EmbeddingSortParams& p,
                                             const Source& source,
                                             uint32_t (*counts)[kSortDigits],
                                             uint32_t* keys, uint32_t* ranks) {
  const unsigned before = (1u << threadIdx.x % 32) - 1;
  uint32_t* mine = counts[threadIdx.x / 32];
#pragma unroll 1
  for (int digit = threadIdx.x % 32; digit < kSortDigits; digit += 32)
    mine[digit] = 0;
  __syncwarp();
#pragma unroll
  for (int item = 0; item < kSortItems; ++item) {
    const uint32_t i = first_element() + 32 * item;
    const bool valid = i < p.count;
    keys[item] = valid ? source.key(i) : 0;
    const unsigned digit = keys[item] >> p.shift & (kSortDigits - 1);
    unsigned peers = __ballot_sync(kAll, valid);
#pragma unroll
    for (int bit = 0; bit < 8; ++bit) {
      const bool set = digit >> bit & 1;
      const unsigned with = __ballot_sync(kAll, set);
      peers &= set ? with : ~with;
    }
    const unsigned rank = __popc(peers & before);
    if (valid) ranks[item] = mine[digit] + rank;
    __syncwarp();
    if (valid && rank == 0) mine[digit] += __popc(peers);
    __syncwarp();
  }
}

// The sum of `value` over the earlier threads of the block; sets `*total` to
// the sum over all threads. `room` has one element for each warp.
__device__ __forceinline__ uint32_t sum_before(uint32_t value, uint32_t* room,
                                               uint32_t* total) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  uint32_t sum = value;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const uint32_t other = __shfl_up_sync(kAll, sum, distance);
    if (lane >= distance) sum += other;
  }
  if (lane == 31) room[warp] = sum;
  __syncthreads();
  uint32_t before = 0, all = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    if (w < warp) before += room[w];
    all += room[w];
  }
  __syncthreads();
  *total = all;
  return before + sum - value;
}

// Writes counts[digit][block] for this block's tile.
template <typename Source>
__device__ __forceinline__ void count_tile(const EmbeddingSortParams& p,
                                           const Source& source,
                                           uint32_t* counts) {
  MPC_SHARED(uint32_t, of_warps, [kWarps][kSortDigits]);
  uint32_t keys[kSortItems], ranks[kSortItems];
  count_digits(p, source, of_warps, keys, ranks);
  __syncthreads();
  uint32_t sum = 0;
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) sum += of_warps[warp][threadIdx.x];
  counts[static_cast<size_t>(threadIdx.x) * p.blocks + blockIdx.x] = sum;
}

// Moves the elements of this block's tile to the positions given by the sums of
// counts.
template <typename Source>
__device__ __forceinline__ void move_tile(
    const EmbeddingSortParams& p, const Source& source, const uint32_t* counts,
    const uint32_t* totals, uint32_t* to_keys, uint32_t* to_positions) {
  MPC_SHARED(uint32_t, of_warps, [kWarps][kSortDigits]);
  MPC_SHARED(uint32_t, room, [kWarps]);
  uint32_t keys[kSortItems], ranks[kSortItems];
  count_digits(p, source, of_warps, keys, ranks);
  uint32_t total;
  uint32_t place = sum_before(totals[threadIdx.x], room, &total);
  place += counts[static_cast<size_t>(threadIdx.x) * p.blocks + blockIdx.x];
#pragma unroll
  for (int warp = 0; warp < kWarps; ++warp) {
    const uint32_t own = of_warps[warp][threadIdx.x];
    of_warps[warp][threadIdx.x] = place;
    place += own;
  }
  __syncthreads();
#pragma unroll
  for (int item = 0; item < kSortItems; ++item) {
    const uint32_t i = first_element() + 32 * item;
    if (i >= p.count) continue;
    const unsigned digit = keys[item] >> p.shift & (kSortDigits - 1);
    const uint32_t to = of_warps[threadIdx.x / 32][digit] + ranks[item];
    to_keys[to] = keys[item];
    to_positions[to] = source.position(i);
  }
}

//----------------------------------------------------------------------------
// Adding up
//----------------------------------------------------------------------------

// kWidth elements for one access: as many as fit in 16 bytes, or one.
template <typename T, int kWidth>
struct alignas(sizeof(T) * kWidth) Elements {
  T values[kWidth];
};

// The partial sum of a run, in f32.
template <int kWidth>
struct Run {
  uint32_t key;
  float sums[kWidth];

  __device__ __forceinline__ void start(uint32_t with) {
    key = with;
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sums[i] = 0;
  }
  template <typename T>
  __device__ __forceinline__ void add(const Elements<T, kWidth>& elements) {
#pragma unroll
    for (int i = 0; i < kWidth; ++i)
      sums[i] += static_cast<float>(elements.values[i]);
  }
};

// The first and the last run of a group, and whether they continue in the
// previous or next group.
struct Ends {
  uint32_t head, tail;
  bool from_before;
};

__device__ __forceinline__ Ends ends_of(const EmbeddingSumParams& p,
                                        const uint32_t* sorted,
                                        uint32_t group) {
  const uint64_t first = group * p.span, last = first + p.span;
  const uint32_t head = sorted[first];
  const bool goes_on = last < p.count && sorted[last - 1] == sorted[last];
  return {head, goes_on ? sorted[last] : p.rows,
          first > 0 && sorted[first - 1] == head};
}

template <int kWidth>
__device__ __forceinline__ void store(const float* sums, float* to) {
  constexpr int kPart = kWidth < 4 ? kWidth : 4;
#pragma unroll
  for (int part = 0; part < kWidth; part += kPart) {
    Elements<float, kPart> values;
#pragma unroll
    for (int i = 0; i < kPart; ++i) values.values[i] = sums[part + i];
    *reinterpret_cast<Elements<float, kPart>*>(to + part) = values;
  }
}

// `keys` are the keys of the entries, `sorted` those of the indices. Sums of
// runs that lie completely in this group go to `table`, others to the two rows
// of this group in `rest`. Without `positions`, entries are stored in order.
template <typename T, int kWidth>
__device__ __forceinline__ void sum_runs(const EmbeddingSumParams& p,
                                         const uint32_t* keys,
                                         const uint32_t* positions,
                                         const T* rows, const uint32_t* sorted,
                                         uint32_t* rest_keys, float* rest,
                                         float* table) {
  constexpr int kTogether = 4;  // Loads in flight at the same time.
  const uint32_t lane = threadIdx.x & (p.lanes - 1);
  const uint32_t groups = blockDim.x / p.lanes;
  const uint32_t group = blockIdx.x * groups + threadIdx.x / p.lanes;
  if (group >= p.groups) return;
  const Ends ends = ends_of(p, sorted, group);
  const uint32_t begin = group * kSumLength;
  const uint32_t end = min(begin + kSumLength, p.entries);

  for (int64_t column = (int64_t{blockIdx.y} * p.lanes + lane) * kWidth;
       column < p.width; column += int64_t{gridDim.y} * p.lanes * kWidth) {
    uint32_t rest_key[2] = {p.rows, p.rows};
    Run<kWidth> run;
    run.key = p.rows;
    const auto finish = [&] {
      if (run.key == p.rows) return;
      const bool is_head = ends.from_before && run.key == ends.head;
      if (!is_head && run.key != ends.tail) {
        store<kWidth>(run.sums, table + run.key * p.width + column);
        return;
      }
      const int slot = is_head ? 0 : 1;
      rest_key[slot] = run.key;
      store<kWidth>(run.sums,
                    rest + (int64_t{2} * group + slot) * p.width + column);
    };
    for (uint32_t i = begin; i < end; i += kTogether) {
      uint32_t key[kTogether];
      Elements<T, kWidth> values[kTogether];
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        key[k] = i + k < end ? keys[i + k] : p.rows;
        if (key[k] == p.rows) continue;
        const int64_t row = positions ? positions[i + k] : i + k;
        values[k] = *reinterpret_cast<const Elements<T, kWidth>*>(
            rows + row * p.width + column);
      }
#pragma unroll
      for (int k = 0; k < kTogether; ++k) {
        if (key[k] == p.rows) continue;
        if (key[k] != run.key) {
          finish();
          run.start(key[k]);
        }
        run.add(values[k]);
      }
    }
    finish();
    if (rest_keys && column == 0) {
      rest_keys[2 * group] = rest_key[0];
      rest_keys[2 * group + 1] = rest_key[1];
    }
  }
}

}  // namespace

//----------------------------------------------------------------------------
// Kernels
//----------------------------------------------------------------------------

#define MPC_EMBEDDING(bytes, Piece, suffix, Index)                            \
  extern "C" __global__ void __launch_bounds__(256)                           \
      mpc_embedding_##bytes##_##suffix(EmbeddingParams p, const Piece* table, \
                                       const Index* indices, Piece* y) {      \
    embedding(p, table, indices, y);                                          \
  }
// Variants by the number of bytes that divides the size of rows.
#define MPC_EMBEDDING_KERNELS(suffix, Index)                                   \
  MPC_EMBEDDING(2, uint16_t, suffix, Index)                                    \
  MPC_EMBEDDING(4, uint32_t, suffix, Index)                                    \
  MPC_EMBEDDING(8, uint2, suffix, Index)                                       \
  MPC_EMBEDDING(16, uint4, suffix, Index)                                      \
  extern "C" __global__ void __launch_bounds__(256)                            \
      mpc_embedding_count_##suffix(EmbeddingSortParams p,                      \
                                   const Index* indices, uint32_t* counts) {   \
    count_tile(p, Indices<Index>{indices, p.rows}, counts);                    \
  }                                                                            \
  extern "C" __global__ void __launch_bounds__(256)                            \
      mpc_embedding_move_##suffix(                                             \
          EmbeddingSortParams p, const Index* indices, const uint32_t* counts, \
          const uint32_t* totals, uint32_t* to_keys, uint32_t* to_positions) { \
    move_tile(p, Indices<Index>{indices, p.rows}, counts, totals, to_keys,     \
              to_positions);                                                   \
  }
MPC_EMBEDDING_KERNELS(i32, int32_t)
MPC_EMBEDDING_KERNELS(i64, int64_t)

extern "C" __global__ void __launch_bounds__(256)
    mpc_embedding_count(EmbeddingSortParams p, const uint32_t* keys,
                        uint32_t* counts) {
  count_tile(p, Sorted{keys, nullptr}, counts);
}

extern "C" __global__ void __launch_bounds__(256)
    mpc_embedding_move(EmbeddingSortParams p, const uint32_t* keys,
                       const uint32_t* positions, const uint32_t* counts,
                       const uint32_t* totals, uint32_t* to_keys,
                       uint32_t* to_positions) {
  move_tile(p, Sorted{keys, positions}, counts, totals, to_keys, to_positions);
}

// One block for each digit: replaces its counts by their prefix sums over
// blocks, and writes their total.
extern "C" __global__ void __launch_bounds__(256)
    mpc_embedding_offsets(EmbeddingSortParams p, uint32_t* counts,
                          uint32_t* totals) {
  MPC_SHARED(uint32_t, room, [kWarps]);
  uint32_t* own = counts + static_cast<size_t>(blockIdx.x) * p.blocks;
  uint32_t sum = 0;
#pragma unroll 1
  for (uint32_t first = 0; first < p.blocks; first += blockDim.x) {
    const uint32_t block = first + threadIdx.x;
    const uint32_t value = block < p.blocks ? own[block] : 0;
    uint32_t total;
    const uint32_t before = sum_before(value, room, &total);
    if (block < p.blocks) own[block] = sum + before;
    sum += total;
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = sum;
}

#define MPC_EMBEDDING_SUM(suffix, T, kWidth)                                  \
  extern "C" __global__ void __launch_bounds__(256)                           \
      mpc_embedding_sum_##suffix(EmbeddingSumParams p, const uint32_t* keys,  \
                                 const uint32_t* positions, const T* rows,    \
                                 const uint32_t* sorted, uint32_t* rest_keys, \
                                 float* rest, float* table) {                 \
    sum_runs<T, kWidth>(p, keys, positions, rows, sorted, rest_keys, rest,    \
                        table);                                               \
  }
MPC_EMBEDDING_SUM(f32, float, 1)
MPC_EMBEDDING_SUM(f32x4, float, 4)
MPC_EMBEDDING_SUM(bf16, mpc::kernels::Bf16, 1)
MPC_EMBEDDING_SUM(bf16x8, mpc::kernels::Bf16, 8)
MPC_EMBEDDING_SUM(f16, mpc::kernels::F16, 1)
MPC_EMBEDDING_SUM(f16x8, mpc::kernels::F16, 8)
