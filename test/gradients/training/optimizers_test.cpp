//===- optimizers_test.cpp - Updates against PyTorch ----------------------===//

#include "test/gradients/harness.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace mpc::test {
namespace {

CompileOptions optimizerOptions(const nlohmann::json &options) {
  CompileOptions result;
  result.loss = "mse";
  result.optimizer = options["optimizer"];
  result.lr = options["lr"];
  result.weightDecay = options.value("weightDecay", -1.0);
  result.beta1 = options.value("beta1", result.beta1);
  result.beta2 = options.value("beta2", result.beta2);
  result.epsilon = options.value("epsilon", result.epsilon);
  result.momentum = options.value("momentum", result.momentum);
  result.nesterov = options.value("nesterov", false);
  result.clipNorm = options["clipNorm"];
  result.accumulate = options["accumulate"];
  return result;
}

/// Five updates in f64 and in f32; PyTorch's are in f64.
void followGolden(const nlohmann::json &golden, const char *precision,
                  double tolerance) {
  SCOPED_TRACE(golden["name"].get<std::string>() + " " + precision);
  Folder folder;
  CompileOptions options = optimizerOptions(golden["options"]);
  options.model = writeText(folder, "linear.onnxtxt", kLinear);
  options.precision = precision;
  ProgramPtr program = compile(options, folder);
  ASSERT_TRUE(program);
  Session session(program);
  session.write("w", golden["start"]["w"].get<Values>());
  session.write("b", golden["start"]["b"].get<Values>());
  size_t number = 0;
  for (const nlohmann::json &batch : golden["batches"]) {
    mpc_step_info_t info =
        session.step({batch["x"].get<Values>(), batch["t"].get<Values>()});
    EXPECT_NEAR(info.loss, golden["loss"][number].get<double>(), 1e-5);
    ++number;
    EXPECT_EQ(info.updated, number % options.accumulate == 0);
    if (!info.updated)
      continue;
    size_t update = number / options.accumulate - 1;
    EXPECT_NEAR(info.grad_norm, golden["grad_norm"][update].get<double>(),
                1e-5);
  }
  double worst = 0;
  for (const char *name : {"w", "b"})
    worst = std::max(worst, scaledError(session.read(name),
                                        golden["end"][name].get<Values>()));
  EXPECT_LE(worst, tolerance);
  std::printf("%-32s %s %.1e\n", golden["name"].get<std::string>().c_str(),
              precision, worst);
}

TEST(Optimizers, DoWhatPyTorchDoes) {
  nlohmann::json goldens = nlohmann::json::parse(
      std::ifstream(MPC_GOLDENS "/digits/optimizers.json"));
  ASSERT_EQ(goldens.size(), 32u);
  for (const nlohmann::json &golden : goldens) {
    followGolden(golden, "fp64", 1e-12);
    followGolden(golden, "fp32", 2e-6);
  }
}

} // namespace
} // namespace mpc::test
