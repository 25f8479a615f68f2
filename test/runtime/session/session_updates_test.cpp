// Updates of several micro-batches, and the length of a schedule.

#include <gtest/gtest.h>

#include <cstring>

#include "test/runtime/package.h"
#include "test/runtime/session/try_step.h"

namespace mpc::test {
namespace {

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
      // The `apply` of this package returns no loss, so it is the mean.
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

// A package that supports early updates, as compiled packages declare.
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
  // The next update is complete again.
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

// Old packages weight micro-batches as fractions of a complete update.
TEST(Session, RejectsEarlyUpdatesOfOldPackages) {
  PackageOptions options;
  options.accumulate = 3;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  EXPECT_OK(mpc_session_finish_update(session.get(), nullptr));
  (void)step(session, 1);
  Outcome outcome = take(mpc_session_finish_update(session.get(), nullptr));
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  EXPECT_NE(
      outcome.message.find(
          "takes exactly 3 micro-batches, found 1; compile the model again"),
      std::string::npos)
      << outcome.message;
  (void)step(session, 1);
  EXPECT_EQ(step(session, 1).updated, 1);
}

// A schedule without a length has no learning rate.
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

}  // namespace
}  // namespace mpc::test
