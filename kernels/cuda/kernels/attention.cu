// The softmax of attention and its gradient, with a warp per row of scores, and
// the gradient of the bias, with a thread per element. Sums are in f32, in an
// order that depends on the shape alone. And copies between layouts.

#include "kernels/cuda/kernels/attention_params.h"
#include "kernels/cuda/kernels/device.h"
#include "kernels/dropout.h"
#include "kernels/float_types.h"
#include "kernels/log_sum_exp.h"

namespace {

using mpc::kernels::AttentionParams;
using mpc::kernels::Bf16;
using mpc::kernels::Dropout;
using mpc::kernels::F16;
using mpc::kernels::HeadCopyParams;
using mpc::kernels::HeadStrides;
using mpc::kernels::LogSumExp;

constexpr unsigned kAll = 0xffffffffu;
constexpr int kLanes = 32;

__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int lanes = kLanes / 2; lanes > 0; lanes /= 2)
    value += __shfl_xor_sync(kAll, value, lanes);
  return value;
}

__device__ __forceinline__ float warp_max(float value) {
#pragma unroll
  for (int lanes = kLanes / 2; lanes > 0; lanes /= 2)
    value = fmaxf(value, __shfl_xor_sync(kAll, value, lanes));
  return value;
}

// Calls body(row, lane, number of keys that the row's query sees) for the rows
// of this warp.
template <typename F>
__device__ __forceinline__ void for_rows(const AttentionParams& p, F&& body) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x / kLanes;
  const int64_t first =
      (static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes;
  for (int64_t row = first; row < p.rows; row += step) {
    const int32_t query = static_cast<int32_t>(row % p.queries);
    body(row, lane, p.causal && query < p.keys ? query + 1 : p.keys);
  }
}

// The position of the row of a bias that belongs to row `row`.
__device__ __forceinline__ int64_t bias_at(const AttentionParams& p, int bias,
                                           int64_t row) {
  const int64_t head = p.first_head + row / p.queries;
  const mpc::kernels::BiasStrides& strides = p.bias_strides[bias];
  return head / p.heads * strides.batch + head % p.heads * strides.head +
         row % p.queries * strides.row;
}

// A score and its derivatives by the scaled product and by the first bias.
struct Score {
  float value, slope, bias_slope;
};

// The scores of a row, scaled, capped and with biases.
struct Scores {
  __device__ __forceinline__ Scores(const AttentionParams& p,
                                    const float* all_scores, int64_t row)
      : scores(all_scores + row * p.keys),
        scale(p.scale),
        softcap(p.softcap),
        replacing(p.replacing) {
#pragma unroll
    for (int i = 0; i < static_cast<int>(mpc::kernels::kMaxBiases); ++i)
      biases[i] = p.biases[i] ? p.biases[i] + bias_at(p, i, row) : nullptr;
  }
  __device__ __forceinline__ float operator[](int32_t j) const {
    return at(j).value;
  }
  __device__ __forceinline__ Score at(int32_t j) const {
    Score score = {scores[j] * scale, 1.0f, 1.0f};
    if (softcap > 0.0f) {
      const float bent = tanhf(score.value / softcap);
      score.value = softcap * bent;
      score.slope = 1.0f - bent * bent;
    }
    float other = 0.0f;
#pragma unroll
    for (int i = 0; i < static_cast<int>(mpc::kernels::kMaxBiases); ++i) {
      if (!biases[i]) continue;
      if (i == replacing)
        other = biases[i][j];
      else
        score.value += biases[i][j];
    }
    if (other != 0.0f) score = {other, 0.0f, replacing == 0 ? 1.0f : 0.0f};
    return score;
  }
  const float* scores;
  const float* biases[mpc::kernels::kMaxBiases];
  float scale, softcap;
  int32_t replacing;
};

// The probability of a score. The product may use another algorithm than in the
// forward pass and give slightly different scores; large ones must not lead to
// probabilities above 1. NaN is kept.
__device__ __forceinline__ float probability_of(float score,
                                                const LogSumExp<float>& sum) {
  const float power = (score - sum.high) - sum.low;
  return expf(power > 0.0f ? 0.0f : power);
}

// The dropout of probabilities, or none.
struct RowDropout {
  __device__ __forceinline__ explicit RowDropout(const AttentionParams& p)
      : first_row(p.first_head * p.queries), keys(p.keys), drops(p.seed) {
    if (drops) dropout = Dropout::of(p.ratio, p.index, *p.seed, *p.step);
  }
  // The factor of an element; 0 drops it.
  __device__ __forceinline__ float factor(int64_t row, int32_t j) const {
    if (!drops) return 1.0f;
    const int64_t element = (first_row + row) * keys + j;
    return dropout.keeps(static_cast<uint32_t>(element))
               ? static_cast<float>(dropout.factor)
               : 0.0f;
  }
  int64_t first_row;
  int32_t keys;
  bool drops;
  Dropout dropout;
};

// A value that is dropped becomes 0 even if it is not finite.
__device__ __forceinline__ float dropped(float value, float factor) {
  return factor == 0.0f ? 0.0f : value * factor;
}

// If operands are f32, probabilities overwrite the scores: a lane reads an
// element before it writes it.
template <typename T>
__device__ __forceinline__ void softmax(const AttentionParams& p,
                                        const float* all_scores, T* all_p,
                                        float* high, float* low) {
  const RowDropout dropout(p);
  for_rows(
      p, [&](int64_t row, int lane,
             int32_t visible) __attribute__((always_inline)) {
        const Scores scores(p, all_scores, row);
        T* out = all_p + row * p.keys;
        float largest = -INFINITY;
        for (int32_t j = lane; j < visible; j += kLanes)
          largest = fmaxf(largest, scores[j]);
        largest = warp_max(largest);
        const float shift = mpc::kernels::softmax_shift(largest);
        float sum = 0;
        for (int32_t j = lane; j < visible; j += kLanes)
          sum += expf(scores[j] - shift);
        sum = warp_sum(sum);
        const float divisor = mpc::kernels::softmax_divisor(sum);
        for (int32_t j = lane; j < p.keys; j += kLanes)
          out[j] = T(j < visible ? dropped(expf(scores[j] - shift) / divisor,
                                           dropout.factor(row, j))
                                 : 0.0f);
        if (lane == 0) {
          const LogSumExp<float> parts =
              mpc::kernels::log_sum_exp<double>(largest, sum);
          high[row] = parts.high;
          low[row] = parts.low;
        }
      });
}

// The gradient: probabilities overwrite the scores, and gradients of the
// unscaled scores overwrite those of the probabilities. Writes the gradients of
// the scaled scores to `bias_terms` unless it is null; it may be `all_grads`.
template <typename T>
__device__ __forceinline__ void softmax_grad(
    const AttentionParams& p, const float* all_scores, const float* all_grads,
    const float* high, const float* low, const T* grad, const T* result,
    T* all_p, T* all_score_grads, float* bias_terms) {
  const RowDropout dropout(p);
  for_rows(
      p, [&](int64_t row, int lane, int32_t visible)
             __attribute__((always_inline)) {
               const Scores scores(p, all_scores, row);
               const float* p_grads = all_grads + row * p.keys;
               T* out = all_p + row * p.keys;
               T* score_grads = all_score_grads + row * p.keys;
               float shared = 0;
               for (int32_t e = lane; e < p.value_depth; e += kLanes)
                 shared += static_cast<float>(grad[row * p.value_depth + e]) *
                           static_cast<float>(result[row * p.value_depth + e]);
               shared = warp_sum(shared);
               const LogSumExp<float> sum = {high[row], low[row]};
               for (int32_t j = lane; j < p.keys; j += kLanes) {
                 // Masked elements may hold anything.
                 const Score score =
                     j < visible ? scores.at(j) : Score{0.0f, 0.0f, 0.0f};
                 const float probability =
                     j < visible ? probability_of(score.value, sum) : 0.0f;
                 const float factor = dropout.factor(row, j);
                 const float p_grad = dropped(p_grads[j], factor);
                 const float term =
                     j < visible ? probability * (p_grad - shared) : 0.0f;
                 out[j] = T(dropped(probability, factor));
                 score_grads[j] = T(term * p.scale * score.slope);
                 if (bias_terms)
                   bias_terms[row * p.keys + j] = term * score.bias_slope;
               }
             });
}

// Adds the gradients of these rows' scores to those of the `count` elements of
// the first bias: a thread adds all that belong to an element, in order.
__device__ __forceinline__ void bias_grad(const AttentionParams& p,
                                          const float* terms, float* bias_grads,
                                          int64_t count) {
  struct Range {
    int64_t begin, end;
  };
  const mpc::kernels::BiasStrides& strides = p.bias_strides[0];
  const int64_t heads = p.rows / p.queries;
  const int64_t last_batch = (p.first_head + heads - 1) / p.heads;
  const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t first =
      static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (int64_t element = first; element < count; element += threads) {
    const int64_t j = element % p.keys;
    int64_t rest = element / p.keys;
    // The indices in a dimension to which the element is added: one, or all if
    // the bias has a stride of 0 there.
    const auto range_of = [&](int64_t stride, int64_t begin, int64_t end) {
      if (!stride) return Range{begin, end};
      const int64_t index = rest % end;
      rest /= end;
      return Range{index, index + 1};
    };
    const Range query = range_of(strides.row, 0, p.queries);
    const Range head = range_of(strides.head, 0, p.heads);
    Range batch = {p.first_head / p.heads, last_batch + 1};
    if (strides.batch) batch = {rest, rest + 1};
    float total = bias_grads[element];
    for (int64_t b = batch.begin; b < batch.end; ++b)
      for (int64_t h = head.begin; h < head.end; ++h) {
        const int64_t here = b * p.heads + h - p.first_head;
        if (here < 0 || here >= heads) continue;
        const float* rows = terms + here * p.queries * p.keys + j;
        for (int64_t q = query.begin; q < query.end; ++q)
          total += rows[q * p.keys];
      }
    bias_grads[element] = total;
  }
}

template <typename T>
__device__ __forceinline__ void copy_heads(const T* from, T* to,
                                           const HeadCopyParams& p) {
  const int64_t threads = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t first =
      static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
#pragma unroll 1
  for (int64_t i = first; i < p.count; i += threads) {
    const int64_t at = i / p.depth, element = i % p.depth;
    const int64_t row = at % p.rows, head = at / p.rows % p.heads;
    const int64_t batch = at / p.rows / p.heads;
    const auto place = [&](const HeadStrides& strides) {
      return (batch * strides.batch + head * strides.head + row * strides.row) *
                 p.depth +
             element;
    };
    to[place(p.to)] = from[place(p.from)];
  }
}

}  // namespace

#define MPC_ATTENTION_COPY(bytes, T)                      \
  extern "C" __global__ void __launch_bounds__(256)       \
      mpc_attention_copy_##bytes(const T* from, T* to,    \
                                 HeadCopyParams params) { \
    copy_heads(from, to, params);                         \
  }
MPC_ATTENTION_COPY(2, uint16_t)
MPC_ATTENTION_COPY(4, uint32_t)
#undef MPC_ATTENTION_COPY
#define MPC_ATTENTION_KERNELS(suffix, T)                                       \
  extern "C" __global__ void __launch_bounds__(256)                            \
      mpc_attention_softmax_##suffix(AttentionParams params,                   \
                                     const float* scores, T* p, float* high,   \
                                     float* low) {                             \
    softmax(params, scores, p, high, low);                                     \
  }                                                                            \
  extern "C" __global__ void __launch_bounds__(256)                            \
      mpc_attention_softmax_grad_##suffix(                                     \
          AttentionParams params, const float* scores, const float* p_grads,   \
          const float* high, const float* low, const T* grad, const T* result, \
          T* p, T* score_grads, float* bias_terms) {                           \
    softmax_grad(params, scores, p_grads, high, low, grad, result, p,          \
                 score_grads, bias_terms);                                     \
  }
MPC_ATTENTION_KERNELS(f32, float)
MPC_ATTENTION_KERNELS(bf16, Bf16)
MPC_ATTENTION_KERNELS(f16, F16)
#undef MPC_ATTENTION_KERNELS

extern "C" __global__ void __launch_bounds__(256)
    mpc_attention_bias_grad(AttentionParams params, const float* terms,
                            float* bias_grads, int64_t count) {
  bias_grad(params, terms, bias_grads, count);
}
