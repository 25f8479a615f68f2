// The steps of recurrent layers and their gradients. The weights are packed
// once per call: forward into panels with the columns of all gates of a group
// of units, so that the gates are computed from their sums in the cache, and
// backward into panels of a few units.
//
// Threads take blocks of the batch, which need nothing from each other, if
// these are large enough and if the weights fit each thread's cache. Otherwise
// each thread has some of the panels and waits for the others once per step.
// The order of sums depends on the shape alone, so any number of threads gives
// the same bits.

#include <cmath>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/loops/target.h"
#include "kernels/cpu/widened/conversion.h"
#include "kernels/float_types.h"

namespace mpc::kernels::cpu {
namespace {

// Units of a group, whose gates are computed together, and of a panel of the
// gradient: with the sums of a tile in registers.
constexpr int64_t kUnits = 16, kGradUnits = 32;
// Rows of a block, and panels whose sums are computed before their gates: both
// stay in the L2 cache. Gates are computed row by row, because rows at a power
// of two from each other would compete for the same buffers of loads and
// stores.
constexpr int64_t kMaxRows = 48, kPanelsTogether = 8;
// Rows below which blocks of the batch make products slower.
constexpr int64_t kMinRows = 6;
// Weights that all threads keep in their caches.
constexpr int64_t kMaxSharedBytes = 1 << 20;
// Multiply-adds of a call that repay a thread, and of a step that repay waiting
// for one.
constexpr double kWorkPerThread = 2e5, kWorkPerWait = 5e4;

// Panels of units in some rows of the batch, at one step: its first elements.
// Rows of states are `hidden` apart, those of gates have all gates.
struct Units {
  int64_t rows, units, hidden;
  const float* sums;  // Products, [units / kUnits, rows, gates, kUnits].
  const float *input, *bias;
  const float* before;  // The cells of an LSTM, or the states of a GRU.
  float *states, *gates;
  float* saved;  // The new cells, or the products with the candidate's weights.
};

// Some units of the gradient, likewise.
struct UnitsGrad {
  int64_t rows, units, hidden;
  const float *grad, *gates, *saved, *before;
  float* state_grad;  // The gradient that arrives from the next step.
  float* cell_grad;   // The same of the cells, updated to that of this step.
  float *input_grad, *recurrent_grad;  // The second is that of a GRU alone.
};

struct Loops {
  void (*gates)(const Units&);
  void (*gates_grad)(const UnitsGrad&);
};

#define MPC_LOOPS "kernels/cpu/loops/recurrent_loops.h"
#include "kernels/cpu/loops/each_isa.h"
#undef MPC_LOOPS

Loops best_loops(bool is_lstm) {
#ifdef __x86_64__
  return has_avx512() ? avx512::loops(is_lstm) : avx2::loops(is_lstm);
#else
  return baseline::loops(is_lstm);
#endif
}

int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

// `count` floats in scratch memory, aligned to cache lines.
float* take(char** scratch, int64_t count) {
  float* result = reinterpret_cast<float*>(*scratch);
  *scratch += divide_up(count, 16) * 64;
  return result;
}

// The operands, by index. Those after the weights differ.
struct ForwardOperands {
  size_t before;  // The first states that the gates act on,
  size_t later;   // and those of all steps.
  size_t states, gates, saved;
};
struct BackwardOperands {
  size_t weights, before, later, gates, saved;
  size_t input_grad, recurrent_grad, hidden_grad;
};
ForwardOperands forward_operands(const RecurrentShape& s) {
  if (s.is_lstm) return {4, 8, 5, 7, 8};
  return {3, 4, 4, 5, 6};
}
BackwardOperands backward_operands(const RecurrentShape& s) {
  if (s.is_lstm) return {2, 3, 5, 4, 5, 6, 6, 7};
  return {1, 2, 3, 4, 5, 6, 7, 8};
}
// Those of an LSTM alone.
constexpr size_t kLastCell = 6, kLastCellGrad = 1, kCellGrad = 8;

class RecurrentKernel : public Kernel {
 public:
  std::string implementation() const override {
    return std::string("recurrent:") + gemm_instructions();
  }
  size_t scratch_bytes() const override {
    return static_cast<size_t>(widened_floats() + packed_floats_) * 4 +
           static_cast<size_t>(threads_) * thread_bytes_ + 128;
  }
  bool run(void* const* operands, void* scratch) const override {
    char* memory = static_cast<char*>(scratch);
    const float* weights = static_cast<const float*>(operands[weights_]);
    if (widened_floats() != 0) {
      float* wide = take(&memory, widened_floats());
      Conversion(s_.dtype).widen(
          operands[weights_], Part::flat(0, widened_floats()), wide, threads_);
      weights = wide;
    }
    float* packed = take(&memory, packed_floats_);
    parallel(threads_, [&](int part, int parts) {
      const Range mine = share(panels_, part, parts);
      for (int64_t p = mine.begin; p < mine.end; ++p)
        pack(weights, p, packed + p * panel_floats_);
    });
    parallel(threads_, [&](int part, int parts) {
      char* own = memory + static_cast<size_t>(part) * thread_bytes_;
      const Call call = {operands, packed, own};
      if (by_rows_) {
        for (int64_t b = part; b < blocks_; b += parts)
          run_steps(call, {b, b + 1}, {0, panels_}, false);
      } else {
        run_steps(call, {0, blocks_}, share(panels_, part, parts), parts > 1);
      }
    });
    return true;
  }

 protected:
  struct Call {
    void* const* operands;
    const float* packed;
    char* scratch;  // That of the thread.

    template <typename T = const float>
    T* at(size_t operand, int64_t element) const {
      return static_cast<T*>(operands[operand]) + element;
    }
  };

  // Panels have `width` columns, for `units` units, and `depth` rows.
  RecurrentKernel(const RecurrentShape& shape, size_t weights, int64_t units,
                  int64_t width, int64_t depth, int threads)
      : s_(shape),
        loops_(best_loops(shape.is_lstm)),
        weights_(weights),
        units_(units),
        width_(width) {
    panels_ = divide_up(s_.hidden, units);
    panel_floats_ = width * depth;
    packed_floats_ = panels_ * panel_floats_;
    const double step = static_cast<double>(s_.batch * s_.hidden) *
                        static_cast<double>(s_.gates() * s_.hidden);
    threads_ = threads_for(step * static_cast<double>(s_.steps), kWorkPerThread,
                           threads);
    by_rows_ = s_.batch >= kMinRows * threads_ &&
               (threads_ == 1 || packed_floats_ * 4 <= kMaxSharedBytes);
    if (!by_rows_)
      threads_ = static_cast<int>(std::min<int64_t>(
          panels_, threads_for(step, kWorkPerWait, threads_)));
    const int64_t parts = by_rows_ ? threads_ : 1;
    blocks_ = parts * divide_up(s_.batch, parts * kMaxRows);
    rows_ = divide_up(s_.batch, blocks_);
    blocks_ = divide_up(s_.batch, rows_);
  }

  // Prepares the products of blocks with panels. Scratch memory has those with
  // some panels together.
  void prepare(int64_t depth, int64_t together) {
    const auto product = [&](int64_t rows) {
      return Gemm({rows,
                   width_,
                   depth,
                   {MPC_DTYPE_F32, depth, 1},
                   {MPC_DTYPE_F32, width_, 1},
                   {MPC_DTYPE_F32, width_, 1}});
    };
    products_.push_back(product(rows_));
    products_.push_back(product(s_.batch - (blocks_ - 1) * rows_));
    product_at_ =
        static_cast<size_t>(divide_up(together * rows_ * width_, 16)) * 64;
    thread_bytes_ = product_at_ + (std::max(products_[0].scratch_bytes(),
                                            products_[1].scratch_bytes()) +
                                   63) /
                                      64 * 64;
  }

  // Packs one panel of the weights [gates * H, H].
  virtual void pack(const float* weights, int64_t panel, float* to) const = 0;
  // Runs all steps for some blocks of rows and some panels, whose other panels
  // other threads run if it `waits`.
  virtual void run_steps(const Call& call, Range blocks, Range panels,
                         bool waits) const = 0;

  // The rows of a block.
  Range rows_of(int64_t block) const {
    return {block * rows_, std::min(s_.batch, (block + 1) * rows_)};
  }
  // The units of a panel.
  int64_t units_of(int64_t panel) const {
    return std::min(units_, s_.hidden - panel * units_);
  }
  // Computes the product of rows of a block with a panel, [rows, width], and
  // returns the first of the products, which are at consecutive `index`.
  const float* multiply(const Call& call, int64_t block, int64_t panel,
                        const float* lhs, int64_t index = 0) const {
    const Range rows = rows_of(block);
    float* products = reinterpret_cast<float*>(call.scratch);
    products_[block == blocks_ - 1 ? 1 : 0].run(
        lhs, call.packed + panel * panel_floats_,
        products + index * (rows.end - rows.begin) * width_,
        call.scratch + product_at_);
    return products;
  }
  int64_t states() const { return s_.batch * s_.hidden; }

  const RecurrentShape s_;
  const Loops loops_;

 private:
  // Floats of the weights if they are 16-bit.
  int64_t widened_floats() const {
    return s_.dtype == MPC_DTYPE_F32 ? 0 : s_.gates() * s_.hidden * s_.hidden;
  }

  const size_t weights_;  // The operand.
  const int64_t units_, width_;
  int64_t panels_, panel_floats_, packed_floats_;
  int threads_;
  bool by_rows_;
  int64_t blocks_, rows_;
  std::vector<Gemm> products_;  // Those of a block, and of the last one.
  size_t thread_bytes_ = 0, product_at_ = 0;
};

class Forward final : public RecurrentKernel {
 public:
  Forward(const RecurrentShape& shape, int threads)
      : RecurrentKernel(shape, 1, kUnits, shape.gates() * kUnits, shape.hidden,
                        threads),
        operands_(forward_operands(shape)) {
    prepare(shape.hidden, kPanelsTogether);
  }

 protected:
  // Column [gate, unit] of a panel is a row of the weights.
  void pack(const float* weights, int64_t panel, float* to) const override {
    constexpr int64_t kDepth = 16;
    const int64_t width = s_.gates() * kUnits, units = units_of(panel);
    for (int64_t first = 0; first < s_.hidden; first += kDepth)
      for (int64_t column = 0; column < width; ++column) {
        const int64_t unit = column % kUnits;
        const int64_t row = column / kUnits * s_.hidden + panel * kUnits + unit;
        const int64_t end = std::min(s_.hidden, first + kDepth);
        for (int64_t k = first; k < end; ++k)
          to[k * width + column] =
              unit < units ? weights[row * s_.hidden + k] : 0;
      }
  }

  void run_steps(const Call& call, Range blocks, Range panels,
                 bool waits) const override {
    for (int64_t step = 0; step < s_.steps; ++step) {
      for (int64_t block = blocks.begin; block < blocks.end; ++block)
        for (int64_t panel = panels.begin; panel < panels.end;
             panel += kPanelsTogether)
          run_panels(call, step, block,
                     {panel, std::min(panels.end, panel + kPanelsTogether)});
      if (waits) parallel_barrier();
    }
    if (!s_.is_lstm) return;
    const float* cells =
        call.at(operands_.saved, s_.position(s_.steps - 1) * states());
    for (int64_t block = blocks.begin; block < blocks.end; ++block)
      for (int64_t row = rows_of(block).begin; row < rows_of(block).end; ++row)
        for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
          const int64_t at = row * s_.hidden + panel * kUnits;
          std::copy_n(cells + at, units_of(panel),
                      call.at<float>(kLastCell, at));
        }
  }

 private:
  void run_panels(const Call& call, int64_t step, int64_t block,
                  Range panels) const {
    const Range rows = rows_of(block);
    const int64_t gates = s_.gates() * s_.hidden, unit = panels.begin * kUnits;
    const int64_t row = s_.position(step) * s_.batch + rows.begin;
    const int64_t state = rows.begin * s_.hidden;
    // The states before the step.
    const auto before = [&](size_t initial, size_t later) {
      return step == 0
                 ? call.at(initial, state)
                 : call.at(later, s_.position(step - 1) * states() + state);
    };
    Units g = {};
    g.rows = rows.end - rows.begin;
    g.units = std::min(panels.end * kUnits, s_.hidden) - unit;
    g.hidden = s_.hidden;
    const float* hidden = before(3, operands_.states);
    for (int64_t panel = panels.begin; panel < panels.end; ++panel)
      g.sums = multiply(call, block, panel, hidden, panel - panels.begin);
    g.input = call.at(0, row * gates + unit);
    g.bias = call.at(2, unit);
    g.before = before(operands_.before, operands_.later) + unit;
    g.states = call.at<float>(operands_.states, row * s_.hidden + unit);
    g.gates = call.at<float>(operands_.gates, row * gates + unit);
    g.saved = call.at<float>(operands_.saved, row * s_.hidden + unit);
    loops_.gates(g);
  }

  const ForwardOperands operands_;
};

class Backward final : public RecurrentKernel {
 public:
  Backward(const RecurrentShape& shape, int threads)
      : RecurrentKernel(shape, backward_operands(shape).weights, kGradUnits,
                        kGradUnits, shape.gates() * shape.hidden, threads),
        operands_(backward_operands(shape)) {
    prepare(shape.gates() * shape.hidden, 1);
  }

 protected:
  void pack(const float* weights, int64_t panel, float* to) const override {
    const int64_t units = units_of(panel);
    for (int64_t row = 0; row < s_.gates() * s_.hidden; ++row) {
      const float* from = weights + row * s_.hidden + panel * kGradUnits;
      std::copy_n(from, units, to);
      std::fill(to + units, to + kGradUnits, 0.0f);
      to += kGradUnits;
    }
  }

  void run_steps(const Call& call, Range blocks, Range panels,
                 bool waits) const override {
    const int64_t first = panels.begin * kGradUnits;
    const int64_t units = std::min(panels.end * kGradUnits, s_.hidden) - first;
    for (int64_t block = blocks.begin; block < blocks.end; ++block)
      for (int64_t row = rows_of(block).begin; row < rows_of(block).end;
           ++row) {
        const int64_t at = row * s_.hidden + first;
        std::fill_n(call.at<float>(operands_.hidden_grad, at), units, 0.0f);
        if (s_.is_lstm)
          std::copy_n(call.at(kLastCellGrad, at), units,
                      call.at<float>(kCellGrad, at));
      }
    for (int64_t step = s_.steps - 1; step >= 0; --step) {
      for (int64_t block = blocks.begin; block < blocks.end; ++block)
        run_gates(call, step, block, first, units);
      if (waits) parallel_barrier();
      for (int64_t block = blocks.begin; block < blocks.end; ++block)
        for (int64_t panel = panels.begin; panel < panels.end; ++panel)
          run_product(call, step, block, panel);
    }
  }

 private:
  void run_gates(const Call& call, int64_t step, int64_t block, int64_t unit,
                 int64_t units) const {
    const Range rows = rows_of(block);
    const int64_t gates = s_.gates() * s_.hidden;
    const int64_t row = s_.position(step) * s_.batch + rows.begin;
    const int64_t state = rows.begin * s_.hidden + unit;
    UnitsGrad g = {};
    g.rows = rows.end - rows.begin;
    g.units = units;
    g.hidden = s_.hidden;
    g.grad = call.at(0, row * s_.hidden + unit);
    g.gates = call.at(operands_.gates, row * gates + unit);
    g.saved = call.at(operands_.saved, row * s_.hidden + unit);
    g.before = step == 0 ? call.at(operands_.before, state)
                         : call.at(operands_.later,
                                   s_.position(step - 1) * states() + state);
    g.state_grad = call.at<float>(operands_.hidden_grad, state);
    g.input_grad = call.at<float>(operands_.input_grad, row * gates + unit);
    if (s_.is_lstm)
      g.cell_grad = call.at<float>(kCellGrad, state);
    else
      g.recurrent_grad =
          call.at<float>(operands_.recurrent_grad, row * gates + unit);
    loops_.gates_grad(g);
  }

  // The gradient of the states before the step; that of a GRU also has a part
  // that needs no product.
  void run_product(const Call& call, int64_t step, int64_t block,
                   int64_t panel) const {
    const Range rows = rows_of(block);
    const int64_t gates = s_.gates() * s_.hidden;
    const int64_t first = s_.position(step) * s_.batch + rows.begin;
    const float* sums = multiply(
        call, block, panel, call.at(operands_.recurrent_grad, first * gates));
    const int64_t units = units_of(panel);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      float* to = call.at<float>(operands_.hidden_grad,
                                 row * s_.hidden + panel * kGradUnits);
      if (s_.is_lstm)
        std::copy_n(sums, units, to);
      else
        for (int64_t u = 0; u < units; ++u) to[u] += sums[u];
      sums += kGradUnits;
    }
  }

  const BackwardOperands operands_;
};

}  // namespace

std::unique_ptr<Kernel> make_recurrent(const RecurrentShape& shape,
                                       const Context& context) {
  if (shape.forward) return std::make_unique<Forward>(shape, context.threads);
  return std::make_unique<Backward>(shape, context.threads);
}

}  // namespace mpc::kernels::cpu
