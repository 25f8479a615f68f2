// Matrix products with a fake of cuBLASLt.

#ifndef MPC_TEST_CUDA_MATMUL_MATMUL_H_
#define MPC_TEST_CUDA_MATMUL_MATMUL_H_

#include <gtest/gtest.h>

#include <filesystem>

#include "kernels/cuda/kernel.h"
#include "test/cuda/fake/fake_cublaslt.h"
#include "test/cuda/host_driver.h"
#include "test/kernels/cases.h"

namespace mpc::test {

using namespace kernels;
using kernels::testing::added;
using kernels::testing::has_sums;
using kernels::testing::kCudaTypes;
using kernels::testing::kLargeMatmuls;
using kernels::testing::kMatmuls;
using kernels::testing::matmul_desc;
using kernels::testing::MatmulCase;
using kernels::testing::Types;

// A context without a real device. Caches are in a folder of the test.
class CudaMatmul : public ::testing::Test {
 protected:
  CudaMatmul()
      : library(&driver),
        folder(std::filesystem::path(::testing::TempDir()) /
               ("mpc-matmul-" +
                std::to_string(reinterpret_cast<uintptr_t>(this)))) {}
  ~CudaMatmul() override {
    std::filesystem::remove_all(folder);
    EXPECT_TRUE(driver.allocations.empty());
    EXPECT_TRUE(driver.events.empty());
    EXPECT_EQ(library.handles, 0u);
    EXPECT_EQ(library.descriptors, 0u);
  }

  CudaContext context() const {
    CudaContext made;
    made.driver = driver.table();
    made.cublaslt = library.table();
    made.compute_capability = 90;
    made.device_name = "Fake H200";
    made.cache_folder = folder.string();
    return made;
  }
  std::unique_ptr<CudaKernel> make(const CudaContext& context,
                                   std::string* error) {
    return make_cuda_kernel(
        matmul_desc({{3, 5}, {5, 7}, {3, 7}}, false, false, kCudaTypes[3]),
        context, error);
  }
  // The algorithm used by a kernel that is made in this context.
  std::string chosen(const CudaContext& context) {
    std::string error;
    const auto kernel = make(context, &error);
    return kernel ? kernel->implementation() : error;
  }
  std::filesystem::path cache_file() const {
    return folder / "cublaslt-130002-Fake_H200-sm_90";
  }

  HostDriver driver;
  FakeCublasLt library;
  std::filesystem::path folder;
};

// A product [rows, 32] x [columns, 32]' with a batch that becomes rows.
inline KernelDesc fp8_desc(mpc_dtype_t lhs, mpc_dtype_t rhs, mpc_dtype_t result,
                           int64_t terms = 32) {
  return {KernelId::scaled_matmul,
          {{lhs, {2, 3, terms}},
           {rhs, {16, terms}},
           {MPC_DTYPE_F32, {}},
           {MPC_DTYPE_F32, {}},
           {result, {2, 3, 16}}},
          {0, 1}};
}

// The same without factors, as earlier compilers described it.
inline KernelDesc unscaled(KernelDesc desc) {
  desc.id = KernelId::matmul;
  desc.operands.erase(desc.operands.begin() + 2, desc.operands.begin() + 4);
  return desc;
}

inline cuda::CUdeviceptr address(const void* host) {
  return reinterpret_cast<cuda::CUdeviceptr>(host);
}

}  // namespace mpc::test

#endif  // MPC_TEST_CUDA_MATMUL_MATMUL_H_
