// Kernel descriptions of a damaged package do not crash.

#include <gtest/gtest.h>

#include <limits>

#include "test/kernels/attention.h"
#include "test/kernels/descriptions.h"
#include "test/kernels/harness.h"

namespace mpc::kernels::testing {
namespace {

// Numbers that break careless arithmetic, placed anywhere in valid calls.
TEST(Descriptions, DamageIsRefusedOrHarmless) {
  const int64_t numbers[] = {0,
                             1,
                             -1,
                             2,
                             3,
                             7,
                             64,
                             255,
                             65536,
                             2147483647,
                             2147483648,
                             int64_t{1} << 62,
                             std::numeric_limits<int64_t>::min(),
                             std::numeric_limits<int64_t>::max()};
  std::vector<KernelDesc> calls = {
      matmul({f32, {3, 2, 2}}, {f32, {1, 2, 2}}, {f32, {3, 2, 2}})};
  const TensorDesc square{f32, {4, 4}};
  calls.push_back(
      {KernelId::matmul_add, {square, square, square, square}, {0, 1}});
  calls.push_back(
      {KernelId::matmul_bias, {square, square, {f32, {4}}, square}, {0, 1}});
  calls.push_back({KernelId::matmul_gelu,
                   {square, square, {f32, {4}}, square, square},
                   {0, 1}});
  calls.push_back(
      {KernelId::matmul_gelu_grad, {square, square, square, square}, {1, 0}});
  for (KernelId id : {KernelId::conv, KernelId::conv_bias,
                      KernelId::conv_grad_input, KernelId::conv_grad_weight})
    calls.push_back(conv_desc(id, kConv, true, f32, f32));
  for (KernelId id : {KernelId::max_pool, KernelId::max_pool_grad,
                      KernelId::average_pool, KernelId::average_pool_grad})
    calls.push_back(pool(id));
  for (KernelId id : {KernelId::attention, KernelId::attention_grad})
    calls.push_back(attention_desc(id, {3, 6, 3, 2, 7, 2, 2, true}, f32, f32));
  AttentionCase bshd = {3, 6, 3, 2, 7, 2, 2, true};
  bshd.bshd = true;
  for (KernelId id : attention_ids(bshd))
    calls.push_back(attention_desc(id, bshd, f32, f32));
  AttentionCase packed = {3, 6, 3, 7, 7, 2, 2, true};
  packed.packed = true;
  for (KernelId id : attention_ids(packed))
    calls.push_back(attention_desc(id, packed, f32, f32));
  AttentionCase biased = {3, 6, 3, 2, 7, 2, 2, true};
  biased.biases = {{false, true, true}, {true, false, false}};
  biased = with_replacing(with_softcap({biased}))[0];
  for (KernelId id : attention_ids(biased))
    calls.push_back(attention_desc(id, biased, f32, f32));
  for (KernelId id : {KernelId::embedding, KernelId::embedding_grad})
    calls.push_back(look_up(id));
  for (KernelId id :
       {KernelId::lstm, KernelId::lstm_grad, KernelId::gru, KernelId::gru_grad})
    calls.push_back(recurrent_desc(id, {2, 3, 5}, true, f32));
  uint32_t state = 1;
  const auto random = [&](size_t bound) {
    state = state * 1664525 + 1013904223;
    return (state >> 8) % bound;
  };
  int made = 0;
  for (int i = 0; i < 20000; ++i) {
    KernelDesc desc = calls[random(calls.size())];
    for (size_t changes = 1 + random(3); changes > 0; --changes) {
      const int64_t number = numbers[random(std::size(numbers))];
      TensorDesc& tensor = desc.operands[random(desc.operands.size())];
      switch (random(5)) {
        case 0:
          if (desc.attributes.empty()) desc.attributes = {0};
          desc.attributes[random(desc.attributes.size())] = number;
          break;
        case 1:
          if (!tensor.shape.empty())
            tensor.shape[random(tensor.shape.size())] = number;
          break;
        case 2:
          tensor.dtype = static_cast<mpc_dtype_t>(number & 0xff);
          break;
        case 3:
          tensor.shape.assign(random(10), number);
          break;
        case 4: {
          // The same extent everywhere, so that the shapes may still agree.
          const size_t dim = random(tensor.shape.size() + 1);
          for (TensorDesc& operand : desc.operands)
            if (dim < operand.shape.size()) operand.shape[dim] = number;
        }
      }
    }
    std::string error;
    const auto kernel = make_cpu_kernel(desc, {2, random(2) == 1}, &error);
    EXPECT_EQ(!kernel, !error.empty()) << describe(desc, {2, false});
    made += kernel != nullptr;
  }
  EXPECT_GT(made, 500);  // Some are harmless, and reach the library.
}

TEST(Descriptions, Epilogues) {
  const TensorDesc square{bf16, {2, 2}}, sums{f32, {2, 2}};
  const auto with = [&](TensorDesc addend, TensorDesc result) {
    return KernelDesc{KernelId::matmul_add,
                      {square, square, std::move(addend), std::move(result)},
                      {0, 0}};
  };
  expect_refused(with(square, sums),
                 "matmul_add: operand 2 must be f32, found bf16");
  expect_refused(with(sums, square),
                 "matmul_add: operand 3 must be f32, found bf16");
  expect_refused(with({f32, {2}}, sums),
                 "matmul_add: the addend must have shape [2, 2], found [2]");
  expect_refused(with({f32, {2, 3}}, {f32, {2, 3}}),
                 "matmul_add: the result must have shape [2, 2], found [2, 3]");
  // The rank of a result is checked before its columns are counted.
  expect_refused({KernelId::matmul_gelu,
                  {square, square, {bf16, {2}}, {bf16, {}}, {bf16, {}}},
                  {0, 0}},
                 "matmul_gelu: operand 3 must be a matrix, found []");
  expect_refused(
      {KernelId::matmul_bias, {square, square, {bf16, {3}}, square}, {0, 0}},
      "matmul_bias: the bias must have shape [2], found [3]");
  std::string error;
  EXPECT_FALSE(make_cpu_kernel(
      {KernelId::matmul_gelu_grad, {square, square, square, square}, {0, 0}},
      {1, false}, &error));
  EXPECT_EQ(error,
            "matmul_gelu_grad: has no kernel for CPUs; compile the "
            "model for target cpu");
}

}  // namespace
}  // namespace mpc::kernels::testing
