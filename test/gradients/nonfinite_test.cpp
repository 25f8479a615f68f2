//===- nonfinite_test.cpp - Steps that must change nothing ----------------===//
//
// For any input, weights stay finite, the step reports what went wrong, and
// training continues as if there had been no such step.
//
//===----------------------------------------------------------------------===//

#include "test/gradients/harness.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mpc::test {
namespace {

const char *const kTwoLayers = R"(<ir_version: 9, opset_import: ["" : 20]>
two_layers (float[4, 3] x, float[3, 2] w = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6},
            float[2] b = {0.1, -0.1},
            float[2, 2] v = {0.3, -0.2, 0.1, 0.5}) => (float[4, 2] y)
{
  h = Gemm (x, w, b)
  y = MatMul (h, v)
})";

const std::vector<Values> kGood = {Values(12, 0.5), Values(8, 1.0)};

class NonFinite : public testing::TestWithParam<const char *> {
protected:
  ProgramPtr make(CompileOptions options) {
    options.model = writeText(folder, "two_layers.onnxtxt", kTwoLayers);
    options.loss = "mse";
    options.precision = GetParam();
    return compile(options, folder);
  }

  ProgramPtr makeDigits(const char *name, int64_t accumulate) {
    CompileOptions options;
    options.model = std::string(MPC_DIGITS "/") + name + ".onnx";
    options.precision = GetParam();
    options.batches = {8};
    options.accumulate = accumulate;
    return compile(options, folder);
  }

  static std::vector<Values> digits(int number) {
    Random random(number);
    Values images(8 * 64), labels(8);
    for (double &value : images)
      value = float(random.next());
    for (double &value : labels)
      value = std::floor(10 * random.next());
    return {images, labels};
  }

  /// All states except those that a failed step changes.
  static std::map<std::string, std::string> states(const Session &session) {
    auto all = session.snapshot();
    all.erase("loss_scale");
    all.erase("loss_scale_streak");
    return all;
  }

  static void expectFinite(const Session &session) {
    for (const std::string &name : session.parameters())
      for (double value : session.read(name))
        ASSERT_TRUE(std::isfinite(value)) << name;
  }

  static void expectText(const Session::Outcome &outcome, const char *text) {
    EXPECT_EQ(outcome.code, MPC_NUMERIC);
    EXPECT_NE(outcome.message.find(text), std::string::npos) << outcome.message;
  }

  Folder folder;
};

// A batch with one bad value: nothing changes, and the next batch trains as if
// the bad one had not been there.
TEST_P(NonFinite, InputsChangeNothing) {
  ProgramPtr program = make({});
  ASSERT_TRUE(program);
  for (double bad : {kNan, kInf, -kInf}) {
    Session session(program), other(program);
    session.step(kGood);
    other.step(kGood);
    auto before = states(session);
    std::vector<Values> inputs = kGood;
    inputs[0][7] = bad;
    Session::Outcome outcome = session.tryStep(inputs);
    expectText(outcome, std::isnan(bad)
                            ? "input 'x' is not finite (nan at position 7)"
                            : "input 'x' is not finite (inf at position 7), ");
    if (std::isinf(bad))
      expectText(outcome, "the first infinite value appears in '");
    EXPECT_EQ(outcome.info.skipped, 1);
    EXPECT_EQ(outcome.info.updated, 0);
    EXPECT_EQ(outcome.info.step, 1u);
    EXPECT_EQ(states(session), before);
    EXPECT_EQ(session.step(kGood).step, 2u);
    other.step(kGood);
    // The scale has been halved, which changes the rounding of subnormals of
    // f16.
    if (GetParam() != std::string("fp16")) {
      EXPECT_EQ(states(session), states(other));
    }
  }
}

// The same for statistics of BatchNormalization, the counter of dropout, and
// moments.
TEST_P(NonFinite, WholeModelsChangeNothing) {
  for (const char *name : {"mlp", "cnn"}) {
    ProgramPtr program = makeDigits(name, 1);
    ASSERT_TRUE(program);
    Session session(program);
    session.step(digits(1));
    auto before = states(session);
    for (double bad : {kNan, kInf}) {
      std::vector<Values> inputs = digits(2);
      inputs[0][100] = bad;
      expectText(session.tryStep(inputs), "input 'images' is not finite");
      EXPECT_EQ(states(session), before);
    }
    EXPECT_EQ(session.step(digits(2)).step, 2u);
  }
}

TEST_P(NonFinite, LossesChangeNothing) {
  ProgramPtr program = make({});
  ASSERT_TRUE(program);
  Session session(program);
  auto before = states(session);
  // Its square overflows f32; earlier values do not.
  Session::Outcome outcome =
      session.tryStep({Values(12, 0.5), Values(8, 1e25)});
  expectText(outcome, "the loss is inf, so the weights are not updated");
  expectText(outcome, "appears in 'loss");
  EXPECT_EQ(states(session), before);
  session.step(kGood);
}

TEST_P(NonFinite, WeightsAreNamed) {
  ProgramPtr program = make({});
  ASSERT_TRUE(program);
  Session session(program);
  session.write("v", {0.5, kNan, 0.5, 0.5});
  expectText(
      session.tryStep(kGood),
      "parameter 'v' contains nan at position 1 before the first update");
  session.write("v", {0.5, 0.5, 0.5, 0.5});
  session.step(kGood);
}

TEST_P(NonFinite, LearningRatesBeyondReasonLeaveWeightsFinite) {
  for (const char *optimizer : {"sgd", "momentum", "adam", "adamw"}) {
    SCOPED_TRACE(optimizer);
    CompileOptions options;
    options.optimizer = optimizer;
    options.lr = 1e30;
    ProgramPtr program = make(options);
    ASSERT_TRUE(program);
    Session session(program);
    Session::Outcome outcome = session.tryStep(kGood);
    for (int i = 0; i < 3 && outcome.code == MPC_OK; ++i)
      outcome = session.tryStep(kGood);
    EXPECT_EQ(outcome.code, MPC_NUMERIC);
    bool named = outcome.message.find("appears in '") != std::string::npos ||
                 outcome.message.find("infinite value") != std::string::npos;
    EXPECT_TRUE(named) << outcome.message;
    expectFinite(session);
  }
}

// Gradients and learning rate are finite, but not their product.
TEST_P(NonFinite, UpdatesThatOverflowAreNotMade) {
  CompileOptions options;
  options.optimizer = "sgd";
  options.lr = 1e38;
  ProgramPtr program = make(options);
  ASSERT_TRUE(program);
  Session session(program);
  // Only v's gradient is large.
  session.write("w", Values(6, 0.0));
  session.write("b", {100, 100});
  session.write("v", {0, 0, 0, 0});
  std::vector<Values> inputs = {Values(12, 0.0), Values(8, 1.0)};
  Session::Outcome outcome = session.tryStep(inputs);
  expectText(
      outcome,
      "the update is not finite; weights that would have become infinite or "
      "nan in 'optimizer (sgd)' kept their values; the learning rate is 1e+38");
  EXPECT_EQ(outcome.info.skipped, 0);
  EXPECT_EQ(outcome.info.updated, 1);
  EXPECT_EQ(session.read("v"), Values(4, 0.0));
  expectFinite(session);
}

// If one micro-batch of an update is bad, none of them leaves a trace, neither
// in statistics nor in the counter that keys random numbers.
TEST_P(NonFinite, MicroBatchesLeaveNoTrace) {
  for (const char *name : {"mlp", "cnn"}) {
    SCOPED_TRACE(name);
    ProgramPtr program = makeDigits(name, 3);
    ASSERT_TRUE(program);
    Session session(program), other(program);
    for (int i = 0; i < 3; ++i) {
      session.step(digits(i));
      other.step(digits(i));
    }
    auto before = states(session);
    session.step(digits(3));
    // Except for pending states, nothing of the model has changed yet.
    for (const auto &[state, bits] : states(session)) {
      bool carried = state.rfind("gradients/", 0) == 0 ||
                     state.rfind("pending/", 0) == 0 || state == "loss_sum" ||
                     state == "loss_divisor";
      EXPECT_TRUE(carried || bits == before[state]) << state;
    }
    std::vector<Values> bad = digits(4);
    bad[0][100] = kNan;
    expectText(session.tryStep(bad), "input 'images' is not finite");
    mpc_step_info_t info = session.step(digits(5));
    EXPECT_EQ(info.skipped, 1);
    EXPECT_EQ(info.step, 1u);
    EXPECT_EQ(states(session), before);
    if (GetParam() == std::string("fp16"))
      continue; // The scale has been halved.
    for (int i = 6; i < 9; ++i) {
      session.step(digits(i));
      other.step(digits(i));
    }
    EXPECT_EQ(states(session), states(other));
  }
}

INSTANTIATE_TEST_SUITE_P(Precisions, NonFinite,
                         testing::Values("fp32", "bf16", "fp16"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
} // namespace mpc::test
