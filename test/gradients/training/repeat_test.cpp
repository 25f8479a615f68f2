//===- repeat_test.cpp - Repeatability, and steps that overflow -----------===//

#include "test/gradients/harness.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace mpc::test {
namespace {

/// One of the digits models, with fixed images.
struct Digits {
  Digits(const std::string &name, const std::string &precision) {
    CompileOptions options;
    options.model = MPC_DIGITS "/" + name + ".onnx";
    options.precision = precision;
    options.batches = {64};
    program = compile(options, folder);
  }
  std::vector<Values> batch(int number) const {
    Random random(number);
    Values images(64 * 64), labels(64);
    for (double &value : images)
      value = float(random.next());
    for (double &value : labels)
      value = std::floor(10 * random.next());
    return {images, labels};
  }
  void train(Session &session, int first, int last) const {
    for (int i = first; i < last; ++i)
      session.step(batch(i));
  }
  std::map<std::string, std::string> trained(uint32_t threads,
                                             bool deterministic) const {
    SessionOptions options;
    options.threads = threads;
    options.deterministic = deterministic;
    Session session(program, options);
    train(session, 0, 60);
    return session.snapshot();
  }
  Folder folder;
  ProgramPtr program;
};

class Repeat
    : public testing::TestWithParam<std::tuple<const char *, const char *>> {
protected:
  Repeat() : digits(std::get<0>(GetParam()), std::get<1>(GetParam())) {}
  Digits digits;
};

TEST_P(Repeat, SixtyStepsTwiceAreTheSameBits) {
  ASSERT_TRUE(digits.program);
  EXPECT_EQ(digits.trained(2, false), digits.trained(2, false));
}

TEST_P(Repeat, ThreadsDoNotMatterWhenDeterministic) {
  ASSERT_TRUE(digits.program);
  EXPECT_EQ(digits.trained(1, true), digits.trained(2, true));
}

TEST_P(Repeat, ResumesBitByBit) {
  ASSERT_TRUE(digits.program);
  SessionOptions options;
  options.seed = 5;
  Session whole(digits.program, options);
  digits.train(whole, 0, 7);
  std::string path = digits.folder.path("step-7");
  ASSERT_TRUE(isOk(mpc_session_save_checkpoint(whole.handle(), path.c_str())));
  digits.train(whole, 7, 12);
  Session resumed(digits.program);
  ASSERT_TRUE(
      isOk(mpc_session_load_checkpoint(resumed.handle(), path.c_str())));
  digits.train(resumed, 7, 12);
  EXPECT_EQ(resumed.snapshot(), whole.snapshot());
}

INSTANTIATE_TEST_SUITE_P(Digits, Repeat,
                         testing::Combine(testing::Values("mlp", "cnn"),
                                          testing::Values("fp32", "bf16",
                                                          "fp16")),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::get<1>(info.param);
                         });

/// A simple implementation of the scaler, with the settings of compiled
/// programs.
struct Scaler {
  float scale;
  int32_t streak;
  void advance(bool finite) {
    streak = finite ? streak + 1 : 0;
    if (!finite)
      scale = std::max(scale / 2, 1.0f);
    if (streak == 2000) {
      scale = std::min(scale * 2, 0x1p24f);
      streak = 0;
    }
  }
};

// Runs the compiled step through every pattern of overflows of length 16, which
// are the windows of a sequence with period 2^16 - 1. From time to time the
// scale is set to the ends of the range or inside, with a streak that is about
// to end.
TEST(LossScale, FollowsEveryPatternOfOverflows) {
  Folder folder;
  CompileOptions options;
  options.model = writeText(folder, "linear.onnxtxt", kLinear);
  options.loss = "mse";
  options.precision = "fp16";
  ProgramPtr program = compile(options, folder);
  ASSERT_TRUE(program);
  Session session(program);
  session.write("w", Values(6, 0x1p-6));
  // Gradients of 2^-16 stay finite under a scale of 2^24.
  const std::vector<Values> small = {Values(12, 0x1p-10), Values(8, 0.0)};
  // A gradient of 1e6 / 4 overflows f16 even without a scale; the loss of 1e12
  // is finite.
  const std::vector<Values> huge = {Values(12, 0x1p-10), Values(8, 1e6)};
  const Scaler starts[] = {{1, 1999},       {65536, 1990}, {0x1p24f, 1998},
                           {0x1p23f, 1995}, {2, 0},        {3.5f, 1997},
                           {0x1p24f, 0},    {65536, 1999}};

  Scaler expected = {65536, 0};
  std::string weights = session.snapshot()["w"];
  int64_t updates = 0;
  uint32_t shifter = 1; // x^16 + x^14 + x^13 + x^11 + 1: all patterns but 0.
  const int period = (1 << 16) - 1;
  for (int i = 0; i < period + 16 + 17; ++i) {
    if (i % 11 == 5) {
      expected = starts[i / 11 % std::size(starts)];
      session.write("loss_scale", {expected.scale});
      session.write("loss_scale_streak", {double(expected.streak)});
    }
    // The missing pattern, 16 overflows, is at the end.
    bool finite = i < period + 16 ? shifter & 1 : false;
    uint32_t bit = shifter ^ shifter >> 2 ^ shifter >> 3 ^ shifter >> 5;
    shifter = shifter >> 1 | (bit & 1) << 15;
    ASSERT_EQ(shifter == 1, (i + 1) % period == 0) << "step " << i;
    mpc_step_info_t info = session.step(finite ? small : huge);
    ASSERT_EQ(info.skipped, !finite) << "step " << i;
    ASSERT_EQ(info.loss_scale, expected.scale) << "step " << i;
    expected.advance(finite);
    updates += finite;
    ASSERT_EQ(session.read("loss_scale")[0], expected.scale) << "step " << i;
    ASSERT_EQ(session.read("loss_scale_streak")[0], expected.streak)
        << "step " << i;
    ASSERT_EQ(session.read("step_count")[0], double(updates)) << "step " << i;
    if (i % 64 == 0) {
      std::string now = session.snapshot()["w"];
      ASSERT_TRUE(finite || now == weights) << "step " << i;
    }
    if (i % 64 == 63)
      weights = session.snapshot()["w"];
  }
}

class Overflow : public testing::TestWithParam<const char *> {};

TEST_P(Overflow, HalvesTheScaleAndChangesNothingElse) {
  Digits digits(GetParam(), "fp16");
  ASSERT_TRUE(digits.program);
  Session session(digits.program);
  digits.train(session, 0, 3);
  const double huge = 0x1p40;
  session.write("loss_scale", {huge});
  auto before = session.snapshot();
  mpc_step_info_t info = session.step(digits.batch(3));
  EXPECT_EQ(info.skipped, 1);
  EXPECT_EQ(info.updated, 0);
  EXPECT_EQ(info.step, 3u);
  EXPECT_TRUE(std::isfinite(info.loss));
  EXPECT_EQ(session.read("loss_scale")[0], huge / 2);
  EXPECT_EQ(session.read("loss_scale_streak")[0], 0);
  auto after = session.snapshot();
  for (const auto &[name, bits] : before) {
    bool isScale = name.rfind("loss_scale", 0) == 0;
    EXPECT_TRUE(isScale || bits == after[name]) << name;
  }
  int skips = 0;
  while (session.step(digits.batch(4)).skipped && skips < 60)
    ++skips;
  EXPECT_LT(skips, 40);
  EXPECT_EQ(session.read("step_count")[0], 4);
}

INSTANTIATE_TEST_SUITE_P(Digits, Overflow, testing::Values("mlp", "cnn"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
} // namespace mpc::test
