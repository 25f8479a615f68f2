#include "kernels/cuda/depthwise/depthwise.h"

#include "kernels/cuda/depthwise/depthwise_plan.h"
#include "kernels/cuda/shared.h"

namespace mpc::kernels {
namespace {

std::string launch_in_blocks(const cuda::Driver& driver,
                             cuda::CUfunction function, const unsigned* grid,
                             unsigned threads, unsigned shared_bytes,
                             cuda::CUstream stream, void** parameters) {
  const cuda::CUresult result =
      driver.cuLaunchKernel(function, grid[0], grid[1], grid[2], threads, 1, 1,
                            shared_bytes, stream, parameters, nullptr);
  if (result == cuda::CUDA_SUCCESS) return "";
  return describe_error(driver, "cuLaunchKernel", result);
}

// A convolution, or the gradient of its input.
class DepthwiseConv final : public CudaKernel {
 public:
  DepthwiseConv(const CudaContext& context, cuda::CUfunction function,
                const DepthwisePlan& plan, bool has_bias)
      : context_(context),
        function_(function),
        plan_(plan),
        has_bias_(has_bias) {}

  std::string implementation() const override { return "mpc_depthwise"; }
  std::string enqueue(const cuda::CUdeviceptr* operands, cuda::CUdeviceptr,
                      cuda::CUstream stream) const override {
    DepthwiseParams params = plan_.weight.image;
    cuda::CUdeviceptr from = operands[0], weights = operands[1],
                      bias = has_bias_ ? operands[2] : 0,
                      to = operands[has_bias_ ? 3 : 2];
    void* parameters[] = {&params, &from, &weights, &bias, &to};
    return launch_in_blocks(*context_.driver, function_, plan_.grid,
                            plan_.threads, plan_.shared_bytes, stream,
                            parameters);
  }

 private:
  const CudaContext context_;  // A copy, which keeps the module.
  const cuda::CUfunction function_;
  const DepthwisePlan plan_;
  const bool has_bias_;
};

// Blocks write parts of the sums to the workspace; a second kernel adds them.
class DepthwiseGradWeight final : public CudaKernel {
 public:
  DepthwiseGradWeight(const CudaContext& context, cuda::CUfunction function,
                      cuda::CUfunction sum, const DepthwisePlan& plan)
      : context_(context), function_(function), sum_(sum), plan_(plan) {}

  std::string implementation() const override {
    return "mpc_depthwise_grad_weight";
  }
  size_t workspace_bytes() const override {
    return sizeof(float) * static_cast<size_t>(plan_.parts * plan_.taps() *
                                               plan_.weight.image.channels);
  }
  std::string enqueue(const cuda::CUdeviceptr* operands,
                      cuda::CUdeviceptr workspace,
                      cuda::CUstream stream) const override {
    DepthwiseWeightParams params = plan_.weight;
    cuda::CUdeviceptr grad = operands[0], image = operands[1],
                      result = operands[2];
    void* parameters[] = {&params, &grad, &image, &workspace};
    const std::string failed =
        launch_in_blocks(*context_.driver, function_, plan_.grid, plan_.threads,
                         plan_.shared_bytes, stream, parameters);
    if (!failed.empty()) return failed;
    int64_t parts = plan_.parts;
    int32_t taps = static_cast<int32_t>(plan_.taps()),
            channels = params.image.channels;
    void* sum_parameters[] = {&workspace, &result, &parts, &taps, &channels};
    const unsigned grid[] = {static_cast<unsigned>(params.image.channel_blocks),
                             static_cast<unsigned>(taps), 1};
    return launch_in_blocks(*context_.driver, sum_, grid, 256, 0, stream,
                            sum_parameters);
  }

 private:
  const CudaContext context_;  // A copy, which keeps the module.
  const cuda::CUfunction function_, sum_;
  const DepthwisePlan plan_;
};

}  // namespace

bool is_depthwise(KernelId id, const ConvShape& shape) {
  return !device_images().empty() && plan_depthwise(id, shape).has_value();
}

std::unique_ptr<CudaKernel> make_depthwise(KernelId id, const ConvShape& shape,
                                           const CudaContext& context,
                                           std::string* error) {
  const DepthwisePlan plan = *plan_depthwise(id, shape);
  const bool is_weight = id == KernelId::conv_grad_weight;
  const cuda::CUfunction function = context.shared->function(
      context, is_weight ? "mpc_depthwise_grad_weight" : "mpc_depthwise",
      error);
  if (!function) return nullptr;
  if (!is_weight)
    return std::make_unique<DepthwiseConv>(context, function, plan,
                                           shape.has_bias);
  const cuda::CUfunction sum =
      context.shared->function(context, "mpc_depthwise_sum", error);
  if (!sum) return nullptr;
  return std::make_unique<DepthwiseGradWeight>(context, function, sum, plan);
}

}  // namespace mpc::kernels
