// Convolutions by cuDNN. Operands, weights included, are described in their
// layout in memory. An f32 result of 16-bit operands needs weights with
// channels last, which are transposed in the workspace. If cuDNN has no engine
// for it, or none that is reliable, operands are widened in the workspace: the
// results are the same, and TF32 represents the operands exactly, so tensor
// cores can still be used.

#include <utility>
#include <vector>

#include "kernels/cuda/cudnn/conv_plan.h"
#include "kernels/cuda/driver/launch.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/shared.h"
#include "kernels/cuda/workspace.h"

namespace mpc::kernels {
namespace {

// An operand whose values the plan reads in the workspace.
struct Converted {
  size_t operand;
  cuda::CUfunction function;
  Tensor4 tensor;  // As the catalog describes it.
  size_t offset;   // Offset of the copy in the workspace.
};

// The operand index of each tensor in the catalog's kernel.
struct Roles {
  size_t x, w, y, bias;
};

Roles roles_of(KernelId id) {
  switch (id) {
    case KernelId::conv_bias:
      return {0, 1, 3, 2};
    case KernelId::conv_grad_input:
      return {2, 1, 0, 0};
    case KernelId::conv_grad_weight:
      return {1, 2, 0, 0};
    default:
      return {0, 1, 2, 0};
  }
}

class CudaConv final : public CudaKernel {
 public:
  CudaConv(const CudaContext& context, const Roles& roles,
           std::shared_ptr<const CudnnPlan> plan)
      : context_(context), roles_(roles), plan_(std::move(plan)) {}

  // Widens an operand before the plan runs.
  void widen(cuda::CUfunction function, size_t operand, const Tensor4& tensor) {
    widens_ = true;
    convert(function, operand, tensor, sizeof(float));
  }
  // Transposes 16-bit weights before the plan runs.
  void transpose_weights(cuda::CUfunction function, const Tensor4& weights) {
    convert(function, roles_.w, weights, sizeof(uint16_t));
  }
  // Computes the gradient of weights in the workspace, and then transposes it
  // to the catalog's layout.
  void transpose_result(cuda::CUfunction function, const Tensor4& weights) {
    transpose_ = function;
    transposed_ = weights;
    plan_offset_ +=
        aligned(static_cast<size_t>(weights.elements()) * sizeof(float));
  }

  std::string implementation() const override {
    const bool turns = !converted_.empty() && !widens_;
    return "cudnn:" + plan_->description() +
           (widens_ ? ", operands widened to f32" : "") +
           (turns ? ", weights turned to channels last" : "") +
           (transpose_ ? ", turned to channels first" : "");
  }
  size_t workspace_bytes() const override {
    return plan_offset_ + plan_->workspace_bytes();
  }
  std::string enqueue(const cuda::CUdeviceptr* operands,
                      cuda::CUdeviceptr workspace,
                      cuda::CUstream stream) const override {
    const auto address = [&](size_t operand) {
      for (const Converted& converted : converted_)
        if (converted.operand == operand) return workspace + converted.offset;
      return operands[operand];
    };
    for (const Converted& converted : converted_) {
      // Each thread widens eight elements.
      const int64_t elements = converted.tensor.elements();
      const std::string error =
          move(converted.function, operands[converted.operand],
               workspace + converted.offset, converted.tensor,
               widens_ ? elements / 8 + 1 : elements, stream);
      if (!error.empty()) return error;
    }
    const cuda::CUdeviceptr tensors[] = {
        address(roles_.x), transpose_ ? workspace : address(roles_.w),
        address(roles_.y), address(roles_.bias)};
    const std::string error =
        plan_->run(tensors, workspace + plan_offset_, stream);
    if (!transpose_ || !error.empty()) return error;
    return move(transpose_, workspace, operands[roles_.w], transposed_,
                transposed_.elements(), stream);
  }

 private:
  void convert(cuda::CUfunction function, size_t operand, const Tensor4& tensor,
               size_t element_bytes) {
    converted_.push_back({operand, function, tensor, plan_offset_});
    plan_offset_ +=
        aligned(static_cast<size_t>(tensor.elements()) * element_bytes);
  }
  // Widening has no use for the last two parameters, which the driver then does
  // not read.
  std::string move(cuda::CUfunction function, cuda::CUdeviceptr from,
                   cuda::CUdeviceptr to, const Tensor4& tensor, int64_t threads,
                   cuda::CUstream stream) const {
    int64_t count = tensor.elements(), channels = tensor.dims[1],
            window = tensor.dims[2] * tensor.dims[3];
    void* parameters[] = {&from, &to, &count, &channels, &window};
    return launch(*context_.driver, function, threads, stream, parameters);
  }

  const CudaContext context_;  // A copy, which keeps the library's handle.
  const Roles roles_;
  const std::shared_ptr<const CudnnPlan> plan_;
  bool widens_ = false;
  std::vector<Converted> converted_;
  cuda::CUfunction transpose_ = nullptr;
  Tensor4 transposed_ = {};
  size_t plan_offset_ = 0;  // Offset of the plan's part of the workspace.
};

// Whether cuDNN computes an f32 result of 16-bit operands reliably. Other
// layouts and numbers of channels gave wrong results without an error with
// cuDNN 9.19 on an H200; see kernels/README.md.
bool has_reliable_engines(const ConvProblem& problem) {
  const auto is_last = [](const Tensor4& tensor) {
    return tensor.strides == dense_strides(tensor.dims, true);
  };
  if (!is_last(problem.x) || !is_last(problem.y)) return false;
  return problem.kind != ConvKind::grad_weight ||
         (problem.x.dims[1] % 8 == 0 && problem.y.dims[1] % 8 == 0);
}

// An f32 result of 16-bit operands; `*unsupported` if there is no engine.
std::unique_ptr<CudaKernel> make_mixed(const Roles& roles,
                                       const ConvProblem& problem,
                                       const CudaContext& context,
                                       bool* unsupported, std::string* error) {
  const auto plan =
      find_conv_plan(context, with_weights_last(problem), unsupported, error);
  if (!plan) return nullptr;
  auto kernel = std::make_unique<CudaConv>(context, roles, plan);
  const Dims4& dims = problem.w.dims;
  const bool is_same = dims[1] == 1 || dims[2] * dims[3] == 1;
  if (is_same) return kernel;
  const bool is_result = problem.kind == ConvKind::grad_weight;
  const cuda::CUfunction function = context.shared->function(
      context, is_result ? "mpc_channels_first" : "mpc_channels_last", error);
  if (!function) return nullptr;
  if (is_result)
    kernel->transpose_result(function, problem.w);
  else
    kernel->transpose_weights(function, problem.w);
  return kernel;
}

std::unique_ptr<CudaKernel> make_widened(const Roles& roles,
                                         const ConvProblem& problem,
                                         mpc_dtype_t dtype,
                                         const CudaContext& context,
                                         std::string* error) {
  bool unsupported;
  const auto plan =
      find_conv_plan(context, widened(problem), &unsupported, error);
  if (!plan) return nullptr;
  const cuda::CUfunction function = context.shared->function(
      context, dtype == MPC_DTYPE_BF16 ? "mpc_widen_bf16" : "mpc_widen_f16",
      error);
  if (!function) return nullptr;
  auto kernel = std::make_unique<CudaConv>(context, roles, plan);
  const auto widen = [&](size_t operand, const Tensor4& tensor) {
    if (tensor.dtype != MPC_DTYPE_F32) kernel->widen(function, operand, tensor);
  };
  // The result is f32 already.
  widen(roles.x, problem.x);
  widen(roles.w, problem.w);
  widen(roles.y, problem.y);
  if (problem.has_bias) widen(roles.bias, problem.bias);
  return kernel;
}

}  // namespace

std::unique_ptr<CudaKernel> make_cuda_conv(KernelId id, const ConvShape& shape,
                                           const CudaContext& context,
                                           std::string* error) {
  const ConvProblem problem = conv_problem(id, shape);
  const Roles roles = roles_of(id);
  bool unsupported = true;
  if (!problem.is_mixed()) {
    const auto plan = find_conv_plan(context, problem, &unsupported, error);
    if (!plan) return nullptr;
    return std::make_unique<CudaConv>(context, roles, plan);
  }
  if (has_reliable_engines(problem)) {
    auto kernel = make_mixed(roles, problem, context, &unsupported, error);
    if (kernel || !unsupported) return kernel;
  } else {
    *error = "cuDNN has no reliable engine for " + problem.key();
  }
  std::string why;
  auto kernel = make_widened(roles, problem, shape.dtype, context, &why);
  if (!kernel) *error += "; nor in f32: " + why;
  return kernel;
}

}  // namespace mpc::kernels
