// Products of 16-bit matrices as f32 products of tiles. A thread computes one
// tile of the result after another, in steps along k. The three tiles stay in
// the L2 cache, where a product is at least as fast as one of whole matrices.

#include <cmath>

#include "kernels/cpu/matmul.h"
#include "kernels/cpu/widened/widened_call.h"

namespace mpc::kernels::cpu {
namespace {

using dnnl::memory;

// Maximum step along k, and maximum number of elements of the three tiles.
constexpr int64_t kMaxDepth = 256;
constexpr int64_t kMaxTiles = 200 << 10;
// Small matrices of a batch are processed together up to this number of
// elements.
constexpr int64_t kGroupElements = 32 << 10;
// Number of workers for which the deterministic mode divides the work.
constexpr int kNominalWorkers = 16;
// Costs in f32 operations: widening an element, rounding one, calling a
// primitive.
constexpr double kWidenCost = 8, kRoundCost = 16, kCallCost = 5e4;

int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

// Extents of a tile; `batch` matrices at a time.
struct TileSizes {
  int64_t batch, m, n, k;
};

// The size of about equal parts of at most `most`.
int64_t even_part(int64_t extent, int64_t most) {
  const int64_t parts = divide_up(extent, most);
  return std::min(extent, divide_up(divide_up(extent, parts), 16) * 16);
}

int64_t batch_count(const MatmulShape& s) {
  int64_t count = 1;
  for (const BatchDim& dim : s.batch) count *= dim.extent;
  return count;
}

// The tile sizes that minimize the time of the slowest worker.
TileSizes choose_tiles(const MatmulShape& s, int workers) {
  TileSizes best{1, s.m, s.n, even_part(s.k, kMaxDepth)};
  const double depth = static_cast<double>(s.k);
  const double calls = static_cast<double>(divide_up(s.k, best.k)) * kCallCost;
  double least = 0;
  for (int64_t rows = 32; rows <= 512; rows += 32) {
    for (int64_t columns = 64; columns <= 512; columns += 64) {
      const int64_t m = std::min(rows, s.m), n = std::min(columns, s.n);
      if ((m + n) * best.k + m * n > kMaxTiles) continue;
      const double tiles = static_cast<double>(
          batch_count(s) * divide_up(s.m, m) * divide_up(s.n, n));
      const double sides = static_cast<double>(m + n),
                   area = static_cast<double>(m * n);
      const double cost = 2 * area * depth + kWidenCost * sides * depth +
                          kRoundCost * area + calls;
      const double total = std::ceil(tiles / workers) * cost;
      if (least != 0 && total >= least) continue;
      least = total;
      best.m = m;
      best.n = n;
    }
  }
  if (!s.batch.empty() && best.m == s.m && best.n == s.n && best.k == s.k) {
    const int64_t elements = s.m * s.k + s.k * s.n + s.m * s.n;
    best.batch = std::clamp<int64_t>(
        std::min(kGroupElements / elements, batch_count(s) / workers), 1,
        s.batch.back().extent);
  }
  return best;
}

// A dimension, cut into parts.
struct Parts {
  int64_t extent, size;

  int64_t count() const { return divide_up(extent, size); }
  int64_t at(int64_t part) const {
    return std::min(size, extent - part * size);
  }
  int64_t rest() const { return extent % size; }
};

class Tiles final : public Cutting {
 public:
  Tiles(const MatmulShape& shape, const TileSizes& sizes)
      : shape_(shape),
        m_{shape.m, sizes.m},
        n_{shape.n, sizes.n},
        k_{shape.k, sizes.k} {
    if (!shape_.batch.empty()) {
      last_ = shape_.batch.back();
      shape_.batch.pop_back();
    }
    batch_ = {last_.extent, sizes.batch};
  }

  int64_t pieces() const {
    return batch_count(shape_) * batch_.count() * m_.count() * n_.count();
  }
  int64_t steps(size_t) const override { return k_.count(); }
  // Index of the call, in the order of for_calls.
  size_t call(size_t piece, int64_t step) const override {
    const Tile tile = tile_at(piece);
    size_t index = tile.batch + 1 == batch_.count() && batch_.rest() != 0;
    index = index * kinds(m_) + is_rest(m_, tile.row);
    index = index * kinds(n_) + is_rest(n_, tile.column);
    return index * step_kinds() +
           (is_rest(k_, step) ? step_kinds() - 1 : step != 0);
  }
  // Calls body(batch, m, n, k, whether the product is added) for each
  // primitive.
  template <typename Body>
  void for_calls(Body&& body) const {
    for (int64_t b : sizes_of(batch_))
      for (int64_t m : sizes_of(m_))
        for (int64_t n : sizes_of(n_)) {
          body(b, m, n, k_.size, false);
          if (k_.extent / k_.size > 1) body(b, m, n, k_.size, true);
          if (k_.rest() != 0) body(b, m, n, k_.rest(), true);
        }
  }

  Part input(size_t index, size_t piece, int64_t step) const override {
    const Tile tile = tile_at(piece);
    const bool left = index == 0;
    const Parts &side = left ? m_ : n_, &depth = k_;
    const int64_t place = left ? tile.row : tile.column;
    // Whether rows of the operand in memory run along k.
    const bool along_depth =
        left != (left ? shape_.transpose_lhs : shape_.transpose_rhs);
    return part(tile, index, along_depth ? side : depth,
                along_depth ? place : step, along_depth ? depth : side,
                along_depth ? step : place);
  }
  Part result(size_t piece) const override {
    const Tile tile = tile_at(piece);
    return part(tile, 2, m_, tile.row, n_, tile.column);
  }
  const BatchDim& last() const { return last_; }
  // Whether tiles consist of whole rows and are contiguous, so that products
  // can write them in place.
  bool are_whole_rows() const {
    return n_.count() == 1 && last_.extent == 1 && shape_.batch.empty();
  }

 private:
  struct Tile {
    int64_t outer, batch, row, column;
  };

  static bool is_rest(const Parts& parts, int64_t part) {
    return parts.at(part) != parts.size;
  }
  static size_t kinds(const Parts& parts) { return parts.rest() != 0 ? 2 : 1; }
  static std::vector<int64_t> sizes_of(const Parts& parts) {
    if (parts.rest() == 0) return {parts.size};
    return {parts.size, parts.rest()};
  }
  size_t step_kinds() const {
    return 1 + (k_.extent / k_.size > 1) + (k_.rest() != 0);
  }

  Tile tile_at(size_t piece) const {
    Tile tile;
    int64_t index = static_cast<int64_t>(piece);
    tile.column = index % n_.count();
    index /= n_.count();
    tile.row = index % m_.count();
    index /= m_.count();
    tile.batch = index % batch_.count();
    tile.outer = index / batch_.count();
    return tile;
  }

  // Whether an operand has a dimension of the batch, as opposed to repeating
  // one matrix.
  static bool has(const BatchDim& dim, size_t operand) {
    return operand == 0 ? dim.in_lhs : operand == 1 ? dim.in_rhs : true;
  }

  // The part of an operand's matrices at part `row` of `rows` and `column` of
  // `columns`.
  Part part(const Tile& tile, size_t operand, const Parts& rows, int64_t row,
            const Parts& columns, int64_t column) const {
    const int64_t matrix = rows.extent * columns.extent;
    int64_t offset = 0, stride = matrix, outer = tile.outer;
    if (has(last_, operand)) {
      offset = tile.batch * batch_.size * stride;
      stride *= last_.extent;
    }
    for (size_t d = shape_.batch.size(); d-- > 0;) {
      const BatchDim& dim = shape_.batch[d];
      if (has(dim, operand)) {
        offset += outer % dim.extent * stride;
        stride *= dim.extent;
      }
      outer /= dim.extent;
    }
    // Several matrices at a time are always whole.
    if (batch_.size > 1)
      return Part::flat(
          offset, (has(last_, operand) ? batch_.at(tile.batch) : 1) * matrix);
    offset += row * rows.size * columns.extent + column * columns.size;
    return {offset, rows.at(row), columns.at(column), columns.extent};
  }

  MatmulShape shape_;  // Without the last dimension of the batch.
  BatchDim last_{1, false, false};
  Parts batch_{1, 1}, m_, n_, k_;
};

// Describes one product of dense tiles.
dnnl::matmul::primitive_desc describe(const dnnl::engine& engine,
                                      const MatmulShape& s,
                                      const BatchDim& last, int64_t batch,
                                      int64_t m, int64_t n, int64_t k,
                                      bool accumulate) {
  const auto tile = [batch](int64_t rows, int64_t columns, bool transpose,
                            bool repeats) {
    memory::dims dims = {rows, columns};
    memory::dims strides = {transpose ? 1 : columns, transpose ? rows : 1};
    if (batch > 1) {
      dims.insert(dims.begin(), repeats ? 1 : batch);
      strides.insert(strides.begin(), rows * columns);
    }
    return memory::desc(dims, memory::data_type::f32, strides);
  };
  dnnl::primitive_attr attributes = user_scratchpad();
  if (accumulate) {
    dnnl::post_ops add;
    add.append_sum(1.0f);
    attributes.set_post_ops(add);
  }
  // oneDNN keeps a pointer to the description while it searches.
  const dnnl::matmul::desc desc(tile(m, k, s.transpose_lhs, !last.in_lhs),
                                tile(k, n, s.transpose_rhs, !last.in_rhs),
                                tile(m, n, false, false));
  return dnnl::matmul::primitive_desc(desc, attributes, engine);
}

}  // namespace

std::unique_ptr<Kernel> make_widened_matmul(const MatmulShape& s, int threads,
                                            bool deterministic) {
  const TileSizes sizes =
      choose_tiles(s, deterministic ? kNominalWorkers : threads);
  const auto tiles = std::make_shared<const Tiles>(s, sizes);
  const ThreadScope scope(1);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  std::vector<dnnl::matmul::primitive_desc> descriptions;
  size_t scratchpad = 0;
  tiles->for_calls([&](int64_t batch, int64_t m, int64_t n, int64_t k,
                       bool accumulate) {
    descriptions.push_back(
        describe(engine, s, tiles->last(), batch, m, n, k, accumulate));
    scratchpad =
        std::max(scratchpad, descriptions.back().scratchpad_desc().get_size());
  });

  auto kernel = std::make_unique<DnnlKernel>();
  kernel->name = std::string("widened:") + descriptions[0].impl_info_str();
  kernel->piece_threads = threads;
  const auto floats = [&](int64_t count) {
    return kernel->layout.add(sizeof(float) *
                              static_cast<size_t>(sizes.batch * count));
  };
  const bool in_place =
      s.result_dtype == MPC_DTYPE_F32 && tiles->are_whole_rows();
  kernel->add_workers({1, tiles->pieces(), 0}, [&] {
    const Slot lhs = floats(sizes.m * sizes.k), rhs = floats(sizes.k * sizes.n),
               pad = kernel->layout.add(scratchpad);
    const size_t tile = sizeof(float) * static_cast<size_t>(sizes.m * sizes.n);
    const Slot result = in_place ? Slot{2, 0, tile} : floats(sizes.m * sizes.n);
    WidenedCall call(tiles, 1);
    call.inputs = {{0, Conversion(s.dtype), lhs},
                   {1, Conversion(s.dtype), rhs}};
    if (!in_place) call.result = {2, Conversion(s.result_dtype), result};
    for (const dnnl::matmul::primitive_desc& pd : descriptions) {
      DnnlCall product(engine, make_primitive<dnnl::matmul>(pd));
      product.bind(DNNL_ARG_SRC, pd.src_desc(), lhs);
      product.bind(DNNL_ARG_WEIGHTS, pd.weights_desc(), rhs);
      product.bind(DNNL_ARG_DST, pd.dst_desc(), result);
      if (pd.scratchpad_desc().get_size() != 0)
        product.bind(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), pad);
      call.calls.push_back(std::move(product));
    }
    return call;
  });
  return kernel;
}

}  // namespace mpc::kernels::cpu
