// Kernel descriptions of a damaged package: a case for every rule.

#include "test/kernels/descriptions.h"

#include <gtest/gtest.h>

#include "test/kernels/attention.h"
#include "test/kernels/harness.h"

namespace mpc::kernels::testing {
namespace {

TEST(Descriptions, CommonRules) {
  expect_refused({static_cast<KernelId>(99), {}, {}},
                 "kernel: no kernel has number 99");
  expect_refused({KernelId::matmul, {}, {}},
                 "matmul: needs 3 operands, found 0");
  expect_refused(matmul({static_cast<mpc_dtype_t>(77), {2, 2}}, {f32, {2, 2}},
                        {f32, {2, 2}}),
                 "matmul: operand 0 has no dtype: 77");
  expect_refused(
      matmul({f32, {1, 1, 1, 1, 1, 1, 1, 1, 1}}, {f32, {1, 1}}, {f32, {1, 1}}),
      "matmul: operand 0 has rank 9, at most 8 is supported");
  expect_refused(matmul({f32, {2, 0}}, {f32, {0, 2}}, {f32, {2, 2}}),
                 "matmul: operand 0 has shape [2, 0], extents must be in "
                 "1..2147483647");
  expect_refused(matmul({f32, {2, -1}}, {f32, {-1, 2}}, {f32, {2, 2}}),
                 "matmul: operand 0 has shape [2, -1], extents must be in "
                 "1..2147483647");
  const int64_t large = 2147483647;
  expect_refused(
      matmul({f32, {large, large}}, {f32, {large, large}},
             {f32, {large, large}}),
      "matmul: operand 0 of shape [2147483647, 2147483647] is larger than the "
      "address space");
}

TEST(Descriptions, Matmul) {
  const TensorDesc square{f32, {2, 2}};
  expect_refused(matmul(square, square, square, {0}),
                 "matmul: needs 2 attributes, found 1");
  expect_refused(matmul(square, square, square, {0, 2}),
                 "matmul: transpose_rhs must be in 0..1, found 2");
  expect_refused(matmul(square, square, square, {0, 0, 2}),
                 "matmul: tf32 must be in 0..1, found 2");
  expect_refused(matmul(square, square, square, {0, 0, 0, 0}),
                 "matmul: needs 2 attributes, found 4");
  expect_refused(matmul({bf16, {2, 2}}, {bf16, {2, 2}}, square, {0, 0, 1}),
                 "matmul: tf32 is for operands of f32, found bf16");
  expect_refused(matmul({i64, {2, 2}}, square, square),
                 "matmul: operand 0 must be a float, found i64");
  expect_refused(matmul(square, {bf16, {2, 2}}, square),
                 "matmul: operand 1 must be f32, found bf16");
  expect_refused(matmul(square, square, {bf16, {2, 2}}),
                 "matmul: operand 2 must be f32, found bf16");
  expect_refused(matmul({bf16, {2, 2}}, {bf16, {2, 2}}, {f16, {2, 2}}),
                 "matmul: operand 2 must be bf16 or f32, found f16");
  expect_refused(
      matmul({MPC_DTYPE_F8E4M3, {2, 2}}, {MPC_DTYPE_F8E5M2, {2, 2}}, square),
      "matmul: operands of f8e4m3 are multiplied by GPUs alone; "
      "programs for CPUs widen them");
  expect_refused(matmul(square, {f32, {2}}, square),
                 "matmul: operand 1 must have rank 2 or more, found 1");
  expect_refused(matmul({f32, {2, 3}}, {f32, {2, 3}}, square),
                 "matmul: the summed extents 3 and 2 differ");
  expect_refused(
      matmul({f32, {2, 2, 2}}, {f32, {3, 2, 2}}, {f32, {3, 2, 2}}),
      "matmul: leading dimensions [2, 2, 2] and [3, 2, 2] do not broadcast");
  expect_refused(matmul(square, square, {f32, {2, 3}}),
                 "matmul: the result must have shape [2, 2], found [2, 3]");
}

TEST(Descriptions, ScaledMatmul) {
  const TensorDesc lhs{MPC_DTYPE_F8E4M3, {2, 16}},
      rhs{MPC_DTYPE_F8E5M2, {3, 16}}, factor{f32, {}}, result{bf16, {2, 3}};
  const auto with = [&](size_t operand, TensorDesc other) {
    KernelDesc desc{
        KernelId::scaled_matmul, {lhs, rhs, factor, factor, result}, {0, 1}};
    desc.operands[operand] = std::move(other);
    return desc;
  };
  // Valid descriptions are for GPUs only.
  expect_refused(with(2, {f32, {1, 1}}),
                 "scaled_matmul: operands of f8e4m3 are multiplied by GPUs "
                 "alone; programs for CPUs widen them");
  KernelDesc desc = with(0, lhs);
  desc.operands.erase(desc.operands.begin() + 2);
  expect_refused(desc, "scaled_matmul: needs 5 operands, found 4");
  desc = with(0, lhs);
  desc.attributes = {0, 1, 0};
  expect_refused(desc, "scaled_matmul: needs 2 attributes, found 3");
  desc.attributes = {2, 1};
  expect_refused(desc, "scaled_matmul: transpose_lhs must be in 0..1, found 2");
  // Factors of another type, or with more than one element.
  expect_refused(with(2, {bf16, {}}),
                 "scaled_matmul: operand 2 must be f32, found bf16");
  expect_refused(with(3, {i64, {}}),
                 "scaled_matmul: operand 3 must be f32, found i64");
  expect_refused(
      with(2, {f32, {2}}),
      "scaled_matmul: operand 2 must be one factor, found shape [2]");
  expect_refused(with(3, {f32, {1, 3}}),
                 "scaled_matmul: operand 3 must be one factor, found shape "
                 "[1, 3]");
  expect_refused(with(3, {f32, {0}}),
                 "scaled_matmul: operand 3 has shape [0], extents must be in "
                 "1..2147483647");
  // Operands of types for which a product takes no factors.
  expect_refused(with(0, {bf16, {2, 16}}),
                 "scaled_matmul: operand 0 must be f8e4m3 or f8e5m2, found "
                 "bf16");
  expect_refused(with(1, {f32, {3, 16}}),
                 "scaled_matmul: operand 1 must be f8e4m3 or f8e5m2, found "
                 "f32");
  expect_refused(with(0, {MPC_DTYPE_F8E5M2, {2, 16}}),
                 "scaled_matmul: operand 1 must be f8e4m3, found f8e5m2");
  expect_refused(with(4, {f16, {2, 3}}),
                 "scaled_matmul: operand 4 must be bf16 or f32, found f16");
  expect_refused(with(4, {bf16, {3, 2}}),
                 "scaled_matmul: the result must have shape [2, 3], found "
                 "[3, 2]");
  expect_refused(with(1, {MPC_DTYPE_F8E5M2, {16}}),
                 "scaled_matmul: operand 1 must have rank 2 or more, found 1");
}

TEST(Descriptions, Conv) {
  KernelDesc desc = conv();
  desc.operands[0].shape = {2, 4};
  expect_refused(desc, "conv: images must have rank 3 or 4, found 2");
  desc = conv();
  desc.operands[1].shape = {6, 4, 3};
  expect_refused(desc, "conv: operand 1 must have rank 4, found 3");
  desc = conv();
  desc.attributes.pop_back();
  expect_refused(desc, "conv: needs 10 attributes, found 9");
  desc = conv();
  desc.attributes[1] = 0;
  expect_refused(desc, "conv: group must be in 1..2147483647, found 0");
  desc = conv();
  desc.attributes[2] = 0;
  expect_refused(desc, "conv: strides must be in 1..2147483647, found 0");
  desc = conv();
  desc.attributes[9] = -1;
  expect_refused(desc, "conv: pads_end must be in 0..2147483647, found -1");
  desc = conv();
  desc.attributes[1] = 5;
  expect_refused(desc, "conv: group 5 does not divide 4 and 6 channels");
  desc = conv();
  desc.operands[1].shape = {6, 3, 3, 3};
  expect_refused(desc,
                 "conv: a weight of [6, 3, 3, 3] does not map 4 to 6 channels "
                 "in 1 groups");
  desc = conv();
  desc.operands[2].shape = {3, 6, 5, 5};
  expect_refused(desc, "conv: input and result have batches of 2 and 3");
  desc = conv();
  desc.operands[2].shape = {2, 6, 5, 4};
  expect_refused(desc,
                 "conv: the result must have extent 5 in spatial dimension 1 "
                 "of 2, found 4");
  desc = conv();
  desc.operands[1].shape = {6, 4, 3, 9};
  expect_refused(
      desc, "conv: a window of 9 does not fit an image of 5 with its pads");
  desc = conv(KernelId::conv_bias);
  desc.operands[2].shape = {4};
  expect_refused(desc, "conv_bias: the bias must have shape [6], found [4]");
  desc = conv(KernelId::conv_grad_weight);
  for (TensorDesc& operand : desc.operands) operand.dtype = bf16;
  expect_refused(desc, "conv_grad_weight: operand 2 must be f32, found bf16");
}

TEST(Descriptions, Pool) {
  KernelDesc desc = pool();
  desc.operands[0].shape = {2, 4};
  expect_refused(desc, "max_pool: images must have rank 3 or 4, found 2");
  desc = pool();
  desc.operands[2].dtype = f32;
  expect_refused(desc, "max_pool: operand 2 must be u8, found f32");
  desc = pool();
  desc.operands[2].shape = {2, 5, 4, 4};
  expect_refused(desc,
                 "max_pool: indices must have shape [2, 5, 5, 4], found "
                 "[2, 5, 4, 4]");
  desc = pool();
  desc.operands[0].dtype = u8;
  expect_refused(desc, "max_pool: operand 0 must be a float, found u8");
  desc = pool(KernelId::average_pool);
  desc.operands[1].shape = {2, 5, 5, 3};
  expect_refused(desc,
                 "average_pool: input and result differ in batch or channels");
  desc = pool(KernelId::average_pool);
  desc.attributes[1] = 7;
  expect_refused(desc,
                 "average_pool: count_include_pad must be in 0..1, found 7");
  desc = pool();
  desc.attributes[7] = 3;
  expect_refused(desc, "max_pool: each pad must be smaller than the window");
  desc = pool();
  desc.attributes[5] = 6;
  expect_refused(desc, "max_pool: a dilation of 6 is larger than the image");
  desc = pool();
  desc.attributes[1] = 16;
  desc.attributes[2] = 16;
  expect_refused(desc,
                 "max_pool: a window has at most 255 elements, found 256");
}

TEST(Descriptions, Embedding) {
  KernelDesc desc = look_up();
  desc.attributes = {5};
  expect_refused(desc, "embedding: needs 0 attributes, found 1");
  desc = look_up();
  desc.operands[0].dtype = i64;
  expect_refused(desc, "embedding: operand 0 must be a float, found i64");
  desc = look_up();
  desc.operands[1].dtype = u8;
  expect_refused(desc, "embedding: operand 1 must be i64 or i32, found u8");
  desc = look_up();
  desc.operands[2].dtype = bf16;
  expect_refused(desc, "embedding: operand 2 must be f32, found bf16");
  desc = look_up();
  desc.operands[0].shape = {};
  expect_refused(desc,
                 "embedding: operand 0 must have rank 1 or more, found 0");
  desc = look_up();
  desc.operands[2].shape = {2, 4, 4};
  expect_refused(desc,
                 "embedding: operand 2 must have shape [2, 4, 3], found "
                 "[2, 4, 4]");
  desc = look_up(KernelId::embedding_grad);
  for (TensorDesc& operand : desc.operands)
    if (operand.dtype == f32) operand.dtype = f16;
  expect_refused(desc, "embedding_grad: operand 2 must be f32, found f16");
  desc = look_up(KernelId::embedding_grad);
  desc.operands[0].shape = {2, 3};
  expect_refused(desc,
                 "embedding_grad: operand 0 must have shape [2, 4, 3], found "
                 "[2, 3]");
}

TEST(Descriptions, Bytes) {
  expect_refused({KernelId::copy, {{f32, {3}}, {f32, {4}}}, {}},
                 "copy: input and result must have as many bytes, found 12 and "
                 "16");
  expect_refused({KernelId::mean_over_ranks, {{f32, {3}}, {f32, {4}}}, {}},
                 "mean_over_ranks: input and result must have as many bytes, "
                 "found 12 and 16");
  expect_refused({KernelId::mean_over_ranks,
                  {{MPC_DTYPE_BF16, {2}}, {MPC_DTYPE_BF16, {2}}},
                  {}},
                 "mean_over_ranks: operand 0 must be f32 or f64, found bf16");
  expect_refused({KernelId::zero, {{f32, {3}}}, {1}},
                 "zero: needs 0 attributes, found 1");
}

TEST(Descriptions, RejectsCallsThatTheCpuCannotRun) {
  std::string error;
  const TensorDesc square{f32, {2, 2}};
  EXPECT_FALSE(
      make_cpu_kernel(matmul(square, square, square), {0, false}, &error));
  EXPECT_EQ(error, "a kernel needs at least one thread, found 0");
}

TEST(Descriptions, CopyAndZero) {
  for (int threads : {1, 2, 3})
    for (int64_t count : {0, 1, 77, 1 << 20}) {
      const TensorDesc tensor{f32, {count}};
      const KernelDesc copy{KernelId::copy, {tensor, {u8, {count, 4}}}, {}};
      const KernelDesc zero{KernelId::zero, {tensor}, {}};
      const std::vector<double> values = uniform(1, static_cast<size_t>(count));
      const std::vector<Buffer> copied = make_operands(copy, {values});
      run(*must_make(copy, {threads, false}), copied);
      EXPECT_TRUE(copied[0] == copied[1]);
      const std::vector<Buffer> zeroed = make_operands(zero, {});
      run(*must_make(zero, {threads, false}), zeroed);
      EXPECT_EQ(values_of(tensor, zeroed[0]),
                std::vector<double>(static_cast<size_t>(count)));
    }
}

}  // namespace
}  // namespace mpc::kernels::testing
