// What a session does with a program: steps and evaluation.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "test/runtime/package.h"

namespace mpc::test {
namespace {

Outcome try_step(const SessionPtr& session, const Batch& batch,
                 size_t num_inputs = 2) {
  return take(
      mpc_session_step(session.get(), batch.tensors, num_inputs, nullptr));
}

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

// An overflow changes the scale and its streak and nothing else.
TEST(Session, SkipsAStepThatOverflows) {
  PackageOptions options;
  options.loss_scale = 65536;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  Bytes before = read_state(session, "w");
  mpc_step_info_t info = step(session, 100.0f);
  EXPECT_EQ(info.skipped, 1);
  EXPECT_EQ(info.updated, 0);
  EXPECT_EQ(info.step, 0u);
  EXPECT_EQ(info.loss, 100.0f);
  EXPECT_EQ(info.loss_scale, 65536.0f);
  EXPECT_EQ(read_state(session, "w"), before);
  EXPECT_EQ(read_float(session, "loss_scale"), 32768.0f);
  while (step(session, 100.0f).skipped) {
  }
  EXPECT_EQ(read_float(session, "loss_scale"), 512.0f);
  EXPECT_NE(read_state(session, "w"), before);
}

TEST(Session, StopsAfterTwentyOverflowsAtTheFloor) {
  PackageOptions options;
  options.loss_scale = 2;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(step(session, 1e6f).skipped, 1);
  Bytes before = all_states(program, session);
  Outcome outcome = try_step(session, Batch(1e6f));
  EXPECT_EQ(outcome.code, MPC_NUMERIC);
  EXPECT_EQ(outcome.message,
            "training diverged: gradients overflowed 20 times in a row at the "
            "smallest loss scale; the first value that is not finite appears "
            "in 'test_gradient (node)'; lower the learning rate or look at the "
            "data");
  EXPECT_EQ(all_states(program, session), before);
  outcome = try_step(session, Batch(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_NE(outcome.message.find("input 'x' is not finite (nan at position 0)"),
            std::string::npos);
  EXPECT_EQ(step(session, 1.0f).skipped, 0);  // It recovers all the same.
}

// In every precision, with and without loss scaling: the loss is not scaled.
TEST(Session, ReportsALossThatIsNotFinite) {
  for (bool loss_scaling : {false, true}) {
    PackageOptions options;
    options.loss_scaling = loss_scaling;
    options.guarded = true;
    ProgramPtr program = load(make_package(options));
    SessionPtr session = create(program);
    (void)step(session, 1.0f);
    Bytes before = read_state(session, "w");
    mpc_step_info_t info = {};
    info.struct_size = sizeof(info);
    Batch batch(std::numeric_limits<float>::infinity());
    Outcome outcome =
        take(mpc_session_step(session.get(), batch.tensors, 2, &info));
    EXPECT_EQ(outcome.code, MPC_NUMERIC);
    EXPECT_EQ(outcome.message,
              "the loss is inf, so the weights are not updated; input 'x' is "
              "not finite (inf at position 0), the first value that is not "
              "finite appears in 'test_gradient (node)'; lower the learning "
              "rate or look at the data");
    EXPECT_EQ(info.call, 2u);
    EXPECT_EQ(info.skipped, 1);
    EXPECT_EQ(info.updated, 0);
    EXPECT_EQ(info.step, 1u);
    EXPECT_EQ(read_state(session, "w"), before);
    EXPECT_EQ(step(session, 1.0f).step, 2u);
  }
}

// Without a scale there is nothing that the next step could do better.
TEST(Session, ReportsGradientsThatAreNotFinite) {
  PackageOptions options;
  options.loss_scaling = false;
  options.guarded = true;
  options.loss_scale = 1;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  Bytes before = read_state(session, "w");
  Outcome outcome = try_step(session, Batch(1e6f));
  EXPECT_EQ(outcome.code, MPC_NUMERIC);
  EXPECT_EQ(outcome.message,
            "the norm of the gradients is inf, so the weights are not updated; "
            "the first value that is not finite appears in 'test_gradient "
            "(node)'; lower the learning rate or look at the data");
  EXPECT_EQ(read_state(session, "w"), before);
  EXPECT_EQ(step(session, 1.0f).updated, 1);
}

// Packages of before steps were tested: nothing is said, as it was then.
TEST(Session, SaysNothingOfStepsThatAreNotTested) {
  PackageOptions options;
  options.loss_scaling = false;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  EXPECT_TRUE(
      std::isinf(step(session, std::numeric_limits<float>::infinity()).loss));
}

// A bad micro-batch is reported once; the update that it spoils is skipped.
TEST(Session, ReportsEachBadMicroBatchOnce) {
  PackageOptions options;
  options.loss_scaling = false;
  options.guarded = true;
  options.accumulate = 3;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  Bytes before = read_state(session, "w");
  EXPECT_EQ(step(session, 1.0f).skipped, 0);
  Outcome outcome =
      try_step(session, Batch(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_EQ(outcome.code, MPC_NUMERIC);
  EXPECT_NE(outcome.message.find("input 'x' is not finite"), std::string::npos)
      << outcome.message;
  mpc_step_info_t info = step(session, 1.0f);
  EXPECT_EQ(info.skipped, 1);
  EXPECT_EQ(info.step, 0u);
  EXPECT_EQ(read_state(session, "w"), before);
  for (int i = 0; i < 3; ++i) info = step(session, 1.0f);
  EXPECT_EQ(info.step, 1u);
}

TEST(Session, HasNoScaleWithoutLossScaling) {
  PackageOptions options;
  options.loss_scaling = false;
  options.working_copy = false;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  mpc_step_info_t info = step(session, 1.0f);
  EXPECT_EQ(info.loss_scale, 1.0f);
  EXPECT_EQ(info.skipped, 0);
}

TEST(Session, AccumulatesMicroBatches) {
  PackageOptions options;
  options.accumulate = 3;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program, 2);
  Bytes before = read_state(session, "w");
  for (int round = 0; round < 2; ++round) {
    double losses = 0;
    for (int micro = 0; micro < 3; ++micro) {
      EXPECT_EQ(read_state(session, "w"), before);
      mpc_step_info_t info = step(session, 1.0f + static_cast<float>(micro));
      losses += static_cast<double>(info.loss);
      // This package's apply gives no loss of its own: their mean.
      EXPECT_EQ(info.update_loss,
                micro == 2 ? static_cast<float>(losses / 3) : 0.0f);
      EXPECT_EQ(info.updated, micro == 2);
      EXPECT_EQ(info.step, static_cast<uint64_t>(round + (micro == 2)));
    }
    EXPECT_NE(read_state(session, "w"), before);
    before = read_state(session, "w");
    EXPECT_EQ(read_float(session, "gradients/w"), 0.0f);
  }
}

// A package that can end updates early, as compiled ones say of themselves.
PackageOptions weighted(uint32_t accumulate) {
  PackageOptions options;
  options.accumulate = accumulate;
  options.edit = [](program::ProgramT& program) {
    auto option = std::make_unique<program::OptionT>();
    option->name = "incomplete-updates";
    option->value = "weighted";
    program.options.push_back(std::move(option));
  };
  return options;
}

mpc_step_info_t finish_update(const SessionPtr& session) {
  mpc_step_info_t info = {};
  info.struct_size = sizeof(info);
  EXPECT_OK(mpc_session_finish_update(session.get(), &info));
  return info;
}

TEST(Session, EndsAnUpdateEarly) {
  ProgramPtr program = load(make_package(weighted(3)));
  SessionPtr session = create(program);
  EXPECT_EQ(finish_update(session).call, 0u) << "there is nothing to end";
  Bytes before = read_state(session, "w");
  EXPECT_EQ(step(session, 1).updated, 0);
  EXPECT_EQ(step(session, 2).updated, 0);
  mpc_step_info_t info = finish_update(session);
  EXPECT_EQ(info.updated, 1);
  EXPECT_EQ(info.step, 1u);
  EXPECT_EQ(info.call, 3u);
  EXPECT_EQ(info.update_loss, 1.5f);
  EXPECT_EQ(info.loss, 1.5f);
  EXPECT_GT(info.grad_norm, 0.0f);
  EXPECT_NE(read_state(session, "w"), before);
  EXPECT_EQ(read_float(session, "gradients/w"), 0.0f);
  // The next one is whole again.
  EXPECT_EQ(finish_update(session).call, 3u);
  EXPECT_EQ(step(session, 1).updated, 0);
  EXPECT_EQ(step(session, 1).updated, 0);
  info = step(session, 1);
  EXPECT_EQ(info.updated, 1);
  EXPECT_EQ(info.step, 2u);
  EXPECT_EQ(take(mpc_session_finish_update(nullptr, nullptr)).code,
            MPC_INVALID_ARGUMENT);
}

// An update that overflows is skipped, early or not.
TEST(Session, SkipsAnUpdateThatEndsEarly) {
  PackageOptions options = weighted(3);
  options.loss_scale = 1e38f;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  Bytes before = read_state(session, "w");
  (void)step(session, 1e6f);
  mpc_step_info_t info = finish_update(session);
  EXPECT_EQ(info.skipped, 1);
  EXPECT_EQ(read_state(session, "w"), before);
}

// Packages of before weigh micro-batches as shares of a whole update.
TEST(Session, EndsNoUpdateEarlyThatCannotBeWeighed) {
  PackageOptions options;
  options.accumulate = 3;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  EXPECT_OK(mpc_session_finish_update(session.get(), nullptr));
  (void)step(session, 1);
  Outcome outcome = take(mpc_session_finish_update(session.get(), nullptr));
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("takes each micro-batch for one of 3, and 1 "
                                 "are no update; compile the model again"),
            std::string::npos)
      << outcome.message;
  (void)step(session, 1);
  EXPECT_EQ(step(session, 1).updated, 1);
}

// A schedule whose length nobody gave has no rate to train at.
TEST(Session, AsksForTheLengthOfASchedule) {
  for (uint32_t accumulate : {1u, 2u}) {
    PackageOptions options;
    options.accumulate = accumulate;
    options.edit = [](program::ProgramT& program) {
      auto state = std::make_unique<program::StateT>();
      state->name = "total_steps";
      state->kind = program::StateKind::Control;
      state->dtype = program::DType::I64;
      state->offset = program.state_size;
      program.state_size += 64;
      program.states.push_back(std::move(state));
      for (auto& entry : program.variants[0]->entries)
        for (size_t i = 0; i < entry->outputs.size(); ++i)
          if (entry->outputs[i]->name == "grad_norm") {
            auto rate = std::make_unique<program::BindingT>();
            rate->name = "learning_rate";
            rate->buffer =
                std::make_unique<program::BufferT>(*entry->outputs[i]->buffer);
            entry->outputs.push_back(std::move(rate));
            break;
          }
    };
    ProgramPtr program = load(make_package(options));
    ASSERT_TRUE(program);
    SessionPtr session = create(program);
    Bytes before = all_states(program, session);
    Outcome outcome = try_step(session, Batch(1));
    EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
    EXPECT_NE(outcome.message.find("state 'total_steps' is 0; write it with "
                                   "mpc_session_write_state"),
              std::string::npos)
        << outcome.message;
    Batch batch(1);
    outcome = take(
        mpc_session_run(session.get(), accumulate > 1 ? "apply" : "step",
                        batch.tensors, accumulate > 1 ? 0 : 2, nullptr, 0));
    EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT) << outcome.message;
    EXPECT_EQ(all_states(program, session), before);
    int64_t steps = 10;
    mpc_tensor_t tensor = {sizeof(tensor), MPC_DTYPE_I64, 0,
                           nullptr,        &steps,        {}};
    EXPECT_OK(mpc_session_write_state(session.get(), "total_steps", &tensor));
    EXPECT_EQ(step(session, 1).updated, accumulate == 1);
    steps = 0;
    EXPECT_OK(mpc_session_write_state(session.get(), "total_steps", &tensor));
    EXPECT_EQ(try_step(session, Batch(1)).code, MPC_INVALID_ARGUMENT);
  }
}

// On the CPU a step is done when the call returns, asked for or not.
TEST(Session, TellsWhichCallItDescribes) {
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

// Callers compiled with structs of before a field was added.
TEST(Session, ServesOlderCallers) {
  ProgramPtr program = load(make_package());
  mpc_session_options_t options = {};
  options.struct_size = offsetof(mpc_session_options_t, asynchronous);
  options.asynchronous = 77;  // Not theirs: rubbish behind the struct.
  options.stream = &options;
  mpc_session_t* raw = nullptr;
  EXPECT_OK(mpc_session_create(program.get(), &options, &raw));
  SessionPtr session(raw);

  // An array of the smaller tensors, one right behind the other.
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

TEST(Session, RefusesMemoryOfOtherDevices) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  Batch batch(1);
  batch.tensors[0].device = {MPC_DEVICE_CUDA, 0};
  EXPECT_EQ(try_step(session, batch).message,
            "input 0 ('x'): lies in the memory of a device (kind 2), but the "
            "session runs on the cpu");
  float b[2];
  int64_t shape[1] = {2};
  mpc_tensor_t tensor = {sizeof(tensor),      MPC_DTYPE_F32, 1, shape, b,
                         {MPC_DEVICE_CUDA, 0}};
  EXPECT_EQ(take(mpc_session_read_state(session.get(), "b", &tensor)).message,
            "the tensor must lie in host memory");
}

struct BadInput {
  const char* message;
  void (*edit)(Batch&);
};

int64_t kWrongShape[2] = {4, 5};

const BadInput kBadInputs[] = {
    {"input 1 ('labels'): value 2 at position 3 lies outside [0, 2) and is not "
     "-100, which is ignored",
     [](Batch& batch) { batch.labels[3] = 2; }},
    {"input 1 ('labels'): value -1 at position 0 lies outside [0, 2) and is "
     "not -100, which is ignored",
     [](Batch& batch) { batch.labels[0] = -1; }},
    {"input 1 ('labels'): expected i64[4], got i32[4]",
     [](Batch& batch) { batch.tensors[1].dtype = MPC_DTYPE_I32; }},
    {"input 0 ('x'): expected f32[4,4], got f32[4,5]",
     [](Batch& batch) { batch.tensors[0].shape = kWrongShape; }},
    {"input 0 ('x'): expected f32[4,4], got f32[4]",
     [](Batch& batch) { batch.tensors[0].rank = 1; }},
    {"input 0 ('x'): expected f32[4,4], got a tensor without a shape",
     [](Batch& batch) { batch.tensors[0].shape = nullptr; }},
    {"input 0 ('x'): has no data",
     [](Batch& batch) { batch.tensors[0].data = nullptr; }},
    {"input 1 ('labels'): struct_size is not sizeof(mpc_tensor_t)",
     [](Batch& batch) { batch.tensors[1].struct_size = 0; }},
};

TEST(Session, RefusesWrongInputsAndChangesNothing) {
  ProgramPtr program = load(make_package());
  SessionPtr session = create(program);
  Bytes before = all_states(program, session);
  for (const BadInput& bad : kBadInputs) {
    Batch batch(1);
    bad.edit(batch);
    Outcome outcome = try_step(session, batch);
    EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
    EXPECT_EQ(outcome.message, bad.message);
  }
  EXPECT_EQ(try_step(session, Batch(1), 1).message, "expected 2 inputs, got 1");
  EXPECT_EQ(all_states(program, session), before);
  Batch ignored(1);
  ignored.labels[0] = -100;
  EXPECT_EQ(try_step(session, ignored).code, MPC_OK);
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

TEST(Session, TellsTheAccuracyOfTheLabelsThatCount) {
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
// threads as are worth it.
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

TEST(Session, RefusesWrongOptions) {
  ProgramPtr program = load(make_package());
  mpc_session_t* session = nullptr;
  mpc_session_options_t options = {};
  EXPECT_EQ(take(mpc_session_create(program.get(), &options, &session)).message,
            "struct_size of the session's options is not set");
  options.struct_size = sizeof(options);
  options.device = "abacus";
  Outcome outcome = take(mpc_session_create(program.get(), &options, &session));
  EXPECT_EQ(outcome.code, MPC_UNAVAILABLE);
  EXPECT_EQ(outcome.message,
            "there is no device 'abacus' on this machine; devices: auto, "
            "cpu, cuda, cuda:<number>");
  options.device = "cuda:x";
  EXPECT_EQ(take(mpc_session_create(program.get(), &options, &session)).code,
            MPC_UNAVAILABLE);
  options.device = "cuda:1";
  outcome = take(mpc_session_create(program.get(), &options, &session));
  EXPECT_EQ(outcome.code, MPC_UNAVAILABLE);
  EXPECT_EQ(outcome.message,
            "the package has no code for the device 'cuda'; compile the model "
            "with option 'target'=cuda");
  options.device = nullptr;
  options.stream = &options;
  EXPECT_EQ(take(mpc_session_create(program.get(), &options, &session)).message,
            "a stream was given, but the session runs on the cpu, which has "
            "none");
  options.stream = nullptr;
  options.threads = 100000;
  EXPECT_EQ(take(mpc_session_create(program.get(), &options, &session)).code,
            MPC_INVALID_ARGUMENT);
  EXPECT_EQ(session, nullptr);
  EXPECT_OK(mpc_session_create(program.get(), nullptr, &session));
  mpc_session_destroy(session);
  mpc_session_destroy(nullptr);
}

TEST(Session, RefusesKernelsThatCannotRun) {
  PackageOptions options;
  options.edit = [](program::ProgramT& p) {
    p.variants[0]->entries[2]->instructions[0]->attributes = {
        1, 0};  // Shapes do not match.
  };
  ProgramPtr program = load(make_package(options));
  mpc_session_t* session = nullptr;
  Outcome outcome = take(mpc_session_create(program.get(), nullptr, &session));
  if (outcome.code == MPC_OK) mpc_session_destroy(session);
  EXPECT_EQ(outcome.code, MPC_OK) << "x is square: transposing it is fine";
  options.edit = [](program::ProgramT& p) {
    p.variants[0]->entries[2]->instructions[0]->attributes = {0, 1};
  };
  program = load(make_package(options));
  outcome = take(mpc_session_create(program.get(), nullptr, &session));
  EXPECT_EQ(outcome.code, MPC_INCOMPATIBLE);
  EXPECT_EQ(outcome.message.find("entry 'predict', instruction 'kernel 1': "),
            0u);
}

// The state of the caller's thread does not reach the numbers: subnormals
// count although it flushes them.
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
