// The mapping of products to cuBLASLt's layouts, compared with the reference.

#include <gtest/gtest.h>

#include "kernels/float_types.h"
#include "test/cuda/as_kernel.h"
#include "test/cuda/matmul/matmul.h"

namespace mpc::test {
namespace {

void expect_close(const KernelDesc& desc, const CudaContext& device,
                  int terms) {
  const auto kernel = must_make(desc, device);
  ASSERT_TRUE(kernel);
  kernels::testing::expect_kernel_close(desc, *kernel, terms);
}

TEST_F(CudaMatmul, MapsEveryLayout) {
  CudaContext device = context();
  device.cache_folder = "";
  for (const auto* cases : {&kMatmuls, &kLargeMatmuls})
    for (const MatmulCase& c : *cases)
      for (int flags = 0; flags < 4; ++flags)
        for (const Types types : kCudaTypes) {
          const KernelDesc desc = matmul_desc(c, flags & 1, flags & 2, types);
          // Large cases only with bf16 operands, which is enough for batches.
          if (cases == &kLargeMatmuls && types.dtype != MPC_DTYPE_BF16)
            continue;
          device.deterministic = cases == &kLargeMatmuls;
          expect_close(desc, device, static_cast<int>(c.lhs.back()));
          if (has_sums(types))
            expect_close(added(desc), device,
                         static_cast<int>(c.lhs.back()) + 1);
          ASSERT_FALSE(HasFailure()) << library.refusal;
        }
}

// An algorithm may be chosen by whether something is added, and the result may
// be where the addend is.
TEST_F(CudaMatmul, AddsInPlace) {
  std::string error;
  const KernelDesc product =
      matmul_desc({{2, 3}, {3, 2}, {2, 2}}, false, false, kCudaTypes[0]);
  const auto plain = make_cuda_kernel(product, context(), &error);
  ASSERT_TRUE(plain) << error << library.refusal;
  const size_t tried = library.products;
  const auto kernel = make_cuda_kernel(added(product), context(), &error);
  ASSERT_TRUE(kernel) << error << library.refusal;
  EXPECT_GT(library.products, tried + 1);  // Timed, not taken from the table.
  const float lhs[] = {1, 2, 3, 4, 5, 6}, rhs[] = {1, 0, 0, 1, 1, 1};
  float sums[] = {10, 20, 30, 40};
  const cuda::CUdeviceptr operands[] = {address(lhs), address(rhs),
                                        address(sums), address(sums)};
  ASSERT_EQ(kernel->enqueue(operands, 0, nullptr), "") << library.refusal;
  const float expected[] = {14, 25, 40, 51};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(sums[i], expected[i]) << i;
}

TEST_F(CudaMatmul, RefusesWhatNoMatrixUnitTakes) {
  std::string error;
  const auto refuse = [&](KernelDesc desc, const CudaContext& device) {
    EXPECT_FALSE(make_cuda_kernel(desc, device, &error));
    return error;
  };
  KernelDesc desc =
      fp8_desc(MPC_DTYPE_F8E5M2, MPC_DTYPE_F8E5M2, MPC_DTYPE_BF16);
  EXPECT_EQ(refuse(desc, context()),
            "scaled_matmul: operand 1 must be f8e4m3, found f8e5m2");
  desc = fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E5M2, MPC_DTYPE_F16);
  EXPECT_EQ(refuse(desc, context()),
            "scaled_matmul: operand 4 must be bf16 or f32, found f16");
  desc = fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_BF16, MPC_DTYPE_BF16);
  EXPECT_EQ(refuse(desc, context()),
            "scaled_matmul: operand 1 must be f8e4m3 or f8e5m2, found bf16");
  desc = fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, MPC_DTYPE_BF16);
  CudaContext ampere = context();
  ampere.compute_capability = 80;
  EXPECT_EQ(refuse(desc, ampere),
            "scaled_matmul: f8e4m3 needs compute capability 8.9, Fake H200 has "
            "8.0; compile with option 'precision'=bf16");
  desc.operands[1].shape = {32, 16};
  desc.attributes[1] = 0;
  EXPECT_EQ(refuse(desc, context()),
            "scaled_matmul: operands of 8 bit must both have rows along the "
            "sum");
  desc = unscaled(desc);
  EXPECT_EQ(refuse(desc, context()),
            "matmul: operands of 8 bit must both have rows along the sum");
  desc = fp8_desc(MPC_DTYPE_F8E4M3, MPC_DTYPE_F8E4M3, MPC_DTYPE_BF16);
  desc.operands[0].shape[2] = desc.operands[1].shape[1] = 24;
  EXPECT_EQ(refuse(desc, context()),
            "scaled_matmul: operands of 8 bit must have extents that are "
            "multiples of 16, found a sum over 24 and 16 columns");
}

TEST_F(CudaMatmul, LinearLayersAreOneProduct) {
  std::string error;
  CudaContext device = context();
  device.deterministic = true;
  const auto kernel =
      make_cuda_kernel(matmul_desc({{2, 3, 5, 7}, {7, 11}, {2, 3, 5, 11}},
                                   false, false, kCudaTypes[0]),
                       device, &error);
  ASSERT_TRUE(kernel) << error;
  std::vector<float> lhs(2 * 3 * 5 * 7), rhs(77), result(2 * 3 * 5 * 11);
  const cuda::CUdeviceptr operands[] = {
      reinterpret_cast<cuda::CUdeviceptr>(lhs.data()),
      reinterpret_cast<cuda::CUdeviceptr>(rhs.data()),
      reinterpret_cast<cuda::CUdeviceptr>(result.data())};
  library.products = 0;
  EXPECT_EQ(kernel->enqueue(operands, 0, nullptr), "");
  EXPECT_EQ(library.products, 1u);
}

}  // namespace
}  // namespace mpc::test
