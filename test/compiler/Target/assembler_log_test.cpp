//===- assembler_log_test.cpp - Output of ptxas about kernels -------------===//

#include "compiler/Target/Cuda/GpuTarget.h"

#include <gtest/gtest.h>

using mpc::KernelResources;
using mpc::parseAssemblerLog;

namespace {

std::vector<int64_t> numbersOf(const KernelResources &kernel) {
  return {kernel.registers, kernel.stack, kernel.spillStores, kernel.spillLoads,
          kernel.shared};
}

TEST(AssemblerLog, OfCuda13) {
  std::vector<KernelResources> kernels = parseAssemblerLog(
      R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'kernel_32' for 'sm_90'
ptxas info    : Function properties for kernel_32
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 20 registers, used 1 barriers, 16 bytes cumulative stack size, 4096 bytes smem
ptxas info    : Compile time = 4.459 ms
ptxas info    : Compiling entry function 'kernel_31' for 'sm_90'
ptxas info    : Function properties for kernel_31
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 255 registers, used 0 barriers
)");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].kernel, "kernel_32");
  EXPECT_EQ(numbersOf(kernels[0]), (std::vector<int64_t>{20, 16, 8, 12, 4096}));
  EXPECT_EQ(kernels[1].kernel, "kernel_31");
  EXPECT_EQ(numbersOf(kernels[1]), (std::vector<int64_t>{255, 0, 0, 0, 0}));
}

// CUDA 11 prints no barriers, and constant memory at the end.
TEST(AssemblerLog, OfCuda11) {
  std::vector<KernelResources> kernels = parseAssemblerLog(
      R"(ptxas info    : Compiling entry function 'k' for 'sm_80'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 40 registers, 33 bytes smem, 392 bytes cmem[0])");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(numbersOf(kernels[0]), (std::vector<int64_t>{40, 0, 0, 0, 33}));
}

TEST(AssemblerLog, MissingValuesAreUnknown) {
  EXPECT_TRUE(parseAssemblerLog("").empty());
  EXPECT_TRUE(parseAssemblerLog("ptxas info : Used 40 registers").empty());
  std::vector<KernelResources> kernels = parseAssemblerLog(
      "Compiling entry function 'k' for 'sm_80'\nptxas info : Used many "
      "registers\n");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(numbersOf(kernels[0]), (std::vector<int64_t>{-1, -1, -1, -1, 0}));
}

} // namespace
