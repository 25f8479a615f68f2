// Convolutions on a real device compared with the reference.

#include <gtest/gtest.h>

#include "test/cuda/device/device.h"

namespace mpc::test {
namespace {

// A plan that is restored from its text computes the same.
TEST(Device, ConvIsRememberedInAFile) {
  MPC_NEEDS_CUDNN();
  const KernelDesc desc =
      conv_desc(KernelId::conv, kConvs[2], true, MPC_DTYPE_F16, MPC_DTYPE_F16);
  const auto kernel = make_again(desc);
  ASSERT_TRUE(kernel);
  expect_kernel_close(desc, *kernel, conv_terms(KernelId::conv, kConvs[2]));
}

class DeviceConv : public ::testing::TestWithParam<size_t> {
 protected:
  static std::vector<ConvCase> cases() {
    return all_of<ConvCase>({kConvs, kLargeConvs});
  }
  static void expect_all(KernelId id, const CudaContext& context) {
    const ConvCase c = cases()[GetParam()];
    for (const Types t : types())
      for (bool last : {false, true}) {
        if (!allowed(id, t)) continue;
        const KernelDesc desc = conv_desc(id, c, last, t.dtype, t.result);
        const auto kernel = must_make(desc, context);
        if (kernel) expect_kernel_close(desc, *kernel, conv_terms(id, c));
      }
  }
};

TEST_P(DeviceConv, Forward) {
  MPC_NEEDS_CUDNN();
  expect_all(KernelId::conv, untimed());
  expect_all(KernelId::conv_bias, untimed());
}

TEST_P(DeviceConv, GradientOfTheInput) {
  MPC_NEEDS_CUDNN();
  expect_all(KernelId::conv_grad_input, untimed());
}

TEST_P(DeviceConv, GradientOfTheWeight) {
  MPC_NEEDS_CUDNN();
  expect_all(KernelId::conv_grad_weight, untimed());
}

INSTANTIATE_TEST_SUITE_P(Cases, DeviceConv,
                         ::testing::Range(size_t{0},
                                          kConvs.size() + kLargeConvs.size()),
                         number_of);

TEST(Device, ConvTimed) {
  MPC_NEEDS_CUDNN();
  for (const ConvCase& c : {kConvs[2], kConvs[3], kLargeConvs[0]})
    for (KernelId id : kConvKernels)
      for (const Types t : types()) {
        if (!allowed(id, t)) continue;
        const KernelDesc desc = conv_desc(id, c, true, t.dtype, t.result);
        const auto kernel = must_make(desc, device().context);
        if (kernel) expect_kernel_close(desc, *kernel, conv_terms(id, c));
      }
}

}  // namespace
}  // namespace mpc::test
