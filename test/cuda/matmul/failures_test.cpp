// Errors if cuBLASLt or the driver fails.

#include <gtest/gtest.h>

#include "test/cuda/matmul/matmul.h"

namespace mpc::test {
namespace {

TEST_F(CudaMatmul, SaysWhatFailed) {
  std::string error;
  library.failing = "cublasLtCreate";
  EXPECT_FALSE(make(context(), &error));
  EXPECT_NE(error.find("matmul: cublasLtCreate: "), std::string::npos) << error;
  // The library of CUDA 13 does not start on a driver of CUDA 12.
  EXPECT_EQ(error.find("needs a driver"), std::string::npos) << error;
  driver.version = 12040;
  library.failing = "cublasLtCreate";
  EXPECT_FALSE(make(context(), &error));
  EXPECT_NE(
      error.find("; cuBLASLt 13 needs a driver of CUDA 13, this one supports "
                 "12.4: update it, or put libcublasLt.so.12 into "
                 "LD_LIBRARY_PATH"),
      std::string::npos)
      << error;
  driver.version = 13000;
  library.failing = "cublasLtMatrixLayoutCreate";
  EXPECT_FALSE(make(context(), &error));
  EXPECT_NE(error.find("matmul: cublasLtMatrixLayoutCreate: "),
            std::string::npos)
      << error;
  library.failing = "cublasLtMatmulAlgoGetHeuristic";
  EXPECT_FALSE(make(context(), &error));
  EXPECT_EQ(error,
            "matmul: cublasLtMatmulAlgoGetHeuristic: "
            "CUBLAS_STATUS_NOT_SUPPORTED");
  library.algorithms = {{1, 0, 0, true}};
  EXPECT_FALSE(make(context(), &error));
  EXPECT_EQ(error, "matmul: cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED");
  CudaContext fixed = context();
  fixed.deterministic = true;
  EXPECT_FALSE(make(fixed, &error));
  EXPECT_EQ(error, "matmul: cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED");
  library.algorithms = {};
  EXPECT_FALSE(make(context(), &error));
  EXPECT_NE(error.find("knows no algorithm"), std::string::npos) << error;

  library.algorithms = {{1}};
  const auto kernel = make(context(), &error);
  ASSERT_TRUE(kernel) << error;
  library.failing = "cublasLtMatmul";
  const cuda::CUdeviceptr operands[3] = {64, 64, 64};
  EXPECT_EQ(kernel->enqueue(operands, 0, nullptr),
            "cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED");
}

TEST_F(CudaMatmul, DriverErrorsOfATrialEndIt) {
  for (const char* call : {"cuEventRecord", "cuEventSynchronize",
                           "cuMemsetD8Async", "cuEventElapsedTime"}) {
    driver.failing = call;
    std::string error;
    EXPECT_FALSE(make(context(), &error));
    EXPECT_EQ(error, std::string("matmul: ") + call +
                         ": CUDA_ERROR_UNKNOWN (as asked for)");
  }
}

TEST_F(CudaMatmul, RefusesWhatTheDeviceCannot) {
  std::string error;
  CudaContext device = context();
  device.cublaslt = nullptr;
  device.cublaslt_missing = "no such file";
  EXPECT_FALSE(make(device, &error));
  EXPECT_EQ(error, "matmul: cuBLASLt is missing: no such file");
  device = context();
  device.compute_capability = 75;
  EXPECT_FALSE(make(device, &error));
  EXPECT_EQ(error,
            "matmul: bf16 needs compute capability 8.0, Fake H200 has 7.5; "
            "compile with option 'precision'=fp16");
  EXPECT_FALSE(
      make_cuda_kernel(matmul_desc({{3, 5}, {5, 7}, {3, 7}}, false, false,
                                   {MPC_DTYPE_F64, MPC_DTYPE_F64}),
                       context(), &error));
  EXPECT_EQ(error, "matmul: f64 is not computed on CUDA; compile for cpu");
  EXPECT_FALSE(make_cuda_kernel(
      matmul_desc({{2, 70000, 1, 1, 1}, {3, 1, 1, 1}, {2, 70000, 3, 1, 1}},
                  false, false, kCudaTypes[0]),
      context(), &error));
}

}  // namespace
}  // namespace mpc::test
