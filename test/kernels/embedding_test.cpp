// Rows of a table by index compared bit by bit with the reference: threads own
// parts of the table, so that each sum is computed in the reference's order.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "test/kernels/cases.h"
#include "test/kernels/harness.h"

namespace mpc::kernels::testing {
namespace {

constexpr mpc_dtype_t kFloats[] = {MPC_DTYPE_F32, MPC_DTYPE_F64, MPC_DTYPE_F16,
                                   MPC_DTYPE_BF16};
constexpr mpc_dtype_t kIndices[] = {MPC_DTYPE_I32, MPC_DTYPE_I64};
constexpr KernelId kBoth[] = {KernelId::embedding, KernelId::embedding_grad};

// Calls body(description) for every case and dtype.
template <typename F>
void for_calls(F&& body) {
  for (const EmbeddingCase& c : kEmbeddings)
    for (KernelId id : kBoth)
      for (mpc_dtype_t dtype : kFloats)
        for (mpc_dtype_t index : kIndices)
          body(embedding_desc(id, c, dtype, index));
}

void expect_same(const KernelDesc& desc, const std::vector<double>& indices,
                 const Context& context) {
  SCOPED_TRACE(describe(desc, context));
  std::string error;
  const auto kernel = must_make(desc, context);
  const auto reference = make_reference_kernel(desc, &error);
  ASSERT_TRUE(kernel && reference) << error;
  const std::vector<std::vector<double>> inputs = {
      uniform(1, element_count(desc.operands[0])), indices};
  const std::vector<Buffer> found = make_operands(desc, inputs);
  const std::vector<Buffer> expected = make_operands(desc, inputs);
  run(*kernel, found);
  run(*reference, expected);
  const std::vector<double> a = values_of(desc.operands[2], found[2]);
  const std::vector<double> b = values_of(desc.operands[2], expected[2]);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]))
        << kernel->implementation() << " element " << i << ": expected " << b[i]
        << ", found " << a[i];
}

TEST(Embedding, IsTheReferenceBitByBit) {
  for_calls([](const KernelDesc& desc) {
    for (int threads : {1, 2, 3, 7})
      expect_same(desc, indices_for(desc), {threads, threads == 3});
  });
}

TEST(Embedding, IndicesOutsideTheTableReadAndWriteNothing) {
  for_calls([](const KernelDesc& desc) {
    for (int threads : {1, 3})
      expect_same(desc, indices_beyond(desc), {threads, false});
  });
}

TEST(Embedding, SumsStayWithinTheBound) {
  for_calls([](const KernelDesc& desc) {
    if (desc.id == KernelId::embedding_grad) {
      const int terms = static_cast<int>(element_count(desc.operands[1]));
      expect_close(desc, {{1, false}, {3, true}}, terms);
      expect_reference_close(desc, terms);
    }
  });
}

// Large enough that several threads take rows as well as columns.
TEST(Embedding, SplitsRowsAndColumnsAmongThreads) {
  for (const EmbeddingCase& c : {EmbeddingCase{{30000, 3}, {200000}},
                                 EmbeddingCase{{9000, 40}, {20000}}})
    for (KernelId id : kBoth) {
      const KernelDesc desc =
          embedding_desc(id, c, MPC_DTYPE_BF16, MPC_DTYPE_I64);
      for (int threads : {2, 5, 8})
        expect_same(desc, indices_for(desc), {threads, true});
    }
}

TEST(Embedding, NegativeIndicesCountFromTheEnd) {
  const KernelDesc desc = embedding_desc(KernelId::embedding, {{3, 2}, {4}},
                                         MPC_DTYPE_F16, MPC_DTYPE_I64);
  const std::vector<Buffer> operands =
      make_operands(desc, {{1, 2, 3, 4, 5, 6}, {-1, 0, 3, -3}});
  run(*must_make(desc, {1, false}), operands);
  const std::vector<double> found = values_of(desc.operands[2], operands[2]);
  const std::vector<double> expected = {5, 6, 1, 2, NAN, NAN, 1, 2};
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_TRUE(found[i] == expected[i] ||
                (std::isnan(found[i]) && std::isnan(expected[i])))
        << i << ": " << found[i];
}

}  // namespace
}  // namespace mpc::kernels::testing
