// The kernels of observe.cu in the simulator: counts equal those of the
// reference, and sums do up to the order of summation.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cuda/kernel.h"
#include "kernels/observation.h"
#include "test/cuda/device_kernels.h"
#include "test/cuda/host_driver.h"
#include "test/cuda/test_images.h"
#include "test/device_sim/device_sim.h"
#include "test/kernels/harness.h"

namespace mpc::test {
namespace {

using namespace kernels;
using namespace kernels::testing;

constexpr int64_t kCounts[] = {1, 255, 256, 1000};
constexpr mpc_dtype_t kTypes[] = {MPC_DTYPE_F32, MPC_DTYPE_BF16, MPC_DTYPE_F16};

class CudaObserve : public ::testing::Test {
 protected:
  CudaObserve() {
    add_device_kernels(&driver);
    context.driver = driver.table();
    context.compute_capability = 90;
  }

  // Runs the kernel and the reference.
  void run_both(const KernelDesc& desc,
                const std::vector<std::vector<double>>& inputs,
                std::vector<double>* found, std::vector<double>* expected) {
    std::string error;
    const auto kernel = make_cuda_kernel(desc, context, &error);
    ASSERT_TRUE(kernel) << error;
    const auto reference = make_reference_kernel(desc, &error);
    ASSERT_TRUE(reference) << error;
    const std::vector<Buffer> a = make_operands(desc, inputs);
    const std::vector<Buffer> b = make_operands(desc, inputs);
    run(*reference, b);
    std::vector<cuda::CUdeviceptr> operands;
    for (const Buffer& buffer : a)
      operands.push_back(reinterpret_cast<cuda::CUdeviceptr>(buffer.data()));
    ASSERT_EQ(device_sim::run_in_all_orders(
                  {{"row", a.back().data(), a.back().size()}},
                  [&] {
                    const std::string failed =
                        kernel->enqueue(operands.data(), 0, nullptr);
                    return failed.empty() ? failed
                                          : failed + driver.launch_error;
                  }),
              "");
    ASSERT_TRUE(a.back().intact());
    *found = values_of(desc.operands.back(), a.back());
    *expected = values_of(desc.operands.back(), b.back());
  }

  TestImages images;
  HostDriver driver;
  CudaContext context;
};

TEST_F(CudaObserve, CountsAreTheReferences) {
  for (int64_t count : kCounts)
    for (mpc_dtype_t dtype : kTypes) {
      std::vector<double> values = uniform(3, static_cast<size_t>(count));
      values[values.size() / 2] = std::numeric_limits<double>::quiet_NaN();
      values[values.size() / 3] = std::numeric_limits<double>::infinity();
      std::vector<double> found, expected;
      run_both({KernelId::observe,
                {{dtype, {count}}, {MPC_DTYPE_F64, {kObservationWidth}}},
                {}},
               {values}, &found, &expected);
      EXPECT_EQ(found, expected);
    }
}

TEST_F(CudaObserve, SumsAreTheReferences) {
  for (int64_t count : kCounts)
    for (mpc_dtype_t dtype : kTypes) {
      const auto size = static_cast<size_t>(count);
      std::vector<double> found, expected;
      run_both({KernelId::rounding,
                {{dtype, {count}},
                 {dtype, {count}},
                 {MPC_DTYPE_F64, {kRoundingWidth}}},
                {}},
               {uniform(4, size), uniform(5, size)}, &found, &expected);
      for (size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 1e-12 * size) << i;
    }
}

TEST_F(CudaObserve, ValueAndGradientHaveOneType) {
  std::string error;
  EXPECT_FALSE(make_cuda_kernel({KernelId::rounding,
                                 {{MPC_DTYPE_F32, {4}},
                                  {MPC_DTYPE_F16, {4}},
                                  {MPC_DTYPE_F64, {kRoundingWidth}}},
                                 {}},
                                context, &error));
  EXPECT_EQ(error,
            "rounding: value and gradient must be of one type, found f32 and "
            "f16");
}

}  // namespace
}  // namespace mpc::test
