// The kernels `observe` and `rounding` compared with simple counting and with
// the rounding functions of the types.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/float_types.h"
#include "kernels/observation.h"
#include "test/kernels/harness.h"

namespace mpc::kernels::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr mpc_dtype_t kFloats[] = {MPC_DTYPE_F32, MPC_DTYPE_F64, MPC_DTYPE_F16,
                                   MPC_DTYPE_BF16};

KernelDesc observe_desc(mpc_dtype_t dtype, int64_t count) {
  return {KernelId::observe,
          {{dtype, {count}}, {MPC_DTYPE_F64, {kObservationWidth}}},
          {}};
}

KernelDesc rounding_desc(mpc_dtype_t dtype, int64_t count) {
  return {
      KernelId::rounding,
      {{dtype, {count}}, {dtype, {count}}, {MPC_DTYPE_F64, {kRoundingWidth}}},
      {}};
}

std::vector<double> result_of(const KernelDesc& desc,
                              const std::vector<std::vector<double>>& inputs,
                              int threads) {
  std::string error;
  const auto kernel = threads > 0
                          ? make_cpu_kernel(desc, {threads, false}, &error)
                          : make_reference_kernel(desc, &error);
  EXPECT_TRUE(kernel) << error;
  const std::vector<Buffer> operands = make_operands(desc, inputs);
  run(*kernel, operands);
  return values_of(desc.operands.back(), operands.back());
}

TEST(ObserveKernel, CountsAllClassesOfValues) {
  const KernelDesc desc = observe_desc(MPC_DTYPE_F32, 10);
  const std::vector<double> row = result_of(
      desc, {{0, 1, -1.5, 0.25, kInf, -0.0, kNan, -kInf, 3, 1e-30}}, 1);
  std::vector<double> expected(kObservationWidth, 0.0);
  expected[kNans] = 1;
  expected[kInfinities] = 2;
  expected[kZeros] = 2;
  expected[kFirstNonFinite] = 4;
  expected[kLargest] = 3;
  expected[kSmallest] = static_cast<double>(1e-30f);
  expected[kExponents + 44] = 2;      // 1, -1.5
  expected[kExponents + 44 - 2] = 1;  // 0.25
  expected[kExponents + 44 + 1] = 1;  // 3
  expected[kExponents] = 1;           // 1e-30
  EXPECT_EQ(row, expected);
}

TEST(ObserveKernel, ExponentsBeyondTheEndsAreCountedThere) {
  for (mpc_dtype_t dtype : {MPC_DTYPE_F32, MPC_DTYPE_F64, MPC_DTYPE_BF16}) {
    const std::vector<double> row = result_of(
        observe_desc(dtype, 6),
        {{0x1p-44, 0x1p-45, 0x1p-120, 0x1.5p19, 0x1p20, -0x1p100}}, 1);
    EXPECT_EQ(row[kExponents], 3);
    EXPECT_EQ(row[kExponents + kExponentCount - 1], 3);
    EXPECT_EQ(row[kFirstNonFinite], -1);
  }
}

TEST(ObserveKernel, IsTheReferenceForAnyNumberOfThreads) {
  for (mpc_dtype_t dtype : kFloats) {
    std::vector<double> values = uniform(1, 200001);
    values[77777] = values[150000] = kNan;
    values[77776] = kInf;
    const KernelDesc desc = observe_desc(dtype, 200001);
    const std::vector<double> expected = result_of(desc, {values}, 0);
    EXPECT_EQ(expected[kNans], 2);
    EXPECT_EQ(expected[kFirstNonFinite], 77776);
    double all = expected[kNans] + expected[kInfinities] + expected[kZeros];
    for (int i = 0; i < kExponentCount; ++i) all += expected[kExponents + i];
    EXPECT_EQ(all, 200001);
    for (int threads : {1, 2, 3, 7})
      EXPECT_EQ(result_of(desc, {values}, threads), expected);
  }
}

// All 16-bit numbers and the midpoints between them, which round to even.
TEST(RoundingKernel, RoundsAsTheTypesDo) {
  for (int bits = 0; bits < 1 << 16; ++bits) {
    Bf16 wide;
    wide.bits = static_cast<uint16_t>(bits);
    const float value = wide;
    if (!std::isfinite(value) || std::fabs(value) < 0x1p-100f) continue;
    for (uint32_t tail : {0u, 0x7fffu, 0x8000u, 0x8001u}) {
      const float x = bits_float(float_bits(value) | tail);
      RoundingSums sums;
      sums.add(x, 1);
      const float bf16 = Bf16(x), f16 = F16(x);
      if (std::isfinite(bf16)) {
        ASSERT_EQ(sums.sums[0], static_cast<double>(bf16) - x) << x;
      }
      if (std::isfinite(f16)) {
        ASSERT_EQ(sums.sums[1], static_cast<double>(f16) - x) << x;
      }
    }
  }
}

// By definition: the nearest of its 127 non-negative numbers, ties to even.
TEST(RoundingKernel, RoundsToE4m3) {
  std::vector<float> numbers;
  for (int bits = 0; bits < 127; ++bits) {
    const int exponent = bits >> 3, fraction = bits & 7;
    numbers.push_back(exponent == 0
                          ? std::ldexp(static_cast<float>(fraction), -9)
                          : std::ldexp(8.0f + fraction, exponent - 10));
  }
  EXPECT_EQ(numbers.back(), 448.0f);
  auto expect = [&](float x, float nearest) {
    RoundingSums sums;
    sums.add(x, -2);
    EXPECT_EQ(sums.sums[2], -2 * (static_cast<double>(nearest) - x)) << x;
    RoundingSums negative;
    negative.add(-x, -2);
    EXPECT_EQ(negative.sums[2], -sums.sums[2]) << x;
  };
  for (size_t i = 0; i + 1 < numbers.size(); ++i) {
    const float middle = (numbers[i] + numbers[i + 1]) / 2;
    expect(numbers[i], numbers[i]);
    expect(std::nextafter(middle, 0.0f), numbers[i]);
    expect(middle, numbers[i % 2 == 0 ? i : i + 1]);
    expect(std::nextafter(middle, 1e9f), numbers[i + 1]);
  }
  expect(1e9f, 448.0f);
}

TEST(RoundingKernel, LeavesOutWhatIsNotFinite) {
  const KernelDesc desc = rounding_desc(MPC_DTYPE_F32, 4);
  const std::vector<double> sums =
      result_of(desc, {{kNan, 1.01, 1e30, 1.01}, {1, kInf, 0, 2}}, 1);
  const float x = 1.01f;
  EXPECT_EQ(sums[0], 2 * (static_cast<double>(Bf16(x)) - x));
  EXPECT_EQ(sums[1], 2 * (static_cast<double>(F16(x)) - x));
  EXPECT_EQ(sums[2], 2 * (1.0 - x));
  for (size_t i = 3; i < sums.size(); ++i) EXPECT_EQ(sums[i], 0);
}

TEST(RoundingKernel, HasTheSameBitsForAnyNumberOfThreads) {
  for (mpc_dtype_t dtype : kFloats) {
    const KernelDesc desc = rounding_desc(dtype, 300007);
    const std::vector<std::vector<double>> inputs = {uniform(1, 300007),
                                                     uniform(2, 300007)};
    const std::vector<double> expected = result_of(desc, inputs, 0);
    for (int threads : {1, 2, 5})
      EXPECT_EQ(result_of(desc, inputs, threads), expected);
  }
}

TEST(ObserveKernel, RefusesOtherShapes) {
  auto expect_refused = [](KernelDesc desc, const char* text) {
    std::string error;
    EXPECT_FALSE(make_cpu_kernel(desc, {1, false}, &error));
    EXPECT_EQ(error, text);
  };
  KernelDesc desc = observe_desc(MPC_DTYPE_F32, 4);
  desc.operands[1].shape = {8};
  expect_refused(desc, "observe: operand 1 must have shape [80], found [8]");
  desc = observe_desc(MPC_DTYPE_F32, 4);
  desc.operands[1].dtype = MPC_DTYPE_F32;
  expect_refused(desc, "observe: operand 1 must be f64, found f32");
  desc = observe_desc(MPC_DTYPE_I64, 4);
  expect_refused(desc, "observe: operand 0 must be a float, found i64");
  desc = rounding_desc(MPC_DTYPE_F32, 4);
  desc.operands[1].shape = {3};
  expect_refused(desc,
                 "rounding: operand 1 must be a float of shape [4], found f32 "
                 "of [3]");
  desc.attributes = {1};
  expect_refused(desc, "rounding: needs 0 attributes, found 1");
}

}  // namespace
}  // namespace mpc::kernels::testing
