// Kernels in graphs on a real device: bit-identical to direct calls.

#include <gtest/gtest.h>

#include "test/cuda/device/device.h"
#include "test/kernels/attention.h"

namespace mpc::test {
namespace {

TEST(Device, MatmulInGraphs) {
  MPC_NEEDS_CUBLASLT();
  for (const Types t : types())
    for (const MatmulCase& c : kDeviceMatmuls)
      for (const CudaContext& context : {untimed(), device().context})
        expect_same_in_graphs(matmul_desc(c, false, true, t), context);
}

TEST(Device, ConvInGraphs) {
  MPC_NEEDS_CUDNN();
  for (const Types t : types())
    for (KernelId id : kConvKernels)
      if (allowed(id, t))
        for (const ConvCase& c : {kConvs[1], kConvs[2]})
          expect_same_in_graphs(conv_desc(id, c, true, t.dtype, t.result),
                                untimed());
}

TEST(Device, AttentionInGraphs) {
  MPC_NEEDS_CUBLASLT();
  MPC_NEEDS_IMAGES();
  const AttentionCase c = {2, 4, 2, 128, 128, 64, 64, true, 0.125f};
  for (const Types t : types())
    for (KernelId id : {KernelId::attention, KernelId::attention_grad})
      expect_same_in_graphs(attention_desc(id, c, t.dtype, t.result),
                            untimed());
}

TEST(Device, PoolInGraphs) {
  MPC_NEEDS_IMAGES();
  for (KernelId id : {KernelId::average_pool, KernelId::average_pool_grad})
    expect_same_in_graphs(pool_desc(id, kPools[2], true, false, MPC_DTYPE_F16),
                          device().context);
}

// All indices are 0: one long run.
TEST(Device, EmbeddingInGraphs) {
  MPC_NEEDS_IMAGES();
  for (KernelId id : {KernelId::embedding, KernelId::embedding_grad})
    expect_same_in_graphs(
        embedding_desc(id, {{300, 40}, {5000}}, MPC_DTYPE_F16, MPC_DTYPE_I32),
        device().context);
}

}  // namespace
}  // namespace mpc::test
