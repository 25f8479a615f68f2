// Attention rejects descriptions that are wrong or that a device does not
// support.

#include "test/kernels/attention.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/float_types.h"
#include "test/kernels/descriptions.h"

namespace mpc::kernels::testing {
namespace {

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
  expect_refused(desc, "attention: mask must be in 0..1, found 2");
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

TEST(Attention, RefusesWrongShapesOfPacked) {
  AttentionCase c{2, 6, 2, 5, 5, 4, 4, true};
  c.bshd = c.packed = true;
  const auto forward = [&] {
    return attention_desc(KernelId::packed_attention, c, f32, f32);
  };
  const auto backward = [&] {
    return attention_desc(KernelId::packed_attention_grad, c, bf16, bf16);
  };
  KernelDesc desc = forward();
  desc.operands[0].shape = {2, 5, 6, 4};
  expect_refused(desc,
                 "packed_attention: [2, 5, 6, 4] is not a query of 6 heads "
                 "with keys and values, or not the gradient's shape");
  desc.operands[0].shape = {2, 5, 9, 4};
  expect_refused(desc,
                 "packed_attention: [2, 5, 9, 4] is not a query of 6 heads "
                 "with keys and values, or not the gradient's shape");
  desc.operands[0].shape = {2, 5, 14, 4};  // Four heads of keys.
  expect_refused(desc,
                 "packed_attention: a query of [2, 5, 6, 4] has no keys of "
                 "[2, 5, 4, 4] and values of [2, 5, 4, 4]");
  desc.operands[0].shape = {2, 50, 4};
  expect_refused(desc, "packed_attention: operand 0 must have rank 4, found 3");
  desc = forward();
  desc.operands[1].shape = {2, 5, 6};
  expect_refused(desc, "packed_attention: operand 1 must have rank 4, found 3");
  desc = forward();
  desc.operands[1].shape = {2, 4, 6, 4};
  expect_refused(desc,
                 "packed_attention: operand 1 must have shape [2, 5, 6, 4], "
                 "found [2, 4, 6, 4]");
  desc = backward();
  desc.operands[3].shape = {2, 2, 5, 6};
  expect_refused(desc,
                 "packed_attention_grad: operand 3 must have shape "
                 "[2, 2, 6, 5], found [2, 2, 5, 6]");
  desc = backward();
  desc.operands[0].shape = {2, 6, 5, 4};
  expect_refused(desc,
                 "packed_attention_grad: operand 0 must have shape "
                 "[2, 5, 6, 4], found [2, 6, 5, 4]");
  desc = backward();
  desc.operands[4].shape = {2, 5, 12, 4};
  expect_refused(desc,
                 "packed_attention_grad: [2, 5, 10, 4] is not a query of 6 "
                 "heads with keys and values, or not the gradient's shape");
  desc = forward();
  desc.attributes[2] = 1;
  expect_refused(desc,
                 "packed_attention: operand 2 must have shape [2, 5, 6, 2], "
                 "found [2, 2, 6, 5]");
  desc.attributes[2] = 2;
  expect_refused(desc,
                 "packed_attention: sequence_first must be in 0..1, found 2");
}

TEST(Attention, CpusHaveOneLayoutIn16Bits) {
  const AttentionCase c{2, 6, 2, 5, 5, 4, 4, false};
  const auto expect_none = [](const AttentionCase& other, mpc_dtype_t dtype) {
    for (KernelId id : attention_ids(other)) {
      std::string error;
      EXPECT_FALSE(make_cpu_kernel(attention_desc(id, other, dtype, dtype),
                                   {2, false}, &error));
      EXPECT_NE(error.find("has no kernel for CPUs; compile the model for "
                           "target cpu"),
                std::string::npos)
          << error;
    }
  };
  for (const AttentionCase& other : in_other_layouts({c}))
    for (mpc_dtype_t dtype : {bf16, MPC_DTYPE_F16}) expect_none(other, dtype);
  expect_none(as_bshd({c})[0], f32);
}

TEST(Attention, RefusesWrongDropouts) {
  AttentionCase c{2, 6, 2, 5, 7, 4, 3, false};
  c.dropout = 0.5f;
  const KernelDesc right =
      attention_desc(KernelId::attention_dropout, c, f32, f32);
  KernelDesc desc = right;
  desc.attributes[2] = float_bits(1.0f);
  expect_refused(desc,
                 "attention_dropout: ratio must lie in [0, 1), found 1.000000");
  desc = right;
  desc.attributes[2] = float_bits(-0.5f);
  expect_refused(
      desc, "attention_dropout: ratio must lie in [0, 1), found -0.500000");
  desc = right;
  desc.attributes[3] = -1;
  std::string error;
  EXPECT_FALSE(make_cpu_kernel(desc, {2, false}, &error));
  EXPECT_NE(error.find("index"), std::string::npos) << error;
  desc = right;
  desc.operands[4].dtype = MPC_DTYPE_I32;
  expect_refused(desc, "attention_dropout: operand 4 must be i64, found i32");
  desc = right;
  desc.operands[3].shape = {1};
  expect_refused(desc,
                 "attention_dropout: operand 3 must have rank 0, found 1");
}

TEST(Attention, RefusesWrongSoftcaps) {
  AttentionCase c{2, 6, 2, 5, 7, 4, 3, false};
  c.softcap = 2;
  const KernelDesc right = attention_desc(KernelId::attention, c, f32, f32);
  KernelDesc desc = right;
  desc.attributes[2] = float_bits(-2.0f);
  expect_refused(desc,
                 "attention: softcap must be a positive normal number, found "
                 "-2.000000");
  desc.attributes[2] = float_bits(std::numeric_limits<float>::infinity());
  expect_refused(desc, "attention: softcap must be finite, found inf");
  // Less than the bits of a number is TF32.
  desc.attributes[2] = -1;
  expect_refused(desc, "attention: tf32 must be in 0..1, found -1");
  desc.attributes = {0, float_bits(1.0f), 1, 1};
  expect_refused(desc, "attention: needs 2 attributes, found 4");
  desc.attributes = {0, float_bits(1.0f), float_bits(2.0f), 2};
  expect_refused(desc, "attention: tf32 must be in 0..1, found 2");
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
  desc.attributes[0] = 6;
  expect_refused(desc, "twice_biased_attention: mask must be in 0..5, found 6");
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
