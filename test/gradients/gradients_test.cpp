//===- gradients_test.cpp - Every gradient against finite differences -----===//
//
// Runs each model of models.cpp through the whole compiler and the runtime. In
// f64 its gradients must agree with central differences; in other precisions,
// with those of f64.
//
//===----------------------------------------------------------------------===//

#include "test/gradients/differences.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace mpc::test {

class GradientTest : public testing::TestWithParam<size_t> {
protected:
  const Model &model() const { return models()[GetParam()]; }
};

TEST_P(GradientTest, IsThatOfFiniteDifferences) {
  Differences found = takeDifferences(model());
  ASSERT_FALSE(found.gradients.empty());
  double worst = 0;
  for (const auto &[name, expected] : found.expected) {
    EXPECT_GT(largest(expected), 1e-4) << name << " does not matter";
    double error = scaledError(found.gradients[name], expected);
    EXPECT_LE(error, 1e-6) << "of " << name;
    worst = std::max(worst, error);
  }
  RecordProperty("error", std::to_string(worst));
  std::printf("%-40s %.1e\n", model().name, worst);
}

namespace {
struct Tolerance {
  const char *precision;
  double loss;     ///< Relative, or absolute below 1.
  double gradient; ///< Relative, in the norm of each parameter's gradient.
};
} // namespace

namespace {
struct Outcome {
  Gradients gradients;
  double loss = NAN;
};
} // namespace

static Outcome takeStep(const Model &model, const char *precision) {
  // Large, so that the difference of weights keeps the digits of the gradient.
  const double lr = 0x1p20;
  ProgramPtr program = compileModel(model, precision, lr);
  if (!program)
    return {};
  Session session(program);
  Outcome result;
  result.gradients = takeGradients(session, model, lr);
  session.write("step_count", {0});
  result.loss = session.step(inputsOf(model)).loss;
  return result;
}

static void compareWith(const Model &model, const Tolerance &tolerance) {
  static std::map<std::string, Outcome>
      inDouble; // Cached results, by the name of the model.
  auto [entry, isNew] = inDouble.try_emplace(model.name);
  if (isNew)
    entry->second = takeStep(model, "fp64");
  const Outcome &expected = entry->second;
  Outcome found = takeStep(model, tolerance.precision);
  EXPECT_NEAR(found.loss, expected.loss,
              tolerance.loss * std::max(1.0, std::fabs(expected.loss)));
  EXPECT_FALSE(expected.gradients.empty());
  double worst = 0;
  for (const auto &[name, gradient] : expected.gradients) {
    double error = normError(found.gradients[name], gradient);
    EXPECT_LE(error, tolerance.gradient) << "of " << name;
    worst = std::max(worst, error);
  }
  std::printf("%-40s %s %.1e\n", model.name, tolerance.precision, worst);
}

TEST_P(GradientTest, IsTheSameInSinglePrecision) {
  compareWith(model(), {"fp32", 1e-6, 2e-6});
}

// bf16 has 8 bits, so each rounding has an error of up to 2^-9 = 0.2 %; the
// longest chain here has about ten roundings. In a network of a few dozen
// units, a single different decision of Relu or MaxPool changes some percent.
TEST_P(GradientTest, IsCloseInBfloat16) {
  bool decides = std::string(model().name) == "network_cnn";
  compareWith(model(), {"bf16", 0.02, decides ? 0.2 : 0.02});
}

// f16 has 11 bits: 2^-12 = 0.024 % per rounding.
TEST_P(GradientTest, IsCloseInHalfPrecision) {
  compareWith(model(), {"fp16", 0.005, 0.005});
}

INSTANTIATE_TEST_SUITE_P(Models, GradientTest,
                         testing::Range<size_t>(0, models().size()),
                         [](const testing::TestParamInfo<size_t> &info) {
                           return std::string(models()[info.param].name);
                         });

} // namespace mpc::test
