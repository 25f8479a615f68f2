// Attention on CUDA: cuDNN's graph with the fake library, and products with our
// own softmax, which runs in the simulator.

#include "test/kernels/attention.h"

#include <gtest/gtest.h>

#include "kernels/cuda/families.h"
#include "kernels/cuda/kernel.h"
#include "kernels/shapes.h"
#include "test/cuda/as_kernel.h"
#include "test/cuda/device_kernels.h"
#include "test/cuda/fake/fake_cublaslt.h"
#include "test/cuda/fake/fake_cudnn.h"
#include "test/cuda/host_driver.h"
#include "test/cuda/test_images.h"
#include "test/device_sim/device_sim.h"
#include "test/kernels/cases.h"

namespace mpc::test {
namespace {

using namespace kernels;
using namespace kernels::testing;

class CudaAttention : public ::testing::Test {
 protected:
  CudaAttention() : cublaslt(&driver), cudnn(&driver) {
    add_device_kernels(&driver);
  }
  ~CudaAttention() override {
    EXPECT_TRUE(driver.allocations.empty());
    EXPECT_EQ(cublaslt.handles, 0u);
    EXPECT_EQ(cudnn.handles, 0u);
    EXPECT_EQ(cudnn.descriptors, 0u);
  }

  CudaContext context(bool with_cudnn) const {
    CudaContext made;
    made.driver = driver.table();
    made.cublaslt = cublaslt.table();
    if (with_cudnn)
      made.cudnn = cudnn.table();
    else
      made.cudnn_missing = "libcudnn.so.9 not found";
    made.compute_capability = 90;
    made.device_name = "Fake H200";
    made.cache_folder = "";
    return made;
  }
  std::string implementation(const CudaContext& device, KernelId id,
                             const AttentionCase& c, Types types) {
    std::string error;
    const auto kernel = make_cuda_kernel(
        attention_desc(id, c, types.dtype, types.result), device, &error);
    return kernel ? kernel->implementation() : error;
  }
  void expect_all(const CudaContext& device,
                  const std::vector<AttentionCase>& cases) {
    for (const AttentionCase& c : cases)
      for (KernelId id : attention_ids(c))
        for (const auto& [dtype, result] : kCudaTypes) {
          const KernelDesc desc = attention_desc(id, c, dtype, result);
          SCOPED_TRACE(kernels::testing::describe(desc, {1, false}));
          const auto kernel = must_make(desc, device);
          ASSERT_TRUE(kernel) << cudnn.refusal;
          AttentionExpectation(desc).check(*kernel);
          ASSERT_FALSE(HasFailure()) << cudnn.refusal << driver.launch_error;
        }
  }

  TestImages images;
  HostDriver driver;
  FakeCublasLt cublaslt;
  FakeCudnn cudnn;
};

const AttentionCase kUsual = {1, 2, 1, 9, 11, 8, 16, true};

TEST_F(CudaAttention, ComposedStaysWithinTheBound) {
  expect_all(context(false), kAttentions);
  expect_all(context(false), kBiasedAttentions);
  expect_all(context(false), in_other_layouts(kAttentions));
  expect_all(context(false), with_softcap(with_dropout(kAttentions)));
  expect_all(context(false), with_dropout(kBiasedAttentions));
  expect_all(context(false), with_replacing(with_softcap(kBiasedAttentions)));
}

// The graph of the fused engines, computed from its descriptors; for cases that
// do not use cuDNN, the other kernels.
TEST_F(CudaAttention, CudnnStaysWithinTheBound) {
  cudnn.engines = {{10, 1000}};
  expect_all(context(true), kAttentions);
  EXPECT_GT(cudnn.executions, 0u);
}

TEST_F(CudaAttention, CudnnStaysWithinTheBoundInOtherLayouts) {
  cudnn.engines = {{10, 1000}};
  expect_all(context(true), as_packed(kAttentions));
  EXPECT_GT(cudnn.executions, 0u);
  expect_all(context(true), as_bshd(kAttentions));
}

TEST_F(CudaAttention, CudnnStaysWithinTheBoundDeterministic) {
  cudnn.engines = {{10, 1000}};
  CudaContext device = context(true);
  device.deterministic = true;
  expect_all(device, {kUsual, kAttentions[6]});
  expect_all(device, in_other_layouts({kUsual, kAttentions[6]}));
}

// Versions before 9.10 need a finite number for masked scores.
TEST_F(CudaAttention, OldVersionsMaskByAFiniteNumber) {
  cudnn.version = 90600;
  expect_all(context(true), {kUsual});
  EXPECT_GT(cudnn.executions, 0u);
}

TEST_F(CudaAttention, SaysWhatComputesIt) {
  const Types bf16 = kCudaTypes[3];
  const auto said = [&](Types types, const AttentionCase& c = kUsual,
                        KernelId id = KernelId::attention) {
    return implementation(context(true), id, c, types);
  };
  EXPECT_EQ(said(bf16), "cudnn:engine 0, 10.0 us, fastest of 1");
  const std::string composed =
      "cublasLt:algo 0, 10.0 us, fastest of 1 and mpc_attention_softmax_";
  EXPECT_EQ(said(kCudaTypes[0]),
            composed + "f32, as cuDNN's attention is of 16 bit");
  EXPECT_EQ(said(bf16, with_dropout({kUsual})[0], KernelId::attention_dropout),
            "cublasLt:algo 0, 10.0 us, fastest of 1 and "
            "mpc_attention_softmax_bf16, as cuDNN's attention draws other "
            "random numbers");
  EXPECT_EQ(said(bf16, with_softcap({kUsual})[0]),
            composed + "bf16, as attention with a soft cap does not use cuDNN");
  EXPECT_EQ(said(kCudaTypes[4]),
            composed + "bf16, as cuDNN's attention has results of 16 bit");
  EXPECT_EQ(
      said(kCudaTypes[1], kAttentions[3], KernelId::attention_grad),
      composed + "grad_f16, as cuDNN's attention has depths that 8 divides");
  EXPECT_EQ(said(bf16, {1, 1, 1, 1, 1, 8, 8, false}),
            composed + "bf16, as cuDNN's attention has more than one key");
  EXPECT_EQ(said(bf16, kAttentions[10]),
            composed + "bf16, as cuDNN's attention has a positive scale");
  AttentionCase biased = kUsual;
  biased.biases = {{true, false, false}};
  EXPECT_EQ(said(bf16, biased, KernelId::biased_attention),
            composed + "bf16, as attention with a bias does not use cuDNN");
  EXPECT_EQ(implementation(context(false), KernelId::attention, kUsual, bf16),
            composed + "bf16, as cuDNN is missing: libcudnn.so.9 not found");
  cudnn.version = 91001;
  EXPECT_EQ(said(bf16),
            composed + "bf16, as cuDNN 91001 has no attention to rely on");
  cudnn.version = 92800;
  cudnn.engines[0].attention = false;
  EXPECT_EQ(said(bf16),
            composed +
                "bf16, as cuDNN has no engine for attention bf16 1 2 1 9 11 8 "
                "16 scale 1048576000 causal that sums in f32");
  EXPECT_EQ(said(bf16, as_bshd({kUsual})[0], KernelId::attention_bshd),
            composed +
                "bf16, as cuDNN has no engine for attention bf16 1 2 1 9 11 8 "
                "16 scale 1048576000 causal bshd that sums in f32");
}

// Blocks of keys are added to the gradient of the queries in arbitrary order,
// except in deterministic mode.
TEST_F(CudaAttention, DeterministicGradientsHaveNoSums) {
  const KernelDesc desc =
      attention_desc(KernelId::attention_grad, kUsual, kCudaTypes[1].dtype,
                     kCudaTypes[1].result);
  cudnn.engines = {{10, 512, {cuda::CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC}},
                   {20, 512}};
  std::string error;
  const auto plain = make_cuda_kernel(desc, context(true), &error);
  ASSERT_TRUE(plain) << error;
  EXPECT_EQ(plain->implementation(), "cudnn:engine 0, 10.0 us, fastest of 2");
  // Two heads of nine queries: a number for each, and eight for its gradient.
  EXPECT_EQ(plain->workspace_bytes(), 256u + 768u + 512u);
  CudaContext device = context(true);
  device.deterministic = true;
  const auto same = make_cuda_kernel(desc, device, &error);
  ASSERT_TRUE(same) << error;
  EXPECT_EQ(same->implementation(),
            "cudnn:engine 1, first of the heuristic, for the same bits in "
            "every run");
  EXPECT_EQ(same->workspace_bytes(), 256u + 512u);
}

// Five heads of keys, processed two at a time.
TEST_F(CudaAttention, ManyHeadsAreTakenInParts) {
  const AttentionCase plain = {5, 2, 1, 3, 7, 4, 6, true};
  AttentionCase biased = plain;
  biased.biases = {{false, true, true}, {true, false, false}};
  for (const AttentionCase& c : {plain, biased, with_dropout({biased})[0]})
    for (KernelId id : attention_ids(c))
      for (const auto& [dtype, result] : kCudaTypes) {
        const KernelDesc desc = attention_desc(id, c, dtype, result);
        AttentionShape shape;
        std::string error;
        ASSERT_TRUE(parse_attention(desc, &shape, &error)) << error;
        const CudaContext device = context(false);
        auto kernel = make_composed_attention(shape, device, "asked for",
                                              &error, 2 * 2 * 3 * 7 * 4);
        ASSERT_TRUE(kernel) << error;
        const size_t products = cublaslt.products;
        AttentionExpectation(desc).check(
            AsKernel(desc, device, std::move(kernel)));
        EXPECT_EQ(cublaslt.products - products, 3u * (shape.forward ? 2 : 5));
      }
}

// In three orders of threads; a warp computes a row, and there are more rows
// than warps.
TEST_F(CudaAttention, SoftmaxIsTheSameInAllOrders) {
  const AttentionCase c = {1, 2,  2,    40,    37,
                           8, 40, true, 0.25f, {{false, false, true}}};
  for (KernelId id : attention_ids(c)) {
    const KernelDesc desc = attention_desc(id, c, MPC_DTYPE_F32, MPC_DTYPE_F32);
    std::string error;
    const auto kernel = make_cuda_kernel(desc, context(false), &error);
    ASSERT_TRUE(kernel) << error;
    const auto inputs = AttentionExpectation(desc).inputs();
    const auto operands = kernels::testing::make_operands(desc, inputs);
    const kernels::testing::Buffer workspace(kernel->workspace_bytes());
    std::vector<cuda::CUdeviceptr> addresses;
    std::vector<device_sim::Buffer> outputs;
    for (size_t i = 0; i < operands.size(); ++i) {
      addresses.push_back(
          reinterpret_cast<cuda::CUdeviceptr>(operands[i].data()));
      if (i >= inputs.size())
        outputs.push_back(
            {std::to_string(i), operands[i].data(), operands[i].size()});
    }
    EXPECT_EQ(device_sim::run_in_all_orders(
                  outputs,
                  [&] {
                    const std::string failed = kernel->enqueue(
                        addresses.data(),
                        reinterpret_cast<cuda::CUdeviceptr>(workspace.data()),
                        nullptr);
                    return failed.empty() ? failed
                                          : failed + driver.launch_error;
                  }),
              "");
  }
}

TEST_F(CudaAttention, ComposedIsExactForLargeScores) {
  const auto make = [&](const KernelDesc& desc) {
    return must_make(desc, context(false));
  };
  for (const mpc_dtype_t dtype : {MPC_DTYPE_F32, MPC_DTYPE_BF16, MPC_DTYPE_F16})
    kernels::testing::expect_exact_for_large_scores(dtype, make);
  kernels::testing::expect_zeros_for_empty_rows(MPC_DTYPE_F32, make);
  kernels::testing::expect_zeros_for_empty_rows(MPC_DTYPE_BF16, make);
}

TEST_F(CudaAttention, SaysWhatIsMissing) {
  const KernelDesc desc =
      attention_desc(KernelId::attention, kUsual, MPC_DTYPE_F32, MPC_DTYPE_F32);
  std::string error;
  CudaContext device = context(false);
  device.cublaslt = nullptr;
  device.cublaslt_missing = "libcublasLt.so.13 not found";
  EXPECT_FALSE(make_cuda_kernel(desc, device, &error));
  EXPECT_EQ(error,
            "attention: cuBLASLt is missing: libcublasLt.so.13 not found");
  images.set(false);
  EXPECT_FALSE(make_cuda_kernel(desc, context(false), &error));
  EXPECT_EQ(error,
            "attention: this build has no built-in CUDA kernels: nvcc was not "
            "found at build time");
  images.set(true);
  const auto kernel = make_cuda_kernel(desc, context(false), &error);
  ASSERT_TRUE(kernel) << error;
  const kernels::testing::Buffer memory(1 << 16);
  const std::vector<cuda::CUdeviceptr> operands(
      5, reinterpret_cast<cuda::CUdeviceptr>(memory.data()));
  driver.failing = "cuLaunchKernel";
  EXPECT_EQ(kernel->enqueue(operands.data(), operands[0], nullptr),
            "cuLaunchKernel: CUDA_ERROR_UNKNOWN (as asked for)");
  driver.failing = "";
  cublaslt.failing = "cublasLtMatmul";
  EXPECT_EQ(kernel->enqueue(operands.data(), operands[0], nullptr),
            "cublasLtMatmul: CUBLAS_STATUS_EXECUTION_FAILED");
}

}  // namespace
}  // namespace mpc::test
