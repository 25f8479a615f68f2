// The first tests of tools/gpu/run.py, each in a separate process: one small
// case of each kind of work.

#include <gtest/gtest.h>

#include "test/cuda/device/device.h"
#include "test/kernels/attention.h"

namespace mpc::test {
namespace {

Types smoke_types() {
  return device().context.compute_capability >= 80
             ? Types{MPC_DTYPE_BF16, MPC_DTYPE_BF16}
             : Types{MPC_DTYPE_F16, MPC_DTYPE_F16};
}

TEST(Smoke, LoadsOurKernels) {
  MPC_NEEDS_IMAGES();
  const KernelDesc desc =
      pool_desc(KernelId::max_pool, kPools[0], true, false, MPC_DTYPE_F32);
  ASSERT_TRUE(must_make(desc, device().context));
  EXPECT_EQ(cuda_note(device().context), "");
}

TEST(Smoke, Multiplies) {
  MPC_NEEDS_CUBLASLT();
  const KernelDesc desc =
      matmul_desc(kDeviceMatmuls[2], false, true, smoke_types());
  const auto kernel = must_make(desc, device().context);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->implementation().find("as a trial failed"),
            std::string::npos)
      << kernel->implementation();
  expect_kernel_close(desc, *kernel, 1024);
}

TEST(Smoke, Attends) {
  MPC_NEEDS_CUBLASLT();
  MPC_NEEDS_CUDNN();
  const AttentionCase c = {2, 4, 4, 128, 128, 64, 64, true, 0.125f};
  for (KernelId id : {KernelId::attention, KernelId::attention_grad}) {
    const KernelDesc desc =
        attention_desc(id, c, smoke_types().dtype, smoke_types().result);
    const auto kernel = must_make(desc, device().context);
    ASSERT_TRUE(kernel);
    EXPECT_EQ(kernel->implementation().find("cudnn:engine "), 0u)
        << kernel->implementation();
    AttentionExpectation(desc).check(*kernel);
  }
}

TEST(Smoke, Convolves) {
  MPC_NEEDS_CUDNN();
  const KernelDesc desc = conv_desc(KernelId::conv, kConvs[2], true,
                                    smoke_types().dtype, smoke_types().result);
  const auto kernel = must_make(desc, device().context);
  ASSERT_TRUE(kernel);
  expect_kernel_close(desc, *kernel, conv_terms(KernelId::conv, kConvs[2]));
}

TEST(Smoke, ReplaysAGraph) {
  MPC_NEEDS_CUBLASLT();
  expect_same_in_graphs(
      matmul_desc(kDeviceMatmuls[0], false, true, smoke_types()), untimed());
}

}  // namespace
}  // namespace mpc::test
