//===- losses_test.cpp - Losses against PyTorch ---------------------------===//
//
// The losses and gradients of goldens/losses, computed by PyTorch in f64:
// compared in f64 and f32, in 16 bit within its rounding, with the loss that
// `evaluate` returns, and with central differences of that loss.
//
//===----------------------------------------------------------------------===//

#include "passes/Options/OptionText.h"
#include "test/gradients/harness.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>
#include <numeric>

namespace mpc::test {
namespace {

using Json = nlohmann::json;

const Json &lossGoldens() {
  static const Json all =
      Json::parse(std::ifstream(MPC_GOLDENS "/losses/losses.json"));
  return all;
}

// Large, so that the difference of weights keeps the digits of the gradient.
constexpr double kRate = 0x1p30;

ProgramPtr compileLoss(const Json &golden, const char *precision,
                       const Folder &folder) {
  CompileOptions options;
  options.optimizer = "sgd";
  options.lr = kRate;
  options.precision = precision;
  for (const auto &[name, text] : golden["options"].items())
    EXPECT_EQ(setOption(options, name, text), "");
  options.model =
      writeText(folder, "model.onnxtxt",
                lossGoldens()["models"][golden["model"].get<std::string>()]);
  return compile(options, folder);
}

std::vector<Values> lossInputs(const Json &golden) {
  return golden["inputs"].get<std::vector<Values>>();
}

/// Writes the weights that the loss depends on.
void startCase(Session &session, const Json &golden) {
  for (const auto &gradient : golden["gradients"].items())
    session.write(gradient.key(), golden["weights"][gradient.key()]);
}

double evaluate(Session &session, const Json &golden) {
  std::map<std::string, Values> sums =
      session.run("evaluate", lossInputs(golden));
  auto total = [&](const char *name) {
    return std::accumulate(sums[name].begin(), sums[name].end(), 0.0);
  };
  return total("sample_loss") / total("sample_weight");
}

struct Tolerance {
  const char *precision;
  double relative; ///< Part of the loss and of the largest gradient.
  double absolute; ///< The rounding of a loss near 0.
};

class Losses : public testing::TestWithParam<size_t> {
protected:
  const Json &golden() const { return lossGoldens()["cases"][GetParam()]; }

  void follow(const Tolerance &tolerance) {
    SCOPED_TRACE(golden()["name"].get<std::string>() + " " +
                 tolerance.precision);
    Folder folder;
    ProgramPtr program = compileLoss(golden(), tolerance.precision, folder);
    ASSERT_TRUE(program);
    Session session(program);
    startCase(session, golden());
    const double loss = golden()["loss"];
    const double bound =
        tolerance.relative * std::fabs(loss) + tolerance.absolute;
    EXPECT_NEAR(evaluate(session, golden()), loss, bound);
    // The runtime reports the loss of a step in f32.
    EXPECT_NEAR(session.step(lossInputs(golden())).loss, loss,
                bound + 1e-7 * std::fabs(loss));
    for (const auto &[name, expected] : golden()["gradients"].items()) {
      Values before = golden()["weights"][name], after = session.read(name);
      const double size = largest(expected.get<Values>());
      for (size_t i = 0; i < after.size(); ++i)
        EXPECT_NEAR((before[i] - after[i]) / kRate, expected[i].get<double>(),
                    tolerance.relative * size + tolerance.absolute)
            << name << "[" << i << "]";
    }
  }
};

TEST_P(Losses, AreThoseOfPyTorch) {
  follow({"fp64", 1e-12, 1e-12});
  follow({"fp32", 1e-6, 1e-7});
}

/// 16 bit rounds logits, which saturated losses amplify.
TEST_P(Losses, TrainIn16Bit) {
  bool isSpecial = golden()["name"].get<std::string>().rfind("special", 0) == 0;
  if (isSpecial)
    GTEST_SKIP() << "no function of rounded logits";
  follow({"bf16", 2e-2, 1e-2});
}

TEST_P(Losses, HaveGradientsOfFiniteDifferences) {
  bool isSpecial = golden()["name"].get<std::string>().rfind("special", 0) == 0;
  if (isSpecial)
    GTEST_SKIP() << "a point without a derivative";
  Folder folder;
  ProgramPtr program = compileLoss(golden(), "fp64", folder);
  ASSERT_TRUE(program);
  Session session(program);
  startCase(session, golden());
  constexpr double kDistance = 1e-5;
  for (const auto &[name, gradient] : golden()["gradients"].items()) {
    const Values values = golden()["weights"][name];
    for (size_t i = 0; i < values.size(); ++i) {
      auto lossAt = [&](double value) {
        Values moved = values;
        moved[i] = value;
        session.write(name, moved);
        return evaluate(session, golden());
      };
      const double slope =
          (lossAt(values[i] + kDistance) - lossAt(values[i] - kDistance)) /
          (2 * kDistance);
      EXPECT_NEAR(slope, gradient[i].get<double>(),
                  1e-7 * std::max(1.0, largest(gradient.get<Values>())))
          << golden()["name"] << ": " << name << "[" << i << "]";
    }
    session.write(name, values);
  }
}

std::string nameOfCase(size_t index) {
  return lossGoldens()["cases"][index]["name"];
}

INSTANTIATE_TEST_SUITE_P(
    Goldens, Losses, testing::Range(size_t(0), lossGoldens()["cases"].size()),
    [](const auto &info) { return nameOfCase(info.param); });

/// Without a label that counts, the mean is 0 / 0: the step changes nothing.
TEST(LossOptions, WithoutCountedLabelsChangeNothing) {
  for (const char *loss : {"cross-entropy", "softmax-focal"}) {
    Folder folder;
    CompileOptions options;
    options.loss = loss;
    options.ignoreIndex = 1;
    options.precision = "fp32";
    options.model = writeText(folder, "linear.onnxtxt", kLinear);
    ProgramPtr program = compile(options, folder);
    ASSERT_TRUE(program);
    Session session(program);
    session.write("w", Values(6, 0.5));
    Session::Outcome outcome =
        session.tryStep({Values(12, 0.25), Values(4, 1)});
    EXPECT_EQ(outcome.code, MPC_NUMERIC) << loss;
    EXPECT_NE(outcome.message.find("the loss is nan"), std::string::npos)
        << outcome.message;
    EXPECT_EQ(session.read("w"), Values(6, 0.5)) << loss;
  }
}

/// Micro-batches weight their losses by the weights of their samples, like one
/// batch.
TEST(LossOptions, AccumulateWeightedSamples) {
  Folder folder;
  CompileOptions options;
  options.loss = "mse";
  options.sampleWeights = true;
  options.precision = "fp64";
  options.optimizer = "sgd";
  options.lr = 1;
  options.model = writeText(folder, "linear.onnxtxt", kLinear);
  options.accumulate = 2;
  ProgramPtr program = compile(options, folder);
  ASSERT_TRUE(program);
  Session session(program);
  // y is 0. Only samples of x = 1 have an error; b's gradient is the weighted
  // mean of -2 t / 2.
  const Values x(12, 0.0), ones(8, 1.0), zeros(8, 0.0);
  session.step({x, ones, {1, 1, 1, 1}});
  session.step({x, zeros, {3, 3, 3, 3}});
  for (double b : session.read("b"))
    EXPECT_NEAR(b, 0.25, 1e-12);
}

} // namespace
} // namespace mpc::test
