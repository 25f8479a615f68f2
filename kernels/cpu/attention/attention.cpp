// Attention and its gradient. The queries of a head are cut into strips whose
// scores, for all keys, stay in the cache; the loops of attention_loops.h
// compute the softmax between the products. One thread computes some strips of
// a head (for the gradient: a head of the keys). The strips depend on the shape
// alone, so any number of threads gives the same bits.

#include <array>
#include <atomic>
#include <cmath>
#include <cstring>

#include "kernels/cpu/attention/strip_products.h"
#include "kernels/cpu/attention/strips.h"
#include "kernels/cpu/loops/target.h"
#include "kernels/cpu/widened/widened_call.h"
#include "kernels/float_types.h"
#include "kernels/log_sum_exp.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace mpc::kernels::cpu {
namespace {

constexpr double kFlopsPerThread = 1e6;
// Heads for each thread from which an item is a whole head.
constexpr int64_t kHeadsPerThread = 4;
// Keys whose gradients are transposed together; a multiple of a vector.
constexpr int64_t kKeysTogether = 64;
// Rows that are prefetched while others are copied.
constexpr int64_t kRowsAhead = 16;
// At least the width of a vector.
constexpr int64_t kVector = 16;

// The logarithms of a strip's sums, or of all: LogSumExp with its two parts in
// separate arrays.
template <typename T>
struct Sums {
  T *high, *low;
};

// The loops for one instruction set (attention_loops.h). Scores and their
// gradients may be overwritten by the probabilities and by the gradients of the
// scores.
struct Loops {
  const char* name;
  void (*softmax)(const Strip& strip, float* scores, void* p, Sums<float> sums);
  // `shared` is, for each row, the dot product of result and gradient.
  void (*softmax_grad)(const Strip& strip, float* scores, const float* p_grads,
                       Sums<const float> sums, const float* shared, void* p,
                       void* score_grads);
  // The dot products of rows of `width` elements, which are at `stride`.
  void (*dot_rows)(const void* a, const void* b, int64_t rows, int64_t width,
                   int64_t stride, float* dots);
  // to[columns, rows] = the transpose of from[rows, columns], whose rows are at
  // `stride`. Whole vectors are read and written.
  void (*transpose)(const float* from, int64_t stride, int64_t rows,
                    int64_t columns, float* to);
};

#define MPC_LOOPS "kernels/cpu/loops/attention_loops.h"
#include "kernels/cpu/loops/each_isa.h"
#undef MPC_LOOPS

// `dtype` is the type of the operands; probabilities are bf16 if `is_narrow`.
Loops best_loops(mpc_dtype_t dtype, bool is_narrow) {
#ifdef __x86_64__
  if (has_avx512()) return avx512::loops(dtype, is_narrow);
  return avx2::loops(dtype, is_narrow);
#else
  return baseline::loops(dtype, is_narrow);
#endif
}

class AttentionKernel : public Kernel {
 public:
  std::string implementation() const override {
    return loops_.name + (", " + products_->name());
  }
  size_t scratch_bytes() const override { return threads_ * worker_bytes_; }
  bool run(void* const* operands, void* scratch) const override {
    const ThreadScope scope(1);  // Primitives of oneDNN are for one thread.
    std::array<void*, kMaxAttentionOperands> separate;
    for (size_t i = 0; i < places_.size(); ++i)
      separate[i] =
          static_cast<char*>(operands[places_[i].operand]) + places_[i].offset;
    std::atomic<bool> ok{true};
    std::atomic<int64_t> next{0};
    parallel(threads_, [&](int worker, int) {
      char* memory = static_cast<char*>(scratch) + worker * worker_bytes_;
      for (int64_t i; (i = next++) < items_;) {
        void* buffers[kNumBuffers] = {};
        for (const auto& [buffer, offset] : scratch_)
          buffers[buffer] = memory + offset;
        if (!run_item(i, separate.data(), buffers, worker)) ok = false;
      }
    });
    return ok;
  }

 protected:
  AttentionKernel(const AttentionShape& shape, const Context& context,
                  double products)
      : shape_(shape),
        places_(shape.separate_operands()),
        query_strides_(shape.query_strides()),
        key_strides_(shape.key_strides()),
        result_strides_(shape.result_strides()),
        is_narrow_(shape.dtype == MPC_DTYPE_BF16 && !is_widened(shape.dtype)),
        strips_(shape_, !is_narrow_),
        loops_(best_loops(shape.dtype, is_narrow_)) {
    const double work = 2.0 * products * static_cast<double>(shape.batch) *
                        static_cast<double>(shape.heads) *
                        static_cast<double>(shape.queries) *
                        static_cast<double>(shape.keys) *
                        static_cast<double>(shape.depth + shape.value_depth) *
                        (shape.causal ? 0.5 : 1.0);
    threads_ = threads_for(work, kFlopsPerThread, context.threads);
  }

  // Computes one item; the buffers in scratch memory are set, and operands are
  // separate.
  virtual bool run_item(int64_t item, void* const* operands, void** buffers,
                        int worker) const = 0;
  virtual std::vector<StripProduct> products(const Strip& strip) const = 0;

  // Creates the products of all strips, and scratch memory of the given size in
  // bytes for each buffer in `room`.
  void make(int64_t items, std::vector<std::pair<Buffer, int64_t>> room) {
    items_ = items;
    threads_ = static_cast<int>(std::min<int64_t>(items, threads_));
    std::vector<std::pair<int64_t, int64_t>> known;
    std::vector<std::vector<StripProduct>> lists;
    for (int64_t i = 0; i < strips_.count(); ++i) {
      const Strip strip = strips_.at(i);
      const std::pair extents(strip.rows, strip.count);
      const auto found = std::find(known.begin(), known.end(), extents);
      lists_.push_back(static_cast<size_t>(found - known.begin()));
      if (found != known.end()) continue;
      known.push_back(extents);
      lists.push_back(products(strip));
    }
    products_.emplace(lists, is_narrow_, threads_);
    room.emplace_back(kScratchpad,
                      static_cast<int64_t>(products_->scratch_bytes()));
    ScratchLayout layout;
    for (const auto& [buffer, bytes] : room)
      scratch_.emplace_back(buffer,
                            layout.add(static_cast<size_t>(bytes)).offset);
    worker_bytes_ = layout.size();
  }

  // The products of a strip.
  size_t list(int64_t strip) const {
    return lists_[static_cast<size_t>(strip)];
  }
  StripProducts::Run products_of(void** buffers, int worker) const {
    return StripProducts::Run(*products_, buffers, worker);
  }

  // Rows of queries, of keys and of results. Heads are counted over all
  // batches, also those of the keys.
  int64_t query_row(int64_t head, int64_t query) const {
    return query_strides_.at(head, shape_.heads, query);
  }
  int64_t key_row(int64_t key_head, int64_t key) const {
    return key_strides_.at(key_head, shape_.key_heads, key);
  }
  int64_t result_row(int64_t head, int64_t query) const {
    return result_strides_.at(head, shape_.heads, query);
  }
  // The address of row `row` of an operand with rows of `width` elements.
  static char* at(void* operand, int64_t row, int64_t width,
                  mpc_dtype_t dtype) {
    return static_cast<char*>(operand) +
           static_cast<size_t>(row * width) * mpc_dtype_size(dtype);
  }
  char* input(void* operand, int64_t row, int64_t width) const {
    return at(operand, row, width, shape_.dtype);
  }
  // The sums, an operand, from a query of a head on.
  template <typename T>
  Sums<T> sums_from(void* operand, int64_t head, int64_t query) const {
    T* high = static_cast<T*>(operand) + head * shape_.queries + query;
    return {high, high + shape_.rows()};
  }
  // Sets the addresses of the biases, and `dropout`, which is that of the call.
  void set_operands(Strip* strip, void* const* operands, int64_t head,
                    const Dropout& dropout) const {
    for (size_t i = 0; i < shape_.bias_count; ++i)
      strip->biases[i] =
          static_cast<const float*>(operands[shape_.first_bias() + i]) +
          shape_.bias_at(i, head, strip->first);
    if (!shape_.has_dropout) return;
    strip->dropout = &dropout;
    strip->first_element = static_cast<uint32_t>(
        (head * shape_.queries + strip->first) * shape_.keys);
  }
  Dropout dropout_of(void* const* operands) const {
    return shape_.has_dropout ? shape_.dropout(operands) : Dropout{};
  }
  int64_t key_head_of(int64_t head) const {
    return head / (shape_.heads / shape_.key_heads);
  }
  // A matrix of the scores' shape, in f32, or with the type of probabilities.
  ProductOperand scores(const Strip& s, Buffer buffer) const {
    return {buffer, MPC_DTYPE_F32, s.stride};
  }
  ProductOperand probabilities(const Strip& s, Buffer buffer,
                               bool is_transposed = false) const {
    return {buffer, is_narrow_ ? MPC_DTYPE_BF16 : MPC_DTYPE_F32, s.stride,
            is_transposed};
  }
  // A matrix of gathered rows.
  ProductOperand rows(Buffer buffer, int64_t width,
                      bool is_transposed = false) const {
    return {buffer, shape_.dtype, width, is_transposed};
  }
  // Rows of keys or values, which are gathered if `gathers_keys_`.
  ProductOperand key(Buffer buffer, int64_t width,
                     bool is_transposed = false) const {
    return {buffer, shape_.dtype,
            gathers_keys_ ? width : width * key_strides_.row, is_transposed};
  }
  // Products read rows next to each other faster, above all if their distance
  // is a power of two: rows that are apart are copied.
  bool gathers() const { return query_strides_.row != 1; }
  // The address of `count` rows from `row` on, or of their copy in `room`.
  [[gnu::noinline]] void* gather(void* operand, int64_t row, int64_t step,
                                 int64_t count, int64_t width,
                                 void* room) const {
    const char* from = input(operand, row, width);
    if (step == 1) return const_cast<char*>(from);
    const size_t bytes =
                     static_cast<size_t>(width) * mpc_dtype_size(shape_.dtype),
                 stride = static_cast<size_t>(step) * bytes;
    char* to = static_cast<char*>(room);
    for (int64_t i = 0; i < count; ++i, from += stride, to += bytes) {
      if (i + kRowsAhead < count)
        for (size_t byte = 0; byte < bytes; byte += 64)
          __builtin_prefetch(from + kRowsAhead * stride + byte, 0, 2);
      // Copies of a constant size take no call.
      size_t done = 0;
      for (; done + 64 <= bytes; done += 64)
        std::memcpy(to + done, from + done, 64);
      if (done < bytes) std::memcpy(to + done, from + done, bytes - done);
    }
    return room;
  }
  // Sets the addresses of a head's keys and values, which begin at `row`.
  [[gnu::noinline]] void gather_keys(void* keys, void* values, int64_t row,
                                     void** buffers) const {
    const int64_t step = gathers_keys_ ? key_strides_.row : 1;
    buffers[kKey] =
        gather(keys, row, step, shape_.keys, shape_.depth, buffers[kKey]);
    buffers[kValue] = gather(values, row, step, shape_.keys, shape_.value_depth,
                             buffers[kValue]);
  }
  // Scratch memory for gathered rows.
  [[gnu::noinline]] void add_room(
      Buffer buffer, int64_t count, int64_t width,
      std::vector<std::pair<Buffer, int64_t>>* room) const {
    room->emplace_back(
        buffer,
        count * width * static_cast<int64_t>(mpc_dtype_size(shape_.dtype)));
  }

  const AttentionShape shape_;
  const std::vector<OperandPlace> places_;
  const HeadStrides query_strides_, key_strides_, result_strides_;
  // Whether products are bf16: probabilities and the gradients of scores are
  // then stored separately from f32 scores.
  const bool is_narrow_;
  const Strips strips_;
  const Loops loops_;
  int threads_;
  bool gathers_keys_ = false;

 private:
  int64_t items_;
  std::optional<StripProducts> products_;
  std::vector<std::pair<Buffer, size_t>> scratch_;
  size_t worker_bytes_ = 0;
  std::vector<size_t> lists_;  // By strip.
};

class Forward final : public AttentionKernel {
 public:
  Forward(const AttentionShape& shape, const Context& context)
      : AttentionKernel(shape, context, 1) {
    const int64_t heads = shape.batch * shape.heads, strips = strips_.count();
    // Strips of a head share the packed keys.
    strips_per_item_ = heads >= kHeadsPerThread * threads_ ? strips : 1;
    std::vector<std::pair<Buffer, int64_t>> room = {
        {kScores, strips_.elements() * 4}};
    if (is_narrow_) room.emplace_back(kP, strips_.elements() * 2);
    if (gathers()) add_room(kQuery, strips_.rows(), shape.depth, &room);
    gathers_keys_ = gathers() && strips_per_item_ == strips;
    if (gathers_keys_) {
      add_room(kKey, shape.keys, shape.depth, &room);
      add_room(kValue, shape.keys, shape.value_depth, &room);
    }
    make(heads * strips / strips_per_item_, std::move(room));
  }

 protected:
  std::vector<StripProduct> products(const Strip& s) const override {
    const int64_t d = shape_.depth, e = shape_.value_depth;
    return {{rows(kQuery, d), key(kKey, d, true), scores(s, kScores), s.rows,
             s.count, d},
            {probabilities(s, kP),
             key(kValue, e),
             {kResult, shape_.result_dtypes[0], e * result_strides_.row},
             s.rows,
             e,
             s.count}};
  }

  bool run_item(int64_t item, void* const* operands, void** buffers,
                int worker) const override {
    const int64_t head = item * strips_per_item_ / strips_.count();
    const int64_t first = item * strips_per_item_ % strips_.count();
    const int64_t keys = key_row(key_head_of(head), 0);
    gather_keys(operands[1], operands[2], keys, buffers);
    if (!buffers[kP]) buffers[kP] = buffers[kScores];
    StripProducts::Run products = products_of(buffers, worker);
    // With `causal`, the longest strips of a head start first.
    for (int64_t i = first; i < first + strips_per_item_; ++i)
      if (!run_strip(head, strips_.count() - 1 - i, operands, buffers,
                     &products))
        return false;
    return true;
  }

 private:
  bool run_strip(int64_t head, int64_t index, void* const* operands,
                 void** buffers, StripProducts::Run* products) const {
    Strip strip = strips_.at(index);
    const Dropout dropout = dropout_of(operands);
    set_operands(&strip, operands, head, dropout);
    const size_t results = shape_.first_result();
    buffers[kQuery] =
        gather(operands[0], query_row(head, strip.first), query_strides_.row,
               strip.rows, shape_.depth, buffers[kQuery]);
    buffers[kResult] = at(operands[results], result_row(head, strip.first),
                          shape_.value_depth, shape_.result_dtypes[0]);
    if (!products->multiply(list(index), 0)) return false;
    loops_.softmax(strip, static_cast<float*>(buffers[kScores]), buffers[kP],
                   sums_from<float>(operands[results + 1], head, strip.first));
    return products->multiply(list(index), 1);
  }

  int64_t strips_per_item_;
};

// Sums over the queries are f32. An item is a head of the keys; with a gradient
// of the bias it is all heads of the keys that add to the same elements, in
// order.
class Backward final : public AttentionKernel {
 public:
  Backward(const AttentionShape& shape, const Context& context)
      : AttentionKernel(shape, context, 2.5) {
    const int64_t scores = strips_.elements();
    std::vector<std::pair<Buffer, int64_t>> room = {{kScores, scores * 4},
                                                    {kPGrads, scores * 4}};
    if (is_narrow_) {
      room.emplace_back(kP, scores * 2);
      room.emplace_back(kScoreGrads, scores * 2);
    }
    for (const Summed& sums : sums_of(shape))
      if (!writes_sums(sums))
        room.emplace_back(sums.buffer, sum_elements(sums) * 4);
    room.emplace_back(kShared, strips_.rows() * 4);
    gathers_keys_ = gathers();
    if (gathers()) {
      add_room(kQuery, strips_.rows(), shape.depth, &room);
      add_room(kGrad, strips_.rows(), shape.value_depth, &room);
      add_room(kKey, shape.keys, shape.depth, &room);
      add_room(kValue, shape.keys, shape.value_depth, &room);
    }
    if (shape.softcap > 0) room.emplace_back(kSlopes, strips_.stride() * 4);
    room.emplace_back(
        kRows,
        (kKeysTogether * std::max(shape.depth, shape.value_depth) + kVector) *
            4);
    make(Items(shape).count(), std::move(room));
  }

 protected:
  std::vector<StripProduct> products(const Strip& s) const override {
    const int64_t d = shape_.depth, e = shape_.value_depth;
    return {{rows(kQuery, d), key(kKey, d, true), scores(s, kScores), s.rows,
             s.count, d},
            {rows(kGrad, e), key(kValue, e, true), scores(s, kPGrads), s.rows,
             s.count, e},
            sum(s, kP, rows(kGrad, e, !is_narrow_), e, kValueGrad),
            sum(s, kScoreGrads, rows(kQuery, d, !is_narrow_), d, kKeyGrad),
            {probabilities(s, kScoreGrads),
             key(kKey, d),
             {kQueryGrad, shape_.result_dtypes[0], d * query_strides_.row},
             s.rows,
             d,
             s.count}};
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
  size_t results() const { return shape_.first_result(); }
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
    const int64_t keys = key_row(key_head, 0);
    gather_keys(operands[2], operands[3], keys, buffers);
    if (!buffers[kP]) {
      buffers[kP] = buffers[kScores];
      buffers[kScoreGrads] = buffers[kPGrads];
    }
    const auto result_of = [&](const Summed& sums) {
      return at(operands[results() + sums.result], keys, sums.width,
                shape_.result_dtypes[sums.result]);
    };
    for (const Summed& sums : sums_of(shape_)) {
      if (writes_sums(sums)) buffers[sums.buffer] = result_of(sums);
      std::fill_n(static_cast<float*>(buffers[sums.buffer]), sum_elements(sums),
                  0.0f);
    }
    StripProducts::Run products = products_of(buffers, worker);
    // Heads that share keys are adjacent.
    for (int64_t head = key_head * group(); head < (key_head + 1) * group();
         ++head)
      for (int64_t index = 0; index < strips_.count(); ++index)
        if (!run_strip(head, index, operands, buffers, &products)) return false;
    for (const Summed& sums : sums_of(shape_))
      if (!writes_sums(sums))
        finish(sums, static_cast<const float*>(buffers[sums.buffer]),
               static_cast<float*>(buffers[kRows]), result_of(sums));
    return true;
  }

  // A product whose result is increased by that of each strip: [keys, width],
  // or, if no type is narrow, its transpose, which needs no transpose of the
  // probabilities.
  StripProduct sum(const Strip& s, Buffer probability, ProductOperand rows,
                   int64_t width, Buffer result) const {
    if (is_narrow_)
      return {probabilities(s, probability, true),
              rows,
              {result, MPC_DTYPE_F32, width},
              s.count,
              width,
              s.rows,
              true};
    return {rows,
            probabilities(s, probability),
            {result, MPC_DTYPE_F32, strips_.stride()},
            width,
            s.count,
            s.rows,
            true};
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
  // Whether the sums are in the result itself.
  bool writes_sums(const Summed& sums) const {
    return is_narrow_ && shape_.result_dtypes[sums.result] == MPC_DTYPE_F32;
  }
  int64_t sum_elements(const Summed& sums) const {
    return sums.width * (is_narrow_ ? shape_.keys : strips_.stride());
  }
  // Writes sums to a result. `rows` has room for kKeysTogether rows.
  void finish(const Summed& sums, const float* from, float* rows,
              void* to) const {
    const mpc_dtype_t dtype = shape_.result_dtypes[sums.result];
    const Conversion conversion(dtype);
    // Rows of the result from `key` on.
    const auto rows_of = [&](int64_t key, int64_t count) {
      const int64_t stride = key_strides_.row * sums.width;
      return Part{key * stride, count, sums.width, stride};
    };
    if (is_narrow_) {
      conversion.round(from, rows_of(0, shape_.keys), to);
      return;
    }
    for (int64_t key = 0; key < shape_.keys; key += kKeysTogether) {
      const int64_t count = std::min(kKeysTogether, shape_.keys - key);
      loops_.transpose(from + key, strips_.stride(), sums.width, count, rows);
      conversion.round(rows, rows_of(key, count), to);
    }
  }

  bool run_strip(int64_t head, int64_t index, void* const* operands,
                 void** buffers, StripProducts::Run* products) const {
    Strip strip = strips_.at(index);
    const Dropout dropout = dropout_of(operands);
    set_operands(&strip, operands, head, dropout);
    if (shape_.has_bias_grad)
      strip.bias_grad = static_cast<float*>(operands[results() + 3]) +
                        shape_.bias_at(0, head, strip.first);
    strip.slopes = static_cast<float*>(buffers[kSlopes]);
    const int64_t query = query_row(head, strip.first),
                  result = result_row(head, strip.first);
    const int64_t d = shape_.depth, e = shape_.value_depth;
    buffers[kGrad] = gather(operands[0], result, result_strides_.row,
                            strip.rows, e, buffers[kGrad]);
    buffers[kQuery] = gather(operands[1], query, query_strides_.row, strip.rows,
                             d, buffers[kQuery]);
    buffers[kQueryGrad] =
        at(operands[results()], query, d, shape_.result_dtypes[0]);
    float* shared = static_cast<float*>(buffers[kShared]);
    loops_.dot_rows(input(operands[0], result, e),
                    input(operands[4], result, e), strip.rows, e,
                    e * result_strides_.row, shared);
    const size_t list = this->list(index);
    if (!products->multiply(list, 0) || !products->multiply(list, 1))
      return false;
    loops_.softmax_grad(strip, static_cast<float*>(buffers[kScores]),
                        static_cast<const float*>(buffers[kPGrads]),
                        sums_from<const float>(operands[5], head, strip.first),
                        shared, buffers[kP], buffers[kScoreGrads]);
    return products->multiply(list, 2) && products->multiply(list, 3) &&
           products->multiply(list, 4);
  }
};

}  // namespace

std::unique_ptr<Kernel> make_attention(const AttentionShape& shape,
                                       const Context& context) {
  if (shape.forward) return std::make_unique<Forward>(shape, context);
  return std::make_unique<Backward>(shape, context);
}

}  // namespace mpc::kernels::cpu
