// Convolutions by cuDNN. Operands, weights included, are described in their
// layout in memory. cuDNN computes the f32 gradient of weights from 16-bit
// operands only with channels last, so it is transposed afterwards. If cuDNN
// has no engine at all, operands are widened in the workspace: the results are
// the same, and TF32 represents the operands exactly, so tensor cores can still
// be used.

#include <utility>
#include <vector>

#include "kernels/cuda/cudnn/conv_plan.h"
#include "kernels/cuda/driver/launch.h"
#include "kernels/cuda/families.h"
#include "kernels/cuda/shared.h"

namespace mpc::kernels {
namespace {

// Parts of the workspace begin at multiples of this.
constexpr size_t kAlignment = 256;

struct Widening {
  size_t operand;
  int64_t elements;
  size_t offset;  // Offset of the f32 copy in the workspace.
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
  void widen(cuda::CUfunction function, size_t operand, int64_t elements) {
    widen_ = function;
    widenings_.push_back({operand, elements, plan_offset_});
    plan_offset_ +=
        (static_cast<size_t>(elements) * sizeof(float) + kAlignment - 1) /
        kAlignment * kAlignment;
  }

  // Computes the result of `problem` in the workspace, and then transposes it
  // to the catalog's layout.
  void transpose_result(cuda::CUfunction function, const ConvProblem& problem) {
    transpose_ = function;
    transposed_ = problem.w;
    plan_offset_ = static_cast<size_t>(transposed_.elements()) * sizeof(float);
    plan_offset_ = (plan_offset_ + kAlignment - 1) / kAlignment * kAlignment;
  }

  std::string implementation() const override {
    return "cudnn:" + plan_->description() +
           (widenings_.empty() ? "" : ", operands widened to f32") +
           (transpose_ ? ", turned to channels first" : "");
  }
  size_t workspace_bytes() const override {
    return plan_offset_ + plan_->workspace_bytes();
  }
  std::string enqueue(const cuda::CUdeviceptr* operands,
                      cuda::CUdeviceptr workspace,
                      cuda::CUstream stream) const override {
    const auto address = [&](size_t operand) {
      for (const Widening& widening : widenings_)
        if (widening.operand == operand) return workspace + widening.offset;
      return operands[operand];
    };
    for (const Widening& widening : widenings_) {
      cuda::CUdeviceptr from = operands[widening.operand],
                        to = workspace + widening.offset;
      int64_t elements = widening.elements;
      void* parameters[] = {&from, &to, &elements};
      // Each thread widens eight elements.
      const std::string error = launch(*context_.driver, widen_,
                                       elements / 8 + 1, stream, parameters);
      if (!error.empty()) return error;
    }
    const cuda::CUdeviceptr tensors[] = {
        address(roles_.x), transpose_ ? workspace : address(roles_.w),
        address(roles_.y), address(roles_.bias)};
    const std::string error =
        plan_->run(tensors, workspace + plan_offset_, stream);
    if (!transpose_ || !error.empty()) return error;
    cuda::CUdeviceptr to = operands[roles_.w];
    int64_t count = transposed_.elements(), channels = transposed_.dims[1],
            window = transposed_.dims[2] * transposed_.dims[3];
    void* parameters[] = {&workspace, &to, &count, &channels, &window};
    return launch(*context_.driver, transpose_, count, stream, parameters);
  }

 private:
  const CudaContext context_;  // A copy, which keeps the library's handle.
  const Roles roles_;
  const std::shared_ptr<const CudnnPlan> plan_;
  cuda::CUfunction widen_ = nullptr;
  std::vector<Widening> widenings_;
  cuda::CUfunction transpose_ = nullptr;
  Tensor4 transposed_ = {};
  size_t plan_offset_ = 0;  // Offset of the plan's part of the workspace.
};

std::unique_ptr<CudaKernel> make_transposed(const Roles& roles,
                                            const ConvProblem& problem,
                                            const CudaContext& context,
                                            std::string* error) {
  bool unsupported;
  const auto plan =
      find_conv_plan(context, with_weights_last(problem), &unsupported, error);
  if (!plan) return nullptr;
  auto kernel = std::make_unique<CudaConv>(context, roles, plan);
  const Dims4& dims = problem.w.dims;
  const bool is_same = dims[1] == 1 || dims[2] * dims[3] == 1;
  if (is_same) return kernel;
  const cuda::CUfunction function =
      context.shared->function(context, "mpc_channels_first", error);
  if (!function) return nullptr;
  kernel->transpose_result(function, problem);
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
    if (tensor.dtype != MPC_DTYPE_F32)
      kernel->widen(function, operand, tensor.elements());
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
  bool unsupported;
  const auto plan = find_conv_plan(context, problem, &unsupported, error);
  if (plan) return std::make_unique<CudaConv>(context, roles, plan);
  if (!unsupported || !problem.is_mixed()) return nullptr;
  std::string why;
  std::unique_ptr<CudaKernel> kernel;
  if (problem.kind == ConvKind::grad_weight)
    kernel = make_transposed(roles, problem, context, &why);
  if (!kernel)
    kernel = make_widened(roles, problem, shape.dtype, context, &why);
  if (!kernel) *error += "; nor in f32: " + why;
  return kernel;
}

}  // namespace mpc::kernels
