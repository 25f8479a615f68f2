// Depthwise convolutions on a real device, by kernels of our own.

#include <gtest/gtest.h>

#include "test/cuda/device/device.h"

namespace mpc::test {
namespace {

std::vector<KernelDesc> depthwise_calls(const std::vector<ConvCase>& cases) {
  std::vector<KernelDesc> calls;
  for (const ConvCase& c : cases)
    for (KernelId id : kConvKernels)
      for (const Types t : types())
        if (allowed(id, t))
          calls.push_back(conv_desc(id, c, true, t.dtype, t.result));
  return calls;
}

// Exact sums, so the results are those of the reference.
void expect_reference(const KernelDesc& desc, int special) {
  SCOPED_TRACE(describe(desc, {1, false}));
  const auto kernel = must_make(desc, device().context);
  std::string error;
  const auto reference = make_reference_kernel(desc, &error);
  ASSERT_TRUE(kernel && reference) << error;
  EXPECT_EQ(kernel->implementation().find("mpc_depthwise"), 0u)
      << kernel->implementation();
  const auto inputs = exact_inputs(desc, special);
  const std::vector<Buffer> found = make_operands(desc, inputs);
  const std::vector<Buffer> expected = make_operands(desc, inputs);
  run(*kernel, found);
  run(*reference, expected);
  const auto a = values_of(desc.operands.back(), found.back());
  const auto b = values_of(desc.operands.back(), expected.back());
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]))
        << "element " << i << ": expected " << b[i] << ", found " << a[i];
}

TEST(Device, Depthwise) {
  MPC_NEEDS_IMAGES();
  int special = 0;
  for (const KernelDesc& desc : depthwise_calls(kDepthwiseConvs)) {
    expect_reference(desc, -1);
    expect_reference(desc, special++);
    ASSERT_FALSE(HasFailure());
  }
}

// Several tiles in each direction, and for each block of a gradient.
TEST(Device, LargeDepthwise) {
  MPC_NEEDS_IMAGES();
  for (const KernelDesc& desc :
       depthwise_calls({depthwise_case(5, 130, {33, 35}, {7, 7}, {1, 1}, {1, 1},
                                       {3, 3}, {3, 3}),
                        depthwise_case(5, 290, {41, 60}, {3, 3}, {2, 2}, {1, 1},
                                       {1, 1}, {1, 1})})) {
    expect_reference(desc, -1);
    ASSERT_FALSE(HasFailure());
  }
}

TEST(Device, DepthwiseInGraphs) {
  MPC_NEEDS_IMAGES();
  for (const KernelDesc& desc : depthwise_calls({kDepthwiseConvs[1]}))
    expect_same_in_graphs(desc, device().context);
}

}  // namespace
}  // namespace mpc::test
