// Matrix products on a real device compared with the reference.

#include <gtest/gtest.h>

#include <cstring>

#include "test/cuda/device/device.h"

namespace mpc::test {
namespace {

void expect_matmuls(const MatmulCase& c, const CudaContext& context) {
  for (int flags = 0; flags < 4; ++flags)
    for (const Types t : types()) {
      const KernelDesc desc = matmul_desc(c, flags & 1, flags & 2, t);
      const int terms = static_cast<int>(c.lhs.back());
      const auto kernel = must_make(desc, context);
      ASSERT_TRUE(kernel);
      expect_kernel_close(desc, *kernel, terms);
      if (!has_sums(t)) continue;
      const auto adding = must_make(added(desc), context);
      ASSERT_TRUE(adding);
      expect_kernel_close(added(desc), *adding, terms + 1);
    }
}

// Each case is a separate test, so that one that crashes or hangs is identified
// and does not affect the others.
class DeviceMatmul : public ::testing::TestWithParam<size_t> {
 protected:
  static std::vector<MatmulCase> cases() {
    return all_of<MatmulCase>({kMatmuls, kLargeMatmuls, kDeviceMatmuls});
  }
};

TEST_P(DeviceMatmul, Timed) {
  MPC_NEEDS_CUBLASLT();
  expect_matmuls(cases()[GetParam()], device().context);
}

TEST_P(DeviceMatmul, Deterministic) {
  MPC_NEEDS_CUBLASLT();
  expect_matmuls(cases()[GetParam()], untimed());
}

INSTANTIATE_TEST_SUITE_P(Cases, DeviceMatmul,
                         ::testing::Range(size_t{0}, kMatmuls.size() +
                                                         kLargeMatmuls.size() +
                                                         kDeviceMatmuls.size()),
                         number_of);

// Cycles through 1, 2 and 0.5, whose sums are exact.
struct Fp8Values {
  Fp8Values(mpc_dtype_t dtype, int64_t count) : codes(count), values(count) {
    for (size_t i = 0; i < codes.size(); ++i) {
      const size_t k = (i + i / 5) % 3;
      codes[i] = static_cast<unsigned char>(
          dtype == MPC_DTYPE_F8E5M2 ? 0x38 + 4 * k : 0x30 + 8 * k);
      values[i] = k == 0 ? 0.5f : static_cast<float>(k);
    }
  }
  std::vector<unsigned char> codes;
  std::vector<float> values;
};

// An FP8 product [m, k] x [n, k]', as in forward and backward passes, or
// without factors, as earlier compilers wrote it.
void expect_fp8(mpc_dtype_t lhs, mpc_dtype_t rhs, mpc_dtype_t result, int64_t m,
                int64_t k, int64_t n, bool scaled, const CudaContext& context) {
  KernelDesc desc = {KernelId::matmul,
                     {{lhs, {m, k}}, {rhs, {n, k}}, {result, {m, n}}},
                     {0, 1}};
  if (scaled) {
    desc.id = KernelId::scaled_matmul;
    desc.operands.insert(desc.operands.begin() + 2, 2, {MPC_DTYPE_F32, {}});
  }
  SCOPED_TRACE(describe(desc, {1, context.deterministic}));
  const auto kernel = must_make(desc, context);
  ASSERT_TRUE(kernel);
  const Fp8Values a(lhs, m * k), b(rhs, n * k);
  std::vector<Buffer> operands = make_operands(desc, {});
  std::memcpy(operands[0].data(), a.codes.data(), a.codes.size());
  std::memcpy(operands[1].data(), b.codes.data(), b.codes.size());
  // Factors that must be applied before the result is rounded.
  const float factors[] = {0x1p-60f, 0x1p-50f};
  const double scale = scaled ? 0x1p-110 : 1;
  for (size_t i = 0; scaled && i < 2; ++i)
    std::memcpy(operands[2 + i].data(), &factors[i], sizeof factors[i]);
  run(*kernel, operands);
  const std::vector<double> found =
      values_of(desc.operands.back(), operands.back());
  // Fast accumulation keeps 14 bits; bf16 has 8.
  const double near = result == MPC_DTYPE_BF16 ? 0x1p-8 : 0x1p-11;
  for (int64_t row = 0; row < m; ++row)
    for (int64_t column = 0; column < n; ++column) {
      double sum = 0;
      for (int64_t i = 0; i < k; ++i)
        sum += a.values[static_cast<size_t>(row * k + i)] *
               b.values[static_cast<size_t>(column * k + i)];
      sum *= scale;
      ASSERT_NEAR(found[static_cast<size_t>(row * n + column)], sum, near * sum)
          << row << ", " << column;
    }
}

TEST(Device, Fp8Matmul) {
  MPC_NEEDS_CUBLASLT();
  if (device().context.compute_capability < 89)
    GTEST_SKIP() << "FP8 needs compute capability 8.9";
  for (const CudaContext& context : {untimed(), device().context})
    for (mpc_dtype_t lhs : {MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E5M2})
      for (mpc_dtype_t rhs : {MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E5M2})
        for (mpc_dtype_t result : {MPC_DTYPE_BF16, MPC_DTYPE_F32}) {
          if (lhs == MPC_DTYPE_F8E5M2 && rhs == MPC_DTYPE_F8E5M2) continue;
          for (const bool scaled : {false, true}) {
            expect_fp8(lhs, rhs, result, 6, 32, 16, scaled, context);
            expect_fp8(lhs, rhs, result, 96, 768, 256, scaled, context);
            expect_fp8(lhs, rhs, result, 1, 4096, 16, scaled, context);
          }
        }
}

TEST(Device, MatmulIsRememberedInAFile) {
  MPC_NEEDS_CUBLASLT();
  const KernelDesc desc =
      matmul_desc(kDeviceMatmuls[2], false, true, types()[1]);
  EXPECT_TRUE(make_again(desc));
}

}  // namespace
}  // namespace mpc::test
