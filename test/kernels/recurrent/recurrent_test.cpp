// Recurrent layers compared with the reference in f64.

#include <gtest/gtest.h>

#include <cmath>

#include "test/kernels/descriptions.h"
#include "test/kernels/harness.h"

namespace mpc::kernels::testing {
namespace {

constexpr KernelId kIds[] = {KernelId::lstm, KernelId::lstm_grad, KernelId::gru,
                             KernelId::gru_grad};
constexpr mpc_dtype_t kTypes[] = {MPC_DTYPE_F32, MPC_DTYPE_F64, MPC_DTYPE_BF16,
                                  MPC_DTYPE_F16};

// Sizes near those of groups, panels and blocks of rows.
const std::vector<RecurrentCase> kCases = {
    {1, 1, 1},  {2, 3, 5},    {4, 7, 16},  {3, 13, 33},
    {5, 2, 72}, {3, 100, 20}, {2, 250, 9},
};

// The operand with the weights.
size_t weights_of(const KernelDesc& desc) {
  return desc.id == KernelId::lstm_grad ? 2 : 1;
}

std::vector<double> representable(const TensorDesc& desc,
                                  const std::vector<double>& values) {
  return values_of(desc, make_tensor(desc, values));
}

// Uniform numbers; weights so small that errors do not grow from step to step.
// Saved values are those of a forward pass.
std::vector<std::vector<double>> inputs_of(const KernelDesc& desc,
                                           const RecurrentCase& c) {
  std::vector<std::vector<double>> inputs;
  for (size_t i = 0; i < input_count(desc); ++i) {
    inputs.push_back(
        uniform(static_cast<int>(i) + 1, element_count(desc.operands[i])));
    if (i == weights_of(desc))
      for (double& weight : inputs.back())
        weight /= static_cast<double>(c.hidden);
  }
  const bool is_lstm = desc.id == KernelId::lstm_grad;
  if (is_lstm || desc.id == KernelId::gru_grad) {
    const KernelDesc forward =
        recurrent_desc(is_lstm ? KernelId::lstm : KernelId::gru, c,
                       desc.attributes[0] != 0, MPC_DTYPE_F64);
    auto results = exact(forward, inputs_of(forward, c));
    if (!is_lstm) inputs[3] = results[0];
    inputs[4] = results[is_lstm ? 2 : 1];
    inputs[5] = results[is_lstm ? 3 : 2];
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = representable(desc.operands[i], inputs[i]);
  return inputs;
}

std::vector<Buffer> run_on(const KernelDesc& desc, const Kernel& kernel,
                           const RecurrentCase& c) {
  std::vector<Buffer> operands = make_operands(desc, inputs_of(desc, c));
  run(kernel, operands);
  return operands;
}

// Each step adds the errors of a sum of `hidden` terms (`4 hidden` for the
// gradient) whose magnitudes add up to a few, and those of the functions, at
// most 4 ulps each. Weights do not amplify the errors of earlier steps.
void expect_close(const KernelDesc& desc, const Kernel& kernel,
                  const RecurrentCase& c) {
  const std::vector<std::vector<double>> inputs = inputs_of(desc, c);
  const std::vector<std::vector<double>> expected = exact(desc, inputs);
  const std::vector<Buffer> operands = make_operands(desc, inputs);
  run(kernel, operands);
  const double sums = roundoff(desc.operands[0].dtype);
  for (size_t i = 0; i < expected.size(); ++i) {
    const size_t operand = inputs.size() + i;
    const std::vector<double> found =
        values_of(desc.operands[operand], operands[operand]);
    for (size_t j = 0; j < found.size(); ++j)
      ASSERT_NEAR(found[j], expected[i][j],
                  4 * sums * static_cast<double>(c.steps) *
                      static_cast<double>(4 * c.hidden + 16))
          << kernel.implementation() << " output " << i << " element " << j;
  }
}

template <typename F>
void for_calls(F&& body) {
  for (const RecurrentCase& c : kCases)
    for (KernelId id : kIds)
      for (bool reverse : {false, true})
        for (mpc_dtype_t dtype : kTypes)
          body(recurrent_desc(id, c, reverse, dtype), c);
}

TEST(Recurrent, StaysWithinTheBound) {
  for_calls([](const KernelDesc& desc, const RecurrentCase& c) {
    for (const Context context : {Context{1, false}, Context{3, true}}) {
      SCOPED_TRACE(describe(desc, context));
      if (const auto kernel = must_make(desc, context))
        expect_close(desc, *kernel, c);
    }
    std::string error;
    const auto reference = make_reference_kernel(desc, &error);
    ASSERT_TRUE(reference) << error;
    expect_close(desc, *reference, c);
  });
}

TEST(Recurrent, AnyNumberOfThreadsGivesTheSameBits) {
  for (const RecurrentCase& c :
       {RecurrentCase{3, 4, 150}, RecurrentCase{3, 61, 80},
        RecurrentCase{2, 30, 300}})
    for (KernelId id : kIds) {
      const KernelDesc desc = recurrent_desc(id, c, false, MPC_DTYPE_F32);
      const std::vector<Buffer> one =
          run_on(desc, *must_make(desc, {1, false}), c);
      for (int threads : {2, 3, 7}) {
        SCOPED_TRACE(describe(desc, {threads, false}));
        const std::vector<Buffer> found =
            run_on(desc, *must_make(desc, {threads, false}), c);
        for (size_t i = 0; i < found.size(); ++i)
          EXPECT_TRUE(found[i] == one[i]) << "operand " << i;
      }
    }
}

// Sigmoid and tanh, alone in the gates because there are no weights.
TEST(Recurrent, FunctionsAreExactToAFewUlps) {
  const RecurrentCase c = {1, 250, 16};
  const KernelDesc desc =
      recurrent_desc(KernelId::lstm, c, false, MPC_DTYPE_F32);
  std::vector<std::vector<double>> inputs = inputs_of(desc, c);
  for (std::vector<double>& input : inputs)
    std::fill(input.begin(), input.end(), 0.0);
  for (size_t i = 0; i < inputs[0].size(); ++i)
    inputs[0][i] =
        static_cast<float>(std::sinh(static_cast<double>(i) / 800 - 10) / 100);
  inputs[0][0] = inputs[0][48] = -INFINITY;
  inputs[0][1] = inputs[0][49] = INFINITY;
  const std::vector<Buffer> operands = make_operands(desc, inputs);
  run(*must_make(desc, {1, false}), operands);
  const std::vector<double> gates = values_of(desc.operands[7], operands[7]);
  for (size_t i = 0; i < gates.size(); ++i) {
    const double x = inputs[0][i];
    const bool is_tanh = i / 16 % 4 == 3;
    const double y = is_tanh ? std::tanh(x) : 1 / (1 + std::exp(-x));
    // Results below the normal range become zeros.
    EXPECT_NEAR(gates[i], y, 0x1p-22 * std::fabs(y) + 0x1p-125) << x;
  }
}

TEST(Recurrent, NanReachesItsRowAlone) {
  const RecurrentCase c = {2, 8, 20};
  const KernelDesc desc =
      recurrent_desc(KernelId::lstm, c, false, MPC_DTYPE_F32);
  std::vector<std::vector<double>> inputs = inputs_of(desc, c);
  inputs[0][3 * 80 + 7] = NAN;  // A gate of row 3 in the first step.
  const std::vector<Buffer> operands = make_operands(desc, inputs);
  run(*must_make(desc, {1, false}), operands);
  const std::vector<double> states = values_of(desc.operands[5], operands[5]);
  for (size_t row = 0; row < 8; ++row)
    for (size_t unit = 0; unit < 20; ++unit) {
      EXPECT_EQ(std::isnan(states[row * 20 + unit]), row == 3 && unit == 7);
      EXPECT_EQ(std::isnan(states[(8 + row) * 20 + unit]), row == 3);
    }
}

TEST(Descriptions, Recurrent) {
  const auto call = [] {
    return recurrent_desc(KernelId::lstm, {2, 3, 4}, false, f32);
  };
  KernelDesc desc = call();
  desc.attributes = {};
  expect_refused(desc, "lstm: needs 1 attributes, found 0");
  desc.attributes = {2};
  expect_refused(desc, "lstm: reverse must be in 0..1, found 2");
  const auto with = [&](size_t operand, TensorDesc other) {
    KernelDesc changed = call();
    changed.operands[operand] = std::move(other);
    return changed;
  };
  expect_refused(with(0, {f32, {2, 3}}),
                 "lstm: operand 0 must have rank 3, found 2");
  expect_refused(with(1, {f32, {16}}),
                 "lstm: operand 1 must have rank 2, found 1");
  expect_refused(with(1, {i64, {16, 4}}),
                 "lstm: operand 1 must be a float, found i64");
  expect_refused(with(1, {f32, {12, 4}}),
                 "lstm: operand 1 must have shape [16, 4], found [12, 4]");
  expect_refused(with(4, {f32, {4, 3}}),
                 "lstm: operand 4 must have shape [3, 4], found [4, 3]");
  expect_refused(with(8, {bf16, {2, 3, 4}}),
                 "lstm: operand 8 must be f32, found bf16");
}

}  // namespace
}  // namespace mpc::kernels::testing
