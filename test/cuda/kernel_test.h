// A fixture for kernels of our own that run in the simulator and are compared
// with the reference.

#ifndef MPC_TEST_CUDA_KERNEL_TEST_H_
#define MPC_TEST_CUDA_KERNEL_TEST_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/cuda/kernel.h"
#include "test/cuda/device_kernels.h"
#include "test/cuda/host_driver.h"
#include "test/device_sim/device_sim.h"
#include "test/kernels/cases.h"

namespace mpc::test {

class CudaKernelTest : public ::testing::Test {
 protected:
  CudaKernelTest() {
    add_device_kernels(&driver);
    context.driver = driver.table();
    context.compute_capability = 90;
  }

  // Runs the kernel in three orders of threads, and the reference, and expects
  // the same result, which is the last operand. The name of the implementation
  // must begin with `name`.
  void expect_same(const kernels::KernelDesc& desc,
                   const std::vector<std::vector<double>>& inputs,
                   const std::string& name = "") {
    using namespace kernels;
    using namespace kernels::testing;
    SCOPED_TRACE(describe(desc, {1, false}));
    std::string error;
    const auto kernel = make_cuda_kernel(desc, context, &error);
    ASSERT_TRUE(kernel) << error;
    ASSERT_EQ(kernel->implementation().find(name), 0u);
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

  HostDriver driver;
  kernels::CudaContext context;
};

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_KERNEL_TEST_H_
