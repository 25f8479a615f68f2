//===- machine_test.cpp - Rates of machines -------------------------------===//

#include "compiler/Target/Backend.h"

#include <gtest/gtest.h>

#include <set>

using namespace mpc;

namespace {

Machine findMachine(const char *device,
                    const std::vector<std::string> &features) {
  return findBackend(device)->machine(features);
}

// The cost model must not reward a format for which the machine has no units.
TEST(Machine, GainsOnlyWithHardwareUnits) {
  EXPECT_NEAR(findMachine("cuda", {"sm_80"}).bytesPerFlop(), 0.098, 0.0005);
  EXPECT_NEAR(findMachine("cuda", {"sm_80", "sm_90"}).bytesPerFlop(), 0.047,
              0.0005);
  EXPECT_NEAR(
      findMachine("cpu", {"avx512f", "avx512bf16", "fast-bf16"}).bytesPerFlop(),
      0.05, 0.0005);
  EXPECT_NEAR(
      findMachine("cpu", {"avx512f", "avx512bf16", "amx-bf16"}).bytesPerFlop(),
      0.031, 0.0005);
  // Without AMX, Intel's CPUs multiply bf16 slower than f32.
  EXPECT_EQ(findMachine("cpu", {"avx512f", "avx512bf16"}).bytesPerFlop(), 0);
  EXPECT_EQ(findMachine("cpu", {"avx512f"}).bytesPerFlop(), 0);
  EXPECT_EQ(findMachine("cpu", {}).bytesPerFlop(), 0);
}

// GPUs before Ada and CPUs multiply FP8 in 16 bit; CPUs multiply f16 in f32.
TEST(Machine, WidensFormatsWithoutHardwareUnits) {
  Machine ampere = findMachine("cuda", {"sm_80"});
  EXPECT_EQ(ampere.fp8, ampere.bf16);
  Machine hopper = findMachine("cuda", {"sm_80", "sm_89", "sm_90"});
  EXPECT_GT(hopper.fp8, hopper.bf16);
  Machine cpu = findMachine("cpu", {"avx512f", "avx512bf16", "fast-bf16"});
  EXPECT_EQ(cpu.fp8, cpu.bf16);
  EXPECT_EQ(cpu.f16, cpu.f32);
  EXPECT_EQ(cpu.tf32, cpu.f32);
  EXPECT_GT(hopper.tf32, hopper.f32);
}

// A transpose of bytes is slower than a copy, and a kernel launch on a GPU
// costs time.
TEST(Machine, ChargesTransposesAndLaunchesOfGpus) {
  Machine hopper = findMachine("cuda", {"sm_80", "sm_89", "sm_90"});
  EXPECT_GT(hopper.transposedBytes, 0);
  EXPECT_LT(hopper.transposedBytes, hopper.bytes);
  EXPECT_GT(hopper.launch, 0);
}

// Rows are chosen by instructions, and by the model among CPUs with the same.
TEST(Machine, IsChosenByFeaturesAndModel) {
  auto nameOf = [](const char *device, std::vector<std::string> features,
                   const char *model = "") {
    return findBackend(device)->machine(features, model).name;
  };
  EXPECT_EQ(nameOf("cpu", {"avx512f", "fast-bf16"}), "2 cores of a Zen 5");
  EXPECT_EQ(nameOf("cpu", {"avx512f", "fast-bf16"}, "znver4"),
            "2 cores of a Zen 4");
  EXPECT_EQ(nameOf("cpu", {"avx512f"}, "icelake-server"),
            "2 cores of an Ice Lake server");
  // With fewer instructions than its model has.
  EXPECT_EQ(nameOf("cpu", {}, "znver4"), "2 cores of a Zen 5 with AVX2 alone");
  EXPECT_EQ(nameOf("cuda", {"sm_70"}), "an A100");
  EXPECT_EQ(nameOf("cuda", {"sm_80", "sm_86", "sm_89"}), "an L40S");
  EXPECT_EQ(nameOf("cuda", {"sm_80", "sm_90", "simulated"}), "an H100");
  EXPECT_EQ(nameOf("cuda", {"sm_90", "sm_100", "sm_120"}), "a B200");
}

// Every row has its own name and device, states its source, and has rates for
// everything that is computed.
TEST(Machine, HasCompleteRows) {
  std::set<std::string_view> keys;
  for (const KnownMachine &row : knownMachines()) {
    EXPECT_TRUE(keys.insert(row.key).second) << row.key;
    EXPECT_TRUE(findBackend(row.machine.device)) << row.key;
    bool isMeasured = row.source.substr(0, 8) == "measured";
    EXPECT_TRUE(isMeasured || row.source.substr(0, 10) == "data sheet")
        << row.key;
    Machine again;
    EXPECT_EQ(readMachine({std::string(row.key)}, again), "");
    EXPECT_EQ(textOf(again), textOf(row.machine));
    EXPECT_EQ(readMachine(textOf(row.machine), again), "") << row.key;
    EXPECT_EQ(textOf(again), textOf(row.machine));
    for (Arithmetic arithmetic :
         {Arithmetic::Vector, Arithmetic::F32, Arithmetic::Tf32,
          Arithmetic::Bf16, Arithmetic::F16, Arithmetic::Fp8, Arithmetic::F64})
      EXPECT_GT(operationRate(row.machine, arithmetic), 0) << row.key;
  }
}

TEST(Machine, RefusesInvalidText) {
  Machine machine;
  EXPECT_NE(readMachine({"zen6"}, machine).find("there is no machine 'zen6'"),
            std::string::npos);
  auto read = [&](const char *line) {
    return readMachine({"name=m", "f32_gflops=1", "bf16_gflops=1", line},
                       machine);
  };
  EXPECT_EQ(read("memory_gb_per_s=1"), "");
  EXPECT_EQ(read("device=cpu"), "memory_gb_per_s is missing");
  EXPECT_EQ(read("speed=1"), "unknown key 'speed'");
  EXPECT_EQ(read("memory_gb_per_s"),
            "must be KEY=VALUE, but is 'memory_gb_per_s'");
  for (const char *bad : {"-1", "nan", "1e13", "1e-7", "1x", ""})
    EXPECT_NE(read((std::string("memory_gb_per_s=") + bad).c_str())
                  .find("memory_gb_per_s must be 0 or lie between"),
              std::string::npos)
        << bad;
}

// Arithmetic and traffic overlap, launches do not; small operands are in
// caches.
TEST(Machine, EstimatesByTheRoofline) {
  Machine machine;
  ASSERT_EQ(readMachine({"name=m", "f32_gflops=10", "bf16_gflops=20",
                         "memory_gb_per_s=2", "near_cache_gb_per_s=8",
                         "near_cache_mib=1", "launch_us=1"},
                        machine),
            "");
  WorkTime time = timeOf({Arithmetic::Bf16, 4e6, 4e6}, machine);
  EXPECT_DOUBLE_EQ(time.arithmetic, 2e5);
  EXPECT_DOUBLE_EQ(time.memory, 2e6);
  EXPECT_DOUBLE_EQ(time.sum(), 2e6 + 1000);
  EXPECT_DOUBLE_EQ(timeOf({Arithmetic::F32, 4e6, 8e5}, machine).sum(),
                   4e5 + 1000);
  EXPECT_DOUBLE_EQ(timeOf({Arithmetic::Vector, 0, 8e5}, machine).memory, 1e5);
}

} // namespace
