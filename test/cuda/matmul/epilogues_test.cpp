// Products followed by a bias, GELU or its derivative: by cuBLASLt alone, or
// with a kernel of ours.

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/gelu.h"
#include "kernels/shapes.h"
#include "test/cuda/as_kernel.h"
#include "test/cuda/device_kernels.h"
#include "test/cuda/matmul/matmul.h"
#include "test/cuda/test_images.h"

namespace mpc::test {
namespace {

using kernels::testing::Buffer;
using kernels::testing::element_count;
using kernels::testing::exact;
using kernels::testing::uniform;

constexpr int64_t kRows = 5, kSums = 24, kColumns = 16;

constexpr KernelId kIds[] = {KernelId::matmul_bias, KernelId::matmul_gelu,
                             KernelId::matmul_gelu_grad};

KernelDesc product_desc(KernelId id, mpc_dtype_t dtype,
                        int64_t columns = kColumns,
                        bool transpose_rhs = false) {
  const TensorDesc lhs{dtype, {kRows, kSums}},
      rhs{dtype, transpose_rhs ? std::vector<int64_t>{columns, kSums}
                               : std::vector<int64_t>{kSums, columns}},
      bias{dtype, {columns}}, result{dtype, {kRows, columns}};
  KernelDesc desc{id, {lhs, rhs, bias, result}, {0, transpose_rhs}};
  if (id == KernelId::matmul_gelu) desc.operands.push_back(result);
  if (id == KernelId::matmul_gelu_grad) desc.operands[2] = result;
  return desc;
}

class CudaEpilogues : public CudaMatmul {
 protected:
  CudaEpilogues() { add_device_kernels(&driver); }

  // Makes the kernel and compares its results with the reference.
  std::string check(const KernelDesc& desc, const CudaContext& device) {
    const size_t launches = driver.launches;
    const auto kernel = must_make(desc, device);
    EXPECT_TRUE(kernel) << library.refusal;
    if (!kernel) return "";
    trial_launches = driver.launches - launches;
    std::vector<std::vector<double>> in;
    for (size_t i = 0; i < 3; ++i) {
      in.push_back(
          uniform(static_cast<int>(i), element_count(desc.operands[i])));
      for (double& x : in.back()) x = std::round(x * 64) / 16;
    }
    const std::vector<Buffer> operands =
        kernels::testing::make_operands(desc, in);
    kernels::testing::run(*kernel, operands);
    const auto wanted = exact(desc, in);
    for (size_t i = 3; i < desc.operands.size(); ++i) {
      const auto found =
          kernels::testing::values_of(desc.operands[i], operands[i]);
      for (size_t j = 0; j < found.size(); ++j)
        EXPECT_NEAR(found[j], wanted[i - 3][j],
                    (std::abs(wanted[i - 3][j]) + 16) * 0x1p-7)
            << "operand " << i << ", element " << j;
    }
    return kernel->implementation();
  }
  // Whether only the library computes.
  static bool is_one(const std::string& implementation) {
    return implementation.find("then a kernel for") == std::string::npos;
  }

  size_t trial_launches = 0;
  TestImages images;
};

TEST(Gelu, HasItsDerivative) {
  for (double x : {-30.0, -5.0, -1.0, -0.5, 0.0, 1e-3, 0.7, 1.0, 3.0, 40.0}) {
    const double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3));
    EXPECT_NEAR(x * gelu_factor(x), x * 0.5 * (1 + std::tanh(inner)), 1e-12);
    const double step = 1e-5;
    const double above = (x + step) * gelu_factor(x + step),
                 below = (x - step) * gelu_factor(x - step);
    EXPECT_NEAR(gelu_slope(x), (above - below) / (2 * step), 1e-8) << x;
  }
  for (float x : {1e4f, 1e10f, 3e38f}) {
    EXPECT_EQ(gelu_slope(x), 1) << x;
    EXPECT_EQ(gelu_slope(-x), 0) << x;
    EXPECT_EQ(-x * gelu_factor(-x), 0) << x;
  }
}

TEST_F(CudaEpilogues, TheLibraryComputesThemIfThatIsNoSlower) {
  for (KernelId id : kIds)
    for (mpc_dtype_t dtype : {MPC_DTYPE_BF16, MPC_DTYPE_F16})
      for (bool transposed : {false, true})
        EXPECT_TRUE(is_one(
            check(product_desc(id, dtype, kColumns, transposed), context())));
}

TEST_F(CudaEpilogues, TwoKernelsComputeThemIfTheyAreFaster) {
  library.epilogue_microseconds = 1;
  for (KernelId id : kIds)
    for (mpc_dtype_t dtype : {MPC_DTYPE_BF16, MPC_DTYPE_F16})
      EXPECT_FALSE(is_one(check(product_desc(id, dtype), context())));
}

TEST_F(CudaEpilogues, TwoKernelsComputeThemIfTheLibraryCannot) {
  library.has_epilogues = false;
  for (KernelId id : kIds) {
    EXPECT_FALSE(is_one(check(product_desc(id, MPC_DTYPE_BF16), context())));
    EXPECT_EQ(trial_launches, 0u);
  }
}

// Results of the library that differ by more than roundings are not used.
TEST_F(CudaEpilogues, TwoKernelsComputeThemIfTheLibraryIsWrong) {
  for (FakeCublasLt::Epilogues how :
       {FakeCublasLt::Epilogues::kRelu, FakeCublasLt::Epilogues::kUnwritten}) {
    library.epilogues = how;
    for (KernelId id : kIds)
      EXPECT_FALSE(is_one(check(product_desc(id, MPC_DTYPE_BF16), context())));
  }
}

// A choice by a trial depends on time and on free memory.
TEST_F(CudaEpilogues, NothingIsTriedForTheSameBits) {
  CudaContext device = context();
  device.deterministic = true;
  for (KernelId id : kIds)
    EXPECT_FALSE(is_one(check(product_desc(id, MPC_DTYPE_BF16), device)));
}

// Without memory for a trial, nothing shows that the library is right.
TEST_F(CudaEpilogues, TwoKernelsComputeThemIfThereIsNoTrial) {
  driver.memory_bytes = 0;
  for (KernelId id : kIds) {
    std::string error;
    const auto kernel =
        make_cuda_kernel(product_desc(id, MPC_DTYPE_BF16), context(), &error);
    ASSERT_TRUE(kernel) << error;
    EXPECT_FALSE(is_one(kernel->implementation()));
  }
}

// As in a build without nvcc.
TEST_F(CudaEpilogues, TheLibraryComputesThemIfThereAreNoKernels) {
  images.set(false);
  for (KernelId id : kIds)
    EXPECT_TRUE(is_one(check(product_desc(id, MPC_DTYPE_BF16), context())));
}

TEST_F(CudaEpilogues, RefusesWhatItsKernelsCannotCompute) {
  const auto refused = [&](KernelDesc desc) {
    std::string error;
    EXPECT_FALSE(make_cuda_kernel(desc, context(), &error));
    return error;
  };
  const auto bf16 = [](KernelId id, int64_t columns = kColumns) {
    return product_desc(id, MPC_DTYPE_BF16, columns);
  };
  EXPECT_EQ(refused(bf16(KernelId::matmul_gelu, 12)),
            "matmul_gelu: GELU needs a multiple of 8 columns, found 12");
  EXPECT_EQ(refused(bf16(KernelId::matmul_bias, 12)),
            "matmul_bias: the bias needs a multiple of 8 columns, found 12");
  for (KernelId id : {KernelId::matmul_bias, KernelId::matmul_gelu}) {
    KernelDesc desc = bf16(id);
    desc.operands[2].shape = {kColumns, 1};
    EXPECT_EQ(refused(desc),
              std::string(kernel_name(id)) +
                  ": the bias must have shape [16], found [16, 1]");
  }
  KernelDesc desc = bf16(KernelId::matmul_gelu);
  desc.operands[4].shape = {kRows};
  EXPECT_EQ(refused(desc),
            "matmul_gelu: the argument must have shape [5, 16], found [5]");
  desc = bf16(KernelId::matmul_gelu_grad);
  desc.operands[2].dtype = MPC_DTYPE_F32;
  EXPECT_EQ(refused(desc),
            "matmul_gelu_grad: operand 2 must be bf16, found f32");
  desc = bf16(KernelId::matmul_gelu_grad);
  desc.operands[0].shape = {1, kRows, kSums};
  EXPECT_EQ(refused(desc),
            "matmul_gelu_grad: operand 0 must be a matrix, found [1, 5, 24]");
}

}  // namespace
}  // namespace mpc::test
