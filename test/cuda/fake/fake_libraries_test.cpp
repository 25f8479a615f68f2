// Catalog kernels on a driver that runs work late, queued and captured.

#include "test/cuda/fake/fake_libraries.h"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/cuda/kernel.h"
#include "test/kernels/attention.h"
#include "test/kernels/cases.h"

namespace mpc::test {
namespace {

using namespace cuda;
using namespace kernels;
using namespace kernels::testing;

class FakeLibrariesTest : public ::testing::Test {
 protected:
  FakeLibrariesTest() : libraries(&fake) {
    CUdevice device = 0;
    EXPECT_EQ(driver.cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDeviceGet(&device, 0), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRetain(&context.context, device),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuCtxSetCurrent(context.context), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamCreate(&context.stream, CU_STREAM_NON_BLOCKING),
              CUDA_SUCCESS);
    context.driver = &driver;
    context.cublaslt = load_cublaslt(&context.cublaslt_missing);
    context.cudnn = load_cudnn(&context.cudnn_missing);
    context.compute_capability = 90;
    context.cache_folder = "";
  }
  ~FakeLibrariesTest() override {
    context.shared.reset();
    EXPECT_EQ(driver.cuStreamDestroy_v2(context.stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
    EXPECT_EQ(fake.leaks(), "");
    EXPECT_EQ(fake.error(), "");
  }

  // Captures the kernel; each launch of the graph must then compute from the
  // inputs at that time.
  void expect_captured(const KernelDesc& desc) {
    SCOPED_TRACE(describe(desc, {1, false}));
    std::string error;
    const auto kernel = make_cuda_kernel(desc, context, &error);
    const auto reference = make_reference_kernel(desc, &error);
    ASSERT_TRUE(kernel && reference) << error;
    std::vector<CUdeviceptr> operands;
    for (const TensorDesc& tensor : desc.operands)
      operands.push_back(
          take(element_count(tensor) * mpc_dtype_size(tensor.dtype)));
    const CUdeviceptr workspace = take(kernel->workspace_bytes() + 1);
    CUgraph graph;
    CUgraphExec executable;
    ASSERT_EQ(driver.cuStreamBeginCapture_v2(
                  context.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
              CUDA_SUCCESS);
    ASSERT_EQ(kernel->enqueue(operands.data(), workspace, context.stream), "");
    ASSERT_EQ(driver.cuStreamEndCapture(context.stream, &graph), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&executable, graph, 0),
              CUDA_SUCCESS);
    for (int launch = 0; launch < 2; ++launch) {
      std::vector<std::vector<double>> inputs;
      for (size_t i = 0; i < input_count(desc); ++i)
        inputs.push_back(eighths(launch + static_cast<int>(i),
                                 element_count(desc.operands[i])));
      const std::vector<Buffer> expected = make_operands(desc, inputs);
      run(*reference, expected);
      for (size_t i = 0; i < inputs.size(); ++i)
        EXPECT_EQ(
            driver.cuMemcpyHtoDAsync_v2(operands[i], expected[i].data(),
                                        expected[i].size(), context.stream),
            CUDA_SUCCESS);
      EXPECT_EQ(driver.cuGraphLaunch(executable, context.stream), CUDA_SUCCESS);
      EXPECT_EQ(driver.cuStreamSynchronize(context.stream), CUDA_SUCCESS);
      EXPECT_EQ(fake.error(), "");
      // Sums of multiples of 1/8 are exact in any order.
      for (size_t i = inputs.size(); i < expected.size(); ++i)
        EXPECT_EQ(std::memcmp(reinterpret_cast<void*>(operands[i]),
                              expected[i].data(), expected[i].size()),
                  0);
    }
    EXPECT_EQ(driver.cuGraphExecDestroy(executable), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
    operands.push_back(workspace);
    for (CUdeviceptr memory : operands)
      EXPECT_EQ(driver.cuMemFree_v2(memory), CUDA_SUCCESS);
  }
  CUdeviceptr take(size_t bytes) {
    CUdeviceptr memory = 0;
    EXPECT_EQ(driver.cuMemAlloc_v2(&memory, bytes), CUDA_SUCCESS);
    return memory;
  }

  FakeDriver fake;
  FakeLibraries libraries;
  const Driver& driver = fake.table();
  CudaContext context;
};

TEST_F(FakeLibrariesTest, GraphsHoldTheWork) {
  const Types f32{MPC_DTYPE_F32, MPC_DTYPE_F32};
  libraries.cublaslt.algorithms = {{10, 1 << 10}};
  libraries.cudnn.engines = {{10, 1 << 10}};
  for (bool deterministic : {true, false}) {
    context.deterministic = deterministic;
    for (const MatmulCase& c : {kMatmuls[3], kMatmuls[10]})
      expect_captured(matmul_desc(c, true, false, f32));
    for (KernelId id : kConvKernels) {
      expect_captured(
          conv_desc(id, kConvs[5], true, MPC_DTYPE_F32, MPC_DTYPE_F32));
      expect_captured(
          conv_desc(id, kConvs[5], false, MPC_DTYPE_F16, MPC_DTYPE_F32));
    }
    for (KernelId id : {KernelId::max_pool, KernelId::average_pool_grad})
      expect_captured(pool_desc(id, kPools[2], true, true, MPC_DTYPE_BF16));
  }
}

KernelDesc scaled_matmul_desc() {
  return {KernelId::scaled_matmul,
          {{MPC_DTYPE_F8E4M3, {2, 16}},
           {MPC_DTYPE_F8E4M3, {16, 16}},
           {MPC_DTYPE_F32, {}},
           {MPC_DTYPE_F32, {}},
           {MPC_DTYPE_F32, {2, 16}}},
          {0, 1}};
}

// A graph stores the addresses of the factors of each call, and reads the
// factors when it is launched.
TEST_F(FakeLibrariesTest, GraphsReadTheFactorsOfEachCall) {
  std::string error;
  const auto kernel = make_cuda_kernel(scaled_matmul_desc(), context, &error);
  ASSERT_TRUE(kernel) << error << libraries.cublaslt.refusal;
  const CUdeviceptr lhs = take(32), rhs = take(256), factors = take(16),
                    results = take(256);
  EXPECT_EQ(driver.cuMemsetD8Async(lhs, 0x38, 32, context.stream),
            CUDA_SUCCESS);  // Ones.
  EXPECT_EQ(driver.cuMemsetD8Async(rhs, 0x38, 256, context.stream),
            CUDA_SUCCESS);
  CUgraph graph;
  CUgraphExec executable;
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(context.stream,
                                           CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
            CUDA_SUCCESS);
  for (size_t i = 0; i < 2; ++i) {
    const CUdeviceptr operands[] = {lhs, rhs, factors + 8 * i,
                                    factors + 8 * i + 4, results + 128 * i};
    ASSERT_EQ(kernel->enqueue(operands, 0, context.stream), "");
  }
  ASSERT_EQ(driver.cuStreamEndCapture(context.stream, &graph), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&executable, graph, 0),
            CUDA_SUCCESS);
  for (float scale : {1.0f, 0.25f}) {
    const float values[] = {scale, 2, 4, 8 * scale};
    float found[64] = {};
    EXPECT_EQ(driver.cuMemcpyHtoDAsync_v2(factors, values, sizeof values,
                                          context.stream),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuGraphLaunch(executable, context.stream), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuMemcpyDtoHAsync_v2(found, results, sizeof found,
                                          context.stream),
              CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamSynchronize(context.stream), CUDA_SUCCESS);
    for (size_t i = 0; i < 64; ++i)
      EXPECT_EQ(found[i], 16 * scale * (i < 32 ? 2 : 32)) << i;
  }
  EXPECT_EQ(driver.cuGraphExecDestroy(executable), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  for (CUdeviceptr memory : {lhs, rhs, factors, results})
    EXPECT_EQ(driver.cuMemFree_v2(memory), CUDA_SUCCESS);
}

// A session loads the libraries that the catalog lists; no kernel may need
// others.
TEST_F(FakeLibrariesTest, KernelsNeedTheLibrariesThatTheCatalogLists) {
  libraries.cublaslt.algorithms = {{10, 1 << 10}};
  libraries.cudnn.engines = {{10, 1 << 10}};
  std::vector<KernelDesc> calls = {
      matmul_desc(kMatmuls[3], true, false, {MPC_DTYPE_F32, MPC_DTYPE_F32}),
      scaled_matmul_desc(),
      {KernelId::copy, {{MPC_DTYPE_F32, {2}}, {MPC_DTYPE_F32, {2}}}, {}},
      {KernelId::zero, {{MPC_DTYPE_F32, {2}}}, {}}};
  for (KernelId id : kConvKernels)
    calls.push_back(
        conv_desc(id, kConvs[5], true, MPC_DTYPE_F32, MPC_DTYPE_F32));
  for (KernelId id : {KernelId::max_pool, KernelId::max_pool_grad,
                      KernelId::average_pool, KernelId::average_pool_grad})
    calls.push_back(pool_desc(id, kPools[2], true, true, MPC_DTYPE_F32));
  for (KernelId id : {KernelId::attention, KernelId::attention_grad})
    calls.push_back(
        attention_desc(id, kAttentions[7], MPC_DTYPE_F32, MPC_DTYPE_F32));
  AttentionCase bshd = kAttentions[7];
  bshd.bshd = true;
  for (const AttentionCase& c : {bshd, as_packed({kAttentions[8]})[0]})
    for (KernelId id : attention_ids(c))
      calls.push_back(attention_desc(id, c, MPC_DTYPE_F32, MPC_DTYPE_F32));
  const CublasLt* cublaslt = context.cublaslt;
  const Cudnn* cudnn = context.cudnn;
  for (const KernelDesc& call : calls) {
    SCOPED_TRACE(describe(call, {1, false}));
    const bool multiplies = needs_library(call.id, CudaLibrary::cublaslt);
    const bool convolves = needs_library(call.id, CudaLibrary::cudnn);
    EXPECT_EQ(multiplies, call.id == KernelId::matmul ||
                              call.id == KernelId::scaled_matmul ||
                              call.id == KernelId::attention ||
                              call.id == KernelId::attention_grad ||
                              call.id == KernelId::attention_bshd ||
                              call.id == KernelId::attention_grad_bshd ||
                              call.id == KernelId::packed_attention ||
                              call.id == KernelId::packed_attention_grad);
    std::string error;
    context.cublaslt = multiplies ? cublaslt : nullptr;
    context.cudnn = convolves ? cudnn : nullptr;
    EXPECT_TRUE(make_cuda_kernel(call, context, &error)) << error;
    // Another device, because what was made for this one has its libraries.
    CudaContext without = context;
    without.shared = make_cuda_shared();
    without.cublaslt = nullptr;
    without.cudnn = nullptr;
    EXPECT_EQ(make_cuda_kernel(call, without, &error) == nullptr,
              multiplies || convolves);
  }
  EXPECT_FALSE(needs_library(static_cast<KernelId>(0), CudaLibrary::cudnn));
}

TEST_F(FakeLibrariesTest, RecurrentLayersHaveNoKernel) {
  std::string error;
  EXPECT_FALSE(make_cuda_kernel(
      recurrent_desc(KernelId::gru_grad, {2, 3, 4}, false, MPC_DTYPE_F32),
      context, &error));
  EXPECT_EQ(error,
            "gru_grad: has no kernel for CUDA; compile the model for target "
            "cuda");
}

TEST_F(FakeLibrariesTest, EachCallOfTheDriverMayFail) {
  const KernelDesc desc = conv_desc(KernelId::conv_grad_weight, kConvs[3], true,
                                    MPC_DTYPE_F16, MPC_DTYPE_F32);
  bool made = false;
  for (uint64_t n = 1; !made; ++n) {
    ASSERT_LT(n, 1000u);
    context.shared = make_cuda_shared();
    fake.fail_at(n);
    std::string error;
    const auto kernel = make_cuda_kernel(desc, context, &error);
    const std::string failed = fake.failed_call();
    fake.fail_at(0);
    // All calls succeeded, or one failed and was reported, or was not essential
    // (a trial).
    made = failed.empty();
    EXPECT_EQ(kernel != nullptr, error.empty()) << failed << ": " << error;
    EXPECT_TRUE(kernel || error.find(failed) != std::string::npos ||
                error.find("EXECUTION_FAILED") != std::string::npos)
        << failed << ": " << error;
  }
}

}  // namespace
}  // namespace mpc::test
