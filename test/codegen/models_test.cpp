//===- models_test.cpp - Every kernel of the example models ---------------===//

#include "passes/Driver/Pipeline.h"
#include "test/codegen/harness.h"

#include "gtest/gtest.h"

using namespace mpc;
using namespace mpc::test;

namespace {

using ModelCase = std::tuple<const char *, const char *, const char *>;

class ModelKernels : public ::testing::TestWithParam<ModelCase> {};

TEST_P(ModelKernels, DoWhatTheirOpsSay) {
  auto [model, precision, device] = GetParam();
  CompileOptions options;
  options.model = std::string(MPC_DIGITS) + "/" + model + ".onnx";
  options.precision = precision;
  options.clipNorm = 1;
  Compiled compiled(options, device);
  // If a 16-bit value rounds the other way, all values computed from it change;
  // a norm may amplify the difference four times.
  double least = options.precision == "fp32"   ? 0
                 : options.precision == "bf16" ? 0x1p-6
                                               : 0x1p-8;
  checkKernels(compiled, 0.05, 1, least);
}

INSTANTIATE_TEST_SUITE_P(
    Digits, ModelKernels,
    ::testing::Combine(::testing::Values("mlp", "cnn"),
                       ::testing::Values("fp32", "bf16", "fp16"),
                       ::testing::Values("cpu", "cuda", "reference")),
    [](const auto &info) {
      return std::string(std::get<0>(info.param)) + "_" +
             std::get<1>(info.param) + "_" + std::get<2>(info.param);
    });

} // namespace
