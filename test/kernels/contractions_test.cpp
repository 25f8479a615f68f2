// matmul and convolutions compared with the reference in f64, in every dtype,
// on difficult shapes.

#include <gtest/gtest.h>

#include "kernels/cpu/cpu.h"
#include "test/kernels/cases.h"
#include "test/kernels/harness.h"

namespace mpc::kernels::testing {
namespace {

const std::vector<Types> kTypes = {
    {MPC_DTYPE_F32, MPC_DTYPE_F32},   {MPC_DTYPE_F64, MPC_DTYPE_F64},
    {MPC_DTYPE_F16, MPC_DTYPE_F16},   {MPC_DTYPE_F16, MPC_DTYPE_F32},
    {MPC_DTYPE_BF16, MPC_DTYPE_BF16}, {MPC_DTYPE_BF16, MPC_DTYPE_F32}};

const std::vector<Context> kContexts = {{1, false}, {2, false}, {1, true},
                                        {2, true},  {3, false}, {3, true}};

void expect_products_close(const KernelDesc& desc, Types types, int terms) {
  expect_close(desc, kContexts, terms);
  if (has_sums(types)) expect_close(added(desc), kContexts, terms + 1);
}

TEST(Matmul, StaysWithinTheBound) {
  for (const MatmulCase& c : kMatmuls)
    for (int flags = 0; flags < 4; ++flags)
      for (const Types types : kTypes)
        expect_products_close(matmul_desc(c, flags & 1, flags & 2, types),
                              types, static_cast<int>(c.lhs.back()));
}

TEST(Matmul, StaysWithinTheBoundInPieces) {
  for (const MatmulCase& c : kLargeMatmuls)
    for (int flags = 0; flags < 4; ++flags)
      for (const Types types : kTypes)
        if (types.dtype != MPC_DTYPE_F64)
          expect_products_close(matmul_desc(c, flags & 1, flags & 2, types),
                                types, static_cast<int>(c.lhs.back()));
}

// An addend in the place of the result gives the same bits.
TEST(Matmul, AddsInPlace) {
  for (const MatmulCase& c : kLargeMatmuls)
    for (const Types types : kTypes) {
      if (!has_sums(types) || types.dtype == MPC_DTYPE_F64) continue;
      const KernelDesc desc = added(matmul_desc(c, true, false, types));
      const auto kernel = must_make(desc, {2, false});
      ASSERT_TRUE(kernel);
      const auto in = [&](size_t i) {
        return uniform(static_cast<int>(i), element_count(desc.operands[i]));
      };
      const std::vector<Buffer> operands =
          make_operands(desc, {in(0), in(1), in(2)});
      run(*kernel, operands);
      void* addresses[] = {operands[0].data(), operands[1].data(),
                           operands[2].data(), operands[2].data()};
      const Buffer scratch(kernel->scratch_bytes());
      ASSERT_TRUE(kernel->run(addresses, scratch.data()));
      EXPECT_TRUE(operands[2] == operands[3]) << describe(desc, {2, false});
      EXPECT_TRUE(scratch.intact());
      // Long sums are complete before they are added: ranks that each compute
      // one gradient get the bits of a process that adds them up.
      if (types.dtype == MPC_DTYPE_BF16) continue;
      const KernelDesc plain = matmul_desc(c, true, false, types);
      const std::vector<Buffer> apart = make_operands(plain, {in(0), in(1)});
      run(*must_make(plain, {2, false}), apart);
      const std::vector<double> products =
          values_of(plain.operands[2], apart[2]);
      const std::vector<double> sums = values_of(desc.operands[3], operands[3]);
      const Buffer addends = make_tensor(desc.operands[2], in(2));
      const std::vector<double> before = values_of(desc.operands[2], addends);
      for (size_t i = 0; i < sums.size(); ++i)
        ASSERT_EQ(
            static_cast<float>(sums[i]),
            static_cast<float>(before[i]) + static_cast<float>(products[i]))
            << describe(desc, {2, false}) << ", element " << i;
    }
}

TEST(Matmul, ReferenceStaysWithinTheBound) {
  for (const MatmulCase& c : kMatmuls)
    for (int flags = 0; flags < 4; ++flags)
      for (const Types types : kTypes) {
        const KernelDesc desc = matmul_desc(c, flags & 1, flags & 2, types);
        const int terms = static_cast<int>(c.lhs.back());
        expect_reference_close(desc, terms);
        if (has_sums(types)) expect_reference_close(added(desc), terms + 1);
      }
}

TEST(Conv, StaysWithinTheBound) {
  for (const ConvCase& c : kConvs)
    for (KernelId id : kConvKernels)
      for (const Types types : kTypes)
        for (bool last : {false, true})
          if (allowed(id, types))
            expect_close(conv_desc(id, c, last, types.dtype, types.result),
                         kContexts, conv_terms(id, c));
}

TEST(Conv, StaysWithinTheBoundInPieces) {
  for (const ConvCase& c : kLargeConvs)
    for (KernelId id : kConvKernels)
      for (const Types types : kTypes)
        for (bool last : {false, true})
          if (allowed(id, types) && types.dtype != MPC_DTYPE_F64)
            expect_close(conv_desc(id, c, last, types.dtype, types.result),
                         {{2, false}, {2, true}}, conv_terms(id, c));
}

TEST(Conv, ReferenceStaysWithinTheBound) {
  for (const ConvCase& c : kConvs)
    for (KernelId id : kConvKernels)
      for (const Types types : kTypes)
        for (bool last : {false, true})
          if (allowed(id, types))
            expect_reference_close(
                conv_desc(id, c, last, types.dtype, types.result),
                conv_terms(id, c));
}

TEST(Conv, BiasMayBeF32BesideSixteenBits) {
  for (mpc_dtype_t dtype : {MPC_DTYPE_BF16, MPC_DTYPE_F16}) {
    KernelDesc desc =
        conv_desc(KernelId::conv_bias, kConvs[2], true, dtype, dtype);
    desc.operands[2].dtype = MPC_DTYPE_F32;
    expect_close(desc, kContexts, conv_terms(KernelId::conv_bias, kConvs[2]));
  }
}

// Scratch memory does not grow with the operands: each thread needs a block of
// each operand and of the result.
TEST(Scratch, OfProductsIsBlocks) {
  const KernelDesc logits =
      matmul_desc({{4096, 768}, {768, 50304}, {4096, 50304}}, false, true,
                  {MPC_DTYPE_F16, MPC_DTYPE_F16});
  for (const Context context :
       {Context{1, false}, Context{4, false}, Context{4, true}}) {
    const auto kernel = must_make(logits, context);
    ASSERT_TRUE(kernel);
    EXPECT_LE(kernel->scratch_bytes(),
              (size_t{5} << 20) * static_cast<size_t>(context.threads));
  }
}

// Sums of 16-bit results need no more rows than there are.
TEST(Scratch, OfSmallProductsIsSmall) {
  const KernelDesc product =
      matmul_desc({{256, 256}, {256, 256}, {256, 256}}, true, false,
                  {MPC_DTYPE_F16, MPC_DTYPE_F16});
  const size_t matrix = 256 * 256 * sizeof(float);
  for (size_t threads : {1, 4, 32}) {
    const auto kernel = must_make(product, {static_cast<int>(threads), false});
    ASSERT_TRUE(kernel);
    EXPECT_LE(kernel->scratch_bytes(), matrix * (threads + 4));
  }
}

TEST(Scratch, OfWidenedConvolutionsIsStrips) {
  const ConvCase c = {64,     64,     64,     {56, 56}, {3, 3},
                      {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const size_t images = 2 * 56 * 56 * 64 * sizeof(float),
               weights = 64 * 64 * 9 * sizeof(float);
  for (KernelId id : kConvKernels) {
    const mpc_dtype_t result =
        id == KernelId::conv_grad_weight ? MPC_DTYPE_F32 : MPC_DTYPE_F16;
    const KernelDesc desc = conv_desc(id, c, true, MPC_DTYPE_F16, result);
    for (size_t threads : {1, 4}) {
      const Context context{static_cast<int>(threads), false};
      SCOPED_TRACE(describe(desc, context));
      const auto kernel = must_make(desc, context);
      ASSERT_TRUE(kernel);
      EXPECT_LE(kernel->scratch_bytes(),
                2 * weights + threads * (images + 8 * weights));
    }
  }
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// Otherwise a slow fallback of the library would go unnoticed.
TEST(Conv, ChannelsLastRunsOnJitKernels) {
  if (!cpu::has_avx2()) GTEST_SKIP() << "no AVX2";
  const char* isa = cpu::has_avx512() ? "avx512_core" : "avx2";
  const std::vector<ConvCase> shapes = {
      {64, 1, 16, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {64, 16, 32, {8, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {64, 32, 32, {4, 4}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {2, 3, 64, {224, 224}, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}},
      {2, 64, 256, {56, 56}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}},
      {2, 256, 512, {28, 28}, {1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
      {2, 256, 256, {14, 14}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {2, 64, 64, {28, 28}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 64},
      {4, 16, 32, {64}, {3}, {1}, {1}, {1}, {1}},
  };
  for (const ConvCase& c : shapes)
    for (KernelId id : kConvKernels)
      for (const Types types : kTypes) {
        if (types.dtype == MPC_DTYPE_F64 || !allowed(id, types)) continue;
        const KernelDesc desc =
            conv_desc(id, c, true, types.dtype, types.result);
        SCOPED_TRACE(describe(desc, {2, false}));
        const auto kernel = must_make(desc, {2, false});
        ASSERT_TRUE(kernel);
        // Some are products. With AMX, oneDNN 3 calls AVX-512 AVX10.1.
        EXPECT_TRUE(contains(kernel->implementation(), isa) ||
                    (cpu::has_avx512() &&
                     contains(kernel->implementation(), "avx10_1_512")) ||
                    (!cpu::has_avx512() &&
                     contains(kernel->implementation(), "gemm:jit")) ||
                    contains(kernel->implementation(), "gemm:avx"))
            << kernel->implementation();
      }
}

}  // namespace
}  // namespace mpc::kernels::testing
