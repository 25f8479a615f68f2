//===- updates_test.cpp - Optimizers, schedules, groups, averages ---------===//
//
// 40 updates each, compared with goldens/updates, computed by PyTorch in f64.
//
//===----------------------------------------------------------------------===//

#include "test/gradients/harness.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

namespace mpc::test {
namespace {

using Json = nlohmann::json;

const Json &goldens() {
  static const Json all =
      Json::parse(std::ifstream(MPC_GOLDENS "/updates/updates.json"));
  return all;
}

CompileOptions readOptions(const Json &options) {
  CompileOptions result;
  result.lr = goldens()["lr"];
  result.loss = options.value("loss", "mse");
  result.labelSmoothing = options.value("labelSmoothing", 0.0);
  auto take = [&](const char *name, auto &value) {
    value = options.value(name, value);
  };
  take("optimizer", result.optimizer);
  take("weightDecay", result.weightDecay);
  take("beta1", result.beta1);
  take("beta2", result.beta2);
  take("epsilon", result.epsilon);
  take("momentum", result.momentum);
  take("alpha", result.alpha);
  take("groups", result.groups);
  take("noDecay", result.noDecay);
  take("schedule", result.schedule);
  take("warmup", result.warmup);
  take("totalSteps", result.totalSteps);
  take("lrMin", result.lrMin);
  take("lrGamma", result.lrGamma);
  take("lrPeriod", result.lrPeriod);
  take("lrFactor", result.lrFactor);
  take("lrPower", result.lrPower);
  take("ema", result.ema);
  take("emaWarmup", result.emaWarmup);
  take("clipValue", result.clipValue);
  take("clipNorm", result.clipNorm);
  take("accumulate", result.accumulate);
  return result;
}

ProgramPtr compileCase(const Json &golden, const char *precision,
                       const Folder &folder) {
  CompileOptions options = readOptions(golden["options"]);
  options.model = writeText(folder, "linear.onnxtxt", kLinear);
  options.precision = precision;
  return compile(options, folder);
}

std::vector<Values> inputsOf(const Json &golden, const Json &batch) {
  bool hasLabels = golden["options"].contains("labelSmoothing");
  return {batch["x"].get<Values>(),
          batch[hasLabels ? "labels" : "t"].get<Values>()};
}

void start(Session &session) {
  for (const char *name : {"w", "b"})
    session.write(name, goldens()["start"][name].get<Values>());
}

class Updates : public testing::TestWithParam<size_t> {
protected:
  const Json &golden() const { return goldens()["cases"][GetParam()]; }
};

/// The error of weights and averages compared with a run of PyTorch.
double endError(const Session &session, const Json &run) {
  double worst = 0;
  for (const char *name : {"w", "b"}) {
    worst = std::max(
        worst, scaledError(session.read(name), run["end"][name].get<Values>()));
    if (run.contains("average"))
      worst =
          std::max(worst, scaledError(session.read("ema/" + std::string(name)),
                                      run["average"][name].get<Values>()));
  }
  return worst;
}

/// Compares losses, norms and rates of each step, and weights and averages at
/// the end. In f32, compares with PyTorch's f64 and f32: rounding errors
/// accumulate in either, most for Lion, whose steps all have the same size.
void follow(const Json &golden, const char *precision, double tolerance) {
  SCOPED_TRACE(precision);
  bool isSingle = precision == std::string("fp32");
  Folder folder;
  ProgramPtr program = compileCase(golden, precision, folder);
  ASSERT_TRUE(program);
  Session session(program);
  start(session);
  double worst = 0;
  size_t number = 0, update = 0;
  for (const Json &batch : goldens()["batches"]) {
    mpc_step_info_t info = session.step(inputsOf(golden, batch));
    EXPECT_NEAR(info.loss, golden["loss"][number++].get<double>(), 1e-5);
    if (!info.updated)
      continue;
    EXPECT_NEAR(info.grad_norm, golden["grad_norm"][update].get<double>(),
                1e-5);
    if (golden.contains("rates")) {
      double rate = golden["rates"][update];
      // A float has 24 bits.
      worst =
          std::max(worst, std::abs(info.learning_rate - rate) / rate - 6e-8);
    } else {
      EXPECT_EQ(info.learning_rate, 0);
    }
    ++update;
  }
  EXPECT_EQ(update, golden["grad_norm"].size());
  double end = endError(session, golden);
  if (isSingle)
    end = std::min(end, endError(session, golden["f32"]));
  worst = std::max(worst, end);
  EXPECT_LE(worst, tolerance);
  std::printf("%-32s %s %.1e\n", golden["name"].get<std::string>().c_str(),
              precision, worst);
}

TEST_P(Updates, DoWhatPyTorchDoes) {
  follow(golden(), "fp64", 1e-12);
  follow(golden(), "fp32", 1e-6);
}

/// Runs the batches from `first` up to `last`.
void run(Session &session, const Json &golden, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i)
    session.step(inputsOf(golden, goldens()["batches"][i]));
}

TEST_P(Updates, ResumeBitForBit) {
  Folder folder;
  ProgramPtr program = compileCase(golden(), "fp32", folder);
  ASSERT_TRUE(program);
  Session whole(program), first(program), second(program);
  start(whole);
  start(first);
  run(whole, golden(), 0, 40);
  run(first, golden(), 0, 17);
  std::string path = folder.path("checkpoint");
  ASSERT_TRUE(isOk(mpc_session_save_checkpoint(first.handle(), path.c_str())));
  ASSERT_TRUE(isOk(mpc_session_load_checkpoint(second.handle(), path.c_str())));
  run(second, golden(), 17, 40);
  EXPECT_EQ(whole.snapshot(), second.snapshot());
}

TEST_P(Updates, ChangeNothingInSkippedSteps) {
  Folder folder;
  ProgramPtr program = compileCase(golden(), "fp16", folder);
  ASSERT_TRUE(program);
  Session session(program);
  start(session);
  uint64_t batches = golden()["options"].value("accumulate", 1);
  run(session, golden(), 0, 2 * batches);
  auto before = session.snapshot();
  std::vector<Values> inputs = inputsOf(golden(), goldens()["batches"][0]);
  session.write("loss_scale", {1 << 30});
  mpc_step_info_t info = {};
  for (uint64_t i = 0; i < batches; ++i)
    info = session.step(inputs);
  EXPECT_TRUE(info.skipped);
  auto after = session.snapshot();
  for (const char *name :
       {"loss_scale", "loss_scale_streak", "loss_sum", "micro_step"}) {
    before.erase(name);
    after.erase(name);
  }
  EXPECT_EQ(before, after);
}

INSTANTIATE_TEST_SUITE_P(All, Updates,
                         testing::Range<size_t>(0, goldens()["cases"].size()),
                         [](const testing::TestParamInfo<size_t> &info) {
                           std::string name =
                               goldens()["cases"][info.param]["name"];
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });

TEST(UpdateGoldens, HoldAllKinds) {
  EXPECT_EQ(goldens()["cases"].size(), 62u);
  EXPECT_EQ(goldens()["batches"].size(), 40u);
}

/// A schedule that depends on its length needs that length.
TEST(UpdateSchedule, NeedsItsLength) {
  Folder folder;
  CompileOptions options;
  options.model = writeText(folder, "linear.onnxtxt", kLinear);
  options.loss = "mse";
  options.precision = "fp32";
  options.schedule = "cosine";
  ProgramPtr program = compile(options, folder);
  ASSERT_TRUE(program);
  Session session(program);
  Values x(12, 0.5), t(8, 1.0), before = session.read("w");
  Session::Outcome outcome = session.tryStep({x, t});
  EXPECT_EQ(outcome.code, MPC_INVALID_ARGUMENT);
  EXPECT_NE(outcome.message.find("state 'total_steps' is 0; write it"),
            std::string::npos)
      << outcome.message;
  EXPECT_EQ(session.read("w"), before);
  EXPECT_EQ(session.read("step_count"), Values{0});
  session.write("total_steps", {10});
  EXPECT_EQ(session.step({x, t}).learning_rate, 0.001f);
  EXPECT_NE(session.read("w"), before);
}

} // namespace
} // namespace mpc::test
