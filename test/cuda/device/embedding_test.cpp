// Tables on a real device: bit-identical to the reference.

#include <gtest/gtest.h>

#include "test/cuda/device/device.h"

namespace mpc::test {
namespace {

// Sums of multiples of 1/8 are exact in any order.
void expect_embedding(const KernelDesc& desc,
                      const std::vector<double>& indices) {
  SCOPED_TRACE(describe(desc, {1, false}));
  std::string error;
  const auto kernel = must_make(desc, device().context);
  const auto reference = make_reference_kernel(desc, &error);
  ASSERT_TRUE(kernel && reference) << error;
  const std::vector<std::vector<double>> inputs = {
      eighths(0, element_count(desc.operands[0])), indices};
  const std::vector<Buffer> found = make_operands(desc, inputs);
  const std::vector<Buffer> expected = make_operands(desc, inputs);
  run(*kernel, found);
  run(*reference, expected);
  const auto a = values_of(desc.operands[2], found[2]);
  const auto b = values_of(desc.operands[2], expected[2]);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i]))
        << "element " << i << ": expected " << b[i] << ", found " << a[i];
}

TEST(Device, Embedding) {
  MPC_NEEDS_IMAGES();
  std::vector<EmbeddingCase> cases = kEmbeddings;
  cases.push_back({{50257, 96}, {8, 1024}});
  cases.push_back({{3, 72}, {100000}});
  for (const EmbeddingCase& c : cases)
    for (KernelId id : {KernelId::embedding, KernelId::embedding_grad})
      for (const Types t : types())
        for (mpc_dtype_t index : {MPC_DTYPE_I32, MPC_DTYPE_I64}) {
          if (t.dtype != t.result) continue;
          const KernelDesc desc = embedding_desc(id, c, t.dtype, index);
          expect_embedding(desc, indices_for(desc));
          expect_embedding(desc, indices_beyond(desc));
        }
}

}  // namespace
}  // namespace mpc::test
