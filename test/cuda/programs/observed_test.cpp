// Models with the entry point `observe` and for two batch sizes.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "test/cuda/programs/models.h"

namespace mpc::test {
namespace {

class GpuObservedModels : public GpuModels {};

// An image too bright for its product: names the same op as the CPU.
TEST_P(GpuObservedModels, NameTheOpThatOverflows) {
  std::vector<Values> inputs =
      values_of(program_.inputs(batch_entry(program_)));
  for (size_t i = 0; i < 64; ++i) inputs[0].as<float>(i) = 3e38f;
  if (is("fp8")) {  // Saturates to the largest FP8 number instead.
    mpc_step_info_t info = {};
    EXPECT_FALSE(gpu_.step(tensors_of(inputs), &info));
    EXPECT_EQ(info.skipped, 0);
    return;
  }
  auto origin_in = [](const Status& status) {
    EXPECT_EQ(status.code(), MPC_NUMERIC);
    std::string message = status.message();
    size_t begin = message.find("the first value that is not finite");
    EXPECT_NE(begin, std::string::npos) << message;
    return message.substr(begin, message.find(" at position") - begin);
  };
  auto blamed = [&](Session& session) {
    mpc_step_info_t info = {};
    std::string text = origin_in(session.step(tensors_of(inputs), &info));
    EXPECT_EQ(info.skipped, 1);
    return text;
  };
  std::string of_gpu = blamed(gpu_);
  EXPECT_EQ(of_gpu, blamed(cpu_));
  EXPECT_NE(of_gpu.find(", forward, "), std::string::npos) << of_gpu;

  // Reported later, when the caller's batch is no longer available.
  Session late;
  mpc_session_options_t options = {};
  options.device = "cuda";
  options.asynchronous = 1;
  ASSERT_FALSE(late.create(program_, options));
  mpc_step_info_t info = {};
  ASSERT_FALSE(late.step(tensors_of(inputs), &info));
  EXPECT_EQ(origin_in(late.synchronize(&info)), of_gpu);
}

// Steps of another batch size follow those that are still queued.
TEST_P(GpuObservedModels, TakeBatchesOfTwoSizes) {
  ASSERT_EQ(program_.batch_sizes(batch_entry(program_)),
            (std::vector<uint64_t>{32, 16}));
  Session late;
  mpc_session_options_t options = {};
  options.device = "cuda";
  options.seed = 5;
  options.asynchronous = 1;
  ASSERT_FALSE(late.create(program_, options));
  Batches large(program_), small(program_, "@16");
  const int updates = is("fp8") ? 2 : 1;  // It accumulates two batches.
  mpc_step_info_t info = {};
  for (int i = 0; i < 6 * updates; ++i) {
    const auto tensors = (i / updates % 3 == 0 ? large : small).next();
    ASSERT_FALSE(late.step(tensors, &info)) << i;
    const mpc_step_info_t cpu = [&] {
      mpc_step_info_t info = {};
      EXPECT_FALSE(cpu_.step(tensors, &info));
      return info;
    }();
    ASSERT_FALSE(late.synchronize(&info));
    EXPECT_NEAR(info.loss, cpu.loss, (is("fp32") ? 1e-4 : 0.05) * cpu.loss);
    EXPECT_EQ(info.step, cpu.step);
  }

  // The fault of a step is reported by the call that changes the size, whose
  // own step is made.
  if (is("fp8")) return;
  std::vector<Values> bad = values_of(program_.inputs(batch_entry(program_)));
  for (size_t i = 0; i < 64; ++i) bad[0].as<float>(i) = 3e38f;
  ASSERT_FALSE(late.step(tensors_of(bad), &info));
  const uint64_t steps = info.step;
  Status fault = late.step(small.next(), &info);
  EXPECT_EQ(fault.code(), MPC_NUMERIC);
  EXPECT_NE(std::string(fault.message()).find(", forward, "), std::string::npos)
      << fault.message();
  EXPECT_EQ(info.skipped, 1);
  ASSERT_FALSE(late.synchronize(&info));
  EXPECT_EQ(info.skipped, 0);
  EXPECT_EQ(info.step, steps + 1);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GpuObservedModels);
INSTANTIATE_TEST_SUITE_P(Digits, GpuObservedModels,
                         ::testing::ValuesIn(programs("model-mlp")), name_of);

}  // namespace
}  // namespace mpc::test
