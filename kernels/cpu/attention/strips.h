// How the queries of a head are cut into strips, whose scores, for all keys,
// stay in the cache. The strips depend on the shape alone.

#ifndef MPC_KERNELS_CPU_ATTENTION_STRIPS_H_
#define MPC_KERNELS_CPU_ATTENTION_STRIPS_H_

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/shapes.h"

namespace mpc::kernels::cpu {

// Some queries of one head.
struct Strip {
  const AttentionShape& shape;
  int64_t first, rows;  // Queries.
  int64_t count;        // Number of keys in the products.
  int64_t stride;       // Elements from one row of scores to the next.
  // The first row of each bias, and of the gradient of the first, or null.
  std::array<const float*, kMaxBiases> biases = {};
  float* bias_grad = nullptr;
  // Room for the derivatives of a row's soft cap; null without a cap, and in
  // the forward pass.
  float* slopes = nullptr;
  // The dropout of the probabilities and the number of the first one, or null.
  const Dropout* dropout = nullptr;
  uint32_t first_element = 0;
};

class Strips {
 public:
  // `packs_once`: the keys are packed once for all strips, by Gemm.
  Strips(const AttentionShape& shape, bool packs_once)
      : shape_(shape),
        rows_(std::min(shape.queries, rows_for(shape, packs_once))),
        packs_once_(packs_once) {
    const int64_t step = (shape.keys + kMaxKeySteps - 1) / kMaxKeySteps;
    key_step_ = (step + 31) / 32 * 32;
  }

  int64_t count() const { return (shape_.queries + rows_ - 1) / rows_; }
  int64_t rows() const { return rows_; }
  // With `causal`, a strip uses the keys that its last query sees, rounded up
  // so that there are few different products.
  Strip at(int64_t index) const {
    const int64_t first = index * rows_;
    const int64_t rows = std::min(rows_, shape_.queries - first);
    const int64_t seen = shape_.visible(first + rows - 1);
    const int64_t count = (seen + key_step_ - 1) / key_step_ * key_step_;
    const int64_t keys = std::min(shape_.keys, count);
    return {shape_, first, rows, keys, stride_for(keys)};
  }
  // The stride of rows with an element for each key.
  int64_t stride() const { return stride_for(shape_.keys); }
  // Elements of the scores of a strip.
  int64_t elements() const { return rows_ * stride(); }

 private:
  // If each strip packs the keys, longer strips pack them less often; with
  // `causal`, shorter ones skip more.
  static constexpr int64_t kMaxRows = 256, kMaxCausalRows = 128,
                           kMinCausalRows = 64;
  static constexpr int64_t kStripsPerHead = 4;
  // Maximum number of scores of a strip, but a strip has at least kMinRows.
  static constexpr int64_t kMaxScores = 1 << 20;
  static constexpr int64_t kMinRows = 16;
  static constexpr int64_t kMaxKeySteps = 16;
  // Rows of scores are whole vectors. For Gemm, elements at the same place of
  // all rows must not share few sets of the cache; oneDNN is faster if rows
  // begin with a cache line.
  static constexpr int64_t kAlignment = 32;

  static int64_t rows_for(const AttentionShape& shape, bool packs_once) {
    const int64_t wanted =
        shape.causal
            ? std::clamp(shape.queries / kStripsPerHead / 32 * 32,
                         kMinCausalRows, packs_once ? kMaxCausalRows : kMaxRows)
            : kMaxRows;
    return std::clamp(kMaxScores / shape.keys, kMinRows, wanted);
  }
  int64_t stride_for(int64_t keys) const {
    const int64_t vectors = (keys + kAlignment - 1) / kAlignment;
    const bool is_spread = vectors % 8 != 0 || !packs_once_;
    return (is_spread ? vectors : vectors + 1) * kAlignment;
  }

  const AttentionShape& shape_;
  int64_t rows_, key_step_;
  bool packs_once_;
};

}  // namespace mpc::kernels::cpu

#endif  // MPC_KERNELS_CPU_ATTENTION_STRIPS_H_
