// Floating-point operations of calls, counted by hand.

#include "kernels/flops.h"

#include <gtest/gtest.h>

#include "test/kernels/descriptions.h"

namespace mpc::kernels::testing {
namespace {

TEST(Flops, OfProducts) {
  EXPECT_EQ(count_flops(matmul({f32, {3, 5}}, {f32, {5, 7}}, {f32, {3, 7}})),
            2u * 3 * 5 * 7);
  // Transposed, and with a batch that one operand repeats.
  EXPECT_EQ(count_flops(matmul({bf16, {4, 5, 3}}, {bf16, {1, 7, 5}},
                               {f32, {4, 3, 7}}, {1, 1})),
            2u * 4 * 3 * 5 * 7);
}

TEST(Flops, OfConvolutions) {
  // 2 images of 5x5 with 4 channels to 6, windows of 3x3, pads of 1.
  const uint64_t flops = 2u * 2 * 6 * 5 * 5 * 4 * 3 * 3;
  for (KernelId id : {KernelId::conv, KernelId::conv_bias,
                      KernelId::conv_grad_input, KernelId::conv_grad_weight})
    EXPECT_EQ(count_flops(conv(id)), flops / kConv.group);
}

TEST(Flops, OfPooling) {
  const KernelDesc desc = pool();
  uint64_t results = 1;
  for (int64_t extent : desc.operands[1].shape)
    results *= static_cast<uint64_t>(extent);
  EXPECT_EQ(count_flops(desc), results * 3 * 3);
  EXPECT_EQ(count_flops(pool(KernelId::max_pool_grad)), results);
}

TEST(Flops, OfAttention) {
  const AttentionCase c = {2, 6, 2, 5, 7, 8, 4, false};
  const uint64_t pairs = 2u * 6 * 5 * 7;
  EXPECT_EQ(count_flops(attention_desc(KernelId::attention, c, f32, f32)),
            pairs * (2 * (8 + 4) + 14));
  EXPECT_EQ(count_flops(attention_desc(KernelId::attention_grad, c, f32, f32)),
            pairs * (6 * 8 + 4 * 4 + 16));
  const AttentionCase capped = with_softcap({c})[0];
  EXPECT_EQ(count_flops(attention_desc(KernelId::attention, capped, f32, f32)),
            pairs * (2 * (8 + 4) + 14 + 12));
  EXPECT_EQ(
      count_flops(attention_desc(KernelId::attention_grad, capped, f32, f32)),
      pairs * (6 * 8 + 4 * 4 + 16 + 15));
  AttentionCase bshd = c;
  bshd.bshd = true;
  for (KernelId id : attention_ids(bshd))
    EXPECT_EQ(count_flops(attention_desc(id, bshd, f32, f32)),
              id == KernelId::attention_bshd ? pairs * (2 * (8 + 4) + 14)
                                             : pairs * (6 * 8 + 4 * 4 + 16));
  AttentionCase packed = {2, 6, 2, 5, 5, 8, 8, false};
  packed.packed = true;
  EXPECT_EQ(
      count_flops(attention_desc(KernelId::packed_attention, packed, f32, f32)),
      2u * 6 * 5 * 5 * (2 * 16 + 14));
  // Query i sees keys 0 to i.
  AttentionCase causal = c;
  causal.causal = true;
  EXPECT_EQ(count_flops(attention_desc(KernelId::attention, causal, f32, f32)),
            2u * 6 * (1 + 2 + 3 + 4 + 5) * (2 * (8 + 4) + 14));
}

TEST(Flops, OfRecurrentLayers) {
  // 5 steps of 3 rows with 4 gates of 7 units.
  for (KernelId id : {KernelId::lstm, KernelId::lstm_grad})
    EXPECT_EQ(count_flops(recurrent_desc(id, {5, 3, 7}, false, f32)),
              5u * 3 * 7 * (4 * (2 * 7 + 8) + 20));
  for (KernelId id : {KernelId::gru, KernelId::gru_grad})
    EXPECT_EQ(count_flops(recurrent_desc(id, {5, 3, 7}, false, f32)),
              5u * 3 * 7 * (3 * (2 * 7 + 8) + 20));
}

TEST(Flops, AreZeroForMovesAndInvalidCalls) {
  EXPECT_EQ(count_flops(look_up()), 0u);
  EXPECT_EQ(count_flops({KernelId::zero, {{f32, {8}}}, {}}), 0u);
  EXPECT_EQ(count_flops({static_cast<KernelId>(99), {}, {}}), 0u);
  EXPECT_EQ(count_flops(matmul({f32, {3, 5}}, {f32, {6, 7}}, {f32, {3, 7}})),
            0u);
}

}  // namespace
}  // namespace mpc::kernels::testing
