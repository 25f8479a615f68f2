// The loops of gemm.cpp, which includes this once for each instruction set,
// inside a namespace; see lanes.h. It has no include guard.

#include "kernels/cpu/loops/lanes.h"

using F32 = Lanes::F32;
constexpr int64_t kWidth = Lanes::kWidth;

// The sums of a tile fit in the registers together with a row of the right
// operand and an element of the left one.
#if MPC_VECTOR_WIDTH == 16
constexpr TileSize kLow = {6, 4}, kHigh = {8, 3}, kSkinny = {8, 2};
constexpr const char* kName = "avx512";
#else
constexpr TileSize kLow = {6, 2}, kHigh = {6, 2}, kSkinny = {6, 2};
constexpr const char* kName = MPC_VECTOR_WIDTH == 8 ? "avx2" : "baseline";
#endif

MPC_INLINE void broadcast(const float* from, F32* to) {
#if MPC_VECTOR_WIDTH == 16
  const __m512 all = _mm512_set1_ps(*from);
  std::memcpy(to, &all, sizeof all);
  // A register, because the multiply-adds would each load the operand again.
  asm("" : "+v"(*to));
#elif MPC_VECTOR_WIDTH == 8
  const __m256 all = _mm256_broadcast_ss(from);
  std::memcpy(to, &all, sizeof all);
#else
  const float x = *from;
  *to = F32{x, x, x, x};
#endif
}

// A tile of the result stays in registers: kRows times kVectors vectors.
// kAdjacent: the rows of the left operand are adjacent in memory.
template <int kRows, int kVectors, bool kAdjacent>
void multiply_tile(const Tile& t) {
  F32 sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[r][v] = F32{};
  const int64_t row = kAdjacent ? 1 : t.lhs_row;
  const int64_t step = kAdjacent ? t.lhs_step : 1;
  const float *lhs = t.lhs, *rhs = t.rhs;
  for (int64_t p = 0; p < t.k; ++p) {
    F32 right[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) Lanes::load(rhs + v * kWidth, &right[v]);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      F32 left;
      broadcast(lhs + r * row, &left);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] += left * right[v];
    }
    lhs += step;
    rhs += t.rhs_step;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      float* to = t.result + r * t.result_row + v * kWidth;
      if (t.adds) {
        F32 before;
        Lanes::load(to, &before);
        sum[r][v] += before;
      }
      std::memcpy(to, &sum[r][v], sizeof(F32));
    }
}

// Null for tiles that are not used: their sums would not fit, or high tiles
// whose left operand is not packed.
template <int kRows, int kVectors, bool kAdjacent>
constexpr TileFunction tile_of() {
  constexpr int kMost = kRows <= kLow.rows ? kLow.vectors : kHigh.vectors;
  if constexpr ((kAdjacent || kRows <= kSkinny.rows) && kVectors <= kMost)
    return multiply_tile<kRows, kVectors, kAdjacent>;
  return nullptr;
}

// By the number of vectors, less one.
template <int kRows, bool kAdjacent, int... kVectors>
constexpr std::array<TileFunction, kMaxVectors> tiles_of_rows(
    std::integer_sequence<int, kVectors...>) {
  return {tile_of<kRows, kVectors + 1, kAdjacent>()...};
}

template <bool kAdjacent, int... kRows>
constexpr TileFunctions tiles_of(std::integer_sequence<int, kRows...>) {
  return {tiles_of_rows<kRows + 1, kAdjacent>(
      std::make_integer_sequence<int, kMaxVectors>())...};
}

// Loads four adjacent elements at `first` of each of kWidth / 4 rows, which are
// at every fourth of `rows`.
MPC_INLINE void load_quads(const float* const* rows, int64_t first, F32* to) {
#if MPC_VECTOR_WIDTH == 16
  __m512 quads = _mm512_castps128_ps512(_mm_loadu_ps(rows[0] + first));
  quads = _mm512_insertf32x4(quads, _mm_loadu_ps(rows[4] + first), 1);
  quads = _mm512_insertf32x4(quads, _mm_loadu_ps(rows[8] + first), 2);
  quads = _mm512_insertf32x4(quads, _mm_loadu_ps(rows[12] + first), 3);
#elif MPC_VECTOR_WIDTH == 8
  __m256 quads = _mm256_castps128_ps256(_mm_loadu_ps(rows[0] + first));
  quads = _mm256_insertf128_ps(quads, _mm_loadu_ps(rows[4] + first), 1);
#else
  F32 quads;
  std::memcpy(&quads, rows[0] + first, sizeof quads);
#endif
  std::memcpy(to, &quads, sizeof quads);
}
template <typename T>
MPC_INLINE void load_quads(const T* const* rows, int64_t first, F32* to) {
  T quads[kWidth];
#pragma GCC unroll 4
  for (int64_t i = 0; i < kWidth; i += 4)
    std::memcpy(&quads[i], rows[i] + first, 4 * sizeof(T));
  Lanes::load(quads, to);
}

// Each group of four lanes gets elements kFirst and kFirst + 1 of the same
// group of `a` and of `b`: in turns with kAlternates, else those of `a` first.
template <bool kAlternates, size_t kFirst, size_t... kLane>
MPC_INLINE void merge(const F32& a, const F32& b, F32* to,
                      std::index_sequence<kLane...>) {
  *to = __builtin_shufflevector(
      a, b,
      static_cast<int>(kLane / 4 * 4 + kFirst +
                       (kAlternates ? kLane % 4 / 2 : kLane % 2) +
                       (kAlternates ? kLane % 2 : kLane % 4 / 2) * kWidth)...);
}

// Transposes the 4 x 4 matrices of which each group of four lanes has the rows.
MPC_INLINE void transpose_quads(const F32* rows, F32* columns) {
  constexpr auto lanes = std::make_index_sequence<kWidth>();
  F32 low[2], high[2];
  merge<true, 0>(rows[0], rows[1], &low[0], lanes);
  merge<true, 0>(rows[2], rows[3], &low[1], lanes);
  merge<true, 2>(rows[0], rows[1], &high[0], lanes);
  merge<true, 2>(rows[2], rows[3], &high[1], lanes);
  merge<false, 0>(low[0], low[1], &columns[0], lanes);
  merge<false, 2>(low[0], low[1], &columns[1], lanes);
  merge<false, 0>(high[0], high[1], &columns[2], lanes);
  merge<false, 2>(high[0], high[1], &columns[3], lanes);
}

// Copies up to kWidth lanes whose elements are contiguous along k. Further
// lanes get the elements of the last one.
template <typename T>
void pack_along_depth(const T* from, int64_t stride, int64_t lanes, int64_t k,
                      float* to, int64_t step) {
  const T* of_lane[kWidth];
  for (int64_t i = 0; i < kWidth; ++i)
    of_lane[i] = from + std::min(i, lanes - 1) * stride;
  int64_t p = 0;
  for (; p + 4 <= k; p += 4) {
    F32 rows[4], columns[4];
#pragma GCC unroll 4
    for (int64_t i = 0; i < 4; ++i) load_quads(of_lane + i, p, &rows[i]);
    transpose_quads(rows, columns);
#pragma GCC unroll 4
    for (int64_t i = 0; i < 4; ++i)
      std::memcpy(to + (p + i) * step, &columns[i], sizeof(F32));
  }
  for (; p < k; ++p)
    for (int64_t i = 0; i < kWidth; ++i)
      to[p * step + i] = float(of_lane[i][p]);
}

// Panels that are packed together, so that rows of memory are read in long
// pieces; and how many rows before they are needed they are prefetched, because
// the hardware does not prefetch from so many pages.
constexpr int64_t kMaxPanelsTogether = 8, kPrefetchedSteps = 16;

// Copies lanes that are contiguous, and so are the panels.
template <typename T>
void pack_along_lanes(const Panel& panel, const T* from, int64_t count,
                      float* to) {
  const int64_t lanes =
      (count - 1) * panel.lanes + round_up(panel.lanes, kWidth);
  for (int64_t p = 0; p < panel.k; ++p) {
    const T* row = from + p * panel.step_stride;
    for (int64_t lane = 0; lane < lanes; lane += 64 / int64_t{sizeof(T)})
      __builtin_prefetch(row + kPrefetchedSteps * panel.step_stride + lane);
    float* out = to + p * panel.step;
    // Half vectors, because whole ones would be written twice.
    if constexpr (std::is_same_v<T, float>)
      if (panel.lanes == kWidth / 2) {
        for (int64_t i = 0; i < count; ++i)
          std::memcpy(out + i * panel.to_stride, row + i * (kWidth / 2),
                      sizeof(F32) / 2);
        continue;
      }
    for (int64_t i = 0; i < count; ++i)
      for (int64_t lane = 0; lane < panel.lanes; lane += kWidth) {
        F32 values;
        Lanes::load(row + i * panel.lanes + lane, &values);
        std::memcpy(out + i * panel.to_stride + lane, &values, sizeof values);
      }
  }
}

// Copies up to kWidth lanes that are contiguous; further lanes get zeros.
template <typename T>
void pack_few_lanes(const T* from, int64_t stride, int64_t lanes, int64_t k,
                    float* to, int64_t step) {
  for (int64_t p = 0; p < k; ++p) {
    F32 values;
    Lanes::load_first(from + p * stride, lanes, &values);
    std::memcpy(to + p * step, &values, sizeof values);
  }
}

// Copies lanes with any strides. Lanes from `lanes` to `written` get the
// elements of the last one.
template <typename T>
void pack_any(const T* from, int64_t lane_stride, int64_t step_stride,
              int64_t lanes, int64_t written, int64_t k, float* to,
              int64_t step) {
  for (int64_t p = 0; p < k; ++p)
    for (int64_t i = 0; i < written; ++i)
      to[p * step + i] =
          float(from[std::min(i, lanes - 1) * lane_stride + p * step_stride]);
}

// Packs one panel. Writes whole vectors, in ascending order.
template <typename T>
void pack_panel(const Panel& panel, const T* from, int64_t readable,
                float* to) {
  for (int64_t lane = 0; lane < panel.lanes; lane += kWidth) {
    // Lanes beyond the panel are not used, but are read if they are known to
    // exist.
    const int64_t lanes = std::min(kWidth, readable - lane);
    const T* first = from + lane * panel.lane_stride;
    // The last lanes of several vectors, and no more: the next step is written.
    if constexpr (kWidth < kHigh.rows)
      if (lane > 0 && lane + kWidth > panel.step) {
        const int64_t rest = panel.step - lane;
        pack_any(first, panel.lane_stride, panel.step_stride, rest, rest,
                 panel.k, to + lane, panel.step);
        continue;
      }
    if (panel.step_stride == 1)
      pack_along_depth(first, panel.lane_stride, lanes, panel.k, to + lane,
                       panel.step);
    else if (panel.lane_stride == 1)
      pack_few_lanes(first, panel.step_stride, lanes, panel.k, to + lane,
                     panel.step);
    else
      pack_any(first, panel.lane_stride, panel.step_stride, lanes, kWidth,
               panel.k, to + lane, panel.step);
  }
}

template <typename T>
void pack_panels(const Panel& panel, float* to) {
  const T* from = static_cast<const T*>(panel.from);
  int64_t done = 0, readable = panel.readable;
  while (done < panel.count) {
    int64_t count = 1;
    if (panel.lane_stride == 1 && readable >= round_up(panel.lanes, kWidth)) {
      const int64_t most =
          (readable - round_up(panel.lanes, kWidth)) / panel.lanes + 1;
      count = std::min({most, panel.count - done, kMaxPanelsTogether});
      pack_along_lanes(panel, from, count, to);
    } else {
      pack_panel(panel, from, readable, to);
    }
    done += count;
    readable -= count * panel.lanes;
    from += count * panel.lanes * panel.lane_stride;
    to += count * panel.to_stride;
  }
}

inline GemmLoops loops() {
  constexpr auto rows = std::make_integer_sequence<int, kHigh.rows>();
  return {kName,
          kWidth,
          kLow,
          kHigh,
          kSkinny,
          tiles_of<true>(rows),
          tiles_of<false>(rows),
          {pack_panels<float>, pack_panels<Bf16>, pack_panels<F16>}};
}
