// Attention and its gradient: the CPU kernel and the reference compared with
// f64, the same bits for any number of threads, and damaged descriptions.

#include "test/kernels/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

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
        const KernelDesc desc = attention_desc(id, c, dtype, result);
        const AttentionExpectation expectation(desc);
        for (const Context& context : contexts) {
          SCOPED_TRACE(describe(desc, context));
          if (const auto kernel = must_make(desc, context))
            expectation.check(*kernel);
        }
      }
}

TEST(Attention, StaysWithinTheBound) {
  expect_on_cpu(kAttentions, {{1, false}, {2, false}, {3, true}});
}

TEST(Attention, StaysWithinTheBoundInStrips) {
  expect_on_cpu(kLargeAttentions, {{2, false}});
}

TEST(Attention, StaysWithinTheBoundWithBiases) {
  expect_on_cpu(kBiasedAttentions, {{1, false}, {3, true}});
  expect_on_cpu(kLargeBiasedAttentions, {{2, false}});
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
  expect_on_reference(as_bshd(kAttentions));
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

std::vector<Buffer> run_on(const KernelDesc& desc, const Context& context,
                           const std::vector<std::vector<double>>& inputs) {
  std::vector<Buffer> operands = make_operands(desc, inputs);
  if (const auto kernel = must_make(desc, context)) run(*kernel, operands);
  return operands;
}

// Results do not depend on the number of threads even without deterministic
// mode.
void expect_same_bits(const std::vector<AttentionCase>& cases) {
  for (const AttentionCase& c : cases)
    for (KernelId id : attention_ids(c))
      for (const auto& [dtype, result] : kTypes) {
        if (dtype == f64) continue;
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

// Expects both makers to reject the description with this text.
void expect_refused(const KernelDesc& desc, const std::string& text) {
  std::string error;
  EXPECT_FALSE(make_cpu_kernel(desc, {2, false}, &error));
  EXPECT_EQ(error, text);
  error.clear();
  EXPECT_FALSE(make_reference_kernel(desc, &error));
  EXPECT_EQ(error, text);
}

TEST(Attention, RefusesWhatIsWrong) {
  const AttentionCase c{2, 6, 2, 5, 7, 4, 3, false};
  const auto forward = [&] {
    return attention_desc(KernelId::attention, c, f32, f32);
  };
  const auto backward = [&] {
    return attention_desc(KernelId::attention_grad, c, bf16, bf16);
  };
  KernelDesc desc = forward();
  desc.attributes.pop_back();
  expect_refused(desc, "attention: needs 2 attributes, found 1");
  desc = forward();
  desc.attributes[0] = 2;
  expect_refused(desc, "attention: causal must be in 0..1, found 2");
  desc = forward();
  desc.attributes[1] = int64_t{1} << 32;
  expect_refused(desc,
                 "attention: scale must be in 0..4294967295, found 4294967296");
  desc = forward();
  desc.attributes[1] = float_bits(std::numeric_limits<float>::infinity());
  expect_refused(desc, "attention: scale must be finite, found inf");
  desc = forward();
  desc.operands[1].dtype = bf16;
  expect_refused(desc, "attention: operand 1 must be f32, found bf16");
  desc = forward();
  desc.operands[4].dtype = bf16;
  expect_refused(desc, "attention: operand 4 must be f32, found bf16");
  desc = backward();
  desc.operands[7].dtype = f16;
  expect_refused(desc,
                 "attention_grad: operand 7 must be bf16 or f32, found f16");
  desc = forward();
  desc.operands[2].shape = {2, 7, 3};
  expect_refused(desc, "attention: operand 2 must have rank 4, found 3");
  desc = forward();
  desc.operands[1].shape = {2, 4, 7, 4};
  expect_refused(desc,
                 "attention: a query of [2, 6, 5, 4] has no keys of "
                 "[2, 4, 7, 4] and values of [2, 2, 7, 3]");
  desc = forward();
  desc.operands[3].shape = {2, 6, 5, 4};
  expect_refused(desc,
                 "attention: operand 3 must have shape [2, 6, 5, 3], found "
                 "[2, 6, 5, 4]");
  desc = backward();
  desc.operands[5].shape = {2, 2, 6, 4};
  expect_refused(desc,
                 "attention_grad: operand 5 must have shape [2, 2, 6, 5], "
                 "found [2, 2, 6, 4]");
  desc = backward();
  desc.operands[8].shape = {2, 2, 7, 4};
  expect_refused(desc,
                 "attention_grad: operand 8 must have shape [2, 2, 7, 3], "
                 "found [2, 2, 7, 4]");
}

TEST(Attention, RefusesWrongShapesOfBshd) {
  AttentionCase c{2, 6, 2, 5, 7, 4, 3, false};
  c.bshd = true;
  const KernelId ids[] = {KernelId::attention_bshd,
                          KernelId::attention_grad_bshd};
  KernelDesc desc = attention_desc(ids[0], c, f32, f32);
  desc.operands[1].shape = {2, 7, 4, 4};
  expect_refused(desc,
                 "attention_bshd: a query of [2, 5, 6, 4] has no keys of "
                 "[2, 7, 4, 4] and values of [2, 7, 2, 3]");
  desc = attention_desc(ids[0], c, f32, f32);
  desc.operands[3].shape = {2, 6, 5, 3};
  expect_refused(desc,
                 "attention_bshd: operand 3 must have shape [2, 5, 6, 3], "
                 "found [2, 6, 5, 3]");
  desc = attention_desc(ids[1], c, f32, f32);
  desc.operands[8].shape = {2, 2, 7, 3};
  expect_refused(desc,
                 "attention_grad_bshd: operand 8 must have shape [2, 7, 2, 3], "
                 "found [2, 2, 7, 3]");
}

TEST(Attention, CpusHaveNoBshd) {
  AttentionCase c{2, 6, 2, 5, 7, 4, 3, false};
  c.bshd = true;
  for (KernelId id : attention_ids(c)) {
    std::string error;
    EXPECT_FALSE(
        make_cpu_kernel(attention_desc(id, c, bf16, bf16), {2, false}, &error));
    EXPECT_NE(error.find("has no kernel for CPUs; compile the model for target "
                         "cpu"),
              std::string::npos)
        << error;
  }
}

TEST(Attention, RefusesWrongBiases) {
  AttentionCase c{2, 6, 2, 5, 7, 4, 3, false};
  c.biases = {{true, false, false}, {false, true, true}};
  const auto forward = [&] {
    return attention_desc(KernelId::twice_biased_attention, c, bf16, bf16);
  };
  KernelDesc desc = forward();
  desc.operands[4].dtype = bf16;
  expect_refused(desc,
                 "twice_biased_attention: operand 4 must be f32, found bf16");
  desc = forward();
  desc.operands[3].shape = {2, 1, 1};
  expect_refused(desc,
                 "twice_biased_attention: operand 3 must have rank 4, found 3");
  for (const std::vector<int64_t>& shape : {std::vector<int64_t>{3, 1, 1, 7},
                                            {1, 2, 1, 7},
                                            {1, 1, 4, 7},
                                            {1, 1, 5, 1}}) {
    desc = forward();
    desc.operands[4].shape = shape;
    std::string error;
    EXPECT_FALSE(make_cpu_kernel(desc, {2, false}, &error));
    EXPECT_NE(error.find("does not broadcast to scores of [2, 6, 5, 7]"),
              std::string::npos)
        << error;
  }
  desc = attention_desc(
      KernelId::biased_attention_grad_all,
      {2, 6, 2, 5, 7, 4, 3, false, 0.25f, {{false, true, true}}}, f32, f32);
  desc.operands[10].shape = {1, 1, 5, 7};
  expect_refused(desc,
                 "biased_attention_grad_all: operand 10 must have shape [1, 6, "
                 "5, 7], found [1, 1, 5, 7]");
}

}  // namespace
}  // namespace mpc::kernels::testing
