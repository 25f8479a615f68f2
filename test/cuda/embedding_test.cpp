// The kernels of embedding.cu compared with the reference, in three orders of
// threads. Values are multiples of 1/8, so that sums are exact in any order.

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/cuda/driver/device_images.h"
#include "test/cuda/kernel_test.h"

namespace mpc::test {
namespace {

using namespace kernels;
using namespace kernels::testing;

class CudaEmbedding : public CudaKernelTest {
 protected:
  void expect_same(const KernelDesc& desc, const std::vector<double>& indices) {
    CudaKernelTest::expect_same(
        desc, {eighths(0, element_count(desc.operands[0])), indices});
  }
};

#define MPC_NEEDS_IMAGES() \
  if (device_images().empty()) GTEST_SKIP() << "nvcc was not found"

// Each case in two types.
template <typename F>
void for_calls(F&& body) {
  int number = 0;
  for (const EmbeddingCase& c : kEmbeddings) {
    const mpc_dtype_t dtypes[] = {MPC_DTYPE_F32, MPC_DTYPE_BF16, MPC_DTYPE_F16};
    for (KernelId id : {KernelId::embedding, KernelId::embedding_grad})
      for (mpc_dtype_t index : {MPC_DTYPE_I32, MPC_DTYPE_I64})
        body(embedding_desc(id, c, dtypes[number++ % 3], index));
  }
}

TEST_F(CudaEmbedding, IsTheReference) {
  MPC_NEEDS_IMAGES();
  for_calls(
      [&](const KernelDesc& desc) { expect_same(desc, indices_for(desc)); });
}

TEST_F(CudaEmbedding, IndicesOutsideTheTableReadAndWriteNothing) {
  MPC_NEEDS_IMAGES();
  for_calls(
      [&](const KernelDesc& desc) { expect_same(desc, indices_beyond(desc)); });
}

// Runs of equal indices that end at the boundaries of groups, span many groups,
// and cover everything.
TEST_F(CudaEmbedding, RunsOfEveryLengthAreAddedUp) {
  MPC_NEEDS_IMAGES();
  for (int64_t length : {1, 31, 32, 33, 64, 511, 512, 513, 1200}) {
    const KernelDesc desc =
        embedding_desc(KernelId::embedding_grad, {{1300, 4}, {1200}},
                       MPC_DTYPE_BF16, MPC_DTYPE_I32);
    std::vector<double> indices(1200);
    for (size_t i = 0; i < indices.size(); ++i)
      indices[i] = static_cast<double>(static_cast<int64_t>(i) / length);
    expect_same(desc, indices);
    std::reverse(indices.begin(), indices.end());
    expect_same(desc, indices);
  }
}

TEST_F(CudaEmbedding, NamesWhatItRunsAndWhatFailed) {
  MPC_NEEDS_IMAGES();
  const EmbeddingCase c = {{100, 24}, {64}};
  std::string error;
  const auto forward = make_cuda_kernel(
      embedding_desc(KernelId::embedding, c, MPC_DTYPE_BF16, MPC_DTYPE_I64),
      context, &error);
  ASSERT_TRUE(forward) << error;
  EXPECT_EQ(forward->implementation(), "mpc_embedding_16_i64");
  EXPECT_EQ(forward->workspace_bytes(), 0u);
  const auto gradient =
      make_cuda_kernel(embedding_desc(KernelId::embedding_grad, c,
                                      MPC_DTYPE_BF16, MPC_DTYPE_I64),
                       context, &error);
  ASSERT_TRUE(gradient) << error;
  EXPECT_EQ(gradient->implementation(), "mpc_embedding_sum_bf16x8");

  const cuda::CUdeviceptr operands[] = {0, 0, 0};
  driver.failing = "cuMemsetD8Async";
  std::vector<float> table(2400);
  const cuda::CUdeviceptr with_table[] = {
      0, 0, reinterpret_cast<cuda::CUdeviceptr>(table.data())};
  EXPECT_EQ(gradient->enqueue(with_table, 0, nullptr),
            "cuMemsetD8Async: CUDA_ERROR_UNKNOWN (as asked for)");
  for (auto& [name, kernel] : driver.kernels)
    kernel = [](const HostDriver::Grid&, void**) { return std::string(); };
  driver.failing = "cuLaunchKernel";
  EXPECT_EQ(forward->enqueue(operands, 0, nullptr),
            "cuLaunchKernel: CUDA_ERROR_UNKNOWN (as asked for)");
  EXPECT_EQ(gradient->enqueue(with_table, 0, nullptr),
            "cuLaunchKernel: CUDA_ERROR_UNKNOWN (as asked for)");
}

TEST_F(CudaEmbedding, RefusesMoreIndicesThanItCanSort) {
  std::string error;
  EXPECT_FALSE(make_cuda_kernel(
      embedding_desc(KernelId::embedding_grad, {{4, 1}, {65536, 32768}},
                     MPC_DTYPE_F16, MPC_DTYPE_I32),
      context, &error));
  EXPECT_EQ(error,
            "embedding_grad: there must be fewer than 2^31 indices, found "
            "2147483648");
}

}  // namespace
}  // namespace mpc::test
