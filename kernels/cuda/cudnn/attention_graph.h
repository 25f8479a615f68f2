// Attention as a graph of cuDNN: the chain of products, pointwise operations
// and reductions that its fused engines know. They know it in this form alone,
// so that nothing here is left out for being a multiplication by 1.

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
  // f32 in the workspace: for each query the product of its result and that
  // one's gradient; the sums of the query's gradient, unless deterministic.
  kUidShared,
  kUidQuerySums,
  // By value.
  kUidScale,
  kUidMasked,
  kUidOne,
  kUidFirstVirtual
};

struct AttentionProblem {
  bool forward;
  AttentionShape shape;
  // Without sums of the query's gradient that blocks add to as they come.
  bool deterministic;
  // What takes the place of scores that are not seen.
  float masked;

  // All that makes a difference, as text.
  std::string key() const;
  std::vector<std::pair<int64_t, float>> scalars() const;
};

CudnnGraph make_attention_graph(CudnnCalls* calls, cuda::cudnnHandle_t handle,
                                const AttentionProblem& problem);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_CUDNN_ATTENTION_GRAPH_H_
