// Attention on a real device.

#include "test/kernels/attention.h"

#include <gtest/gtest.h>

#include "test/cuda/device/device.h"

namespace mpc::test {
namespace {

class DeviceAttention : public ::testing::TestWithParam<size_t> {
 protected:
  static AttentionCase attention() {
    return all_of<AttentionCase>(
        {kAttentions, kLargeAttentions, kBiasedAttentions,
         kLargeBiasedAttentions, as_bshd(kAttentions),
         as_bshd(kLargeAttentions), as_packed(kAttentions),
         as_packed(kLargeAttentions), with_dropout(kAttentions),
         with_dropout(kLargeAttentions), with_dropout(kBiasedAttentions),
         with_softcap(kAttentions),
         with_replacing(with_softcap(kBiasedAttentions))})[GetParam()];
  }
  static void expect_all(const CudaContext& context) {
    for (KernelId id : attention_ids(attention()))
      for (const Types t : types()) {
        const KernelDesc desc =
            attention_desc(id, attention(), t.dtype, t.result);
        SCOPED_TRACE(describe(desc, {1, false}));
        const auto kernel = must_make(desc, context);
        ASSERT_TRUE(kernel);
        AttentionExpectation(desc).check(*kernel);
      }
  }
};

// With cuDNN if it has an engine,
TEST_P(DeviceAttention, Deterministic) {
  MPC_NEEDS_CUBLASLT();
  MPC_NEEDS_IMAGES();
  expect_all(untimed());
}

TEST_P(DeviceAttention, Timed) {
  MPC_NEEDS_CUBLASLT();
  MPC_NEEDS_IMAGES();
  expect_all(device().context);
}

// and without it.
TEST_P(DeviceAttention, Composed) {
  MPC_NEEDS_CUBLASLT();
  MPC_NEEDS_IMAGES();
  CudaContext without = untimed();
  without.cudnn = nullptr;
  without.cudnn_missing = "not asked for";
  expect_all(without);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, DeviceAttention,
    ::testing::Range(size_t{0}, 4 * kAttentions.size() +
                                    as_packed(kAttentions).size() +
                                    as_packed(kLargeAttentions).size() +
                                    3 * kLargeAttentions.size() +
                                    3 * kBiasedAttentions.size() +
                                    kLargeBiasedAttentions.size()),
    number_of);

// A composed attention is correct, but several times slower: transformers must
// use cuDNN's.
TEST(Device, AttentionOf16BitIsCudnns) {
  MPC_NEEDS_CUDNN();
  MPC_NEEDS_CUBLASLT();
  const AttentionCase gpt = {2, 12, 12, 1024, 1024, 64, 64, true, 0.125f};
  const AttentionCase vit = {2, 12, 12, 197, 197, 64, 64, false, 0.125f};
  for (const CudaContext& context : {untimed(), device().context})
    for (const AttentionCase& c :
         {gpt, vit, as_bshd({gpt})[0], as_bshd({vit})[0], as_packed({gpt})[0],
          as_packed({vit})[0]})
      for (KernelId id : attention_ids(c))
        for (const Types t : types()) {
          if (t.dtype == MPC_DTYPE_F32 || t.dtype != t.result) continue;
          const auto kernel =
              must_make(attention_desc(id, c, t.dtype, t.result), context);
          ASSERT_TRUE(kernel);
          const std::string how = kernel->implementation();
          EXPECT_EQ(how.find("cudnn:engine "), 0u) << how;
          EXPECT_EQ(how.find("as a trial failed"), std::string::npos) << how;
        }
}

}  // namespace
}  // namespace mpc::test
