// Steps and evaluation of a session.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "test/runtime/package.h"
#include "test/runtime/session/try_step.h"

namespace mpc::test {
namespace {

TEST(Session, StartsFromInitialValues) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  EXPECT_EQ(read_float(session, "w"), 0.1f);
  EXPECT_EQ(read_float(session, "b"), -1.0f);
  EXPECT_EQ(read_float(session, "momentum.velocity/w"), 0.0f);
  int64_t seed;
  std::memcpy(&seed, read_state(session, "random_seed").data(), 8);
  EXPECT_EQ(seed, 42);
  // The working copy is rounded from the parameters, to nearest even.
  uint16_t copy;
  std::memcpy(&copy, read_state(session, "parameters.bf16/w").data(), 2);
  EXPECT_EQ(copy, 0x3dcd);  // 0.1f is 0x3dcccccd.
}

TEST(Session, Steps) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  mpc_step_info_t info = step(session, 1.0f);
  EXPECT_EQ(info.loss, 1.0f);
  EXPECT_EQ(info.loss_scale, 8.0f);
  EXPECT_EQ(info.skipped, 0);
  EXPECT_EQ(info.updated, 1);
  EXPECT_EQ(info.step, 1u);
  EXPECT_GT(info.grad_norm, 0.0f);
  // velocity = 0.1 - 1; w -= 0.25 * velocity.
  EXPECT_NEAR(read_float(session, "momentum.velocity/w"), -0.9f, 1e-6);
  EXPECT_NEAR(read_float(session, "w"), 0.325f, 1e-6);
  (void)step(session, 1.0f);
  info = step(session, 1.0f);
  EXPECT_EQ(info.loss_scale, 8.0f);
  EXPECT_EQ(info.step, 3u);
  EXPECT_EQ(step(session, 1.0f).loss_scale, 16.0f);  // Grown after 3.
}

// On the CPU a step is done when the call returns, asynchronous or not.
TEST(Session, ReportsWhichCallItDescribes) {
  ProgramPtr program = load(make_package());
  mpc_session_options_t options = {};
  options.struct_size = sizeof(options);
  options.asynchronous = 1;
  mpc_session_t* raw = nullptr;
  EXPECT_OK(mpc_session_create(program.get(), &options, &raw));
  SessionPtr session(raw);
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  EXPECT_OK(mpc_session_synchronize(session.get(), &info));
  EXPECT_EQ(info.call, 0u);
  EXPECT_EQ(info.loss, 0.0f);
  for (uint64_t call = 1; call <= 3; ++call) {
    info = step(session, static_cast<float>(call));
    EXPECT_EQ(info.call, call);
    EXPECT_EQ(info.loss, static_cast<float>(call));
  }
  EXPECT_EQ(try_step(session, Batch(1), 1).code, MPC_INVALID_ARGUMENT);
  EXPECT_EQ(step(session, 1).call, 4u) << "refused calls do not count";
  EXPECT_OK(mpc_session_synchronize(session.get(), &info));
  EXPECT_EQ(info.call, 4u);
  EXPECT_OK(mpc_session_synchronize(session.get(), nullptr));
  EXPECT_STREQ(mpc_session_device(session.get()), "cpu");
  EXPECT_EQ(take(mpc_session_synchronize(nullptr, &info)).code,
            MPC_INVALID_ARGUMENT);
}

// Callers compiled with older structs that lack a field.
TEST(Session, ServesOlderCallers) {
  ProgramPtr program = load(make_package());
  mpc_session_options_t options = {};
  options.struct_size = offsetof(mpc_session_options_t, asynchronous);
  options.asynchronous = 77;  // Garbage after the end of the older struct.
  options.stream = &options;
  mpc_session_t* raw = nullptr;
  EXPECT_OK(mpc_session_create(program.get(), &options, &raw));
  SessionPtr session(raw);

  // An array of the smaller structs, without gaps.
  constexpr size_t kOld = offsetof(mpc_tensor_t, device);
  Batch batch(2);
  alignas(mpc_tensor_t) char array[2 * kOld];
  for (size_t i = 0; i < 2; ++i) {
    batch.tensors[i].struct_size = kOld;
    std::memcpy(array + i * kOld, &batch.tensors[i], kOld);
  }
  mpc_step_info_t info = {};
  info.struct_size = offsetof(mpc_step_info_t, call);
  info.call = 77;
  EXPECT_OK(mpc_session_step(session.get(),
                             reinterpret_cast<mpc_tensor_t*>(array), 2, &info));
  EXPECT_EQ(info.loss, 2.0f);
  EXPECT_EQ(info.step, 1u);
  EXPECT_EQ(info.call, 77u) << "not written: the caller's struct lacks it";

  float b[2] = {};
  int64_t shape[1] = {2};
  mpc_tensor_t tensor = {kOld, MPC_DTYPE_F32,       1, shape,
                         b,    {MPC_DEVICE_CUDA, 5}};
  EXPECT_OK(mpc_session_read_state(session.get(), "b", &tensor));
  EXPECT_NE(b[0], 0.0f);
}

TEST(Session, TakesDataOfAnyAlignment) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  Batch batch(2);
  char shifted[sizeof(batch.labels) + 1], shifted_x[sizeof(batch.x) + 3];
  std::memcpy(shifted + 1, batch.labels, sizeof(batch.labels));
  std::memcpy(shifted_x + 3, batch.x, sizeof(batch.x));
  batch.tensors[1].data = shifted + 1;
  batch.tensors[0].data = shifted_x + 3;
  EXPECT_OK(mpc_session_step(session.get(), batch.tensors, 2, nullptr));
}

TEST(Session, EvaluatesOnlyValidSamples) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  mpc_metrics_t metrics = {};
  metrics.struct_size = sizeof(metrics);
  Batch batch(2);
  batch.labels[1] = -100;
  batch.x[4 * 2 + 1] = -1;  // A miss.
  EXPECT_OK(mpc_session_evaluate(session.get(), batch.tensors, 2, 4, &metrics));
  EXPECT_EQ(metrics.loss_sum, 6.0);
  EXPECT_EQ(metrics.weight_sum, 3.0);
  EXPECT_EQ(metrics.correct, 2.0);
  EXPECT_EQ(metrics.samples, 4u);
  EXPECT_EQ(metrics.has_accuracy, 1);
  EXPECT_EQ(metrics.counted, 3.0);
  EXPECT_OK(mpc_session_evaluate(session.get(), batch.tensors, 2, 1, &metrics));
  EXPECT_EQ(metrics.loss_sum, 8.0);
  EXPECT_EQ(metrics.weight_sum, 4.0);
  EXPECT_EQ(metrics.samples, 5u);
  Outcome outcome =
      take(mpc_session_evaluate(session.get(), batch.tensors, 2, 5, &metrics));
  EXPECT_EQ(outcome.message, "5 valid samples in a batch of 4");
  EXPECT_EQ(metrics.samples, 5u);
}

TEST(Session, ReportsAccuracyOverCountedLabels) {
  PackageOptions options;
  options.edit = [](program::ProgramT& p) {
    auto& outputs = p.variants[0]->entries[1]->outputs;
    outputs.push_back(std::make_unique<program::BindingT>(*outputs[2]));
    outputs.back()->name = "sample_counted";
  };
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  mpc_metrics_t metrics = {};
  metrics.struct_size = sizeof(metrics);
  Batch batch(2);
  batch.x[4 * 2 + 1] = -1;  // A miss.
  for (double batches : {1.0, 2.0}) {
    EXPECT_OK(
        mpc_session_evaluate(session.get(), batch.tensors, 2, 4, &metrics));
    EXPECT_EQ(metrics.weight_sum, 4 * batches);
    EXPECT_EQ(metrics.correct, 3 * batches);
    EXPECT_EQ(metrics.counted, 3 * batches);
  }
}

TEST(Session, EvaluatesWholeBatchesWithoutSampleLosses) {
  PackageOptions options;
  options.edit = [](program::ProgramT& p) {
    auto& outputs = p.variants[0]->entries[1]->outputs;
    outputs.resize(1);
    outputs[0]->name = "loss";
    outputs[0]->batch_dim = -1;
    outputs[0]->buffer->shape = {};
  };
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  mpc_metrics_t metrics = {};
  metrics.struct_size = sizeof(metrics);
  Batch batch(3);
  EXPECT_OK(mpc_session_evaluate(session.get(), batch.tensors, 2, 4, &metrics));
  EXPECT_EQ(metrics.loss_sum / metrics.weight_sum, 3.0);
  EXPECT_EQ(metrics.has_accuracy, 0);
  EXPECT_EQ(
      take(mpc_session_evaluate(session.get(), batch.tensors, 2, 3, &metrics))
          .code,
      MPC_INVALID_ARGUMENT);
}

TEST(Session, RunsCatalogKernels) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  Batch batch(1);
  float y[8] = {};
  int64_t shape[2] = {4, 2};
  mpc_tensor_t output = {sizeof(output), MPC_DTYPE_F32, 2, shape, y, {}};
  EXPECT_OK(
      mpc_session_run(session.get(), "predict", batch.tensors, 1, &output, 1));
  EXPECT_NEAR(y[0], 0.1f + 0.3f + 0.5f + 0.7f, 1e-6);
  EXPECT_NEAR(y[7], 0.2f + 0.4f + 0.6f + 0.8f, 1e-6);
  output.data = nullptr;  // Not fetched.
  EXPECT_OK(
      mpc_session_run(session.get(), "predict", batch.tensors, 1, &output, 1));
  output.data = y;
  output.dtype = MPC_DTYPE_F64;
  EXPECT_EQ(take(mpc_session_run(session.get(), "predict", batch.tensors, 1,
                                 &output, 1))
                .message,
            "output 0 ('y'): expected f32[4,2], got f64[4,2]");
  EXPECT_EQ(
      take(mpc_session_run(session.get(), "dream", nullptr, 0, nullptr, 0))
          .message,
      "the program has no entry point 'dream'");
}

// Every item is computed once, in contiguous parts of equal size, by as many
// threads as the grain allows.
TEST(Session, SharesItemsAmongThreads) {
  ProgramPtr program = load(make_package());
  for (uint32_t threads : {1u, 2u, 3u, 7u}) {
    SessionPtr session = create(program, threads);
    EXPECT_OK(mpc_session_run(session.get(), "count", nullptr, 0, nullptr, 0));
    Bytes bytes = read_state(session, "counts");
    int32_t counts[1000];
    std::memcpy(counts, bytes.data(), sizeof(counts));
    uint32_t parts = 0;
    int shortest = 1000, longest = 0, length = 0;
    for (int i = 0; i < 1000; ++i) {
      ASSERT_EQ(counts[i] % 100, 1) << i;
      if (counts[i] > 100) {
        if (i > 0) shortest = std::min(shortest, length);
        longest = std::max(longest, length);
        ++parts;
        length = 0;
      }
      ++length;
    }
    EXPECT_EQ(parts, threads);
    EXPECT_TRUE(threads == 1 || longest - shortest <= 1);
  }
}

// The floating-point mode of the caller's thread does not affect results:
// subnormals are kept although the caller flushes them.
TEST(Session, IgnoresTheCallersFloatMode) {
#if defined(__SSE2__)
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program), other = create(program);
  float tiny[2] = {1e-40f, 2e-40f};
  int64_t shape[1] = {2};
  mpc_tensor_t tensor = {sizeof(tensor), MPC_DTYPE_F32, 1, shape, tiny, {}};
  EXPECT_OK(mpc_session_write_state(session.get(), "b", &tensor));
  EXPECT_OK(mpc_session_write_state(other.get(), "b", &tensor));
  (void)step(session, 0.0f);
  unsigned saved = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(saved | 0x8040);
  (void)step(other, 0.0f);
  EXPECT_EQ(__builtin_ia32_stmxcsr() & 0x8040, 0x8040u);
  __builtin_ia32_ldmxcsr(saved);
  EXPECT_NE(read_float(session, "b"), 0.0f);
  EXPECT_EQ(read_state(session, "b"), read_state(other, "b"));
#endif
}

}  // namespace
}  // namespace mpc::test
