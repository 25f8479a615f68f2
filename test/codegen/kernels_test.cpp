//===- kernels_test.cpp - Every walk, on awkward shapes -------------------===//

#include "test/codegen/harness.h"
#include "test/codegen/sources.h"

#include "gtest/gtest.h"

using namespace mpc::test;

namespace {

using Case = std::tuple<std::string, mpc::DeviceKind>;

/// On the CPU and, in the simulator, as on a GPU.
class Kernels : public ::testing::TestWithParam<Case> {};

TEST_P(Kernels, DoWhatTheirOpsSay) {
  auto [source, device] = GetParam();
  for (const KernelProgram &program : programsOf(source)) {
    SCOPED_TRACE(program.name);
    EXPECT_GE(checkKernels(program.text, program.low, program.high, device),
              1u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sources, Kernels,
    ::testing::Combine(::testing::ValuesIn(sourceNames()),
                       ::testing::Values(mpc::DeviceKind::Cpu,
                                         mpc::DeviceKind::Cuda)),
    [](const auto &info) {
      return std::get<0>(info.param) + "_" +
             mpc::nameOf(std::get<1>(info.param)).str();
    });

} // namespace
