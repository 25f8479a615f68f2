// The loops of attention over rows of scores. attention.cpp includes this once
// for each instruction set; it has no include guard. The order of sums depends
// on the vector width, so the bits depend only on the kind of CPU.

// e^x within 2 ulps, for x <= 0 (1 for larger x); 0 if the result is below the
// smallest normal number. n is x / ln 2 rounded, from the sum with 1.5 * 2^23,
// whose last bits are n. e^x = 2^n e^(x - n ln 2), with ln 2 in two parts, so
// that the product with the first is exact. The polynomial is that of Cephes'
// expf.
MPC_ATTENTION_INLINE float exponential(float x) {
  constexpr float kShift = 12582912.0f;
  const float shifted = x * 1.44269504088896341f + kShift;
  const float n = shifted - kShift;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * (r * r) + r + 1.0f;
  const uint32_t power = float_bits(shifted) - float_bits(kShift);
  y *= bits_float((power + 127) << 23);
  y = x < -87.3f ? 0.0f : y;
  // NaN passes both comparisons unchanged.
  return x > 0.0f ? 1.0f : y;
}

// The storage type of T, because the vectorizer does not handle structs.
template <typename T>
struct Raw {
  using type = float;
  static float of(float value) { return value; }
};
template <>
struct Raw<Bf16> {
  using type = uint16_t;
  static uint16_t of(float value) { return Bf16::round(value); }
};

// Scales the scores of row `i` and adds the biases, if there are any. Returns
// the scale that the scores still need.
inline float add_biases(const Strip& s, int64_t i, int64_t visible,
                        float* scores) {
  float scale = s.shape.scale;
  for (size_t k = 0; k < s.shape.bias_count; ++k) {
    const float* bias = s.biases[k] + i * s.shape.biases[k].row;
#pragma omp simd
    for (int64_t j = 0; j < visible; ++j)
      scores[j] = scores[j] * scale + bias[j];
    scale = 1;
  }
  return scale;
}

// Computes the probabilities of the first `visible` scores, and zero for the
// rest of `count`. `p` may be the same memory as the scores. Returns the
// logarithm of the sum of the exponentials.
template <typename T>
LogSumExp<float> softmax_row(float* scores, float scale, int64_t visible,
                             int64_t count, typename Raw<T>::type* p) {
  float largest = -INFINITY;
#pragma omp simd reduction(max : largest)
  for (int64_t j = 0; j < visible; ++j) {
    const float score = scores[j] * scale;
    largest = score > largest ? score : largest;
  }
  const float shift = softmax_shift(largest);
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t j = 0; j < visible; ++j) {
    const float e = exponential(scores[j] * scale - shift);
    scores[j] = e;
    sum += e;
  }
  const float inverse = 1.0f / softmax_divisor(sum);
#pragma omp simd
  for (int64_t j = 0; j < visible; ++j) p[j] = Raw<T>::of(scores[j] * inverse);
  for (int64_t j = visible; j < count; ++j) p[j] = 0;
  return log_sum_exp<double>(largest, sum);
}

// Adds the gradients of scores with bias to those of the bias.
inline void add_bias_grad(const float* scores, const float* p_grads,
                          const LogSumExp<float>& sum, float shared,
                          int64_t visible, float* bias_grad) {
  const float high = sum.high, low = sum.low;
#pragma omp simd
  for (int64_t j = 0; j < visible; ++j)
    bias_grad[j] +=
        exponential((scores[j] - high) - low) * (p_grads[j] - shared);
}

// Computes the probabilities from the scores times `scale`, and the gradients
// of the scores, times `grad_scale`, from those of the probabilities.
template <typename T>
void softmax_grad_row(const float* scores, const float* p_grads, float scale,
                      float grad_scale, const LogSumExp<float>& sum,
                      float shared, int64_t visible, int64_t count,
                      typename Raw<T>::type* p,
                      typename Raw<T>::type* score_grads) {
  const float high = sum.high, low = sum.low;
#pragma omp simd
  for (int64_t j = 0; j < visible; ++j) {
    const float probability = exponential((scores[j] * scale - high) - low);
    const float grad = probability * (p_grads[j] - shared) * grad_scale;
    p[j] = Raw<T>::of(probability);
    score_grads[j] = Raw<T>::of(grad);
  }
  for (int64_t j = visible; j < count; ++j) p[j] = score_grads[j] = 0;
}

template <typename T>
float dot_row(const T* a, const T* b, int64_t count) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i)
    sum += static_cast<float>(a[i]) * static_cast<float>(b[i]);
  return sum;
}

template <typename T>
void softmax_strip(const Strip& s, float* scores, void* p, Sums<float> sums) {
  for (int64_t i = 0; i < s.rows; ++i) {
    const int64_t visible = std::min(s.shape.visible(s.first + i), s.count);
    float* row = scores + i * s.count;
    const float scale = add_biases(s, i, visible, row);
    const LogSumExp<float> sum =
        softmax_row<T>(row, scale, visible, s.count,
                       static_cast<typename Raw<T>::type*>(p) + i * s.count);
    sums.high[i] = sum.high;
    sums.low[i] = sum.low;
  }
}

template <typename T>
void softmax_grad_strip(const Strip& s, float* scores, const float* p_grads,
                        Sums<const float> sums, const void* grad,
                        const void* result, void* p, void* score_grads) {
  using Stored = typename Raw<T>::type;
  const int64_t depth = s.shape.value_depth;
  for (int64_t i = 0; i < s.rows; ++i) {
    const float shared =
        dot_row(static_cast<const T*>(grad) + i * depth,
                static_cast<const T*>(result) + i * depth, depth);
    const int64_t at = i * s.count;
    const int64_t visible = std::min(s.shape.visible(s.first + i), s.count);
    const LogSumExp<float> sum = {sums.high[i], sums.low[i]};
    const float scale = add_biases(s, i, visible, scores + at);
    if (s.bias_grad)
      add_bias_grad(scores + at, p_grads + at, sum, shared, visible,
                    s.bias_grad + i * s.shape.biases[0].row);
    softmax_grad_row<T>(scores + at, p_grads + at, scale, s.shape.scale, sum,
                        shared, visible, s.count, static_cast<Stored*>(p) + at,
                        static_cast<Stored*>(score_grads) + at);
  }
}

inline Loops loops(bool is_bf16) {
  if (is_bf16) return {softmax_strip<Bf16>, softmax_grad_strip<Bf16>};
  return {softmax_strip<float>, softmax_grad_strip<float>};
}
