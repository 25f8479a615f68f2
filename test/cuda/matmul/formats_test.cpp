// FP8 products with factors, and TF32 products, with cuBLASLt.

#include <gtest/gtest.h>

#include "kernels/float_types.h"
#include "test/cuda/as_kernel.h"
#include "test/cuda/matmul/matmul.h"

namespace mpc::test {
namespace {

// Codes of 1, 2 and 0.5 in turn, in E4M3 or E5M2.
std::vector<uint8_t> fp8_codes(size_t count, bool e5m2) {
  std::vector<uint8_t> codes(count);
  for (size_t i = 0; i < count; ++i)
    codes[i] =
        static_cast<uint8_t>(e5m2 ? 0x38 + 4 * (i % 3) : 0x30 + 8 * (i % 3));
  return codes;
}

// Element (row, column) of the product of operands with these codes.
float fp8_sum(size_t row, size_t column) {
  const float values[] = {0.5f, 1, 2};
  float sum = 0;
  for (size_t k = 0; k < 32; ++k)
    sum += values[(row * 32 + k) % 3] * values[(column * 32 + k) % 3];
  return sum;
}

TEST_F(CudaMatmul, MultipliesFp8OfBothFormats) {
  for (const bool e5m2 : {false, true}) {
    const mpc_dtype_t type = e5m2 ? MPC_DTYPE_F8E5M2 : MPC_DTYPE_F8E4M3;
    const KernelDesc desc = fp8_desc(type, MPC_DTYPE_F8E4M3, MPC_DTYPE_F32);
    std::string error;
    const auto kernel = make_cuda_kernel(desc, context(), &error);
    ASSERT_TRUE(kernel) << error << library.refusal;
    const auto old = make_cuda_kernel(unscaled(desc), context(), &error);
    ASSERT_TRUE(old) << error << library.refusal;
    std::vector<uint8_t> lhs = fp8_codes(192, e5m2),
                         rhs = fp8_codes(512, false);
    std::vector<float> result(96), plain(96);
    const cuda::CUdeviceptr all[] = {address(lhs.data()), address(rhs.data()),
                                     address(plain.data())};
    ASSERT_EQ(old->enqueue(all, 0, nullptr), "") << library.refusal;
    // Each call reads its factors at its own addresses, when it runs.
    for (float factor : {0.5f, 4.0f}) {
      const float lhs_factor = factor, rhs_factor = 0.25f;
      const cuda::CUdeviceptr operands[] = {
          address(lhs.data()), address(rhs.data()), address(&lhs_factor),
          address(&rhs_factor), address(result.data())};
      ASSERT_EQ(kernel->enqueue(operands, 0, nullptr), "") << library.refusal;
      for (size_t row = 0; row < 6; ++row)
        for (size_t column = 0; column < 16; ++column) {
          const float sum = fp8_sum(row, column);
          const size_t i = row * 16 + column;
          EXPECT_EQ(plain[i], sum) << row << ", " << column;
          EXPECT_EQ(result[i], sum * factor * 0.25f) << row << ", " << column;
        }
    }
  }
}

// The factor of the left operand is that of the library's B. A product with two
// equal factors, or without a NaN, would not reveal an error.
TEST_F(CudaMatmul, EachFactorIsThatOfItsOperand) {
  std::string error;
  const auto kernel = make_cuda_kernel(
      fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, MPC_DTYPE_F32), context(),
      &error);
  ASSERT_TRUE(kernel) << error << library.refusal;
  std::vector<uint8_t> lhs = fp8_codes(192, false), rhs = fp8_codes(512, false);
  std::vector<float> result(96);
  const float factors[] = {3, 5};
  const cuda::CUdeviceptr operands[] = {
      address(lhs.data()), address(rhs.data()), address(&factors[0]),
      address(&factors[1]), address(result.data())};
  ASSERT_EQ(kernel->enqueue(operands, 0, nullptr), "") << library.refusal;
  EXPECT_EQ(library.last_scales[0], &factors[1]);
  EXPECT_EQ(library.last_scales[1], &factors[0]);
}

// If a batch broadcasts in two ways, a product is several calls, which all have
// the factors.
TEST_F(CudaMatmul, EveryCallHasTheFactors) {
  const KernelDesc desc = {KernelId::scaled_matmul,
                           {{MPC_DTYPE_F8E4M3, {2, 1, 3, 32}},
                            {MPC_DTYPE_F8E4M3, {1, 2, 16, 32}},
                            {MPC_DTYPE_F32, {}},
                            {MPC_DTYPE_F32, {1}},
                            {MPC_DTYPE_F32, {2, 2, 3, 16}}},
                           {0, 1}};
  CudaContext device = context();
  device.deterministic = true;
  std::string error;
  const auto kernel = make_cuda_kernel(desc, device, &error);
  ASSERT_TRUE(kernel) << error << library.refusal;
  std::vector<uint8_t> lhs = fp8_codes(192, false),
                       rhs = fp8_codes(1024, false);
  std::vector<float> result(192);
  const float lhs_factor = 0.5f, rhs_factor = 0.125f;
  const cuda::CUdeviceptr operands[] = {
      address(lhs.data()), address(rhs.data()), address(&lhs_factor),
      address(&rhs_factor), address(result.data())};
  library.products = 0;
  ASSERT_EQ(kernel->enqueue(operands, 0, nullptr), "") << library.refusal;
  EXPECT_EQ(library.products, 2u);
  for (size_t i = 0; i < 2; ++i)
    for (size_t j = 0; j < 2; ++j)
      for (size_t row = 0; row < 3; ++row)
        for (size_t column = 0; column < 16; ++column)
          EXPECT_EQ(result[((i * 2 + j) * 3 + row) * 16 + column],
                    fp8_sum(i * 3 + row, j * 16 + column) / 16)
              << i << ", " << j << ", " << row << ", " << column;
}

// A bf16 result is rounded after the factors are applied, so intermediate sums
// can be neither too large nor too small for bf16.
TEST_F(CudaMatmul, RoundsBehindTheFactors) {
  std::string error;
  const auto kernel = make_cuda_kernel(
      fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, MPC_DTYPE_BF16), context(),
      &error);
  ASSERT_TRUE(kernel) << error << library.refusal;
  std::vector<uint8_t> lhs(192, 0x38), rhs(512, 0x38);  // Ones.
  std::vector<Bf16> result(96);
  const float lhs_factor = 0x1p-60f, rhs_factor = 0x1p-60f;
  const cuda::CUdeviceptr operands[] = {
      address(lhs.data()), address(rhs.data()), address(&lhs_factor),
      address(&rhs_factor), address(result.data())};
  ASSERT_EQ(kernel->enqueue(operands, 0, nullptr), "") << library.refusal;
  for (const Bf16 value : result)
    EXPECT_EQ(static_cast<float>(value), 0x1p-115f);
}

// Algorithms for products with factors are chosen and stored separately from
// others.
TEST_F(CudaMatmul, FactorsAreKnownBeforeAnAlgorithmIs) {
  library.algorithms = {{10}, {7}};
  const KernelDesc desc =
      fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, MPC_DTYPE_BF16);
  std::string error;
  for (const KernelDesc& each : {desc, unscaled(desc)}) {
    const auto made = [&](const CudaContext& device) {
      const auto kernel = make_cuda_kernel(each, device, &error);
      return kernel ? kernel->implementation() : error + library.refusal;
    };
    const size_t heuristics = library.heuristics;
    EXPECT_EQ(made(context()), "cublasLt:algo 1, 7.0 us, fastest of 2");
    EXPECT_EQ(made(context()),
              "cublasLt:algo 1, the fastest of an earlier trial");
    EXPECT_EQ(library.heuristics, heuristics + 1);
    CudaContext fixed = context();
    fixed.deterministic = true;
    EXPECT_EQ(made(fixed),
              "cublasLt:algo 0, first of the heuristic, for the same bits in "
              "every run");
  }
}

// Errors that only the library can detect.
TEST_F(CudaMatmul, SaysThatFactorsAreRefused) {
  std::string error;
  const KernelDesc desc =
      fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, MPC_DTYPE_BF16);
  library.failing = "A_SCALE_POINTER";
  EXPECT_FALSE(make_cuda_kernel(desc, context(), &error));
  EXPECT_EQ(error,
            "scaled_matmul: cublasLtMatmulDescSetAttribute: "
            "CUBLAS_STATUS_NOT_SUPPORTED");
  const auto kernel = make_cuda_kernel(desc, context(), &error);
  ASSERT_TRUE(kernel) << error;
  library.failing = "B_SCALE_POINTER";
  const cuda::CUdeviceptr operands[5] = {64, 64, 64, 64, 64};
  EXPECT_EQ(kernel->enqueue(operands, 0, nullptr),
            "cublasLtMatmulDescSetAttribute: CUBLAS_STATUS_NOT_SUPPORTED");
}

// Forward products have E4M3 operands on both sides; gradients are E5M2. Long
// sums would lose too much.
TEST_F(CudaMatmul, OnlyShortForwardProductsOfFp8AccumulateFast) {
  const auto is_fast = [&](const KernelDesc& desc) {
    std::string error;
    EXPECT_TRUE(make_cuda_kernel(desc, context(), &error)) << error;
    return library.last_is_fast;
  };
  for (const mpc_dtype_t result : {MPC_DTYPE_BF16, MPC_DTYPE_F32}) {
    EXPECT_TRUE(is_fast(fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, result)));
    EXPECT_TRUE(
        is_fast(fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, result, 1024)));
    EXPECT_FALSE(
        is_fast(fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, result, 1040)));
    EXPECT_FALSE(is_fast(fp8_desc(MPC_DTYPE_F8E5M2, MPC_DTYPE_F8E4M3, result)));
    EXPECT_FALSE(is_fast(fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E5M2, result)));
  }
  for (const Types types : kCudaTypes)
    EXPECT_FALSE(
        is_fast(matmul_desc({{3, 5}, {5, 7}, {3, 7}}, false, false, types)));
}

TEST_F(CudaMatmul, RoundsToTf32WhereTheCallSaysSo) {
  // TF32 cannot hold 1 + 2^-11: its last bit is 2^-10, and ties go to
  // even.
  std::vector<float> lhs(16, 1 + 0x1p-11f), rhs(16, 1), result(16);
  const cuda::CUdeviceptr operands[] = {
      reinterpret_cast<cuda::CUdeviceptr>(lhs.data()),
      reinterpret_cast<cuda::CUdeviceptr>(rhs.data()),
      reinterpret_cast<cuda::CUdeviceptr>(result.data())};
  KernelDesc desc = {KernelId::matmul,
                     {{MPC_DTYPE_F32, {4, 4}},
                      {MPC_DTYPE_F32, {4, 4}},
                      {MPC_DTYPE_F32, {4, 4}}},
                     {0, 0}};
  const auto product = [&] {
    std::string error;
    const auto kernel = make_cuda_kernel(desc, context(), &error);
    if (!kernel) return -1.0f;
    EXPECT_EQ(kernel->enqueue(operands, 0, nullptr), "") << library.refusal;
    return result[0];
  };
  EXPECT_EQ(product(), 4 + 0x1p-9f);
  desc.attributes = {0, 0, 0};
  EXPECT_EQ(product(), 4 + 0x1p-9f);
  // Stored results of trials distinguish the two.
  desc.attributes = {0, 0, 1};
  const size_t heuristics = library.heuristics;
  EXPECT_EQ(product(), 4);
  EXPECT_EQ(library.heuristics, heuristics + 1);
}

}  // namespace
}  // namespace mpc::test
