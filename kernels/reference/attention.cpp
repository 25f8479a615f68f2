// Attention and its gradient, one query at a time. Scores, probabilities and
// sums are f32 (f64 for f64); each result is rounded once.

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <vector>

#include "kernels/log_sum_exp.h"
#include "kernels/reference/reference.h"

namespace mpc::kernels::reference {
namespace {

// A result whose dtype may differ from that of the operands.
class Output {
 public:
  Output(void* data, mpc_dtype_t dtype) : data_(data), dtype_(dtype) {}

  void store(int64_t index, double value) const {
    const float narrow = static_cast<float>(value);
    switch (dtype_) {
      case MPC_DTYPE_F64:
        static_cast<double*>(data_)[index] = value;
        break;
      case MPC_DTYPE_F16:
        static_cast<F16*>(data_)[index] = F16(narrow);
        break;
      case MPC_DTYPE_BF16:
        static_cast<Bf16*>(data_)[index] = Bf16(narrow);
        break;
      default:
        static_cast<float*>(data_)[index] = narrow;
    }
  }

 private:
  void* data_;
  mpc_dtype_t dtype_;
};

template <typename T>
Sum<T> dot(const T* a, const T* b, int64_t count) {
  Sum<T> sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += Sum<T>(a[i]) * Sum<T>(b[i]);
  return sum;
}

// The rows of the operands that belong to one query.
struct Places {
  int64_t query, result;                   // Rows of queries and results.
  int64_t sum;                             // Row of sums.
  int64_t keys;                            // First row of its keys and values,
  int64_t sums_of_keys;                    // and among sums for all keys.
  int64_t key_step;                        // From one key to the next, in rows.
  int64_t visible;                         // Number of keys it sees.
  std::array<int64_t, kMaxBiases> biases;  // First elements of its biases.

  int64_t key(int64_t index) const { return keys + index * key_step; }
};

// The places of query `i` of a head, which is counted over all batches.
[[gnu::noinline]] Places place_of(const AttentionShape& s, int64_t head,
                                  int64_t i) {
  const int64_t key_head = head / (s.heads / s.key_heads);
  const HeadStrides key = s.key_strides();
  return {s.query_strides().at(head, s.heads, i),
          s.result_strides().at(head, s.heads, i),
          head * s.queries + i,
          key.at(key_head, s.key_heads, 0),
          key_head * s.keys,
          key.row,
          s.visible(i),
          {s.bias_at(0, head, i), s.bias_at(1, head, i)}};
}

template <typename F>
void for_queries(const AttentionShape& s, F&& body) {
  for (int64_t head = 0; head < s.batch * s.heads; ++head)
    for (int64_t i = 0; i < s.queries; ++i) body(place_of(s, head, i));
}

// The element of a bias for key `j`.
template <typename T>
Sum<T> bias_of(const Places& at, void* const* biases, int64_t bias, int64_t j) {
  return static_cast<const Sum<T>*>(biases[bias])[at.biases[bias] + j];
}

// Whether a bias replaces the score of key `j`.
template <typename T>
bool replaces(const AttentionShape& s, const Places& at, void* const* biases,
              int64_t j) {
  return s.replacing >= 0 && bias_of<T>(at, biases, s.replacing, j) != 0;
}

// The scaled and capped scores of one query with the biases, the operands from
// `biases` on. `slopes`, unless null, receives their derivatives by
// the scaled ones.
template <typename T>
std::vector<Sum<T>> scores_of(const AttentionShape& s, const Places& at,
                              const T* query, const T* key, void* const* biases,
                              std::vector<Sum<T>>* slopes = nullptr) {
  std::vector<Sum<T>> scores(static_cast<size_t>(at.visible));
  if (slopes) slopes->assign(scores.size(), Sum<T>(1));
  for (int64_t j = 0; j < at.visible; ++j) {
    scores[j] = Sum<T>(s.scale) * dot(query + at.query * s.depth,
                                      key + at.key(j) * s.depth, s.depth);
    if (s.softcap > 0) {
      const Sum<T> bent = std::tanh(scores[j] / Sum<T>(s.softcap));
      scores[j] = Sum<T>(s.softcap) * bent;
      if (slopes) (*slopes)[j] = 1 - bent * bent;
    }
    for (int64_t k = 0; k < static_cast<int64_t>(s.bias_count); ++k)
      if (k != s.replacing) scores[j] += bias_of<T>(at, biases, k, j);
    if (replaces<T>(s, at, biases, j)) {
      scores[j] = bias_of<T>(at, biases, s.replacing, j);
      if (slopes) (*slopes)[j] = 0;
    }
  }
  return scores;
}

// A type with more digits than Sum<T>.
template <typename T>
using Wide =
    std::conditional_t<std::is_same_v<Sum<T>, double>, long double, double>;

// The dropout of probabilities.
template <typename T>
class Kept {
 public:
  Kept(const AttentionShape& shape, void* const* operands) : shape_(shape) {
    if (shape.has_dropout) dropout_ = shape.dropout(operands);
  }

  // `value`, which belongs to key `j`, after the dropout.
  Sum<T> of(const Places& at, int64_t j, Sum<T> value) const {
    if (!shape_.has_dropout) return value;
    const bool keeps =
        dropout_.keeps(static_cast<uint32_t>(at.sum * shape_.keys + j));
    return keeps ? value * static_cast<Sum<T>>(dropout_.factor) : 0;
  }

 private:
  const AttentionShape& shape_;
  Dropout dropout_ = {};
};

template <typename T>
void attention(const AttentionShape& s, void* const* operands) {
  const T* query = static_cast<const T*>(operands[0]);
  const T* key = static_cast<const T*>(operands[1]);
  const T* value = static_cast<const T*>(operands[2]);
  const size_t results = s.first_result();
  const Output result(operands[results], s.result_dtypes[0]);
  Sum<T>* sums = static_cast<Sum<T>*>(operands[results + 1]);
  const Kept<T> kept(s, operands);
  for_queries(s, [&](const Places& at) {
    std::vector<Sum<T>> p =
        scores_of(s, at, query, key, operands + s.first_bias());
    Sum<T> largest = p[0], sum = 0;
    for (Sum<T> score : p) largest = score > largest ? score : largest;
    const Sum<T> shift = softmax_shift(largest);
    for (Sum<T>& score : p) sum += score = std::exp(score - shift);
    for (int64_t j = 0; j < at.visible; ++j) p[j] = kept.of(at, j, p[j]);
    for (int64_t e = 0; e < s.value_depth; ++e) {
      Sum<T> total = 0;
      for (int64_t j = 0; j < at.visible; ++j)
        total += p[j] * Sum<T>(value[at.key(j) * s.value_depth + e]);
      result.store(at.result * s.value_depth + e, total / softmax_divisor(sum));
    }
    const auto parts = log_sum_exp<Wide<T>>(largest, sum);
    sums[at.sum] = parts.high;
    sums[s.rows() + at.sum] = parts.low;
  });
}

// Stores sums for all keys, `width` for each, whose rows in the result have
// strides.
template <typename T>
[[gnu::noinline]] void store_sums(const AttentionShape& s,
                                  const std::vector<Sum<T>>& sums,
                                  const Output& out, int64_t width) {
  const HeadStrides strides = s.key_strides();
  for (size_t i = 0; i < sums.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / width;
    out.store(strides.at(row / s.keys, s.key_heads, row % s.keys) * width +
                  static_cast<int64_t>(i) % width,
              sums[i]);
  }
}

// With P the probabilities and o the result of a query, and dP = grad value',
// after the dropout if there is one: the gradient of the scores with scale, cap
// and biases is P (dP - grad o').
template <typename T>
void attention_grad(const AttentionShape& s, void* const* operands) {
  const T* grad = static_cast<const T*>(operands[0]);
  const T* query = static_cast<const T*>(operands[1]);
  const T* key = static_cast<const T*>(operands[2]);
  const T* value = static_cast<const T*>(operands[3]);
  const T* result = static_cast<const T*>(operands[4]);
  const Sum<T>* sums = static_cast<const Sum<T>*>(operands[5]);
  const size_t results = s.first_result();
  const Kept<T> kept(s, operands);
  Sum<T>* bias_grad = nullptr;
  if (s.has_bias_grad) {
    bias_grad = static_cast<Sum<T>*>(operands[results + 3]);
    std::fill_n(bias_grad, s.bias_elements(), Sum<T>(0));
  }
  const int64_t key_rows = s.batch * s.key_heads * s.keys;
  std::vector<Sum<T>> key_grad(static_cast<size_t>(key_rows * s.depth));
  std::vector<Sum<T>> value_grad(static_cast<size_t>(key_rows * s.value_depth));
  const Output query_out(operands[results], s.result_dtypes[0]);
  for_queries(s, [&](const Places& at) {
    std::vector<Sum<T>> slopes;
    const std::vector<Sum<T>> scores =
        scores_of(s, at, query, key, operands + s.first_bias(), &slopes);
    const T* g = grad + at.result * s.value_depth;
    const Sum<T> shared =
        dot(g, result + at.result * s.value_depth, s.value_depth);
    std::vector<Sum<T>> query_grad(static_cast<size_t>(s.depth));
    for (int64_t j = 0; j < at.visible; ++j) {
      const int64_t row = at.key(j), sum = at.sums_of_keys + j;
      const Sum<T> p =
          std::exp((scores[j] - sums[at.sum]) - sums[s.rows() + at.sum]);
      const Sum<T> kept_p = kept.of(at, j, p);
      for (int64_t e = 0; e < s.value_depth; ++e)
        value_grad[sum * s.value_depth + e] += kept_p * Sum<T>(g[e]);
      const Sum<T> p_grad =
          kept.of(at, j, dot(g, value + row * s.value_depth, s.value_depth)) -
          shared;
      if (bias_grad && !(s.replacing == 1 &&
                         replaces<T>(s, at, operands + s.first_bias(), j)))
        bias_grad[at.biases[0] + j] += p * p_grad;
      const Sum<T> score_grad = Sum<T>(s.scale) * p * p_grad * slopes[j];
      for (int64_t d = 0; d < s.depth; ++d) {
        query_grad[d] += score_grad * Sum<T>(key[row * s.depth + d]);
        key_grad[sum * s.depth + d] +=
            score_grad * Sum<T>(query[at.query * s.depth + d]);
      }
    }
    for (int64_t d = 0; d < s.depth; ++d)
      query_out.store(at.query * s.depth + d, query_grad[d]);
  });
  store_sums<T>(s, key_grad, Output(operands[results + 1], s.result_dtypes[1]),
                s.depth);
  store_sums<T>(s, value_grad,
                Output(operands[results + 2], s.result_dtypes[2]),
                s.value_depth);
}

// The operands with separate query, key and value.
std::vector<void*> separated(const AttentionShape& s, void* const* operands) {
  const std::vector<OperandPlace> places = s.separate_operands();
  std::vector<void*> separate(places.size());
  for (size_t i = 0; i < places.size(); ++i)
    separate[i] =
        static_cast<char*>(operands[places[i].operand]) + places[i].offset;
  return separate;
}

template <typename T>
void attention_or_grad(const AttentionShape& s, void* const* operands) {
  const std::vector<void*> separate = separated(s, operands);
  s.forward ? attention<T>(s, separate.data())
            : attention_grad<T>(s, separate.data());
}

struct Attention {
  using Function = ReferenceKernel<AttentionShape>::Function;
  template <typename T, typename R>
  static Function get(KernelId) {
    return attention_or_grad<T>;
  }
};

}  // namespace

std::unique_ptr<Kernel> make_attention(KernelId id,
                                       const AttentionShape& shape) {
  return std::make_unique<ReferenceKernel<AttentionShape>>(
      shape, select<Attention>(id, shape.dtype, shape.dtype));
}

}  // namespace mpc::kernels::reference
