// The kernels of pool.cu compared bit by bit with the reference, in three
// orders of threads.

#include <gtest/gtest.h>

#include "kernels/cuda/driver/launch.h"
#include "kernels/cuda/kernel.h"
#include "kernels/float_types.h"
#include "test/cuda/device_kernels.h"
#include "test/cuda/host_driver.h"
#include "test/cuda/test_images.h"
#include "test/device_sim/device_sim.h"
#include "test/kernels/cases.h"

namespace mpc::test {
namespace {

using namespace kernels;
using namespace kernels::testing;

class CudaPool : public ::testing::Test {
 protected:
  CudaPool() {
    add_device_kernels(&driver);
    context.driver = driver.table();
    context.compute_capability = 90;
  }

  // Runs the kernel and the reference, and expects identical bits.
  void expect_same(const KernelDesc& desc,
                   const std::vector<std::vector<double>>& inputs) {
    SCOPED_TRACE(describe(desc, {1, false}));
    std::string error;
    const auto kernel = make_cuda_kernel(desc, context, &error);
    ASSERT_TRUE(kernel) << error;
    const auto reference = make_reference_kernel(desc, &error);
    ASSERT_TRUE(reference) << error;
    const std::vector<Buffer> found = make_operands(desc, inputs);
    const std::vector<Buffer> expected = make_operands(desc, inputs);
    run(*reference, expected);
    std::vector<cuda::CUdeviceptr> operands;
    std::vector<device_sim::Buffer> outputs;
    for (size_t i = 0; i < found.size(); ++i) {
      operands.push_back(reinterpret_cast<cuda::CUdeviceptr>(found[i].data()));
      if (i >= inputs.size())
        outputs.push_back(
            {std::to_string(i), found[i].data(), found[i].size()});
    }
    ASSERT_EQ(device_sim::run_in_all_orders(
                  outputs,
                  [&] {
                    const std::string failed =
                        kernel->enqueue(operands.data(), 0, nullptr);
                    return failed.empty() ? failed
                                          : failed + driver.launch_error;
                  }),
              "");
    for (size_t o = 0; o < found.size(); ++o) {
      ASSERT_TRUE(found[o].intact());
      const std::vector<double> a = values_of(desc.operands[o], found[o]);
      const std::vector<double> b = values_of(desc.operands[o], expected[o]);
      for (size_t i = 0; i < a.size(); ++i)
        ASSERT_TRUE(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]))
            << "element " << i << " of operand " << o << ": expected " << b[i]
            << ", found " << a[i];
    }
  }

  TestImages images;
  HostDriver driver;
  CudaContext context;
};

const mpc_dtype_t kPooledTypes[] = {MPC_DTYPE_F32, MPC_DTYPE_BF16,
                                    MPC_DTYPE_F16};

// Machine code of an nvcc that is newer than the driver.
TEST_F(CudaPool, TakesPtxWhereMachineCodeIsRefused) {
  const KernelDesc desc =
      pool_desc(KernelId::max_pool, kPools[2], true, true, MPC_DTYPE_F32);
  const auto make = [&](std::string* error) {
    context.shared = make_cuda_shared();
    return make_cuda_kernel(desc, context, error);
  };
  std::string error;
  EXPECT_TRUE(make(&error)) << error;
  EXPECT_EQ(driver.image, images.image().data);
  EXPECT_EQ(cuda_note(context), "");
  for (const auto refusal :
       {cuda::CUDA_ERROR_INVALID_IMAGE, cuda::CUDA_ERROR_NO_BINARY_FOR_GPU,
        cuda::CUDA_ERROR_UNSUPPORTED_PTX_VERSION}) {
    driver.refused = {{images.image().data, refusal}};
    EXPECT_TRUE(make(&error)) << error;
    EXPECT_EQ(driver.image, images.image().ptx);
    EXPECT_EQ(
        cuda_note(context).find("mpc's built-in kernels are compiled from PTX "
                                "because their machine code was rejected: "
                                "cuModuleLoadDataEx: "),
        0u)
        << cuda_note(context);
  }
  // Devices that are newer than the machine code always compile PTX.
  context.compute_capability = 100;
  EXPECT_TRUE(make(&error)) << error;
  EXPECT_EQ(cuda_note(context), "");
  driver.refused[images.image().ptx] = cuda::CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  EXPECT_FALSE(make(&error));
  EXPECT_NE(error.find("; kernels of pool.cu; their PTX: cuModuleLoadDataEx: "),
            std::string::npos)
      << error;
  // Another failure is not due to the code.
  driver.refused = {{images.image().data, cuda::CUDA_ERROR_OUT_OF_MEMORY}};
  EXPECT_FALSE(make(&error));
  EXPECT_EQ(error.find("their PTX"), std::string::npos) << error;
}

TEST_F(CudaPool, IsTheReferenceBitByBit) {
  for (const ConvCase& c : kPools)
    for (KernelId id : {KernelId::max_pool, KernelId::max_pool_grad,
                        KernelId::average_pool, KernelId::average_pool_grad})
      for (mpc_dtype_t dtype : kPooledTypes)
        for (bool last : {false, true})
          for (bool include : {false, true}) {
            const KernelDesc desc = pool_desc(id, c, last, include, dtype);
            expect_same(desc, grad_inputs(desc));
            ASSERT_FALSE(HasFailure());
          }
}

TEST_F(CudaPool, TiesAndNanAreTheReferences) {
  for (const ConvCase& c : kPools)
    for (mpc_dtype_t dtype : kPooledTypes)
      for (bool last : {false, true}) {
        const KernelDesc desc =
            pool_desc(KernelId::max_pool, c, last, false, dtype);
        expect_same(desc, {difficult(element_count(desc.operands[0]))});
        ASSERT_FALSE(HasFailure());
      }
}

TEST_F(CudaPool, NeedsKernelsOfItsOwn) {
  const KernelDesc desc =
      pool_desc(KernelId::average_pool, kPools[1], true, false, MPC_DTYPE_F32);
  std::string error;
  images.set(false);
  EXPECT_FALSE(make_cuda_kernel(desc, context, &error));
  images.set(true);
  EXPECT_EQ(error,
            "average_pool: this build has no built-in CUDA kernels: nvcc was "
            "not found at build time");
  const auto kernel = make_cuda_kernel(desc, context, &error);
  ASSERT_TRUE(kernel) << error;
  EXPECT_EQ(kernel->implementation(), "mpc_average_pool_f32");
  driver.failing = "cuLaunchKernel";
  const cuda::CUdeviceptr memory =
      reinterpret_cast<cuda::CUdeviceptr>(context.driver);
  driver.kernels["mpc_average_pool_f32"] = [](const HostDriver::Grid&, void**) {
    return std::string();
  };
  const cuda::CUdeviceptr operands[] = {memory, memory};
  EXPECT_EQ(kernel->enqueue(operands, 0, nullptr),
            "cuLaunchKernel: CUDA_ERROR_UNKNOWN (as asked for)");
  driver.kernels.clear();
  EXPECT_FALSE(make_cuda_kernel(desc, context, &error));
  EXPECT_EQ(error,
            "average_pool: cuModuleGetFunction: CUDA_ERROR_NOT_FOUND (as asked "
            "for); kernel mpc_average_pool_f32");
  driver.failing = "cuModuleLoadDataEx";
  context.shared = make_cuda_shared();
  EXPECT_FALSE(make_cuda_kernel(desc, context, &error));
  EXPECT_EQ(error,
            "average_pool: cuModuleLoadDataEx: CUDA_ERROR_UNKNOWN (as asked "
            "for); kernels of pool.cu");
}

TEST_F(CudaPool, RefusesImagesOf32BitCoordinates) {
  const ConvCase c = {1,   1,   0,  {INT32_MAX - 2}, {3}, {INT32_MAX},
                      {1}, {2}, {2}};
  std::string error;
  EXPECT_FALSE(make_cuda_kernel(
      pool_desc(KernelId::average_pool, c, true, false, MPC_DTYPE_F16), context,
      &error));
  EXPECT_EQ(
      error,
      "average_pool: an image with its pads must be smaller than 2^31 - 1");
}

TEST_F(CudaPool, CopyAndZeroAreTheDrivers) {
  std::vector<unsigned char> from(1000, 7), to(1000);
  const cuda::CUdeviceptr operands[] = {
      reinterpret_cast<cuda::CUdeviceptr>(from.data()),
      reinterpret_cast<cuda::CUdeviceptr>(to.data())};
  std::string error;
  const auto copy = make_cuda_kernel(
      {KernelId::copy, {{MPC_DTYPE_U8, {1000}}, {MPC_DTYPE_U8, {1000}}}, {}},
      context, &error);
  ASSERT_TRUE(copy) << error;
  EXPECT_EQ(copy->enqueue(operands, 0, nullptr), "");
  EXPECT_EQ(to, from);
  const auto zero = make_cuda_kernel(
      {KernelId::zero, {{MPC_DTYPE_U8, {1000}}}, {}}, context, &error);
  ASSERT_TRUE(zero) << error;
  EXPECT_EQ(zero->enqueue(operands + 1, 0, nullptr), "");
  EXPECT_EQ(to, std::vector<unsigned char>(1000, 0));
  driver.failing = "cuMemsetD8Async";
  EXPECT_EQ(zero->enqueue(operands, 0, nullptr),
            "cuMemsetD8Async: CUDA_ERROR_UNKNOWN (as asked for)");
}

TEST_F(CudaPool, WidensEveryValue) {
  // All 16-bit floats, and a remainder that is not a multiple of eight.
  constexpr int64_t kCount = 65536 + 5;
  std::vector<F16> f16(kCount);
  std::vector<Bf16> bf16(kCount);
  for (int64_t i = 0; i < kCount; ++i)
    f16[i].bits = bf16[i].bits = static_cast<uint16_t>(i);
  std::vector<float> out(kCount);
  const auto widen = [&](const char* name, const void* in) {
    return device_sim::run_in_all_orders({{"out", out}}, [&] {
      void* from = const_cast<void*>(in);
      float* to = out.data();
      int64_t count = kCount;
      void* parameters[] = {&from, &to, &count};
      return driver.kernels[name]({{3, 1, 1}, {kBlockThreads, 1, 1}, 0},
                                  parameters);
    });
  };
  const auto expect = [&](const auto& in) {
    for (int64_t i = 0; i < kCount; ++i) {
      const float value = in[i];
      ASSERT_TRUE(out[i] == value || (out[i] != out[i] && value != value)) << i;
    }
  };
  ASSERT_EQ(widen("mpc_widen_f16", f16.data()), "");
  expect(f16);
  ASSERT_EQ(widen("mpc_widen_bf16", bf16.data()), "");
  expect(bf16);
}

TEST_F(CudaPool, TurnsWeights) {
  constexpr int64_t kOutputs = 7, kChannels = 5, kWindow = 6;
  constexpr int64_t kCount = kOutputs * kChannels * kWindow;
  const auto turn = [&](const char* kernel, auto* in, auto* out) {
    for (int64_t i = 0; i < kCount; ++i) (*in)[i] = i;
    return device_sim::run_in_all_orders({{"out", *out}}, [&] {
      void *from = in->data(), *to = out->data();
      int64_t count = kCount, channels = kChannels, window = kWindow;
      void* parameters[] = {&from, &to, &count, &channels, &window};
      return driver.kernels[kernel]({{2, 1, 1}, {kBlockThreads / 4, 1, 1}, 0},
                                    parameters);
    });
  };
  std::vector<float> results(kCount), first(kCount);
  std::vector<uint16_t> operands(kCount), last(kCount);
  ASSERT_EQ(turn("mpc_channels_first", &results, &first), "");
  ASSERT_EQ(turn("mpc_channels_last", &operands, &last), "");
  for (int64_t o = 0; o < kOutputs; ++o)
    for (int64_t c = 0; c < kChannels; ++c)
      for (int64_t s = 0; s < kWindow; ++s) {
        const int64_t at_first = (o * kChannels + c) * kWindow + s;
        const int64_t at_last = (o * kWindow + s) * kChannels + c;
        EXPECT_EQ(first[at_first], results[at_last]);
        EXPECT_EQ(last[at_last], operands[at_first]);
      }
}

}  // namespace
}  // namespace mpc::test
