// Checks our graphs with the real cuDNN. That needs no GPU, but cuDNN is large:
// these tests are skipped if it is not installed. Put libcudnn.so.9,
// libcublasLt.so.13 and libnvrtc.so.13 on LD_LIBRARY_PATH to run them.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <optional>

#include "kernels/cuda/kernel.h"
#include "test/cuda/device_kernels.h"
#include "test/cuda/deviceless_cudnn.h"
#include "test/cuda/host_driver.h"
#include "test/cuda/test_images.h"
#include "test/kernels/attention.h"
#include "test/kernels/cases.h"

namespace mpc::test {
namespace {

using namespace kernels;
using kernels::testing::attention_desc;
using kernels::testing::AttentionCase;
using kernels::testing::conv_desc;
using kernels::testing::ConvCase;
using kernels::testing::kConvKernels;
using kernels::testing::kConvs;

class Deviceless : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    std::string missing;
    library = DevicelessCudnn::find(&missing);
    if (!library) GTEST_SKIP() << missing;
    cudnn.emplace(*library, GetParam());
    ASSERT_EQ(cudnn->error(), "");
    add_device_kernels(&driver);
  }

  std::string chosen(const KernelDesc& desc, bool deterministic = true,
                     std::shared_ptr<AutotuneCaches> store =
                         std::make_shared<AutotuneCaches>()) {
    CudaContext context;
    context.autotune_caches = std::move(store);
    context.driver = driver.table();
    context.cudnn = cudnn->table();
    context.compute_capability = GetParam();
    context.device_name = "a GPU that is not there";
    context.cache_folder = "";
    context.deterministic = deterministic;  // Nothing can be timed.
    std::string error;
    const auto kernel = make_cuda_kernel(desc, context, &error);
    return kernel ? kernel->implementation() : error;
  }

  const cuda::Cudnn* library = nullptr;
  std::optional<DevicelessCudnn> cudnn;
  TestImages images;
  HostDriver driver;
};

bool begins_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

TEST_P(Deviceless, EveryConvolutionOfOneTypeHasAPlan) {
  for (const ConvCase& c : kConvs)
    for (KernelId id : kConvKernels)
      for (mpc_dtype_t type : {MPC_DTYPE_F32, MPC_DTYPE_F16, MPC_DTYPE_BF16})
        for (bool last : {false, true}) {
          // The catalog's gradient of weights is in f32.
          if (id == KernelId::conv_grad_weight && type != MPC_DTYPE_F32)
            continue;
          const std::string how = chosen(conv_desc(id, c, last, type, type));
          EXPECT_TRUE(begins_with(how, "cudnn:engine ")) << how;
        }
}

TEST_P(Deviceless, GradientsOfWeightsComeInF32FromSixteenBits) {
  if (!::dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_LOCAL))
    GTEST_SKIP() << ::dlerror() << "; cuDNN compiles these with it";
  for (const ConvCase& c : kConvs) {
    if (c.inputs % 8 != 0 || c.outputs % 8 != 0 || c.group != 1) continue;
    for (mpc_dtype_t type : {MPC_DTYPE_F16, MPC_DTYPE_BF16}) {
      const std::string how = chosen(
          conv_desc(KernelId::conv_grad_weight, c, true, type, MPC_DTYPE_F32));
      EXPECT_TRUE(begins_with(how, "cudnn:engine ")) << how;
      EXPECT_EQ(how.find("widened"), std::string::npos) << how;
    }
  }
}

// Plans are stored as text. Some contain code that takes half a second to
// compile. A first session stores the plans, and a second one restores them;
// the choice here does not depend on measured times.
TEST_P(Deviceless, PlansAreMadeAgainFromText) {
  const AttentionCase attention = {1, 12, 12, 1024, 1024, 64, 64, true, 0.125f};
  std::vector<KernelDesc> calls = {
      conv_desc(KernelId::conv, kConvs[3], true, MPC_DTYPE_BF16,
                MPC_DTYPE_BF16),
      conv_desc(KernelId::conv_grad_weight, kConvs[3], true, MPC_DTYPE_F32,
                MPC_DTYPE_F32)};
  for (KernelId id : {KernelId::attention, KernelId::attention_grad})
    calls.push_back(
        attention_desc(id, attention, MPC_DTYPE_BF16, MPC_DTYPE_BF16));
  const auto store = std::make_shared<AutotuneCaches>();
  for (const KernelDesc& desc : calls) {
    SCOPED_TRACE(kernels::testing::describe(desc, {1, false}));
    const std::string first = chosen(desc, false, store);
    EXPECT_NE(first.find("fastest of "), std::string::npos) << first;
    const std::string second = chosen(desc, false, store);
    EXPECT_EQ(second.substr(0, second.find(',')),
              first.substr(0, first.find(',')));
    EXPECT_NE(second.find("the fastest of an earlier trial"), std::string::npos)
        << second;
  }
}

TEST_P(Deviceless, AttentionHasAPlan) {
  const std::vector<AttentionCase> cases = {
      {2, 4, 4, 128, 128, 64, 64, false, 0.125f},
      {1, 12, 12, 1024, 1024, 64, 64, true, 0.125f},
      {2, 8, 2, 256, 256, 128, 128, true, 0.1f},
      {1, 2, 2, 77, 130, 32, 32, false, 0.2f},
      {1, 2, 2, 130, 77, 32, 64, true, 0.2f},
  };
  const auto expect_plan = [&](KernelId id, const AttentionCase& c,
                               mpc_dtype_t type, bool deterministic) {
    const KernelDesc desc = attention_desc(id, c, type, type);
    SCOPED_TRACE(kernels::testing::describe(desc, {1, deterministic}));
    const std::string how = chosen(desc, deterministic);
    EXPECT_TRUE(begins_with(how, "cudnn:engine ")) << how;
  };
  for (const auto& list : {cases, as_bshd(cases), as_packed(cases)})
    for (const AttentionCase& c : list)
      for (KernelId id : attention_ids(c))
        expect_plan(id, c, MPC_DTYPE_BF16, true);
  // The graph differs if blocks add to the gradients of the query.
  for (const AttentionCase& c : {cases[1], cases[2]})
    expect_plan(KernelId::attention_grad, c, MPC_DTYPE_F16, false);
  expect_plan(KernelId::attention_grad_bshd, as_bshd(cases)[1], MPC_DTYPE_F16,
              false);
}

INSTANTIATE_TEST_SUITE_P(Architectures, Deviceless,
                         ::testing::Values(80, 90, 100), [](const auto& info) {
                           return "sm_" + std::to_string(info.param);
                         });

}  // namespace
}  // namespace mpc::test
