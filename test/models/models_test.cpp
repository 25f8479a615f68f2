//===- models_test.cpp - Small models against onnxruntime and PyTorch -----===//
//
// Tests every model of goldens/ in every precision: its outputs, and the losses
// and gradient norms of its training. make_models.py describes them.
//
//===----------------------------------------------------------------------===//

#include "test/gradients/harness.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>

namespace mpc::test {
namespace {

using Json = nlohmann::json;

/// Maximum error of an output, relative to its largest element, and of losses
/// and gradient norms, relative to the largest of all steps. The limits are
/// four times the measured errors. Errors in f32 come from another order of
/// summation; bf16 rounds by 2^-9 and f16 by 2^-12, several times in a row, and
/// subtracting similar numbers amplifies that.
struct Tolerance {
  const char *precision;
  double output, training;
};
void PrintTo(const Tolerance &tolerance, std::ostream *os) {
  *os << tolerance.precision;
}

constexpr Tolerance kTolerances[] = {
    {"fp32", 2e-6, 2e-6}, {"bf16", 3e-2, 4e-2}, {"fp16", 1e-2, 8e-3}};

/// The file of each model, by name: GROUP/NAME.onnxtxt; NAME.json in the same
/// folder has the numbers.
const std::map<std::string, std::filesystem::path> &models() {
  static const auto all = [] {
    std::map<std::string, std::filesystem::path> found;
    for (const auto &file :
         std::filesystem::recursive_directory_iterator(MPC_MODELS "/goldens"))
      if (file.path().extension() == ".onnxtxt")
        found.emplace(file.path().stem(), file.path());
    return found;
  }();
  return all;
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto &[name, file] : models())
    result.push_back(name);
  return result;
}

/// Numbers in [-2, 2), the same as in make_models.py.
Values fill(const std::string &name, size_t count) {
  uint64_t seed = 0xcbf29ce484222325; // FNV-1a.
  for (unsigned char byte : name)
    seed = (seed ^ byte) * 0x100000001b3;
  Random random(seed);
  Values values(count);
  for (double &value : values)
    value = float(4 * random.next() - 2);
  return values;
}

size_t inputSize(const mpc_program_t *program, const char *entry, size_t i) {
  mpc_binding_info_t binding = {};
  binding.struct_size = sizeof(binding);
  isOk(mpc_program_input(program, entry, i, &binding));
  return std::accumulate(binding.shape, binding.shape + binding.rank, size_t(1),
                         std::multiplies<>());
}

/// The scale of errors, with a minimum because values that cancel to zero have
/// errors.
double scaleOf(const Values &values) { return std::max(1e-3, largest(values)); }

/// The largest error relative to `scale`; equal elements, including infinities,
/// have error 0.
double worst(const Values &found, const Values &wanted, double scale) {
  EXPECT_EQ(found.size(), wanted.size());
  double result = 0;
  for (size_t i = 0; i < std::min(found.size(), wanted.size()); ++i) {
    double want = float(wanted[i]); // 1e39 becomes infinity.
    if (found[i] == want)
      continue;
    double error = std::fabs(found[i] - want) / scale;
    result = std::isnan(error) ? INFINITY : std::max(result, error);
  }
  return result;
}

class Models
    : public testing::TestWithParam<std::tuple<std::string, Tolerance>> {};

TEST_P(Models, DoWhatOthersDo) {
  const auto &[name, tolerance] = GetParam();
  std::filesystem::path file = models().at(name);
  Folder folder;
  CompileOptions options;
  options.model = file;
  file.replace_extension(".json");
  const Json model = Json::parse(std::ifstream(file));
  options.precision = tolerance.precision;
  options.optimizer = "sgd";
  options.lr = 0.02;
  options.loss = "mse:y";
  options.lossScaleInit = 128; // Overflow is the subject of other tests.
  ProgramPtr program = compile(options, folder);
  ASSERT_TRUE(program);
  Session session(program);
  Values input = model.contains("input")
                     ? model["input"].get<Values>()
                     : fill(name, inputSize(program.get(), "predict", 0));

  double outputError = 0, trainingError = 0;
  std::map<std::string, Values> outputs = session.run("predict", {input});
  EXPECT_EQ(outputs.size(), model["outputs"].size());
  for (const auto &[output, json] : model["outputs"].items()) {
    SCOPED_TRACE("output " + output);
    ASSERT_EQ(outputs.count(output), 1u);
    Values wanted = json.get<Values>();
    double error = worst(outputs[output], wanted, scaleOf(wanted));
    // Models with listed inputs must have exact results.
    EXPECT_LE(error, model.contains("input") ? 0 : tolerance.output);
    outputError = std::max(outputError, error);
  }

  if (model.contains("training")) {
    Values targets = fill(name + " targets", model["outputs"]["y"].size());
    Values losses = model["training"]["loss"];
    Values norms = model["training"]["grad_norm"];
    for (size_t step = 0; step < losses.size(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      mpc_step_info_t info = session.step({input, targets});
      EXPECT_EQ(info.skipped, 0);
      double error =
          std::max(worst({info.loss}, {losses[step]}, scaleOf(losses)),
                   worst({info.grad_norm}, {norms[step]}, scaleOf(norms)));
      EXPECT_LE(error, tolerance.training);
      trainingError = std::max(trainingError, error);
    }
  }
  std::printf("%-28s %s %.1e %.1e\n", name.c_str(), tolerance.precision,
              outputError, trainingError);
}

INSTANTIATE_TEST_SUITE_P(All, Models,
                         testing::Combine(testing::ValuesIn(names()),
                                          testing::ValuesIn(kTolerances)),
                         [](const auto &info) {
                           return std::get<0>(info.param) + "_" +
                                  std::get<1>(info.param).precision;
                         });

} // namespace
} // namespace mpc::test
