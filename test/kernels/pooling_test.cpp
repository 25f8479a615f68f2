// Pooling against the reference, bit by bit: the values are maxima or sums of
// few terms in a fixed order.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "test/kernels/harness.h"

namespace mpc::kernels::testing {
namespace {

// batch, channels, -, image, kernel, strides, dilations, pads
const std::vector<ConvCase> kPools = {
    {1, 1, 0, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
    {3, 16, 0, {8, 8}, {2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
    {2, 17, 0, {9, 7}, {3, 2}, {2, 1}, {1, 1}, {1, 0}, {2, 1}},
    {2, 37, 0, {7, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {1, 5, 0, {11, 10}, {3, 3}, {1, 3}, {2, 3}, {3, 2}, {1, 4}},
    {2, 3, 0, {6, 5}, {2, 2}, {3, 3}, {1, 1}, {0, 0}, {1, 0}},
    {1, 2, 0, {15, 17}, {15, 17}, {1, 1}, {1, 1}, {14, 16}, {14, 16}},
    {4, 8, 0, {19}, {4}, {3}, {1}, {2}, {3}},
    {4, 3, 0, {19}, {4}, {2}, {2}, {6}, {0}},
    {2, 48, 0, {12, 12}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
};

std::vector<mpc_dtype_t> cpu_types() {
  std::vector<mpc_dtype_t> types = {MPC_DTYPE_F32, MPC_DTYPE_F64};
  if (has_bf16()) types.push_back(MPC_DTYPE_BF16);
  return types;
}

// Indices for max_pool_grad; the others are made up.
std::vector<std::vector<double>> grad_inputs(const KernelDesc& desc) {
  std::vector<std::vector<double>> inputs;
  for (size_t i = 0; i < input_count(desc); ++i)
    inputs.push_back(
        uniform(static_cast<int>(i) + 1, element_count(desc.operands[i])));
  if (desc.id == KernelId::max_pool_grad) {
    // Any positions, also some that no window has.
    const int64_t window = desc.attributes[1] * desc.attributes[2] + 1;
    for (size_t i = 0; i < inputs[1].size(); ++i)
      inputs[1][i] = static_cast<double>(i * 7919 % window);
  }
  return inputs;
}

void expect_same(const KernelDesc& desc,
                 const std::vector<std::vector<double>>& inputs,
                 const Context& context) {
  SCOPED_TRACE(describe(desc, context));
  std::string error;
  const auto kernel = must_make(desc, context);
  const auto reference = make_reference_kernel(desc, &error);
  ASSERT_TRUE(kernel && reference) << error;
  const std::vector<Buffer> found = make_operands(desc, inputs);
  const std::vector<Buffer> expected = make_operands(desc, inputs);
  run(*kernel, found);
  run(*reference, expected);
  for (size_t o = inputs.size(); o < found.size(); ++o) {
    const std::vector<double> a = values_of(desc.operands[o], found[o]);
    const std::vector<double> b = values_of(desc.operands[o], expected[o]);
    for (size_t i = 0; i < a.size(); ++i)
      ASSERT_TRUE(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]))
          << kernel->implementation() << " element " << i << " of output " << o
          << ": expected " << b[i] << ", found " << a[i];
  }
}

TEST(Pool, IsTheReferenceBitByBit) {
  for (const ConvCase& c : kPools)
    for (KernelId id : {KernelId::max_pool, KernelId::max_pool_grad,
                        KernelId::average_pool, KernelId::average_pool_grad})
      for (mpc_dtype_t dtype : cpu_types())
        for (bool last : {false, true})
          for (bool include : {false, true}) {
            const KernelDesc desc = pool_desc(id, c, last, include, dtype);
            for (int threads : {1, 2, 3})
              expect_same(desc, grad_inputs(desc), {threads, threads == 3});
          }
}

TEST(Pool, ReferenceRoundsOnce) {
  for (const ConvCase& c : kPools)
    for (mpc_dtype_t dtype :
         {MPC_DTYPE_F32, MPC_DTYPE_F64, MPC_DTYPE_F16, MPC_DTYPE_BF16}) {
      int terms = 1;
      for (int64_t extent : c.kernel) terms *= static_cast<int>(extent);
      for (KernelId id : {KernelId::average_pool, KernelId::average_pool_grad})
        expect_reference_close(pool_desc(id, c, true, false, dtype), terms);
    }
}

// Values with many equals, infinities and NaN.
std::vector<double> difficult(size_t count) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double values[] = {1, 1, 2,         -infinity, 0, -0.0, 2,
                           1, 0, -infinity, 3,         3, nan};
  std::vector<double> result(count);
  uint32_t state = 1;
  for (double& value : result) {
    state = state * 1664525 + 1013904223;
    value = values[(state >> 16) % 13];
  }
  return result;
}

TEST(Pool, TiesAndNanAreTheReferences) {
  for (const ConvCase& c : kPools)
    for (mpc_dtype_t dtype : cpu_types())
      for (bool last : {false, true}) {
        const KernelDesc desc =
            pool_desc(KernelId::max_pool, c, last, false, dtype);
        expect_same(desc, {difficult(element_count(desc.operands[0]))},
                    {2, false});
      }
}

// One window over a row of values.
struct Maximum {
  double value;
  int index;
};
Maximum maximum(const std::vector<double>& row) {
  const ConvCase c = {1,
                      1,
                      0,
                      {static_cast<int64_t>(row.size())},
                      {static_cast<int64_t>(row.size())},
                      {1},
                      {1},
                      {0},
                      {0}};
  const KernelDesc desc =
      pool_desc(KernelId::max_pool, c, true, false, MPC_DTYPE_F32);
  const auto kernel = must_make(desc, {1, false});
  const std::vector<Buffer> operands = make_operands(desc, {row});
  run(*kernel, operands);
  return {values_of(desc.operands[1], operands[1])[0],
          static_cast<int>(values_of(desc.operands[2], operands[2])[0])};
}

TEST(Pool, FirstOfEqualMaximaWins) {
  EXPECT_EQ(maximum({1, 3, 3, 2}).index, 1);
  EXPECT_EQ(maximum({-0.0, 0.0}).index, 0);
}

TEST(Pool, NanIsTheMaximum) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const Maximum found = maximum({1, nan, infinity, nan});
  EXPECT_TRUE(std::isnan(found.value));
  EXPECT_EQ(found.index, 1);
}

TEST(Pool, MinusInfinityIsAMaximum) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Maximum found = maximum({-infinity, -infinity});
  EXPECT_EQ(found.value, -infinity);
  EXPECT_EQ(found.index, 0);
}

}  // namespace
}  // namespace mpc::kernels::testing
