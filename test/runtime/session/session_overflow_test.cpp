// Steps whose loss or gradients are not finite.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "test/runtime/package.h"
#include "test/runtime/session/try_step.h"

namespace mpc::test {
namespace {

// An overflow changes only the scale and its streak.
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
  EXPECT_EQ(
      outcome.message,
      "training diverged: gradients overflowed 20 times in a row at the "
      "smallest loss scale; the first value that is not finite appears in "
      "'test_gradient (node)'; lower the learning rate or check the data");
  EXPECT_EQ(all_states(program, session), before);
  outcome = try_step(session, Batch(std::numeric_limits<float>::quiet_NaN()));
  EXPECT_NE(outcome.message.find("input 'x' is not finite (nan at position 0)"),
            std::string::npos);
  EXPECT_EQ(step(session, 1.0f).skipped, 0);  // It still recovers.
}

// In every precision, with and without loss scaling, because the reported loss
// is not scaled.
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
              "rate or check the data");
    EXPECT_EQ(info.call, 2u);
    EXPECT_EQ(info.skipped, 1);
    EXPECT_EQ(info.updated, 0);
    EXPECT_EQ(info.step, 1u);
    EXPECT_EQ(read_state(session, "w"), before);
    EXPECT_EQ(step(session, 1.0f).step, 2u);
  }
}

// Without loss scaling, a smaller scale in the next step cannot help.
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
            "(node)'; lower the learning rate or check the data");
  EXPECT_EQ(read_state(session, "w"), before);
  EXPECT_EQ(step(session, 1.0f).updated, 1);
}

// Old packages, whose steps are not tested: nothing is reported, as before.
TEST(Session, ReportsNothingForUntestedSteps) {
  PackageOptions options;
  options.loss_scaling = false;
  ProgramPtr program = load(make_package(options));
  SessionPtr session = create(program);
  EXPECT_TRUE(
      std::isinf(step(session, std::numeric_limits<float>::infinity()).loss));
}

// A bad micro-batch is reported once; its update is skipped.
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

}  // namespace
}  // namespace mpc::test
