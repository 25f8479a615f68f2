// Attention and its gradient: the CPU kernel and the reference compared with
// f64, and the same bits for any number of threads.

#include "test/kernels/attention.h"

#include <gtest/gtest.h>

#include <cmath>

#include "kernels/dropout.h"
#include "kernels/float_types.h"

namespace mpc::kernels::testing {
namespace {

constexpr mpc_dtype_t f16 = MPC_DTYPE_F16, f32 = MPC_DTYPE_F32,
                      bf16 = MPC_DTYPE_BF16, f64 = MPC_DTYPE_F64;
using Types = std::pair<mpc_dtype_t, mpc_dtype_t>;

constexpr Types kTypes[] = {{f32, f32},  {f64, f64}, {bf16, bf16},
                            {bf16, f32}, {f16, f16}, {f16, f32}};

void expect_on_cpu(const std::vector<AttentionCase>& cases,
                   const std::vector<Context>& contexts) {
  for (const AttentionCase& c : cases)
    for (KernelId id : attention_ids(c))
      for (const auto& [dtype, result] : kTypes) {
        if (c.packed && dtype != f32 && dtype != f64) continue;
        const KernelDesc desc = attention_desc(id, c, dtype, result);
        const AttentionExpectation expectation(desc);
        for (const Context& context : contexts) {
          SCOPED_TRACE(describe(desc, context));
          if (const auto kernel = must_make(desc, context))
            expectation.check(*kernel);
        }
      }
}

std::vector<Buffer> run_on(const KernelDesc& desc, const Context& context,
                           const std::vector<std::vector<double>>& inputs) {
  std::vector<Buffer> operands = make_operands(desc, inputs);
  if (const auto kernel = must_make(desc, context)) run(*kernel, operands);
  return operands;
}

TEST(Attention, StaysWithinTheBound) {
  expect_on_cpu(kAttentions, {{1, false}, {2, false}, {3, true}});
}

TEST(Attention, StaysWithinTheBoundInStrips) {
  expect_on_cpu(kLargeAttentions, {{2, false}});
}

TEST(Attention, StaysWithinTheBoundIfPacked) {
  expect_on_cpu(as_packed(kAttentions), {{1, false}, {3, true}});
  expect_on_cpu(as_packed(kLargeAttentions), {{2, false}});
}

TEST(Attention, StaysWithinTheBoundWithBiases) {
  expect_on_cpu(kBiasedAttentions, {{1, false}, {3, true}});
  expect_on_cpu(kLargeBiasedAttentions, {{2, false}});
}

TEST(Attention, StaysWithinTheBoundWithDropout) {
  expect_on_cpu(with_dropout(kAttentions), {{1, false}, {3, true}});
  expect_on_cpu(with_dropout(kBiasedAttentions), {{2, false}});
  expect_on_cpu(with_dropout(kLargeAttentions), {{2, false}});
}

TEST(Attention, StaysWithinTheBoundWithSoftcap) {
  expect_on_cpu(with_softcap(kAttentions), {{1, false}, {3, true}});
  expect_on_cpu(with_softcap(with_dropout(kBiasedAttentions)), {{2, false}});
  expect_on_cpu(with_softcap({kLargeBiasedAttentions[0]}), {{2, false}});
}

TEST(Attention, StaysWithinTheBoundWithReplacedScores) {
  expect_on_cpu(with_replacing(kBiasedAttentions), {{1, false}, {3, true}});
  expect_on_cpu(with_replacing(with_softcap(with_dropout(kBiasedAttentions))),
                {{2, false}});
  std::vector<AttentionCase> first = with_replacing({kBiasedAttentions[6]});
  first[0].replacing = 0;
  expect_on_cpu(first, {{2, false}});
}

// Scores of 1e4 and more are at the cap, and have no gradient.
TEST(Attention, SoftcapSaturates) {
  AttentionCase c{1, 1, 1, 2, 3, 1, 3, false, 1.0f};
  c.softcap = 2;
  const std::vector<double> query = {1e4, -1e30}, key = {1, -1, 3},
                            unit = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  const double high = std::exp(2), low = std::exp(-2);
  const std::vector<double> wanted = {
      high / (2 * high + low), low / (2 * high + low),  high / (2 * high + low),
      low / (high + 2 * low),  high / (high + 2 * low), low / (high + 2 * low)};
  const KernelDesc forward = attention_desc(KernelId::attention, c, f32, f32);
  const std::vector<Buffer> made =
      run_on(forward, {1, false}, {query, key, unit});
  const std::vector<double> result = values_of(forward.operands[3], made[3]);
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(result[i], wanted[i], 1e-6) << i;
  const KernelDesc backward =
      attention_desc(KernelId::attention_grad, c, f32, f32);
  const std::vector<Buffer> grads =
      run_on(backward, {1, false},
             {{1, 2, 3, 4, 5, 6},
              query,
              key,
              unit,
              result,
              values_of(forward.operands[4], made[4])});
  EXPECT_EQ(values_of(backward.operands[6], grads[6]),
            (std::vector<double>{0, 0}));
  EXPECT_EQ(values_of(backward.operands[7], grads[7]),
            (std::vector<double>{0, 0, 0}));
}

void expect_on_reference(const std::vector<AttentionCase>& cases) {
  for (const AttentionCase& c : cases)
    for (KernelId id : attention_ids(c))
      for (const auto& [dtype, result] :
           {Types{f32, f32}, Types{f16, f16}, Types{f16, f32},
            Types{bf16, bf16}, Types{bf16, f32}}) {
        const KernelDesc desc = attention_desc(id, c, dtype, result);
        SCOPED_TRACE(describe(desc, {1, false}));
        std::string error;
        const auto kernel = make_reference_kernel(desc, &error);
        ASSERT_TRUE(kernel) << error;
        AttentionExpectation(desc).check(*kernel);
      }
}

TEST(Attention, ReferenceStaysWithinTheBound) {
  expect_on_reference(kAttentions);
  expect_on_reference(kBiasedAttentions);
  expect_on_reference(in_other_layouts(kAttentions));
  expect_on_reference(with_dropout(kAttentions));
  expect_on_reference(with_dropout(kBiasedAttentions));
  expect_on_reference(with_softcap(kAttentions));
  expect_on_reference(with_replacing(with_softcap(kBiasedAttentions)));
}

// Each gradient may have its own type.
TEST(Attention, ResultsMayDifferInType) {
  for (mpc_dtype_t dtype : {bf16, f16})
    for (size_t wide : {6, 7, 8}) {
      KernelDesc desc = attention_desc(KernelId::attention_grad, kAttentions[6],
                                       dtype, dtype);
      desc.operands[wide].dtype = f32;
      SCOPED_TRACE(describe(desc, {2, false}));
      if (const auto kernel = must_make(desc, {2, false}))
        AttentionExpectation(desc).check(*kernel);
    }
}

// Results do not depend on the number of threads even without deterministic
// mode.
void expect_same_bits(const std::vector<AttentionCase>& cases) {
  for (const AttentionCase& c : cases)
    for (KernelId id : attention_ids(c))
      for (const auto& [dtype, result] : kTypes) {
        if (dtype == f64 || (c.packed && dtype != f32)) continue;
        const KernelDesc desc = attention_desc(id, c, dtype, result);
        const auto inputs = AttentionExpectation(desc).inputs();
        const std::vector<Buffer> one = run_on(desc, {1, true}, inputs);
        for (const Context context :
             {Context{2, true}, Context{4, false}, Context{7, true}}) {
          SCOPED_TRACE(describe(desc, context));
          const std::vector<Buffer> more = run_on(desc, context, inputs);
          for (size_t i = 0; i < one.size(); ++i)
            EXPECT_TRUE(one[i] == more[i]) << "operand " << i;
        }
      }
}

TEST(Attention, AnyNumberOfThreadsGivesTheSameBits) {
  expect_same_bits(kLargeAttentions);
  expect_same_bits(kBiasedAttentions);
  expect_same_bits(kLargeBiasedAttentions);
  expect_same_bits(as_packed({{1, 4, 4, 200, 200, 64, 64, true}}));
  expect_same_bits(with_dropout(kBiasedAttentions));
  expect_same_bits(with_replacing(with_softcap(kBiasedAttentions)));
}

// The known answers of Random123, and the first number of SplitMix64.
TEST(Attention, DropoutTakesTheBitsOfPhilox) {
  EXPECT_TRUE((Dropout{0, 0, 0xff1dae59u, 1}.keeps(0)));
  EXPECT_FALSE((Dropout{0, 0, 0xff1dae5au, 1}.keeps(0)));
  EXPECT_TRUE((Dropout{~0u, ~0u, 0x2c3f628bu, 1}.keeps(~0u)));
  EXPECT_FALSE((Dropout{~0u, ~0u, 0x2c3f628cu, 1}.keeps(~0u)));
  EXPECT_EQ(split_mix(0), 0xe220a8397b1dcdafu);
}

// Probabilities are equal and the values a unit matrix, so the result is the
// dropout of equal numbers.
TEST(Attention, DropsTheElementsThatAreDocumented) {
  constexpr int64_t kCount = 24;
  AttentionCase c{1, 1, 1, kCount, kCount, 1, kCount, false, 1.0f};
  c.dropout = 0.25f;
  std::vector<double> unit(kCount * kCount);
  for (size_t i = 0; i < kCount; ++i) unit[i * kCount + i] = 1;
  const KernelDesc desc =
      attention_desc(KernelId::attention_dropout, c, f32, f32);
  const std::vector<double> zeros(kCount);
  const std::vector<Buffer> operands =
      run_on(desc, {1, false}, {zeros, zeros, unit, {11}, {3}});
  const std::vector<double> result = values_of(desc.operands[5], operands[5]);
  const Dropout dropout = Dropout::of(0.25f, 5, 11, 3);
  int64_t kept = 0;
  for (uint32_t i = 0; i < result.size(); ++i) {
    const bool keeps = dropout.keeps(i);
    EXPECT_NEAR(result[i], keeps ? 1 / (0.75 * kCount) : 0, 1e-7) << i;
    kept += keeps;
  }
  // 432 of 576 are expected, with a standard deviation of 10.4.
  EXPECT_NEAR(static_cast<double>(kept), 432, 40);
}

// Scores far apart, equal, and NaN. The first probability is 1 if the
// exponentials of the others vanish; a NaN makes its whole row NaN, and no
// other row.
TEST(Attention, DifficultScores) {
  const AttentionCase c{1, 1, 1, 4, 40, 1, 2, false, 1.0f};
  std::vector<double> query = {1000, 0, -87, std::nan("")};
  std::vector<double> key(40, 0.0), value(80);
  key[0] = 1;
  for (size_t i = 0; i < value.size(); ++i) value[i] = static_cast<double>(i);
  const KernelDesc desc = attention_desc(KernelId::attention, c, f32, f32);
  const std::vector<Buffer> operands =
      run_on(desc, {2, false}, {query, key, value});
  const std::vector<double> result = values_of(desc.operands[3], operands[3]);
  const std::vector<double> sums = values_of(desc.operands[4], operands[4]);
  EXPECT_EQ(result[0], 0);
  EXPECT_EQ(result[1], 1);
  EXPECT_EQ(sums[0], 1000);
  EXPECT_NEAR(result[2], 39, 1e-4);  // The mean of 0, 2 .. 78.
  EXPECT_NEAR(sums[1], std::log(40.0), 1e-6);
  EXPECT_NEAR(result[4], 40, 1e-4);  // All except the first.
  EXPECT_TRUE(std::isnan(result[6]));
  EXPECT_TRUE(std::isnan(sums[3]));
}

// One key gets probability 1; with a second key at a distance, the result is a
// single exponential.
TEST(Attention, ExponentialIsGoodToTwoUnits) {
  const int64_t count = 4096;
  const AttentionCase c{1, 1, 1, count, 2, 1, 1, false, 1.0f};
  std::vector<double> query;
  for (int64_t i = 0; i < count; ++i)
    query.push_back(static_cast<float>(-90.0 * static_cast<double>(i) / count));
  const KernelDesc desc = attention_desc(KernelId::attention_grad, c, f32, f32);
  const auto zeros = [](int64_t n) {
    return std::vector<double>(static_cast<size_t>(n));
  };
  // The gradient of the query is p * 1, because the sum is given as 1.
  const std::vector<Buffer> operands =
      run_on(desc, {1, false},
             {std::vector<double>(static_cast<size_t>(count), 1.0),
              query,
              {1, 0},
              {1, 0},
              zeros(count),
              zeros(2 * count)});
  const std::vector<double> found = values_of(desc.operands[6], operands[6]);
  for (size_t i = 0; i < found.size(); ++i) {
    const double exact = query[i] < -87.3f ? 0 : std::exp(query[i]);
    EXPECT_NEAR(found[i], exact, 2 * 0x1p-23 * exact) << "of " << query[i];
  }
}

void on_cpu_and_reference(void (*expect)(mpc_dtype_t, const MakeKernel&)) {
  // In f64 the products of the masked rows do not overflow.
  const bool all = expect == expect_exact_for_large_scores;
  for (const auto& [dtype, result] : kTypes)
    if (dtype == result && (all || (dtype != f64 && dtype != f16)))
      expect(dtype, [](const KernelDesc& desc) {
        return must_make(desc, {1, false});
      });
  for (const mpc_dtype_t dtype : {f32, bf16, f16}) {
    if (!all && dtype == f16) continue;  // f16 cannot hold them.
    expect(dtype, [](const KernelDesc& desc) {
      std::string error;
      auto kernel = make_reference_kernel(desc, &error);
      EXPECT_TRUE(kernel) << error;
      return kernel;
    });
  }
}

TEST(Attention, IsExactForLargeScores) {
  on_cpu_and_reference(expect_exact_for_large_scores);
}

TEST(Attention, EmptyRowsGiveZeros) {
  on_cpu_and_reference(expect_zeros_for_empty_rows);
}

TEST(Attention, HidesKeys) { on_cpu_and_reference(expect_hidden_keys); }

}  // namespace
}  // namespace mpc::kernels::testing
