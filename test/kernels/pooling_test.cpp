// Pooling compared bit by bit with the reference: the values are maxima or sums
// of a few terms in a fixed order.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "test/kernels/cases.h"
#include "test/kernels/harness.h"

namespace mpc::kernels::testing {
namespace {

constexpr mpc_dtype_t kTypes[] = {MPC_DTYPE_F32, MPC_DTYPE_F64, MPC_DTYPE_BF16,
                                  MPC_DTYPE_F16};

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
      for (mpc_dtype_t dtype : kTypes)
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

TEST(Pool, TiesAndNanAreTheReferences) {
  for (const ConvCase& c : kPools)
    for (mpc_dtype_t dtype : kTypes)
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
