// The softmax of attention and its gradient, with a warp per row of scores.
// Sums are in f32, in an order that depends on the shape alone.

#include "kernels/cuda/kernels/attention_params.h"
#include "kernels/cuda/kernels/device.h"
#include "kernels/float_types.h"
#include "kernels/log_sum_exp.h"

namespace {

using mpc::kernels::AttentionParams;
using mpc::kernels::Bf16;
using mpc::kernels::F16;
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

// If operands are f32, probabilities overwrite the scores: a lane reads an
// element before it writes it.
template <typename T>
__device__ __forceinline__ void softmax(const AttentionParams& p,
                                        const float* all_scores, T* all_p,
                                        float* high, float* low) {
  for_rows(p, [&](int64_t row, int lane, int32_t visible) {
    const float* scores = all_scores + row * p.keys;
    T* out = all_p + row * p.keys;
    float largest = -INFINITY;
    for (int32_t j = lane; j < visible; j += kLanes)
      largest = fmaxf(largest, scores[j] * p.scale);
    largest = warp_max(largest);
    const float shift = mpc::kernels::softmax_shift(largest);
    float sum = 0;
    for (int32_t j = lane; j < visible; j += kLanes)
      sum += expf(scores[j] * p.scale - shift);
    sum = warp_sum(sum);
    const float divisor = mpc::kernels::softmax_divisor(sum);
    for (int32_t j = lane; j < p.keys; j += kLanes)
      out[j] =
          T(j < visible ? expf(scores[j] * p.scale - shift) / divisor : 0.0f);
    if (lane == 0) {
      const LogSumExp<float> parts =
          mpc::kernels::log_sum_exp<double>(largest, sum);
      high[row] = parts.high;
      low[row] = parts.low;
    }
  });
}

// The gradient: probabilities overwrite the scores, and gradients of the
// unscaled scores overwrite those of the probabilities.
template <typename T>
__device__ __forceinline__ void softmax_grad(
    const AttentionParams& p, const float* all_scores, const float* all_grads,
    const float* high, const float* low, const T* grad, const T* result,
    T* all_p, T* all_score_grads) {
  for_rows(p, [&](int64_t row, int lane, int32_t visible) {
    const float* scores = all_scores + row * p.keys;
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
      // The product may use another algorithm than in the forward pass and give
      // slightly different scores; large ones must not lead to probabilities
      // above 1. NaN is kept.
      const float power = (scores[j] * p.scale - sum.high) - sum.low;
      const float probability =
          j < visible ? expf(power > 0.0f ? 0.0f : power) : 0.0f;
      // Masked elements may hold anything.
      const float score_grad =
          j < visible ? probability * (p_grads[j] - shared) * p.scale : 0.0f;
      out[j] = T(probability);
      score_grads[j] = T(score_grad);
    }
  });
}

}  // namespace

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
          T* p, T* score_grads) {                                              \
    softmax_grad(params, scores, p_grads, high, low, grad, result, p,          \
                 score_grads);                                                 \
  }
MPC_ATTENTION_KERNELS(f32, float)
MPC_ATTENTION_KERNELS(bf16, Bf16)
MPC_ATTENTION_KERNELS(f16, F16)
#undef MPC_ATTENTION_KERNELS
