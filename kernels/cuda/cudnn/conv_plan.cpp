#include "kernels/cuda/cudnn/conv_plan.h"

namespace mpc::kernels {
namespace {

using namespace cuda;

// Whether an engine with this note does not sum in f32, or rounds in other
// places.
bool rounds_more(const ConvProblem& problem, cudnnBackendNumericalNote_t note) {
  switch (note) {
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      // TF32 where operands are f32.
      return problem.operand().dtype == MPC_DTYPE_F32 && !problem.widened &&
             !problem.tf32;
    case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
    case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
    case CUDNN_NUMERICAL_NOTE_FFT:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
      return true;
    case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      return false;
  }
  return false;
}

}  // namespace

std::shared_ptr<const CudnnPlan> find_conv_plan(const CudaContext& context,
                                                const ConvProblem& problem,
                                                bool* unsupported,
                                                std::string* error) {
  PlanRequest request;
  request.key = problem.key();
  const auto add = [&](int64_t uid, const Tensor4& tensor) {
    request.uids.push_back(uid);
    request.tensors.push_back({tensor.dtype, {tensor.elements()}});
  };
  add(kUidX, problem.x);
  add(kUidW, problem.w);
  add(kUidY, problem.y);
  if (problem.has_bias) add(kUidBias, problem.bias);
  request.is_unfit = [&](cudnnBackendNumericalNote_t note) {
    return rounds_more(problem, note);
  };
  return find_cudnn_plan(
      context, request,
      [&](CudnnCalls* calls, cudnnHandle_t handle) {
        return make_conv_graph(calls, handle, problem);
      },
      unsupported, error);
}

}  // namespace mpc::kernels
