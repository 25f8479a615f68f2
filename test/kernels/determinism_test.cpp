// Bit-identical results: always from run to run, and for any number of threads
// if the context requests it. Products in f32 always give them.

#include <gtest/gtest.h>

#include "test/kernels/harness.h"

namespace mpc::kernels::testing {
namespace {

constexpr mpc_dtype_t kTypes[] = {MPC_DTYPE_F32, MPC_DTYPE_BF16, MPC_DTYPE_F16};

std::vector<KernelDesc> calls() {
  // Long sums with few results, which a library may split over threads.
  const std::vector<ConvCase> convs = {
      {64, 1, 16, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {61, 16, 32, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {64, 32, 32, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {8, 64, 64, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {16, 64, 64, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 64},
      {19, 40, 40, {14, 14}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, 40},
  };
  std::vector<KernelDesc> result;
  for (mpc_dtype_t dtype : kTypes) {
    for (const ConvCase& c : convs)
      for (bool last : {false, true}) {
        if (c.group > 1 && !last) continue;
        result.push_back(conv_desc(KernelId::conv, c, last, dtype, dtype));
        result.push_back(
            conv_desc(KernelId::conv_grad_input, c, last, dtype, dtype));
        result.push_back(conv_desc(KernelId::conv_grad_weight, c, last, dtype,
                                   MPC_DTYPE_F32));
      }
    const auto matmul = [&](Shape lhs, Shape rhs, Shape product, bool lhs_t,
                            bool rhs_t) {
      result.push_back({KernelId::matmul,
                        {{dtype, lhs}, {dtype, rhs}, {MPC_DTYPE_F32, product}},
                        {lhs_t, rhs_t}});
    };
    matmul({4096, 64}, {4096, 48}, {64, 48}, true, false);
    matmul({64, 4096}, {4096, 32}, {64, 32}, false, false);
    matmul({300, 500}, {700, 500}, {300, 700}, false, true);
    matmul({1, 8192}, {8192, 300}, {1, 300}, false, false);
    matmul({2100, 200}, {2100, 400}, {200, 400}, true, false);
    matmul({12, 100, 64}, {12, 100, 64}, {12, 100, 100}, false, true);
    matmul({501, 9, 10}, {501, 10, 11}, {501, 9, 11}, false, false);
  }
  return result;
}

std::vector<Buffer> run_once(const KernelDesc& desc, const Context& context) {
  std::vector<std::vector<double>> inputs;
  for (size_t i = 0; i < input_count(desc); ++i)
    inputs.push_back(
        uniform(static_cast<int>(i) + 1, element_count(desc.operands[i])));
  std::vector<Buffer> operands = make_operands(desc, inputs);
  if (const auto kernel = must_make(desc, context)) run(*kernel, operands);
  return operands;
}

TEST(Determinism, AnyNumberOfThreadsGivesTheSameBits) {
  for (const KernelDesc& desc : calls()) {
    const std::vector<Buffer> one = run_once(desc, {1, true});
    for (int threads : {2, 3, 4, 7}) {
      SCOPED_TRACE(describe(desc, {threads, true}));
      EXPECT_TRUE(run_once(desc, {threads, true}).back() == one.back());
    }
  }
}

TEST(Determinism, ProductsInF32NeedNoDeterministicMode) {
  for (const KernelDesc& desc : calls()) {
    if (desc.id != KernelId::matmul || desc.operands[0].dtype == MPC_DTYPE_BF16)
      continue;
    const std::vector<Buffer> one = run_once(desc, {1, false});
    for (const Context context :
         {Context{2, false}, Context{7, false}, Context{3, true}}) {
      SCOPED_TRACE(describe(desc, context));
      EXPECT_TRUE(run_once(desc, context).back() == one.back());
    }
  }
}

TEST(Determinism, TheSameNumberOfThreadsGivesTheSameBits) {
  for (const KernelDesc& desc : calls())
    for (int threads : {1, 2, 3}) {
      SCOPED_TRACE(describe(desc, {threads, false}));
      const std::vector<Buffer> first = run_once(desc, {threads, false});
      EXPECT_TRUE(run_once(desc, {threads, false}).back() == first.back());
    }
}

// A kernel caches addresses between calls, but must use new ones.
TEST(Determinism, OperandsMayMoveBetweenRuns) {
  for (const KernelDesc& desc : calls())
    for (bool deterministic : {false, true}) {
      const Context context{2, deterministic};
      SCOPED_TRACE(describe(desc, context));
      const auto kernel = must_make(desc, context);
      ASSERT_TRUE(kernel);
      std::vector<std::vector<Buffer>> runs;
      for (int i = 0; i < 2; ++i) {
        std::vector<std::vector<double>> inputs;
        for (size_t j = 0; j < input_count(desc); ++j)
          inputs.push_back(uniform(7, element_count(desc.operands[j])));
        runs.push_back(make_operands(desc, inputs));
        run(*kernel, runs.back());
      }
      EXPECT_TRUE(runs[0].back() == runs[1].back());
    }
}

}  // namespace
}  // namespace mpc::kernels::testing
