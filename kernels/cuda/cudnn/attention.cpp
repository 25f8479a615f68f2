// Attention by cuDNN if it has an engine, else by products and a softmax.

#include <limits>
#include <utility>

#include "kernels/cuda/cudnn/attention_graph.h"
#include "kernels/cuda/cudnn/cudnn_plan.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/shared.h"
#include "kernels/cuda/workspace.h"

namespace mpc::kernels {
namespace {

using namespace cuda;

// Tensors are the operands in the order of the catalog, with separate query,
// key and value, then those of the graph in the workspace.
class CudnnAttention final : public CudaKernel {
 public:
  CudnnAttention(const CudaContext& context, const AttentionProblem& problem,
                 const PlanRequest& request,
                 std::shared_ptr<const CudnnPlan> plan)
      : context_(context),
        shape_(problem.shape),
        places_(shape_.separate_operands()),
        plan_(std::move(plan)) {
    for (size_t i = places_.size(); i < request.tensors.size(); ++i) {
      offsets_.push_back(plan_offset_);
      plan_offset_ += aligned(static_cast<size_t>(request.tensors[i].shape[0]) *
                              sizeof(float));
    }
  }

  std::string implementation() const override {
    return "cudnn:" + plan_->description();
  }
  size_t workspace_bytes() const override {
    return plan_offset_ + plan_->workspace_bytes();
  }
  std::string enqueue(const CUdeviceptr* operands, CUdeviceptr workspace,
                      CUstream stream) const override {
    std::vector<CUdeviceptr> tensors(places_.size());
    for (size_t i = 0; i < places_.size(); ++i)
      tensors[i] = operands[places_[i].operand] + places_[i].offset;
    // cuDNN represents each logarithm of a sum as one number, the high part.
    // The low parts are 0.
    if (shape_.forward) {
      const size_t bytes = static_cast<size_t>(shape_.rows()) * sizeof(float);
      const CUresult result = context_.driver->cuMemsetD8Async(
          tensors[4] + bytes, 0, bytes, stream);
      if (result != CUDA_SUCCESS)
        return describe_error(*context_.driver, "cuMemsetD8Async", result);
    }
    for (size_t offset : offsets_) tensors.push_back(workspace + offset);
    return plan_->run(tensors.data(), workspace + plan_offset_, stream);
  }

 private:
  const CudaContext context_;  // A copy, which keeps the library's handle.
  const AttentionShape shape_;
  const std::vector<OperandPlace> places_;
  const std::shared_ptr<const CudnnPlan> plan_;
  std::vector<size_t> offsets_;
  size_t plan_offset_ = 0;  // Offset of the plan's part of the workspace.
};

PlanRequest request_for(const AttentionProblem& problem) {
  const AttentionShape& s = problem.shape;
  PlanRequest request;
  request.key = problem.key();
  request.scalars = problem.scalars();
  const auto add = [&](int64_t uid, mpc_dtype_t dtype, int64_t elements) {
    request.uids.push_back(uid);
    request.tensors.push_back({dtype, {elements}});
  };
  // Rows of memory; heads of other operands may be between them.
  const int64_t rows = s.rows();
  const auto rows_of = [&](int64_t heads, int64_t length) {
    return s.batch * length * (s.packed ? s.packed_heads() : heads);
  };
  const int64_t queries = rows_of(s.heads, s.queries);
  const int64_t keys = rows_of(s.key_heads, s.keys);
  if (!problem.forward) add(kUidGrad, s.dtype, rows * s.value_depth);
  add(kUidQuery, s.dtype, queries * s.depth);
  add(kUidKey, s.dtype, keys * s.depth);
  add(kUidValue, s.dtype, keys * s.value_depth);
  add(kUidResult, s.dtype, rows * s.value_depth);
  add(kUidLogSumExp, MPC_DTYPE_F32, rows);
  if (!problem.forward) {
    add(kUidQueryGrad, s.dtype, queries * s.depth);
    add(kUidKeyGrad, s.dtype, keys * s.depth);
    add(kUidValueGrad, s.dtype, keys * s.value_depth);
    add(kUidShared, MPC_DTYPE_F32, rows);
    if (!problem.deterministic)
      add(kUidQuerySums, MPC_DTYPE_F32, rows * s.depth);
  }
  request.is_unfit = [](cudnnBackendNumericalNote_t note) {
    return note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
           note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION;
  };
  return request;
}

// The reason not to use cuDNN, or "".
std::string unsupported_reason(const AttentionProblem& problem,
                               const CudaContext& context) {
  const AttentionShape& s = problem.shape;
  if (s.bias_count != 0) return "attention with a bias does not use cuDNN";
  if (s.has_dropout) return "cuDNN's attention draws other random numbers";
  if (s.softcap > 0) return "attention with a soft cap does not use cuDNN";
  if (s.dtype == MPC_DTYPE_F32) return "cuDNN's attention is of 16 bit";
  for (size_t i = 0; i < (problem.forward ? 1u : 3u); ++i)
    if (s.result_dtypes[i] != s.dtype)
      return "cuDNN's attention has results of 16 bit";
  if (s.depth % 8 != 0 || s.value_depth % 8 != 0)
    return "cuDNN's attention has depths that 8 divides";
  // It masks scores with -inf before it scales them.
  if (!(s.scale > 0)) return "cuDNN's attention has a positive scale";
  if (s.queries == 1 && s.keys == 1)
    return "cuDNN's attention has more than one key";
  if (!context.cudnn) return "cuDNN is missing: " + context.cudnn_missing;
  const size_t version = context.cudnn->cudnnGetVersion();
  // Older versions require the sums to be cleared first; the two others compute
  // wrong gradients.
  if (version < 90600 || version == 91000 || version == 91001)
    return "cuDNN " + std::to_string(version) + " has no attention to rely on";
  return "";
}

}  // namespace

std::unique_ptr<CudaKernel> make_cuda_attention(const AttentionShape& shape,
                                                const CudaContext& context,
                                                std::string* error) {
  AttentionProblem problem{shape.forward, shape, context.deterministic,
                           -std::numeric_limits<float>::infinity()};
  std::string why = unsupported_reason(problem, context);
  if (why.empty()) {
    if (context.cudnn->cudnnGetVersion() < 91000)
      problem.masked = std::numeric_limits<float>::lowest();
    const PlanRequest request = request_for(problem);
    bool unsupported;
    const auto plan = find_cudnn_plan(
        context, request,
        [&](CudnnCalls* calls, cudnnHandle_t handle) {
          return make_attention_graph(calls, handle, problem);
        },
        &unsupported, &why);
    if (plan)
      return std::make_unique<CudnnAttention>(context, problem, request, plan);
  }
  AttentionShape composed = shape;
  composed.bshd = composed.packed = composed.sequence_first = false;
  auto kernel =
      make_composed_attention(composed, context, std::move(why), error);
  if (!kernel || !shape.bshd) return kernel;
  return make_bshd_attention(shape, context, std::move(kernel), error);
}

}  // namespace mpc::kernels
