//===- machine_test.cpp - Rates of machines -------------------------------===//

#include "compiler/Target/Backend.h"

#include <gtest/gtest.h>

using namespace mpc;

namespace {

Machine findMachine(const char *device,
                    const std::vector<std::string> &features) {
  return findBackend(device)->machine(features);
}

// The cost model must not reward a format for which the machine has no units.
TEST(Machine, GainsOnlyWithHardwareUnits) {
  EXPECT_NEAR(findMachine("cuda", {"sm_80"}).bytesPerFlop(), 0.047, 0.0005);
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
  EXPECT_EQ(findMachine("cpu", {}).launch, 0);
}

} // namespace
