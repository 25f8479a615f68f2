// The by-value parameters of the kernels of attention.cu, shared by host and
// device code.

#ifndef MPC_KERNELS_CUDA_KERNELS_ATTENTION_PARAMS_H_
#define MPC_KERNELS_CUDA_KERNELS_ATTENTION_PARAMS_H_

#include <cstdint>

#include "kernels/shapes.h"

namespace mpc::kernels {

struct AttentionParams {
  int64_t rows;  // Rows of scores: whole heads, one row for each query.
  int32_t queries, keys, value_depth;
  bool causal;
  float scale;
  float softcap;  // 0 for none.
  // The heads of the queries, and which of those of all batches is the first
  // one here.
  int32_t heads;
  int64_t first_head;
  // The biases and their strides; a bias that is missing is null.
  const float* biases[kMaxBiases];
  BiasStrides bias_strides[kMaxBiases];
  int32_t replacing;  // The bias that replaces scores, or -1.
  // The dropout; without one, `seed` is null.
  const int64_t *seed, *step;
  float ratio;
  uint64_t index;
};

// Rows of `depth` elements that are copied from one layout to another.
struct HeadCopyParams {
  int64_t count;  // Elements.
  int64_t heads, rows, depth;
  HeadStrides from, to;
};

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_KERNELS_ATTENTION_PARAMS_H_
