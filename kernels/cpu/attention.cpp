// Attention and its gradient. The queries of a head are cut into strips whose
// scores, for all keys, stay in the cache. oneDNN computes the products, and
// the loops of attention_loops.h the softmax between them. One thread computes
// a strip (for the gradient: a head of the keys). The strips depend on the
// shape alone, so any number of threads gives the same bits.
//
// If the CPU has no instructions for the type, everything is computed in f32:
// strips and heads are widened on input, and results are rounded on output.
//
// With `causal`, a strip uses the keys that its last query sees, rounded up so
// that there are few different products.

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>

#include "kernels/cpu/loops/target.h"
#include "kernels/cpu/widened/widened_call.h"
#include "kernels/float_types.h"
#include "kernels/log_sum_exp.h"

namespace mpc::kernels::cpu {
namespace {

using dnnl::memory;

constexpr double kFlopsPerThread = 1e6;
// A product packs the keys for each strip, so longer strips are cheaper, up to
// 1.4 times at 1024 queries; with `causal`, shorter ones skip more.
constexpr int64_t kStripsPerHead = 4;
constexpr int64_t kUsualStripRows = 64;
constexpr int64_t kMaxStripRows = 256;
// Maximum number of scores of a strip, but a strip has at least kMinStripRows
// rows.
constexpr int64_t kStripElements = 1 << 20;
constexpr int64_t kMinStripRows = 16;
constexpr int64_t kMaxKeySteps = 16;

struct Strip;

// The logarithms of a strip's sums, or of all: LogSumExp with its two parts in
// separate arrays.
template <typename T>
struct Sums {
  T *high, *low;
};

// The loops for one instruction set (attention_loops.h).
struct Loops {
  void (*softmax)(const Strip& strip, float* scores, void* p, Sums<float> sums);
  void (*softmax_grad)(const Strip& strip, float* scores, const float* p_grads,
                       Sums<const float> sums, const void* grad,
                       const void* result, void* p, void* score_grads);
};

// A strip of rows of one head.
struct Strip {
  const AttentionShape& shape;
  int64_t first, rows;  // Queries.
  int64_t count;        // Number of keys in the products.
  // The first row of each bias, and of the gradient of the first, or null.
  std::array<const float*, kMaxBiases> biases = {};
  float* bias_grad = nullptr;
};

#define MPC_ATTENTION_INLINE inline __attribute__((always_inline))

#ifdef __x86_64__
MPC_BEGIN_TARGET(MPC_AVX2)
namespace avx2 {
#include "kernels/cpu/loops/attention_loops.h"
}  // namespace avx2
MPC_END_TARGET

MPC_BEGIN_TARGET(MPC_AVX512)
namespace avx512 {
#include "kernels/cpu/loops/attention_loops.h"
}  // namespace avx512
MPC_END_TARGET
#else
namespace baseline {
#include "kernels/cpu/loops/attention_loops.h"
}  // namespace baseline
#endif

Loops best_loops(bool is_bf16, const char** name) {
#ifdef __x86_64__
  if (has_avx512()) {
    *name = "attention:avx512";
    return avx512::loops(is_bf16);
  }
  *name = "attention:avx2";
  return avx2::loops(is_bf16);
#else
  *name = "attention:baseline";
  return baseline::loops(is_bf16);
#endif
}

// How the queries of every head are cut.
class Strips {
 public:
  explicit Strips(const AttentionShape& shape)
      : shape_(shape), rows_(std::min(shape.queries, rows_for(shape))) {
    const int64_t step = (shape.keys + kMaxKeySteps - 1) / kMaxKeySteps;
    key_step_ = (step + 31) / 32 * 32;
  }

  int64_t count() const { return (shape_.queries + rows_ - 1) / rows_; }
  int64_t rows() const { return rows_; }
  Strip at(int64_t index) const {
    const int64_t first = index * rows_;
    const int64_t rows = std::min(rows_, shape_.queries - first);
    const int64_t seen = shape_.visible(first + rows - 1);
    const int64_t count = (seen + key_step_ - 1) / key_step_ * key_step_;
    return {shape_, first, rows, std::min(shape_.keys, count)};
  }

 private:
  static int64_t rows_for(const AttentionShape& shape) {
    const int64_t wanted =
        shape.causal ? std::clamp(shape.queries / kStripsPerHead / 32 * 32,
                                  kUsualStripRows, kMaxStripRows)
                     : kMaxStripRows;
    return std::clamp(kStripElements / shape.keys, kMinStripRows, wanted);
  }

  const AttentionShape& shape_;
  int64_t rows_, key_step_;
};

// Operands and results of the products of a strip. The first ones are operands
// of the kernel.
enum Buffer : int {
  kGrad,
  kQuery,
  kKey,
  kValue,
  kResult,
  kQueryGrad,
  kKeyGrad,
  kValueGrad,
  kScores,
  kPGrads,
  kP,
  kScoreGrads,
  kScratchpad,
  kNumBuffers
};

// result[m, n] = lhs[m, k] rhs[k, n], or result += that.
struct Product {
  Buffer lhs, rhs, result;
  int64_t m, n, k;
  bool transpose_lhs, transpose_rhs;
  memory::data_type result_type;
  bool accumulate = false;
};

dnnl::matmul::primitive_desc describe(const dnnl::engine& engine,
                                      const Product& p,
                                      memory::data_type type) {
  dnnl::primitive_attr attributes = user_scratchpad();
  if (p.accumulate) {
    dnnl::post_ops add;
    add.append_sum(1.0f);
    attributes.set_post_ops(add);
  }
  const memory::dims lhs =
      p.transpose_lhs ? memory::dims{1, p.m} : memory::dims{p.k, 1};
  const memory::dims rhs =
      p.transpose_rhs ? memory::dims{1, p.k} : memory::dims{p.n, 1};
  // oneDNN keeps a pointer to the description while it searches.
  const dnnl::matmul::desc desc(
      memory::desc({p.m, p.k}, type, lhs), memory::desc({p.k, p.n}, type, rhs),
      memory::desc({p.m, p.n}, p.result_type, memory::dims{p.n, 1}));
  return dnnl::matmul::primitive_desc(desc, attributes, engine);
}

class AttentionKernel : public Kernel {
 public:
  std::string implementation() const override { return name_; }
  size_t scratch_bytes() const override { return threads_ * worker_bytes_; }
  bool run(void* const* operands, void* scratch) const override {
    // The primitives were created for one thread.
    const ThreadScope scope(1);
    std::atomic<bool> ok{true};
    std::atomic<int64_t> next{0};
    parallel(threads_, [&](int worker, int) {
      char* memory = static_cast<char*>(scratch) + worker * worker_bytes_;
      for (int64_t i; (i = next++) < items_;) {
        void* buffers[kNumBuffers] = {};
        for (const auto& [buffer, offset] : scratch_)
          buffers[buffer] = memory + offset;
        if (!run_item(i, operands, buffers, worker)) ok = false;
      }
    });
    return ok;
  }

 protected:
  AttentionKernel(const AttentionShape& shape, int64_t items,
                  const Context& context, double products)
      : shape_(shape),
        strips_(shape_),
        widened_(is_widened(shape.dtype)),
        type_(widened_ ? memory::data_type::f32 : dnnl_type(shape.dtype)),
        items_(items),
        conversion_(shape.dtype) {
    const double work = 2.0 * products * static_cast<double>(shape.batch) *
                        static_cast<double>(shape.heads) *
                        static_cast<double>(shape.queries) *
                        static_cast<double>(shape.keys) *
                        static_cast<double>(shape.depth + shape.value_depth) *
                        (shape.causal ? 0.5 : 1.0);
    threads_ = static_cast<int>(std::min<int64_t>(
        items, threads_for(work, kFlopsPerThread, context.threads)));
    loops_ = best_loops(type_ == memory::data_type::bf16, &loops_name_);
  }

  // Computes one item; the buffers in scratch memory are set.
  virtual bool run_item(int64_t item, void* const* operands, void** buffers,
                        int worker) const = 0;
  virtual std::vector<Product> products(const Strip& strip) const = 0;

  // Creates the products of all strips, and scratch memory of the given size
  // for each buffer in `room`.
  void make(std::vector<std::pair<Buffer, int64_t>> room) {
    const ThreadScope scope(1);
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    std::vector<std::pair<int64_t, int64_t>> known;
    std::vector<std::vector<Product>> lists;
    for (int64_t i = 0; i < strips_.count(); ++i) {
      const Strip strip = strips_.at(i);
      const std::pair extents(strip.rows, strip.count);
      const auto found = std::find(known.begin(), known.end(), extents);
      variants_.push_back(static_cast<size_t>(found - known.begin()));
      if (found != known.end()) continue;
      known.push_back(extents);
      lists.push_back(products(strip));
    }
    std::vector<std::vector<dnnl::matmul::primitive_desc>> descriptions;
    size_t scratchpad = 0;
    for (const std::vector<Product>& list : lists) {
      descriptions.emplace_back();
      for (const Product& product : list) {
        descriptions.back().push_back(describe(engine, product, type_));
        scratchpad =
            std::max(scratchpad,
                     descriptions.back().back().scratchpad_desc().get_size());
      }
    }
    name_ = std::string(widened_ ? "widened:" : "") + loops_name_;
    for (const dnnl::matmul::primitive_desc& pd : descriptions.back()) {
      const std::string name = std::string(", ") + pd.impl_info_str();
      if (name_.find(name) == std::string::npos) name_ += name;
    }
    room.emplace_back(kScratchpad, static_cast<int64_t>(scratchpad));
    ScratchLayout layout;
    for (const auto& [buffer, bytes] : room)
      scratch_.emplace_back(buffer,
                            layout.add(static_cast<size_t>(bytes)).offset);
    worker_bytes_ = layout.size();

    for (int worker = 0; worker < threads_; ++worker) {
      calls_.emplace_back();
      for (size_t variant = 0; variant < lists.size(); ++variant) {
        calls_.back().emplace_back();
        for (size_t i = 0; i < lists[variant].size(); ++i) {
          const Product& product = lists[variant][i];
          const auto& pd = descriptions[variant][i];
          DnnlCall call(engine, make_primitive<dnnl::matmul>(pd));
          call.bind(DNNL_ARG_SRC, pd.src_desc(), {product.lhs});
          call.bind(DNNL_ARG_WEIGHTS, pd.weights_desc(), {product.rhs});
          call.bind(DNNL_ARG_DST, pd.dst_desc(), {product.result});
          if (pd.scratchpad_desc().get_size() != 0)
            call.bind(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc(), {kScratchpad});
          calls_.back().back().push_back(std::move(call));
        }
      }
    }
  }

  bool multiply(int64_t strip, size_t product, void* const* buffers,
                int worker) const {
    return calls_[static_cast<size_t>(worker)][variants_[strip]][product].run(
        buffers, nullptr);
  }

  // The address of row `row` of an operand with rows of `width` elements.
  static char* at(void* operand, int64_t row, int64_t width,
                  mpc_dtype_t dtype) {
    return static_cast<char*>(operand) +
           static_cast<size_t>(row * width) * mpc_dtype_size(dtype);
  }
  // Provides `rows` rows of an input in the buffer: widens them, or sets the
  // address.
  void load_input(void** buffers, Buffer buffer, void* operand, int64_t row,
                  int64_t rows, int64_t width) const {
    void* from = at(operand, row, width, shape_.dtype);
    if (widened_)
      conversion_.widen(from, Part::flat(0, rows * width),
                        static_cast<float*>(buffers[buffer]));
    else
      buffers[buffer] = from;
  }
  // Adds scratch memory for the inputs that `load_input` widens.
  void add_inputs(std::vector<std::pair<Buffer, int64_t>>* room,
                  std::initializer_list<std::pair<Buffer, int64_t>> inputs) {
    if (!widened_) return;
    for (const auto& [buffer, elements] : inputs)
      room->emplace_back(buffer, elements * 4);
  }
  // The sums, an operand, from row `row` on.
  template <typename T>
  Sums<T> sums_from(void* operand, int64_t row) const {
    T* high = static_cast<T*>(operand) + row;
    return {high, high + shape_.rows()};
  }
  // Sets the addresses of the biases, which are operands from `biases` on.
  void set_biases(Strip* strip, void* const* biases, int64_t head) const {
    for (size_t i = 0; i < shape_.bias_count; ++i)
      strip->biases[i] = static_cast<const float*>(biases[i]) +
                         shape_.bias_at(i, head, strip->first);
  }
  // Whether products write f32 to scratch memory for a result of another type.
  bool is_rounded(size_t result) const {
    return widened_ && shape_.result_dtypes[result] != MPC_DTYPE_F32;
  }
  memory::data_type result_type(size_t result) const {
    return widened_ ? type_ : dnnl_type(shape_.result_dtypes[result]);
  }
  void round(const void* from, int64_t elements, void* to) const {
    conversion_.round(static_cast<const float*>(from), Part::flat(0, elements),
                      to);
  }
  // Whether probabilities and their gradients are stored separately from the
  // scores.
  bool is_narrow() const { return type_ != memory::data_type::f32; }
  int64_t key_head_of(int64_t head) const {
    return head / (shape_.heads / shape_.key_heads);
  }
  int64_t strip_elements() const { return strips_.rows() * shape_.keys; }

  const AttentionShape shape_;
  const Strips strips_;
  const bool widened_;
  const memory::data_type type_;  // Type of the operands of products.
  Loops loops_;

 private:
  const int64_t items_;
  const Conversion conversion_;
  int threads_;
  const char* loops_name_;
  std::string name_;
  std::vector<std::pair<Buffer, size_t>> scratch_;
  size_t worker_bytes_ = 0;
  std::vector<size_t> variants_;  // By strip.
  // By worker, because calls store addresses, then by variant.
  mutable std::vector<std::vector<std::vector<DnnlCall>>> calls_;
};

class Forward final : public AttentionKernel {
 public:
  Forward(const AttentionShape& shape, const Context& context)
      : AttentionKernel(shape,
                        shape.batch * shape.heads * Strips(shape).count(),
                        context, 1) {
    std::vector<std::pair<Buffer, int64_t>> room = {
        {kScores, strip_elements() * 4}};
    if (is_narrow()) room.emplace_back(kP, strip_elements() * 2);
    add_inputs(&room, {{kQuery, strips_.rows() * shape.depth},
                       {kKey, shape.keys * shape.depth},
                       {kValue, shape.keys * shape.value_depth}});
    if (is_rounded(0))
      room.emplace_back(kResult, strips_.rows() * shape.value_depth * 4);
    make(std::move(room));
  }

 protected:
  std::vector<Product> products(const Strip& s) const override {
    return {{kQuery, kKey, kScores, s.rows, s.count, shape_.depth, false, true,
             memory::data_type::f32},
            {kP, kValue, kResult, s.rows, shape_.value_depth, s.count, false,
             false, result_type(0)}};
  }

  bool run_item(int64_t item, void* const* operands, void** buffers,
                int worker) const override {
    const int64_t head = item / strips_.count();
    // With `causal`, the longest strips of a head start first.
    const int64_t index = strips_.count() - 1 - item % strips_.count();
    Strip strip = strips_.at(index);
    set_biases(&strip, operands + 3, head);
    const size_t results = 3 + shape_.bias_count;
    const int64_t first = head * shape_.queries + strip.first;
    const int64_t keys = key_head_of(head) * shape_.keys;
    const int64_t width = shape_.value_depth;
    load_input(buffers, kQuery, operands[0], first, strip.rows, shape_.depth);
    load_input(buffers, kKey, operands[1], keys, strip.count, shape_.depth);
    load_input(buffers, kValue, operands[2], keys, strip.count, width);
    void* result = at(operands[results], first, width, shape_.result_dtypes[0]);
    if (!is_rounded(0)) buffers[kResult] = result;
    if (!buffers[kP]) buffers[kP] = buffers[kScores];
    if (!multiply(index, 0, buffers, worker)) return false;
    loops_.softmax(strip, static_cast<float*>(buffers[kScores]), buffers[kP],
                   sums_from<float>(operands[results + 1], first));
    if (!multiply(index, 1, buffers, worker)) return false;
    if (is_rounded(0)) round(buffers[kResult], strip.rows * width, result);
    return true;
  }
};

// Sums over the queries are f32, and are accumulated in the results themselves
// if these are f32. An item is a head of the keys; with a gradient of the bias
// it is all heads of the keys that add to the same elements, in order.
class Backward final : public AttentionKernel {
 public:
  Backward(const AttentionShape& shape, const Context& context)
      : AttentionKernel(shape, Items(shape).count(), context, 2.5) {
    std::vector<std::pair<Buffer, int64_t>> room = {
        {kScores, strip_elements() * 4}, {kPGrads, strip_elements() * 4}};
    if (is_narrow()) {
      room.emplace_back(kP, strip_elements() * 2);
      room.emplace_back(kScoreGrads, strip_elements() * 2);
    }
    const int64_t rows = strips_.rows();
    add_inputs(&room, {{kGrad, rows * shape.value_depth},
                       {kQuery, rows * shape.depth},
                       {kKey, shape.keys * shape.depth},
                       {kValue, shape.keys * shape.value_depth},
                       {kResult, rows * shape.value_depth}});
    if (is_rounded(0)) room.emplace_back(kQueryGrad, rows * shape.depth * 4);
    for (const Summed& sums : sums_of(shape))
      if (shape.result_dtypes[sums.result] != MPC_DTYPE_F32)
        room.emplace_back(sums.buffer, shape.keys * sums.width * 4);
    make(std::move(room));
  }

 protected:
  std::vector<Product> products(const Strip& s) const override {
    const int64_t d = shape_.depth, e = shape_.value_depth;
    const memory::data_type f32 = memory::data_type::f32;
    return {{kQuery, kKey, kScores, s.rows, s.count, d, false, true, f32},
            {kGrad, kValue, kPGrads, s.rows, s.count, e, false, true, f32},
            {kP, kGrad, kValueGrad, s.count, e, s.rows, true, false, f32, true},
            {kScoreGrads, kQuery, kKeyGrad, s.count, d, s.rows, true, false,
             f32, true},
            {kScoreGrads, kKey, kQueryGrad, s.rows, d, s.count, false, false,
             result_type(0)}};
  }

  bool run_item(int64_t item, void* const* operands, void** buffers,
                int worker) const override {
    const Items items(shape_);
    if (shape_.has_bias_grad) clear_bias_grad(items.at(item, 0), operands);
    for (int64_t i = 0; i < items.size(); ++i) {
      void* own[kNumBuffers];
      std::copy_n(buffers, static_cast<size_t>(kNumBuffers), own);
      if (!run_key_head(items.at(item, i), operands, own, worker)) return false;
    }
    return true;
  }

 private:
  // How the heads of the keys form items.
  struct Items {
    explicit Items(const AttentionShape& s)
        : key_heads(s.key_heads),
          batch_in_item(joins(s, s.biases[0].batch) ? s.batch : 1),
          heads_in_item(joins(s, s.biases[0].head) ? s.key_heads : 1),
          all(s.batch * s.key_heads) {}
    static bool joins(const AttentionShape& s, int64_t stride) {
      return s.has_bias_grad && stride == 0;
    }
    int64_t size() const { return batch_in_item * heads_in_item; }
    int64_t count() const { return all / size(); }
    // The i-th head of the keys of an item, counted over all batches.
    int64_t at(int64_t item, int64_t i) const {
      const int64_t rows = key_heads / heads_in_item;
      const int64_t batch = item / rows * batch_in_item + i / heads_in_item;
      return batch * key_heads + item % rows * heads_in_item +
             i % heads_in_item;
    }
    const int64_t key_heads, batch_in_item, heads_in_item, all;
  };

  // The index of the first result.
  size_t results() const { return 6 + shape_.bias_count; }
  int64_t group() const { return shape_.heads / shape_.key_heads; }

  // Clears the elements to which the heads of an item add.
  void clear_bias_grad(int64_t key_head, void* const* operands) const {
    const int64_t count = (shape_.biases[0].head ? group() : 1) *
                          (shape_.biases[0].row ? shape_.queries : 1) *
                          shape_.keys;
    std::fill_n(static_cast<float*>(operands[results() + 3]) +
                    shape_.bias_at(0, key_head * group(), 0),
                count, 0.0f);
  }

  bool run_key_head(int64_t key_head, void* const* operands, void** buffers,
                    int worker) const {
    const int64_t keys = key_head * shape_.keys;
    load_input(buffers, kKey, operands[2], keys, shape_.keys, shape_.depth);
    load_input(buffers, kValue, operands[3], keys, shape_.keys,
               shape_.value_depth);
    if (!buffers[kP]) {
      buffers[kP] = buffers[kScores];
      buffers[kScoreGrads] = buffers[kPGrads];
    }
    for (const Summed& sums : sums_of(shape_)) {
      if (!buffers[sums.buffer])
        buffers[sums.buffer] = at(operands[results() + sums.result], keys,
                                  sums.width, MPC_DTYPE_F32);
      std::memset(buffers[sums.buffer], 0,
                  static_cast<size_t>(shape_.keys * sums.width) * 4);
    }
    // Heads that share keys are adjacent.
    for (int64_t head = key_head * group(); head < (key_head + 1) * group();
         ++head)
      for (int64_t index = 0; index < strips_.count(); ++index)
        if (!run_strip(head, index, operands, buffers, worker)) return false;
    for (const Summed& sums : sums_of(shape_))
      if (shape_.result_dtypes[sums.result] != MPC_DTYPE_F32)
        round(buffers[sums.buffer], shape_.keys * sums.width,
              at(operands[results() + sums.result], keys, sums.width,
                 shape_.dtype));
    return true;
  }

  // A result that is a sum over queries.
  struct Summed {
    Buffer buffer;
    size_t result;
    int64_t width;
  };
  static std::array<Summed, 2> sums_of(const AttentionShape& shape) {
    return {{{kKeyGrad, 1, shape.depth}, {kValueGrad, 2, shape.value_depth}}};
  }

  bool run_strip(int64_t head, int64_t index, void* const* operands,
                 void** buffers, int worker) const {
    Strip strip = strips_.at(index);
    set_biases(&strip, operands + 6, head);
    if (shape_.has_bias_grad)
      strip.bias_grad = static_cast<float*>(operands[results() + 3]) +
                        shape_.bias_at(0, head, strip.first);
    const int64_t first = head * shape_.queries + strip.first;
    const int64_t rows = strip.rows;
    load_input(buffers, kGrad, operands[0], first, rows, shape_.value_depth);
    load_input(buffers, kQuery, operands[1], first, rows, shape_.depth);
    load_input(buffers, kResult, operands[4], first, rows, shape_.value_depth);
    void* query_grad =
        at(operands[results()], first, shape_.depth, shape_.result_dtypes[0]);
    if (!is_rounded(0)) buffers[kQueryGrad] = query_grad;
    if (!multiply(index, 0, buffers, worker) ||
        !multiply(index, 1, buffers, worker))
      return false;
    loops_.softmax_grad(strip, static_cast<float*>(buffers[kScores]),
                        static_cast<const float*>(buffers[kPGrads]),
                        sums_from<const float>(operands[5], first),
                        buffers[kGrad], buffers[kResult], buffers[kP],
                        buffers[kScoreGrads]);
    if (!multiply(index, 2, buffers, worker) ||
        !multiply(index, 3, buffers, worker) ||
        !multiply(index, 4, buffers, worker))
      return false;
    if (is_rounded(0))
      round(buffers[kQueryGrad], rows * shape_.depth, query_grad);
    return true;
  }
};

}  // namespace

std::unique_ptr<Kernel> make_attention(const AttentionShape& shape,
                                       const Context& context) {
  if (shape.forward) return std::make_unique<Forward>(shape, context);
  return std::make_unique<Backward>(shape, context);
}

}  // namespace mpc::kernels::cpu
