// Descriptors of convolutions for cuDNN, compared with the reference.

#include <gtest/gtest.h>

#include "test/cuda/conv/conv.h"

namespace mpc::test {
namespace {

TEST_F(CudaConv, DescribesEveryCase) {
  library.engines = {{10, 1000, {}, true}};
  CudaContext device = context();
  device.deterministic = true;  // Without trials.
  expect_all(device);
}

TEST_F(CudaConv, WidensWhatNoEngineTakes) {
  library.engines = {{10, 1000}};
  CudaContext device = context();
  device.deterministic = true;
  expect_all(device);
}

TEST_F(CudaConv, BiasMayBeF32BesideBf16) {
  for (bool mixed : {false, true})
    for (mpc_dtype_t result : {MPC_DTYPE_BF16, MPC_DTYPE_F32}) {
      library.engines[0].mixed = mixed;
      KernelDesc call = desc(KernelId::conv_bias, {MPC_DTYPE_BF16, result});
      call.operands[2].dtype = MPC_DTYPE_F32;
      const auto kernel = must_make(call, context());
      ASSERT_TRUE(kernel);
      kernels::testing::expect_kernel_close(
          call, *kernel, conv_terms(KernelId::conv_bias, kConvs[3]));
    }
}

TEST_F(CudaConv, WideningNeedsKernelsOfOurOwn) {
  images.set(false);
  const std::string error =
      chosen(context(), KernelId::conv_grad_weight, kCudaTypes[4]);
  images.set(true);
  EXPECT_EQ(
      error.find("conv_grad_weight: cuDNN has no reliable engine for conv 2 "),
      0u)
      << error;
  EXPECT_NE(error.find("; nor in f32: this build has no built-in CUDA kernels: "
                       "nvcc was not found at build time"),
            std::string::npos)
      << error;
}

TEST_F(CudaConv, WeightsOfResultsInF32AreTurned) {
  library.engines = {{5, 1000, {kTensorCore}, true}};
  const auto made = [&](KernelId id, const ConvCase& c, bool last) {
    std::string error;
    const auto kernel =
        make_cuda_kernel(conv_desc(id, c, last, MPC_DTYPE_BF16, MPC_DTYPE_F32),
                         context(), &error);
    return kernel ? kernel->implementation() : error;
  };
  const std::string fastest = "cudnn:engine 0, 5.0 us, fastest of 1";
  const ConvCase& eights = kConvs[2];
  for (KernelId id :
       {KernelId::conv, KernelId::conv_bias, KernelId::conv_grad_input})
    EXPECT_EQ(made(id, eights, true),
              fastest + ", weights turned to channels last");
  EXPECT_EQ(made(KernelId::conv_grad_weight, eights, true),
            fastest + ", turned to channels first");
  // Weights of one place are the same in both layouts.
  EXPECT_EQ(made(KernelId::conv_grad_weight, kConvs[10], true), fastest);
  // Where the library is not reliable, it is not used.
  EXPECT_EQ(made(KernelId::conv_grad_weight, kConvs[3], true),
            fastest + ", operands widened to f32");
  for (KernelId id : kConvKernels)
    EXPECT_EQ(made(id, eights, false), fastest + ", operands widened to f32");
  // In f32 they have the wanted type.
  library.engines = {{5}};
  EXPECT_EQ(chosen(context(), KernelId::conv_grad_weight, kCudaTypes[0]),
            "cudnn:engine 0, 5.0 us, fastest of 1");
}

TEST_F(CudaConv, RunsOnTheCallersStream) {
  library.engines = {{1, 512}};
  std::string error;
  const auto kernel =
      make_cuda_kernel(desc(KernelId::conv, kCudaTypes[0]), context(), &error);
  ASSERT_TRUE(kernel) << error;
  EXPECT_EQ(kernel->workspace_bytes(), 512u);
  const cuda::CUstream stream = reinterpret_cast<cuda::CUstream>(&error);
  library.failing = "cudnnBackendExecute";
  const cuda::CUdeviceptr operands[3] = {64, 64, 64};
  EXPECT_EQ(kernel->enqueue(operands, 64, stream)
                .find("cudnnBackendExecute: CUDNN_STATUS_EXECUTION_FAILED"),
            0u);
  EXPECT_EQ(library.stream, stream);
}

}  // namespace
}  // namespace mpc::test
