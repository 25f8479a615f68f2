// An execution plan of a cuDNN graph: the fastest engine that computes it with
// sums in f32.

#ifndef MPC_KERNELS_CUDA_CUDNN_CUDNN_PLAN_H_
#define MPC_KERNELS_CUDA_CUDNN_CUDNN_PLAN_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/cudnn/cudnn_graph.h"
#include "kernels/cuda/kernel.h"

namespace mpc::kernels {

class CudnnPlan {
 public:
  virtual ~CudnnPlan() = default;
  // "engine 12, 31.0 us, fastest of 6".
  virtual std::string description() const = 0;
  virtual size_t workspace_bytes() const = 0;
  // `tensors` has the address of each tensor of the request. Returns what
  // failed, or "".
  virtual std::string run(const cuda::CUdeviceptr* tensors,
                          cuda::CUdeviceptr workspace,
                          cuda::CUstream stream) const = 0;
};

// A graph to be planned.
struct PlanRequest {
  // Everything that distinguishes requests, as text.
  std::string key;
  // Uids and descriptions of the tensors in memory.
  std::vector<int64_t> uids;
  std::vector<TensorDesc> tensors;
  // Uids and values of the tensors that are passed by value.
  std::vector<std::pair<int64_t, float>> scalars;
  // Whether an engine with this note rounds more than allowed.
  std::function<bool(cuda::cudnnBackendNumericalNote_t)> is_unfit;
};

// The plan for this request, made once per device. `make_graph` is called if
// there is no plan yet; its graph is kept as long as it is needed. Returns null
// on failure, with the reason in `*error`; sets `*unsupported` if cuDNN has no
// engine for it, so that the caller may try another form of the problem.
using MakeGraph =
    std::function<CudnnGraph(CudnnCalls* calls, cuda::cudnnHandle_t handle)>;
std::shared_ptr<const CudnnPlan> find_cudnn_plan(const CudaContext& context,
                                                 const PlanRequest& request,
                                                 const MakeGraph& make_graph,
                                                 bool* unsupported,
                                                 std::string* error);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CUDA_CUDNN_CUDNN_PLAN_H_
