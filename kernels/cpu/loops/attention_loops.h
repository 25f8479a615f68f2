// The loops of attention over rows of scores. attention.cpp includes this once
// for each instruction set, inside a namespace; see lanes.h. It has no include
// guard. The order of sums depends on the vector width, so the bits depend only
// on the kind of CPU.

#include "kernels/cpu/loops/dropout_lanes.h"
#include "kernels/cpu/loops/tanh.h"

using F32 = Lanes::F32;
using U32 = Lanes::U32;
constexpr int64_t kWidth = Lanes::kWidth;

template <typename To, typename From>
MPC_INLINE void copy_bits(const From& from, To* to) {
  static_assert(sizeof(From) == sizeof(To));
  std::memcpy(to, &from, sizeof(To));
}

// e^x within 2 ulps, for x <= 0 (1 for larger x); 0 if the result is below the
// smallest normal number. n is x / ln 2 rounded, from the sum with 1.5 * 2^23,
// whose last bits are n. e^x = 2^n e^(x - n ln 2), with ln 2 in two parts, so
// that the product with the first is exact. The polynomial is that of Cephes'
// expf.
MPC_INLINE void exponential(F32* value) {
  constexpr float kShift = 12582912.0f;
  const F32 x = *value;
  const F32 shifted = x * 1.44269504088896341f + kShift;
  const F32 n = shifted - kShift;
  const F32 r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  F32 y = 1.9875691500e-4f - F32{};
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * (r * r) + r + 1.0f;
  U32 power;
  copy_bits(shifted, &power);
  power = (power - float_bits(kShift) + 127) << 23;
  F32 factor;
  copy_bits(power, &factor);
  y *= factor;
  y = x < -87.3f ? F32{} : y;
  // NaN passes both comparisons unchanged.
  *value = x > 0.0f ? F32{} + 1.0f : y;
}

// The index of each lane.
MPC_INLINE void lane_indices(U32* to) {
#pragma GCC unroll 16
  for (int64_t i = 0; i < kWidth; ++i) (*to)[i] = static_cast<uint32_t>(i);
}

// Replaces all lanes but the first `count`.
MPC_INLINE void keep_first(int64_t count, float other, F32* value) {
  U32 index;
  lane_indices(&index);
  *value = index < static_cast<uint32_t>(count) ? *value : F32{} + other;
}

// Loads the lanes that are among `count` elements, and zeros.
template <typename T>
MPC_INLINE void load_first(const T* from, int64_t count, F32* to) {
  if (count >= kWidth) return Lanes::load(from, to);
  Lanes::load_first(from, count, to);
}

MPC_INLINE void store(const F32& value, float* to) {
  std::memcpy(to, &value, sizeof value);
}
MPC_INLINE void store(const F32& value, Bf16* to) {
  U32 from;
  copy_bits(value, &from);
  U32 rounded = (from + 0x7fff + (from >> 16 & 1)) >> 16;
  // NaN stays NaN.
  rounded = value != value ? from >> 16 | 0x40 : rounded;
  const Lanes::U16 half = __builtin_convertvector(rounded, Lanes::U16);
  std::memcpy(static_cast<void*>(to), &half, sizeof half);
}

// Each lane and the one at kDistance.
template <size_t kDistance, size_t... kLane>
MPC_INLINE void swap_lanes(const F32& from, F32* to,
                           std::index_sequence<kLane...>) {
  *to = __builtin_shufflevector(from, from,
                                static_cast<int>(kLane ^ kDistance)...);
}

// Combines all lanes.
template <typename Combine, size_t kDistance = kWidth / 2>
MPC_INLINE float combine_lanes(F32* value, Combine combine) {
  F32 other;
  swap_lanes<kDistance>(*value, &other, std::make_index_sequence<kWidth>());
  combine(other, value);
  if constexpr (kDistance > 1)
    return combine_lanes<Combine, kDistance / 2>(value, combine);
  return (*value)[0];
}

struct Add {
  MPC_INLINE void operator()(const F32& other, F32* value) const {
    *value += other;
  }
};
// Ignores NaN in `other`.
struct Larger {
  MPC_INLINE void operator()(const F32& other, F32* value) const {
    *value = other > *value ? other : *value;
  }
};

// Vectors of a row of scores that have a visible key.
MPC_INLINE int64_t visible_end(int64_t visible) {
  return (visible + kWidth - 1) / kWidth * kWidth;
}

// Replaces `count` scores s, whole vectors, by cap * tanh(scale * s / cap), and
// writes the derivatives of the cap to `slopes` unless it is null.
MPC_INLINE void cap_scores(float scale, float cap, int64_t count, float* scores,
                           float* slopes) {
#pragma omp simd
  for (int64_t j = 0; j < count; ++j) scores[j] = tanh(scores[j] * scale / cap);
  if (slopes)
    for (int64_t j = 0; j < count; ++j)
      slopes[j] = 1.0f - scores[j] * scores[j];
  for (int64_t j = 0; j < count; ++j) scores[j] *= cap;
}

// The row of the bias that replaces scores, or null.
MPC_INLINE const float* replacing_row(const Strip& s, int64_t i) {
  const int64_t k = s.shape.replacing;
  return k < 0 ? nullptr : s.biases[k] + i * s.shape.biases[k].row;
}

// Scales and caps the scores of row `i` and adds the biases, if there are any,
// or takes them instead. Returns the scale that the scores still need. A call,
// one for each row, because all softmaxes share it.
__attribute__((noinline)) inline float finish_scores(const Strip& s, int64_t i,
                                                     int64_t visible,
                                                     float* scores) {
  float scale = s.shape.scale;
  if (s.shape.softcap > 0) {
    cap_scores(scale, s.shape.softcap, visible_end(visible), scores, s.slopes);
    scale = 1;
  }
  for (size_t k = 0; k < s.shape.bias_count; ++k) {
    if (static_cast<int64_t>(k) == s.shape.replacing) continue;
    const float* bias = s.biases[k] + i * s.shape.biases[k].row;
    for (int64_t j = 0; j < visible; j += kWidth) {
      F32 score, addend;
      Lanes::load(scores + j, &score);
      load_first(bias + j, visible - j, &addend);
      store(score * scale + addend, scores + j);
    }
    scale = 1;
  }
  if (const float* others = replacing_row(s, i)) {
    for (int64_t j = 0; j < visible; j += kWidth) {
      F32 score, other;
      Lanes::load(scores + j, &score);
      load_first(others + j, visible - j, &other);
      store(other == 0.0f ? score * scale : other, scores + j);
    }
    scale = 1;
  }
  return scale;
}

// The dropout of row `i`, which does nothing if there is none.
MPC_INLINE DropoutLanes dropout_of_row(const Strip& s, int64_t i) {
  return {s.dropout, s.first_element + static_cast<uint32_t>(i * s.shape.keys)};
}

// Computes the probabilities of the first `visible` scores, and zero for the
// rest of `count`. `p` may be the same memory as the scores. Returns the
// logarithm of the sum of the exponentials.
template <typename T>
MPC_INLINE LogSumExp<float> softmax_row(float* scores, float scale,
                                        int64_t visible, int64_t count,
                                        const DropoutLanes& dropout, T* p) {
  const int64_t end = visible_end(visible);
  F32 value, most = F32{} - INFINITY;
  for (int64_t j = 0; j < end; j += kWidth) {
    Lanes::load(scores + j, &value);
    value *= scale;
    if (j + kWidth > visible) keep_first(visible - j, -INFINITY, &value);
    store(value, scores + j);
    Larger()(value, &most);
  }
  const float largest = combine_lanes(&most, Larger());
  const float shift = softmax_shift(largest);
  F32 sums = {};
  for (int64_t j = 0; j < end; j += kWidth) {
    Lanes::load(scores + j, &value);
    value -= shift;
    exponential(&value);
    store(value, scores + j);
    sums += value;
  }
  const float sum = combine_lanes(&sums, Add());
  const float inverse = 1.0f / softmax_divisor(sum);
  for (int64_t j = 0; j < end; j += kWidth) {
    Lanes::load(scores + j, &value);
    value *= inverse;
    if (dropout) {
      F32 factors;
      dropout.factors(j, &factors);
      drop(factors, &value);
    }
    store(value, p + j);
  }
  for (int64_t j = end; j < count; j += kWidth) store(F32{}, p + j);
  return log_sum_exp<double>(largest, sum);
}

template <typename T>
void softmax_strip(const Strip& s, float* scores, void* p, Sums<float> sums) {
  for (int64_t i = 0; i < s.rows; ++i) {
    const int64_t visible = std::min(s.shape.visible(s.first + i), s.count);
    float* row = scores + i * s.stride;
    const float scale = finish_scores(s, i, visible, row);
    const LogSumExp<float> sum =
        softmax_row(row, scale, visible, s.count, dropout_of_row(s, i),
                    static_cast<T*>(p) + i * s.stride);
    sums.high[i] = sum.high;
    sums.low[i] = sum.low;
  }
}

// Computes the probabilities from the scores times `scale`, and the gradients
// of the scores, times `grad_scale`, from those of the probabilities; `p`
// receives them as the dropout leaves them. With `bias_grad`, adds the
// gradients to it without that scale, and without `slopes`, the derivatives of
// the soft cap, which may be null. Scores have no gradient where `replacing` is
// not 0, unless it is null; with `replaces_bias`, neither has the bias.
template <typename T>
MPC_INLINE void softmax_grad_row(
    const float* scores, const float* p_grads, float scale, float grad_scale,
    const LogSumExp<float>& sum, float shared, int64_t visible, int64_t count,
    const DropoutLanes& dropout, const float* slopes, const float* replacing,
    bool replaces_bias, T* p, T* score_grads, float* bias_grad) {
  const int64_t end = visible_end(visible);
  for (int64_t j = 0; j < end; j += kWidth) {
    F32 probability, grad, factors;
    Lanes::load(scores + j, &probability);
    Lanes::load(p_grads + j, &grad);
    probability = (probability * scale - sum.high) - sum.low;
    exponential(&probability);
    if (dropout) {
      dropout.factors(j, &factors);
      drop(factors, &grad);
    }
    grad = probability * (grad - shared);
    if (dropout) drop(factors, &probability);
    if (j + kWidth > visible) {
      keep_first(visible - j, 0, &probability);
      keep_first(visible - j, 0, &grad);
    }
    F32 kept = grad;
    if (replacing) {
      F32 other;
      load_first(replacing + j, visible - j, &other);
      kept = other == 0.0f ? grad : F32{};
    }
    if (bias_grad) {
      const int64_t some = std::min(kWidth, visible - j);
      F32 sums;
      load_first(bias_grad + j, some, &sums);
      sums += replaces_bias ? kept : grad;
      std::memcpy(bias_grad + j, &sums, static_cast<size_t>(some) * 4);
    }
    store(probability, p + j);
    kept *= grad_scale;
    if (slopes) {
      F32 slope;
      Lanes::load(slopes + j, &slope);
      kept *= slope;
    }
    store(kept, score_grads + j);
  }
  for (int64_t j = end; j < count; j += kWidth) {
    store(F32{}, p + j);
    store(F32{}, score_grads + j);
  }
}

template <typename T>
void softmax_grad_strip(const Strip& s, float* scores, const float* p_grads,
                        Sums<const float> sums, const float* shared, void* p,
                        void* score_grads) {
  for (int64_t i = 0; i < s.rows; ++i) {
    const int64_t at = i * s.stride;
    const int64_t visible = std::min(s.shape.visible(s.first + i), s.count);
    const float scale = finish_scores(s, i, visible, scores + at);
    softmax_grad_row(
        scores + at, p_grads + at, scale, s.shape.scale,
        {sums.high[i], sums.low[i]}, shared[i], visible, s.count,
        dropout_of_row(s, i), s.slopes, replacing_row(s, i),
        s.shape.replacing == 1, static_cast<T*>(p) + at,
        static_cast<T*>(score_grads) + at,
        s.bias_grad ? s.bias_grad + i * s.shape.biases[0].row : nullptr);
  }
}

template <typename T>
void dot_rows(const void* a, const void* b, int64_t rows, int64_t width,
              int64_t stride, float* dots) {
  for (int64_t i = 0; i < rows; ++i) {
    const T* left = static_cast<const T*>(a) + i * stride;
    const T* right = static_cast<const T*>(b) + i * stride;
    F32 sums = {};
    for (int64_t j = 0; j < width; j += kWidth) {
      F32 x, y;
      load_first(left + j, width - j, &x);
      load_first(right + j, width - j, &y);
      sums += x * y;
    }
    dots[i] = combine_lanes(&sums, Add());
  }
}

// Exchanges lanes of two vectors: of `a` those with bit kDistance, of `b` those
// without it.
template <size_t kDistance, size_t... kLane>
MPC_INLINE void exchange_lanes(F32* a, F32* b, std::index_sequence<kLane...>) {
  const F32 low = __builtin_shufflevector(
      *a, *b,
      static_cast<int>(kLane & kDistance ? kWidth + (kLane ^ kDistance)
                                         : kLane)...);
  *b = __builtin_shufflevector(
      *a, *b,
      static_cast<int>(kLane & kDistance ? kWidth + kLane
                                         : kLane ^ kDistance)...);
  *a = low;
}

// Transposes a square of kWidth vectors.
template <size_t kDistance = kWidth / 2>
MPC_INLINE void transpose_square(F32* rows) {
#pragma GCC unroll 16
  for (size_t i = 0; i < kWidth; ++i)
    if ((i & kDistance) == 0)
      exchange_lanes<kDistance>(&rows[i], &rows[i + kDistance],
                                std::make_index_sequence<kWidth>());
  if constexpr (kDistance > 1) transpose_square<kDistance / 2>(rows);
}

// to[columns, rows] = the transpose of from[rows, columns]. Whole vectors are
// read and written: lanes beyond the end of a row are those of the next one,
// which are written later.
void transpose(const float* from, int64_t stride, int64_t rows, int64_t columns,
               float* to) {
  for (int64_t c = 0; c < columns; c += kWidth)
    for (int64_t r = (rows - 1) / kWidth * kWidth; r >= 0; r -= kWidth) {
      const int64_t height = std::min(kWidth, rows - r);
      F32 square[kWidth] = {};
#pragma GCC unroll 16
      for (int64_t i = 0; i < kWidth; ++i)
        if (i < height) Lanes::load(from + (r + i) * stride + c, &square[i]);
      transpose_square(square);
#pragma GCC unroll 16
      for (int64_t i = 0; i < kWidth; ++i)
        if (i < columns - c) store(square[i], to + (c + i) * rows + r);
    }
}

inline Loops loops(mpc_dtype_t dtype, bool is_narrow) {
  const char* name = MPC_VECTOR_WIDTH == 16  ? "attention:avx512"
                     : MPC_VECTOR_WIDTH == 8 ? "attention:avx2"
                                             : "attention:baseline";
  const auto dots = dtype == MPC_DTYPE_F32    ? dot_rows<float>
                    : dtype == MPC_DTYPE_BF16 ? dot_rows<Bf16>
                                              : dot_rows<F16>;
  if (is_narrow)
    return {name, softmax_strip<Bf16>, softmax_grad_strip<Bf16>, dots,
            transpose};
  return {name, softmax_strip<float>, softmax_grad_strip<float>, dots,
          transpose};
}
