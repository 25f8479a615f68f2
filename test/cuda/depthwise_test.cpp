// The kernels of depthwise.cu compared with the reference, in three orders of
// threads. Values are multiples of 1/8, so that sums are exact in any order.

#include <gtest/gtest.h>

#include "kernels/cuda/depthwise/depthwise_plan.h"
#include "test/cuda/kernel_test.h"
#include "test/cuda/test_images.h"

namespace mpc::test {
namespace {

using namespace kernels;
using namespace kernels::testing;

class CudaDepthwise : public CudaKernelTest {
 protected:
  void expect_same(const KernelDesc& desc,
                   const std::vector<std::vector<double>>& inputs) {
    CudaKernelTest::expect_same(desc, inputs, "mpc_depthwise");
  }

  TestImages images;
};

// Each case and kernel in two of the types.
template <typename F>
void for_calls(F&& body) {
  size_t number = 0;
  for (const ConvCase& c : kDepthwiseConvs)
    for (KernelId id : kConvKernels)
      for (int i = 0; i < 2; ++number) {
        const Types types = kCudaTypes[number % kCudaTypes.size()];
        if (!allowed(id, types)) continue;
        body(conv_desc(id, c, true, types.dtype, types.result));
        ++i;
      }
}

TEST_F(CudaDepthwise, IsTheReference) {
  for_calls([&](const KernelDesc& desc) {
    expect_same(desc, exact_inputs(desc));
    ASSERT_FALSE(HasFailure());
  });
}

// Pixels outside the image do not meet infinities and NaNs.
TEST_F(CudaDepthwise, InfinitiesAndNanAreTheReferences) {
  int special = 0;
  for_calls([&](const KernelDesc& desc) {
    expect_same(desc, exact_inputs(desc, special++));
    ASSERT_FALSE(HasFailure());
  });
}

// An image of 64 x 96 x 32 x 32 and a window of 7 x 7, as in ConvNeXt.
ConvShape convnext_shape() {
  ConvShape shape = {};
  shape.dtype = MPC_DTYPE_BF16;
  shape.result_dtype = shape.bias_dtype = MPC_DTYPE_F32;
  shape.channels_last = true;
  shape.batch = 64;
  shape.input_channels = shape.output_channels = shape.group = 96;
  shape.input = shape.output = {32, 32};
  shape.window = {{7, 7}, {1, 1}, {1, 1}, {3, 3}, {3, 3}};
  return shape;
}

TEST(DepthwisePlan, FillsTheDevice) {
  const auto forward = plan_depthwise(KernelId::conv, convnext_shape());
  ASSERT_TRUE(forward);
  EXPECT_EQ(forward->grid[0], 64u * 3 * 4 * 2);  // Tiles of 8 x 16 pixels.
  EXPECT_EQ(forward->threads, 256u);
  EXPECT_LE(forward->shared_bytes, 48u << 10);
  const auto weight =
      plan_depthwise(KernelId::conv_grad_weight, convnext_shape());
  ASSERT_TRUE(weight);
  EXPECT_EQ(weight->grid[0], 3u * 128);
  EXPECT_EQ(weight->threads, 224u);  // 16 pairs, 7 rows of taps, 2 sharers.
  EXPECT_LE(weight->shared_bytes, 48u << 10);
  EXPECT_EQ(weight->weight.count, 64 * 6 * 2);  // Six tiles for each block.
  // Two images get smaller tiles.
  ConvShape few = convnext_shape();
  few.batch = 2;
  for (KernelId id : {KernelId::conv_grad_input, KernelId::conv_grad_weight}) {
    const auto plan = plan_depthwise(id, few);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->weight.image.tile[0], 2);
    EXPECT_GE(plan->grid[0], 132u);
  }
}

TEST(DepthwisePlan, LeavesTheRestToCudnn) {
  const auto is_planned = [](const ConvShape& shape) {
    return plan_depthwise(KernelId::conv, shape).has_value();
  };
  EXPECT_TRUE(is_planned(convnext_shape()));
  ConvShape other = convnext_shape();
  other.channels_last = false;
  EXPECT_FALSE(is_planned(other));
  other = convnext_shape();
  other.group = 48;
  EXPECT_FALSE(is_planned(other));
  other = convnext_shape();
  other.output_channels = 192;
  EXPECT_FALSE(is_planned(other));
  other = convnext_shape();
  other.window.strides[1] = 9;
  EXPECT_FALSE(is_planned(other));
  // Two rows of inputs that do not fit in shared memory.
  other = convnext_shape();
  other.input = {5, 400};
  other.window.dilations = {1, 60};
  other.output = {5, 40};
  EXPECT_FALSE(is_planned(other));
  // Coordinates beyond 2^30.
  other = convnext_shape();
  other.window.pads_begin[0] = int64_t{1} << 30;
  EXPECT_FALSE(is_planned(other));
}

TEST_F(CudaDepthwise, SaysWhatFailed) {
  const KernelDesc desc =
      conv_desc(KernelId::conv_grad_weight, kDepthwiseConvs[0], true,
                MPC_DTYPE_BF16, MPC_DTYPE_F32);
  std::string error;
  const auto kernel = make_cuda_kernel(desc, context, &error);
  ASSERT_TRUE(kernel) << error;
  const cuda::CUdeviceptr operands[] = {0, 0, 0};
  for (auto& [name, run] : driver.kernels)
    run = [](const HostDriver::Grid&, void**) { return std::string(); };
  driver.failing = "cuLaunchKernel";
  EXPECT_EQ(kernel->enqueue(operands, 0, nullptr),
            "cuLaunchKernel: CUDA_ERROR_UNKNOWN (as asked for)");
  driver.kernels.erase("mpc_depthwise_sum");
  EXPECT_FALSE(make_cuda_kernel(desc, context, &error));
  EXPECT_EQ(error,
            "conv_grad_weight: cuModuleGetFunction: CUDA_ERROR_NOT_FOUND (as "
            "asked for); kernel mpc_depthwise_sum");
  // Without kernels of our own, cuDNN is used.
  images.set(false);
  EXPECT_FALSE(make_cuda_kernel(desc, context, &error));
  EXPECT_NE(error.find("cuDNN is missing"), std::string::npos) << error;
}

}  // namespace
}  // namespace mpc::test
