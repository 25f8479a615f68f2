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
  EXPECT_EQ(error.find("conv_grad_weight: cuDNN has no engine for conv 2 "), 0u)
      << error;
  EXPECT_NE(error.find("; nor in f32: this build has no built-in CUDA kernels: "
                       "nvcc was not found at build time"),
            std::string::npos)
      << error;
}

TEST_F(CudaConv, GradientsOfWeightsInF32AreTurned) {
  library.engines = {{5, 1000, {kTensorCore}, true}};
  EXPECT_EQ(chosen(context(), KernelId::conv_grad_weight, kCudaTypes[4]),
            "cudnn:engine 0, 5.0 us, fastest of 1, turned to channels first");
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
