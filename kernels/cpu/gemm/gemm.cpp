#include "kernels/cpu/gemm/gemm.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/loops/target.h"
#include "kernels/cpu/widened/conversion.h"
#include "kernels/float_types.h"

namespace mpc::kernels::cpu {
namespace {

int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }
int64_t round_up(int64_t value, int64_t to) {
  return divide_up(value, to) * to;
}

// A tile of the result: the product of rows of the left operand, at `lhs_row`
// from each other, and vectors of the right one. Steps along k are at
// `lhs_step` (1 if rows are not adjacent) and `rhs_step`.
struct Tile {
  int64_t k;
  const float* lhs;
  int64_t lhs_row, lhs_step;
  const float* rhs;
  int64_t rhs_step;
  float* result;
  int64_t result_row;
  bool adds;
};
using TileFunction = void (*)(const Tile&);

// Rows of the left operand, or columns of the right one, to be packed: at each
// of `k` steps `lanes` elements, `step` floats from the next step.
struct Panel {
  const void* from;
  int64_t lane_stride, step_stride;  // In elements.
  int64_t lanes, readable;  // If lanes are contiguous, so many may be read.
  int64_t k;
  int64_t step;
  // Further panels, with as many lanes: they follow in memory, and at
  // `to_stride` floats in the packed operand.
  int64_t count = 1, to_stride = 0;
};
using PackFunction = void (*)(const Panel&, float* to);

constexpr int kMaxRows = 8, kMaxVectors = 4;
// By the number of rows and of vectors, both less one.
using TileFunctions =
    std::array<std::array<TileFunction, kMaxVectors>, kMaxRows>;

// Rows, and vectors to a row.
struct TileSize {
  int64_t rows, vectors;
};

struct GemmLoops {
  const char* name;
  int64_t width;  // Floats to a vector.
  // Sizes of tiles: low ones read rows of the left operand in place, high ones
  // read it packed, and skinny ones are for few columns.
  TileSize low, high, skinny;
  TileFunctions adjacent, strided;
  std::array<PackFunction, 3> pack;  // From f32, bf16, f16.
};

#define MPC_LOOPS "kernels/cpu/loops/gemm_loops.h"
#include "kernels/cpu/loops/each_isa.h"
#undef MPC_LOOPS

const GemmLoops& best_loops() {
  static const GemmLoops loops = [] {
#ifdef __x86_64__
    if (has_avx512()) return avx512::loops();
    return avx2::loops();
#else
    return baseline::loops();
#endif
  }();
  return loops;
}

PackFunction pack_function(mpc_dtype_t dtype) {
  return best_loops().pack[dtype == MPC_DTYPE_F32    ? 0
                           : dtype == MPC_DTYPE_BF16 ? 1
                                                     : 2];
}

constexpr int64_t kLineFloats = 16;
// Longest sum in registers; part of the definition of the result's bits.
constexpr int64_t kMaxDepth = 1024;
// Floats of either operand that are packed at a time.
constexpr int64_t kMaxPackedLhs = 1 << 20, kMaxPackedRhs = 1 << 19;
// Rows and columns that are summed in f32 before they are rounded.
constexpr int64_t kMaxSummed = 512;
// Reading in place pays up to so many uses of an element if the cache can hold
// the lines, and always for few uses.
constexpr int64_t kMaxUsesInPlace = 256, kMaxLinesPerSet = 16, kFewUses = 12;
constexpr int64_t kMaxRowOfPieces = 512, kMaxUsesOfPieces = 256;
// Vectors of rows up to which the transposed product is computed.
constexpr int64_t kMaxSwappedVectors = 1;
// How many times what the cache holds of a left operand may be read again for
// each block of columns.
constexpr int64_t kMaxRereadBlocks = 4;
// Blocks of columns for each thread from which on threads own columns.
constexpr int64_t kPanelsPerThread = 3;
// Tasks are chosen by an estimate. Each task takes a small share of the whole
// product more; packing a row of tiles takes as long as the product of a part
// of a panel with it; and all threads wait for a part of the last task.
constexpr double kCostOfTask = 0.001, kCostOfPacking = 0.6,
                 kCostOfLastTask = 0.5;
constexpr int64_t kMaxTasksPerThread = 32;
// Multiply-adds in the time in which a thread takes a task.
constexpr double kWorkOfTask = 4e4;

// Half of the L2 cache, in floats.
int64_t cached_floats() {
  static const int64_t floats = [] {
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return (bytes > 0 ? bytes : 1 << 20) / 2 / int64_t{sizeof(float)};
  }();
  return floats;
}

// Prefetches a share of a panel to the L2 cache.
void prefetch(const Panel& panel, size_t element, int64_t part, int64_t parts) {
  const bool along_lanes = panel.lane_stride == 1;
  const int64_t lines = along_lanes ? panel.k : panel.lanes;
  const size_t stride =
      element *
      static_cast<size_t>(along_lanes ? panel.step_stride : panel.lane_stride);
  const size_t bytes =
      element * static_cast<size_t>(along_lanes ? panel.lanes : panel.k);
  const Range mine =
      share(lines, static_cast<int>(part), static_cast<int>(parts));
  const char* from = static_cast<const char*>(panel.from);
  for (int64_t line = mine.begin; line < mine.end; ++line)
    for (size_t byte = 0; byte < bytes; byte += 64)
      __builtin_prefetch(from + static_cast<size_t>(line) * stride + byte, 0,
                         2);
}

// The number of cache lines that share a set of an L2 cache with 1024 sets, if
// `count` lines are at `stride` bytes from each other.
int64_t lines_per_set(int64_t count, int64_t stride) {
  constexpr int64_t kSets = 1024, kLine = 64;
  const int64_t used =
      std::min(kSets, kSets * kLine / std::gcd(stride, kSets * kLine));
  return divide_up(count, used);
}

// Whether a tile's operand is best read in place: at each of `depth` steps one
// row of memory, `uses` times in all.
bool reads_rows_in_place(const MatrixLayout& layout, int64_t stride,
                         int64_t depth, int64_t uses) {
  if (layout.dtype != MPC_DTYPE_F32 || uses > kMaxUsesInPlace) return false;
  return uses <= kFewUses ||
         lines_per_set(depth, stride * int64_t{sizeof(float)}) <=
             kMaxLinesPerSet;
}

}  // namespace

// A product in progress, on one of its threads. Blocks of columns are computed
// one after another, each of them in blocks of rows, and these in blocks along
// k, the steps. Copies of long functions in their callers would only make the
// library larger.
class Gemm::Run {
 public:
  Run(const Gemm& gemm, const void* lhs, const void* rhs, void* result,
      void* scratch, int thread, int64_t packed_columns)
      : g_(gemm),
        s_(gemm.shape_),
        lhs_(lhs),
        rhs_(rhs),
        result_(result),
        packed_columns_(packed_columns) {
    const auto part = [&](size_t floats, int parts, int index) {
      float* first = static_cast<float*>(scratch);
      scratch = first + floats * static_cast<size_t>(parts);
      return first + floats * static_cast<size_t>(index);
    };
    const int owners = g_.owners(), owner = g_.owns_columns_ ? thread : 0;
    packed_rhs_ = part(g_.rhs_floats_, owners, owner);
    const bool has_own_rows = g_.packs_lhs_ && !g_.keeps_lhs_;
    packed_lhs_ = part(g_.lhs_floats_, has_own_rows ? g_.threads_ : 1,
                       has_own_rows ? thread : 0);
    sums_ = part(g_.sum_floats_, owners, owner);
    edge_ = part(g_.edge_floats_, g_.threads_, thread);
  }

  int64_t steps() const {
    return divide_up(s_.n, g_.columns_) * divide_up(s_.m, g_.summed_rows_) *
           divide_up(s_.k, g_.depth_);
  }
  void begin_step(int64_t index) {
    const int64_t depths = divide_up(s_.k, g_.depth_),
                  blocks = divide_up(s_.m, g_.summed_rows_);
    step_ = index % depths * g_.depth_;
    depth_ = std::min(g_.depth_, s_.k - step_);
    begin_ = index / depths % blocks * g_.summed_rows_;
    end_ = std::min(s_.m, begin_ + g_.summed_rows_);
    column_ = index / depths / blocks * g_.columns_;
    columns_ = std::min(g_.columns_, s_.n - column_);
    if (g_.sums_first_) {
      row_stride_ = columns_;
      column_stride_ = 1;
      block_ = sums_ - begin_ * row_stride_;
    } else {
      row_stride_ = s_.result.row_stride;
      column_stride_ = s_.result.column_stride;
      block_ = static_cast<float*>(result_) + column_ * column_stride_;
    }
  }
  bool packs_lhs() const {
    return g_.packs_lhs_ && (column_ == 0 || !g_.keeps_lhs_);
  }
  // A single step along k stays packed.
  bool packs_rhs() const {
    return g_.packs_rhs_ && (begin_ == 0 || s_.k > g_.depth_);
  }

  // The whole step on this thread. Packs operands when they are needed first.
  [[gnu::noinline]] void multiply_step() {
    for (row_ = begin_; row_ < end_; row_ += g_.rows_) {
      begin_rows(std::min(g_.rows_, end_ - row_));
      if (packs_lhs() && !g_.owns_columns_) pack_rows(0, tiles_);
      for (int64_t first = 0; first < columns_; first += g_.tile_columns_)
        multiply_panel(first,
                       packs_rhs() && row_ == begin_ && !is_packed(first));
    }
  }

  // All steps of a block of columns, whose left operand has been packed.
  void multiply_columns(int64_t block) {
    const int64_t steps = divide_up(s_.k, g_.depth_);
    for (int64_t step = 0; step < steps; ++step) {
      begin_step(block * steps + step);
      multiply_step();
    }
    if (g_.sums_first_) finish(0, 1);
  }

  // Whether threads pack operands together, before their tasks.
  bool packs_first() const {
    return (packs_lhs() && g_.keeps_lhs_) || packs_rhs();
  }
  // Packs a share of these operands.
  void pack(int part, int parts) {
    if (packs_lhs() && g_.keeps_lhs_) pack_lhs(part, parts);
    if (packs_rhs()) pack_rhs(part, parts);
  }
  [[gnu::noinline]] void pack_lhs(int part, int parts) {
    const int64_t blocks = divide_up(end_ - begin_, g_.rows_);
    for (int64_t b = 0; b < blocks; ++b) {
      row_ = begin_ + b * g_.rows_;
      begin_rows(std::min(g_.rows_, end_ - row_));
      const Range mine = share(tiles_, part, parts);
      pack_rows(mine.begin, mine.end);
    }
  }
  void pack_rhs(int part, int parts) {
    const int64_t whole = columns_ / g_.tile_columns_;
    const Range mine = share(whole, part, parts);
    if (mine.begin != mine.end) {
      Panel panel = panel_at(mine.begin * g_.tile_columns_);
      panel.count = mine.end - mine.begin;
      panel.to_stride = g_.tile_columns_ * depth_;
      pack_function(s_.rhs.dtype)(
          panel, packed_rhs_ + mine.begin * g_.tile_columns_ * depth_);
    }
    if (part == parts - 1 && columns_ % g_.tile_columns_ != 0)
      pack_columns(whole * g_.tile_columns_);
  }
  // The tasks of a step. They require `pack` if `packs_first()`.
  int64_t tasks() const {
    return divide_up(end_ - begin_, g_.rows_) * tasks_of_rows() *
           divide_up(columns_, g_.task_columns_);
  }
  void multiply_task(int64_t index) {
    const int64_t columns = divide_up(columns_, g_.task_columns_);
    const int64_t first = index % columns * g_.task_columns_,
                  last = std::min(columns_, first + g_.task_columns_);
    index /= columns;
    row_ = begin_ + index / tasks_of_rows() * g_.rows_;
    begin_rows(std::min(g_.rows_, end_ - row_));
    const int64_t rows = index % tasks_of_rows() * g_.task_rows_;
    first_tile_ = std::min(rows / g_.tile_rows_, tiles_);
    end_tile_ = std::min((rows + g_.task_rows_) / g_.tile_rows_, tiles_);
    if (packs_lhs() && !g_.keeps_lhs_ && packed_row_ != row_ + rows) {
      packed_row_ = row_ + rows;
      pack_rows(first_tile_, end_tile_);
    }
    for (int64_t column = first; column < last; column += g_.tile_columns_)
      multiply_panel(column, false);
  }

  // Whether the step was the last one of its rows.
  bool is_finished() const { return step_ + depth_ == s_.k; }
  // Rounds a share of the rows of sums, or adds it to the result.
  [[gnu::noinline]] void finish(int part, int parts) const {
    const Conversion conversion(s_.result.dtype);
    const Range mine = share(end_ - begin_, part, parts);
    for (int64_t row = begin_ + mine.begin; row < begin_ + mine.end; ++row) {
      const float* from = block_ + row * row_stride_;
      if (s_.adds)
        add_row(from, row);
      else
        conversion.loops().round(from, columns_,
                                 address(result_, s_.result.dtype,
                                         row * s_.result.row_stride + column_));
    }
  }

 private:
  void add_row(const float* from, int64_t row) const {
    float* to = static_cast<float*>(result_) + row * s_.result.row_stride +
                column_ * s_.result.column_stride;
    for (int64_t i = 0; i < columns_; ++i)
      to[i * s_.result.column_stride] += from[i];
  }
  static char* address(const void* data, mpc_dtype_t dtype, int64_t element) {
    return static_cast<char*>(const_cast<void*>(data)) +
           element * static_cast<int64_t>(mpc_dtype_size(dtype));
  }

  // The number of tasks into which the rows of a block are divided.
  int64_t tasks_of_rows() const { return divide_up(g_.rows_, g_.task_rows_); }

  // Divides the rows about evenly into tiles.
  void begin_rows(int64_t rows) {
    rows_ = rows;
    tiles_ = divide_up(rows_, g_.tile_rows_);
    height_ = rows_ / tiles_;
    higher_ = rows_ % tiles_;
    first_tile_ = 0;
    end_tile_ = tiles_;
    lhs_block_ = packed_lhs_;
    if (g_.keeps_lhs_)
      lhs_block_ +=
          (step_ / g_.depth_ * divide_up(s_.m, g_.rows_) + row_ / g_.rows_) *
          g_.lhs_block_floats();
  }
  // Whether an earlier product has packed the panel, with as many vectors.
  bool is_packed(int64_t first) const {
    const int64_t lanes = std::min(g_.tile_columns_, s_.n - first),
                  packed = std::min(g_.tile_columns_, packed_columns_ - first);
    return lanes <= packed &&
           round_up(lanes, loops_.width) == round_up(packed, loops_.width);
  }
  // The rows of a tile, from the first of the block.
  Range tile_rows(int64_t tile) const {
    const int64_t begin = tile * height_ + std::min(tile, higher_);
    return {begin, begin + height_ + (tile < higher_ ? 1 : 0)};
  }

  // Packs tiles `begin` to `end` of the rows of the block.
  void pack_rows(int64_t begin, int64_t end) {
    const int64_t middle = std::clamp(higher_, begin, end);
    pack_equal_rows(begin, middle);
    pack_equal_rows(middle, end);
  }
  [[gnu::noinline]] void pack_equal_rows(int64_t begin, int64_t end) {
    if (begin == end) return;
    pack_function(s_.lhs.dtype)(rows_of(begin, end - begin),
                                lhs_block_ + begin * g_.lhs_tile_floats());
  }
  // The rows of `count` tiles of equal height from `tile` on, in this block.
  Panel rows_of(int64_t tile, int64_t count) const {
    const Range rows = tile_rows(tile);
    const int64_t height = rows.end - rows.begin, first = row_ + rows.begin;
    return {address(lhs_, s_.lhs.dtype,
                    first * s_.lhs.row_stride + step_ * s_.lhs.column_stride),
            s_.lhs.row_stride,
            s_.lhs.column_stride,
            height,
            s_.m - first,
            depth_,
            height,
            count,
            g_.lhs_tile_floats()};
  }

  // The columns of the right operand from `first` on, in this block.
  Panel panel_at(int64_t first) const {
    const int64_t columns = std::min(g_.tile_columns_, columns_ - first);
    return {address(rhs_, s_.rhs.dtype,
                    step_ * s_.rhs.row_stride +
                        (column_ + first) * s_.rhs.column_stride),
            s_.rhs.column_stride,
            s_.rhs.row_stride,
            columns,
            s_.n - column_ - first,
            depth_,
            round_up(columns, loops_.width)};
  }
  void pack_columns(int64_t first) {
    pack_function(s_.rhs.dtype)(panel_at(first), packed_rhs_ + first * depth_);
  }

  [[gnu::noinline]] void multiply_panel(int64_t first, bool packs) {
    const Panel panel = panel_at(first);
    Tile tile;
    tile.k = depth_;
    tile.rhs = packed_rhs_ + first * depth_;
    tile.rhs_step = panel.step;
    if (!g_.packs_rhs_ && panel.lanes == panel.step) {
      tile.rhs = static_cast<const float*>(panel.from);
      tile.rhs_step = s_.rhs.row_stride;
    } else if (!g_.packs_rhs_) {
      // Vectors that are not whole cannot be read in place.
      float* to = edge_ + g_.tile_rows_ * g_.tile_columns_;
      pack_function(s_.rhs.dtype)(panel, to);
      tile.rhs = to;
    } else if (packs) {
      pack_columns(first);
    }
    const bool prefetches_rhs = packs && first + g_.tile_columns_ < columns_;
    const bool prefetches_lhs =
        !g_.packs_lhs_ && !g_.owns_columns_ && first % g_.task_columns_ == 0;
    for (int64_t t = first_tile_; t < end_tile_; ++t) {
      if (prefetches_rhs)
        prefetch(panel_at(first + g_.tile_columns_),
                 mpc_dtype_size(s_.rhs.dtype), t, tiles_);
      if (prefetches_lhs && t + 1 < end_tile_)
        prefetch(rows_of(t + 1, 1), sizeof(float), 0, 1);
      multiply_tile(&tile, panel, t, first);
    }
  }

  void multiply_tile(Tile* tile, const Panel& panel, int64_t index,
                     int64_t first) {
    const Range rows = tile_rows(index);
    const int64_t height = rows.end - rows.begin;
    const TileFunctions* functions = &loops_.adjacent;
    if (g_.packs_lhs_) {
      tile->lhs = lhs_block_ + index * g_.lhs_tile_floats();
      tile->lhs_step = height;
    } else {
      tile->lhs = static_cast<const float*>(lhs_) +
                  (row_ + rows.begin) * s_.lhs.row_stride +
                  step_ * s_.lhs.column_stride;
      tile->lhs_row = s_.lhs.row_stride;
      tile->lhs_step = s_.lhs.column_stride;
      if (s_.lhs.row_stride != 1) functions = &loops_.strided;
    }
    float* to =
        block_ + (row_ + rows.begin) * row_stride_ + first * column_stride_;
    const bool adds = step_ != 0 || (s_.adds && !g_.sums_first_);
    const bool is_whole = panel.lanes == panel.step && column_stride_ == 1;
    tile->adds = adds && is_whole;
    tile->result = is_whole ? to : edge_;
    tile->result_row = is_whole ? row_stride_ : panel.step;
    // The tile is added to what is in memory only after its last step.
    if (tile->adds)
      for (int64_t r = 0; r < height; ++r)
        for (int64_t i = 0; i < panel.lanes; i += kLineFloats)
          __builtin_prefetch(to + r * row_stride_ + i, 1);
    (*functions)[static_cast<size_t>(height - 1)]
                [static_cast<size_t>(panel.step / loops_.width - 1)](*tile);
    if (is_whole) return;
    for (int64_t r = 0; r < height; ++r) {
      const float* from = edge_ + r * panel.step;
      if (column_stride_ == 1 && !adds) {
        std::copy_n(from, panel.lanes, to + r * row_stride_);
        continue;
      }
      for (int64_t i = 0; i < panel.lanes; ++i) {
        float& element = to[r * row_stride_ + i * column_stride_];
        element = adds ? element + from[i] : from[i];
      }
    }
  }

  const Gemm& g_;
  const GemmShape& s_;
  const GemmLoops& loops_ = best_loops();
  const void *const lhs_, *const rhs_;
  void* const result_;
  float *packed_rhs_, *packed_lhs_, *sums_, *edge_;
  const int64_t packed_columns_;
  // The step: its columns, the rows that are finished with it, and the block of
  // the result, from row 0 on.
  int64_t column_ = 0, columns_ = 0, begin_ = 0, end_ = 0, step_ = 0,
          depth_ = 0;
  float* block_ = nullptr;
  int64_t row_stride_ = 0, column_stride_ = 0;
  // The rows of the block, and the tiles to compute.
  int64_t row_ = 0, rows_ = 0, tiles_ = 0, height_ = 0, higher_ = 0,
          first_tile_ = 0, end_tile_ = 0;
  float* lhs_block_ = nullptr;
  // The first row of the last task, whose rows are packed.
  int64_t packed_row_ = -1;
};

Gemm::Gemm(const GemmShape& shape, int threads)
    : shape_(shape), threads_(threads) {
  choose_tiles();
  choose_blocks();
  choose_owners();
  choose_tasks();
  const auto floats = [](int64_t count) {
    return static_cast<size_t>(round_up(count, 16));
  };
  const int64_t lhs_blocks =
      keeps_lhs_ ? divide_up(shape_.m, rows_) * divide_up(shape_.k, depth_) : 1;
  lhs_floats_ = packs_lhs_ ? floats(lhs_blocks * lhs_block_floats()) : 0;
  rhs_floats_ =
      packs_rhs_ ? floats(round_up(columns_, tile_columns_) * depth_) : 0;
  sum_floats_ = sums_first_ ? floats(summed_rows_ * columns_) : 0;
  // A tile, and without packing a panel whose vectors are not whole.
  edge_floats_ = floats(tile_rows_ * tile_columns_ +
                        (packs_rhs_ ? 0 : tile_columns_ * depth_));
  scratch_bytes_ =
      sizeof(float) *
      (lhs_floats_ * static_cast<size_t>(keeps_lhs_ ? 1 : threads_) +
       (rhs_floats_ + sum_floats_) * static_cast<size_t>(owners()) +
       edge_floats_ * static_cast<size_t>(threads_));
}

// Packing writes whole vectors, beyond the end of a tile.
int64_t Gemm::lhs_tile_floats() const {
  return tile_rows_ * depth_ + best_loops().width;
}
int64_t Gemm::lhs_block_floats() const {
  return divide_up(rows_, tile_rows_) * lhs_tile_floats();
}

void Gemm::choose_tiles() {
  const GemmLoops& loops = best_loops();
  MatrixLayout &lhs = shape_.lhs, &rhs = shape_.rhs, &result = shape_.result;
  const bool is_f32 = lhs.dtype == MPC_DTYPE_F32 &&
                      rhs.dtype == MPC_DTYPE_F32 &&
                      result.dtype == MPC_DTYPE_F32;
  // Few rows do not repay packing a large right operand. As the left operand of
  // the transposed product it is read in place.
  if (is_f32 && rhs.row_stride == 1 &&
      shape_.m <= kMaxSwappedVectors * loops.width && shape_.n > shape_.m) {
    is_swapped_ = true;
    std::swap(shape_.m, shape_.n);
    std::swap(lhs, rhs);
    for (MatrixLayout* layout : {&lhs, &rhs, &result})
      std::swap(layout->row_stride, layout->column_stride);
  }
  depth_ = round_up(divide_up(shape_.k, divide_up(shape_.k, kMaxDepth)), 16);
  sums_first_ =
      result.dtype != MPC_DTYPE_F32 || (shape_.adds && shape_.k > depth_);

  // Low tiles read few rows at a time, which may be anywhere in memory, or
  // short pieces of a small matrix.
  const bool in_rows = lhs.dtype == MPC_DTYPE_F32 && lhs.column_stride == 1;
  const bool in_pieces =
      lhs.row_stride == 1 && lhs.column_stride <= kMaxRowOfPieces &&
      shape_.n <= kMaxUsesOfPieces &&
      reads_rows_in_place(lhs, lhs.column_stride, depth_, shape_.n);
  packs_lhs_ = !in_rows && !in_pieces;
  packs_rhs_ = rhs.column_stride != 1 ||
               !reads_rows_in_place(rhs, rhs.row_stride, depth_, shape_.m);
  const TileSize size =
      !packs_lhs_ || shape_.m <= loops.low.rows ? loops.low : loops.high;
  tile_rows_ = size.rows;
  tile_columns_ = size.vectors * loops.width;
  if (shape_.n <= loops.skinny.vectors * loops.width) {
    tile_rows_ = loops.skinny.rows;
    tile_columns_ = round_up(shape_.n, loops.width);
  }
}

void Gemm::choose_blocks() {
  const int64_t m = shape_.m, n = shape_.n, k = shape_.k;
  // About equal blocks of at most `most`, multiples of `unit`.
  const auto block = [](int64_t extent, int64_t most, int64_t unit) {
    most = std::max(most / unit, int64_t{1}) * unit;
    return std::min(extent,
                    round_up(divide_up(extent, divide_up(extent, most)), unit));
  };
  int64_t most_rows = cached_floats() / depth_,
          most_columns = kMaxPackedRhs / depth_ * std::min(threads_, 2);
  summed_rows_ = m;
  if (sums_first_) {
    most_rows = std::min(most_rows, kMaxSummed);
    most_columns = std::min(most_columns, kMaxSummed);
    summed_rows_ = kMaxSummed * threads_;
  }
  rows_ = block(m, most_rows, tile_rows_);
  columns_ = block(n, most_columns, tile_columns_);
  keeps_lhs_ = packs_lhs_ && columns_ < n && m * k <= kMaxPackedLhs;
  summed_rows_ =
      summed_rows_ < m
          ? std::min(m, std::max(summed_rows_ / rows_, int64_t{1}) * rows_)
          : m;
}

// A block of columns is then packed where it is used, but each reads the whole
// left operand again.
void Gemm::choose_owners() {
  owns_columns_ =
      threads_ > 1 && packs_rhs_ && !is_swapped_ &&
      shape_.m * depth_ <= kMaxRereadBlocks * cached_floats() &&
      divide_up(shape_.n, tile_columns_) >= threads_ * kPanelsPerThread &&
      (!packs_lhs_ || shape_.m * shape_.k <= kMaxPackedLhs);
  if (!owns_columns_) return;
  columns_ = tile_columns_;
  summed_rows_ = shape_.m;
  keeps_lhs_ = packs_lhs_;
}

// Divides rows and columns so that threads finish at about the same time: also
// into more blocks of rows than the cache requires, if these can be distributed
// evenly.
void Gemm::choose_tasks() {
  task_rows_ = round_up(rows_, tile_rows_);
  task_columns_ = round_up(columns_, tile_columns_);
  if (threads_ == 1 || owns_columns_) return;
  const int64_t panels = divide_up(columns_, tile_columns_);
  const int64_t most_parts = std::min(panels, threads_ * kMaxTasksPerThread);
  const int64_t fewest = divide_up(summed_rows_, rows_);
  const int64_t most = summed_rows_ < shape_.m ? fewest : fewest + threads_ - 1;
  // Threads that share a block of rows each pack it.
  const double packing = packs_lhs_ && !keeps_lhs_ ? kCostOfPacking : 0;
  // In units of a tile and a panel.
  const double taking =
      kWorkOfTask / static_cast<double>(tile_rows_ * tile_columns_ * depth_);
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](int64_t rows, int64_t task_tiles,
                            int64_t task_panels) {
    const int64_t tasks = divide_up(summed_rows_, rows) *
                          divide_up(divide_up(rows, tile_rows_), task_tiles) *
                          divide_up(panels, task_panels);
    const double turns = static_cast<double>(divide_up(tasks, threads_)),
                 task = static_cast<double>(task_tiles) *
                            (static_cast<double>(task_panels) + packing) +
                        taking;
    const double cost =
        task * (turns * (1 + kCostOfTask * static_cast<double>(tasks)) +
                kCostOfLastTask);
    if (cost >= least) return;
    least = cost;
    rows_ = rows;
    task_rows_ = task_tiles * tile_rows_;
    task_columns_ = task_panels * tile_columns_;
  };
  const int64_t rows = rows_;
  for (int64_t blocks = fewest; blocks <= most; ++blocks) {
    const int64_t of_block =
        blocks == fewest
            ? rows
            : round_up(divide_up(summed_rows_, blocks), tile_rows_);
    const int64_t tiles = divide_up(of_block, tile_rows_);
    for (int64_t parts = 1; parts <= most_parts; ++parts)
      if (parts == 1 ||
          divide_up(panels, parts) != divide_up(panels, parts - 1))
        consider(of_block, tiles, divide_up(panels, parts));
    for (int64_t height = tiles; height > 1;) {
      height = divide_up(height, 2);
      consider(of_block, height, 1);
    }
  }
}

int64_t Gemm::packed_columns(const Gemm& previous) const {
  const MatrixLayout &mine = shape_.rhs, &other = previous.shape_.rhs;
  const auto packs_whole = [](const Gemm& gemm) {
    return !gemm.is_swapped_ && gemm.packs_rhs_ && gemm.threads_ == 1 &&
           gemm.columns_ == gemm.shape_.n && gemm.depth_ >= gemm.shape_.k;
  };
  const bool is_same =
      mine.dtype == other.dtype && mine.row_stride == other.row_stride &&
      mine.column_stride == other.column_stride &&
      shape_.k == previous.shape_.k && tile_columns_ == previous.tile_columns_;
  return is_same && packs_whole(*this) && packs_whole(previous)
             ? previous.shape_.n
             : 0;
}

void Gemm::run(const void* lhs, const void* rhs, void* result, void* scratch,
               const Gemm* previous) const {
  if (owns_columns_) return run_blocks_of_columns(lhs, rhs, result, scratch);
  if (is_swapped_) std::swap(lhs, rhs);
  const int64_t packed = previous ? packed_columns(*previous) : 0;
  const auto run_of = [&](int thread) {
    return Run(*this, lhs, rhs, result, scratch, thread, packed);
  };
  Run mine = run_of(0);
  const int64_t steps = mine.steps();
  for (int64_t step = 0; step < steps; ++step) {
    mine.begin_step(step);
    if (threads_ == 1) {
      mine.multiply_step();
      if (sums_first_ && mine.is_finished()) mine.finish(0, 1);
      continue;
    }
    if (mine.packs_first())
      parallel(threads_, [&](int part, int parts) {
        Run run = run_of(part);
        run.begin_step(step);
        run.pack(part, parts);
      });
    alignas(64) std::atomic<int64_t> next{0};
    parallel(threads_, [&](int part, int) {
      Run run = run_of(part);
      run.begin_step(step);
      const int64_t tasks = run.tasks();
      for (;;) {
        const int64_t task = next.fetch_add(1, std::memory_order_relaxed);
        if (task >= tasks) return;
        run.multiply_task(task);
      }
    });
    if (sums_first_ && mine.is_finished())
      parallel(threads_, [&](int part, int parts) {
        Run run = run_of(part);
        run.begin_step(step);
        run.finish(part, parts);
      });
  }
}

void Gemm::run_blocks_of_columns(const void* lhs, const void* rhs, void* result,
                                 void* scratch) const {
  const auto run_of = [&](int thread) {
    return Run(*this, lhs, rhs, result, scratch, thread, 0);
  };
  if (packs_lhs_)
    parallel(threads_, [&](int part, int parts) {
      Run run = run_of(part);
      for (int64_t step = 0; step < divide_up(shape_.k, depth_); ++step) {
        run.begin_step(step);
        run.pack_lhs(part, parts);
      }
    });
  alignas(64) std::atomic<int64_t> next{0};
  parallel(threads_, [&](int part, int) {
    Run run = run_of(part);
    for (;;) {
      const int64_t block = next.fetch_add(1, std::memory_order_relaxed);
      if (block * columns_ >= shape_.n) return;
      run.multiply_columns(block);
    }
  });
}

const char* gemm_instructions() { return best_loops().name; }

}  // namespace mpc::kernels::cpu
