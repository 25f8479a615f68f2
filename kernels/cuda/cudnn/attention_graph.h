// Attention as a cuDNN graph: the chain of products, pointwise operations and
// reductions that its fused engines support. They support only this exact form,
// so even multiplications by 1 must be kept.

#ifndef MPC_KERNELS_CUDA_CUDNN_ATTENTION_GRAPH_H_
#define MPC_KERNELS_CUDA_CUDNN_ATTENTION_GRAPH_H_

#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/cudnn/cudnn_graph.h"
#include "kernels/shapes.h"

namespace mpc::kernels {

// Names of the tensors that are not virtual.
enum AttentionUid : int64_t {
  kUidGrad = 1,
  kUidQuery,
  kUidKey,
  kUidValue,
  kUidResult,
  kUidLogSumExp,
  kUidQueryGrad,
  kUidKeyGrad,
  kUidValueGrad,
  // f32 in the workspace: for each query the dot product of its result and the
  // gradient of the result; the sums of the query gradients, unless
  // deterministic.
  kUidShared,
  kUidQuerySums,
  // Passed by value.
  kUidScale,
  kUidMasked,
  kUidOne,
  kUidFirstVirtual
};

struct AttentionProblem {
  bool forward;
  AttentionShape shape;
  // Blocks must not add to the sums of the query gradients in arbitrary order.
  bool deterministic;
  // The value that replaces masked scores.
  float masked;

  // Everything that distinguishes problems, as text.
  std::string key() const;
  std::vector<std::pair<int64_t, float>> scalars() const;
};

CudnnGraph make_attention_graph(CudnnCalls* calls, cuda::cudnnHandle_t handle,
                                const AttentionProblem& problem);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_CUDNN_ATTENTION_GRAPH_H_
