// The kernels of depthwise.cu compared with the reference, in three orders of
// threads. Values are multiples of 1/8, so that sums are exact in any order.

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cuda/depthwise/depthwise_plan.h"
#include "kernels/cuda/kernel.h"
#include "test/cuda/device_kernels.h"
#include "test/cuda/host_driver.h"
#include "test/cuda/test_images.h"
#include "test/device_sim/device_sim.h"
#include "test/kernels/cases.h"

namespace mpc::test {
namespace {

using namespace kernels;
using namespace kernels::testing;

class CudaDepthwise : public ::testing::Test {
 protected:
  CudaDepthwise() {
    add_device_kernels(&driver);
    context.driver = driver.table();
    context.compute_capability = 90;
  }

  // Runs the kernel and the reference, and expects the same results.
  void expect_same(const KernelDesc& desc,
                   const std::vector<std::vector<double>>& inputs) {
    SCOPED_TRACE(describe(desc, {1, false}));
    std::string error;
    const auto kernel = make_cuda_kernel(desc, context, &error);
    ASSERT_TRUE(kernel) << error;
    ASSERT_EQ(kernel->implementation().find("mpc_depthwise"), 0u);
    const auto reference = make_reference_kernel(desc, &error);
    ASSERT_TRUE(reference) << error;
    const std::vector<Buffer> found = make_operands(desc, inputs);
    const std::vector<Buffer> expected = make_operands(desc, inputs);
    run(*reference, expected);
    const Buffer workspace(kernel->workspace_bytes());
    std::vector<cuda::CUdeviceptr> operands;
    for (const Buffer& operand : found)
      operands.push_back(reinterpret_cast<cuda::CUdeviceptr>(operand.data()));
    const Buffer& result = found.back();
    ASSERT_EQ(device_sim::run_in_all_orders(
                  {{"result", result.data(), result.size()}},
                  [&] {
                    const std::string failed = kernel->enqueue(
                        operands.data(),
                        reinterpret_cast<cuda::CUdeviceptr>(workspace.data()),
                        nullptr);
                    return failed.empty() ? failed
                                          : failed + driver.launch_error;
                  }),
              "");
    ASSERT_TRUE(workspace.intact());
    for (const Buffer& operand : found) ASSERT_TRUE(operand.intact());
    const std::vector<double> a = values_of(desc.operands.back(), result);
    const std::vector<double> b =
        values_of(desc.operands.back(), expected.back());
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_TRUE(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]))
          << "element " << i << ": expected " << b[i] << ", found " << a[i];
  }
  static std::vector<std::vector<double>> inputs_of(const KernelDesc& desc) {
    std::vector<std::vector<double>> inputs;
    for (size_t i = 0; i < input_count(desc); ++i)
      inputs.push_back(
          eighths(static_cast<int>(i), element_count(desc.operands[i])));
    return inputs;
  }

  TestImages images;
  HostDriver driver;
  CudaContext context;
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
    expect_same(desc, inputs_of(desc));
    ASSERT_FALSE(HasFailure());
  });
}

// Pixels outside the image do not meet infinities and NaNs.
TEST_F(CudaDepthwise, ValuesThatAreNotFiniteReachWhatTheReferenceSays) {
  const double values[] = {INFINITY, -INFINITY, NAN};
  size_t number = 0;
  for_calls([&](const KernelDesc& desc) {
    std::vector<std::vector<double>> inputs = inputs_of(desc);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (number % 2 == i % 2)
        inputs[i][number % inputs[i].size()] = values[number % 3];
    ++number;
    expect_same(desc, inputs);
    ASSERT_FALSE(HasFailure());
  });
}

}  // namespace
}  // namespace mpc::test
