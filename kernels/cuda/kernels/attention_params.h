// The by-value parameters of the kernels of attention.cu, shared by host and
// device code.

#ifndef MPC_KERNELS_CUDA_KERNELS_ATTENTION_PARAMS_H_
#define MPC_KERNELS_CUDA_KERNELS_ATTENTION_PARAMS_H_

#include <cstdint>

namespace mpc::kernels {

struct AttentionParams {
  int64_t rows;  // Rows of scores: whole heads, one row for each query.
  int32_t queries, keys, value_depth;
  bool causal;
  float scale;
};

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_KERNELS_ATTENTION_PARAMS_H_
