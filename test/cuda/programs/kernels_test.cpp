// Generated kernels on a GPU compared with the CPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "test/cuda/programs/programs.h"

namespace mpc::test {
namespace {

class GpuKernels : public Programs {};

TEST_P(GpuKernels, AgreeWithTheCpu) {
  std::mt19937 random(11);
  std::uniform_real_distribution<double> real(
      std::stod(program_.option("low")), std::stod(program_.option("high")));
  std::vector<Values> inputs = values_of(program_.inputs("f"));
  for (Values& input : inputs)
    for (size_t i = 0; i < input.count(); ++i) input.set(i, real(random));
  std::vector<Values> wanted = values_of(program_.outputs("f"));
  std::vector<Values> found = wanted;
  ASSERT_FALSE(cpu_.run("f", tensors_of(inputs), tensors_of(wanted)));
  Status status = gpu_.run("f", tensors_of(inputs), tensors_of(found));
  ASSERT_FALSE(status) << status.message();
  for (size_t k = 0; k < wanted.size(); ++k)
    for (size_t i = 0; i < wanted[k].count(); ++i) {
      double want = wanted[k].get(i), have = found[k].get(i);
      if (std::isnan(want) && std::isnan(have)) continue;
      ASSERT_NEAR(
          have, want,
          tolerance_of(wanted[k].info.dtype) * std::max(1.0, std::fabs(want)))
          << "output " << k << ", element " << i;
    }
  // Again, with the graph of the first run: identical bits.
  std::vector<Values> again = values_of(program_.outputs("f"));
  ASSERT_FALSE(gpu_.run("f", tensors_of(inputs), tensors_of(again)));
  for (size_t k = 0; k < found.size(); ++k)
    EXPECT_EQ(found[k].bytes, again[k].bytes) << "output " << k;
}

// Whether the programs include FP8, which not every device supports.
bool has_fp8() {
  std::ifstream file(folder() + "/architecture");
  std::string name;
  file >> name;
  return is_simulated() ||
         (name.rfind("sm_", 0) == 0 && std::atoi(name.c_str() + 3) >= 89);
}

TEST(GpuPrograms, Exist) {
  if (!fs::exists(folder()))
    GTEST_SKIP() << "no device: no programs were made in " << folder();
  EXPECT_GE(programs("kernel-").size(), 200u);
  EXPECT_EQ(programs("model-").size(), has_fp8() ? 23u : 21u);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GpuKernels);

INSTANTIATE_TEST_SUITE_P(All, GpuKernels,
                         ::testing::ValuesIn(programs("kernel-")), name_of);

}  // namespace
}  // namespace mpc::test
