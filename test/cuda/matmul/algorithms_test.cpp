// Choosing an algorithm of cuBLASLt, and remembering it.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "test/cuda/matmul/matmul.h"

namespace mpc::test {
namespace {

TEST_F(CudaMatmul, TakesTheFastestThatRuns) {
  library.algorithms = {{10}, {5, 0, 0, true}, {7, 1 << 20}, {8}};
  const CudaContext device = context();
  EXPECT_EQ(chosen(device), "cublasLt:algo 2, 7.0 us, fastest of 4");
  std::string error;
  const auto kernel = make(device, &error);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->workspace_bytes(), size_t{1} << 20);
}

TEST_F(CudaMatmul, AsksForAtMost32MiB) {
  library.algorithms = {{10}, {1, (32 << 20) + 1}};
  EXPECT_EQ(chosen(context()), "cublasLt:algo 0, 10.0 us, fastest of 1");
}

TEST_F(CudaMatmul, RemembersWithinTheProcess) {
  library.algorithms = {{10}, {7}};
  CudaContext device = context();
  device.cache_folder = "";
  chosen(device);
  const size_t products = library.products;
  EXPECT_EQ(chosen(device), "cublasLt:algo 1, the fastest of an earlier trial");
  // It runs once, so that a capture need not load code.
  EXPECT_EQ(library.products, products + 1);
  // Another session's kernels use it,
  device.shared = make_cuda_shared();
  EXPECT_EQ(chosen(device), "cublasLt:algo 1, the fastest of an earlier trial");
  // but kernels of another device do not.
  device.device_name = "Fake A100";
  EXPECT_EQ(chosen(device), "cublasLt:algo 1, 7.0 us, fastest of 2");
}

TEST_F(CudaMatmul, RemembersBetweenProcesses) {
  library.algorithms = {{10}, {7}};
  chosen(context());
  EXPECT_TRUE(std::filesystem::exists(cache_file()));
  library.products = 0;
  EXPECT_EQ(chosen(context()),
            "cublasLt:algo 1, the fastest of an earlier trial");
  EXPECT_EQ(library.products, 1u);
}

TEST_F(CudaMatmul, AnotherVersionOrDeviceIsTriedAnew) {
  chosen(context());
  CudaContext other = context();
  other.device_name = "Fake A100";
  EXPECT_EQ(chosen(other), "cublasLt:algo 0, 10.0 us, fastest of 1");
  library.version = 130003;
  EXPECT_EQ(chosen(context()), "cublasLt:algo 0, 10.0 us, fastest of 1");
}

TEST_F(CudaMatmul, ARememberedAlgorithmThatCannotRunIsTriedAnew) {
  library.algorithms = {{10}, {7}};
  chosen(context());
  library.algorithms[1].broken = true;
  EXPECT_EQ(chosen(context()), "cublasLt:algo 0, 10.0 us, fastest of 2");
  library.algorithms = {{7}, {10}};
  EXPECT_EQ(chosen(context()),
            "cublasLt:algo 0, the fastest of an earlier trial");
  library.algorithms[0].refused = library.algorithms[0].broken = true;
  EXPECT_EQ(chosen(context()), "cublasLt:algo 1, 10.0 us, fastest of 2");
}

TEST_F(CudaMatmul, ADamagedFileIsTriedAnewAndRewritten) {
  chosen(context());
  std::string whole;
  {
    std::ifstream file(cache_file());
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  // Truncated anywhere, and with each byte changed.
  for (size_t i = 0; i < 2 * whole.size(); ++i) {
    std::string damaged = whole.substr(0, i);
    if (i >= whole.size()) {
      damaged = whole;
      damaged[i - whole.size()] ^= 1;
    }
    // The end of the last line may be missing.
    if (damaged == whole.substr(0, whole.size() - 1)) continue;
    std::ofstream(cache_file(), std::ios::binary) << damaged;
    ASSERT_EQ(chosen(context()), "cublasLt:algo 0, 10.0 us, fastest of 1") << i;
    std::ifstream file(cache_file());
    ASSERT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), whole)
        << i;
  }
}

TEST_F(CudaMatmul, WorksWhereNothingCanBeKept) {
  std::ofstream(folder) << "a file where the folder should be";
  EXPECT_EQ(chosen(context()), "cublasLt:algo 0, 10.0 us, fastest of 1");
  EXPECT_TRUE(std::filesystem::is_regular_file(folder));
}

TEST_F(CudaMatmul, DeterministicTakesTheFirstWithoutATrial) {
  library.algorithms = {{10, 0, 1}, {9, 0, 2}, {1}};
  CudaContext device = context();
  device.deterministic = true;
  EXPECT_EQ(chosen(device),
            "cublasLt:algo 1, first of the heuristic, for the same bits in "
            "every run");
  EXPECT_EQ(library.products, 1u);
  EXPECT_FALSE(std::filesystem::exists(folder));
}

// The types of a product, and the allowed reductions of split sums: partial
// sums in 16 bits would each be rounded, and those in f16 may overflow.
TEST_F(CudaMatmul, NeverAddsPartsInSixteenBits) {
  const auto chosen_of = [&](Types types, const CudaContext& device) {
    std::string error;
    const auto kernel = make_cuda_kernel(
        matmul_desc({{3, 5}, {5, 7}, {3, 7}}, false, false, types), device,
        &error);
    return kernel ? kernel->implementation() : error;
  };
  for (const bool ignores_mask : {false, true}) {
    // INPLACE, OUTPUT_TYPE, COMPUTE_TYPE, and not split.
    library.algorithms = {{1, 0, 1}, {2, 0, 4}, {3, 0, 2}, {4}};
    for (auto& algorithm : library.algorithms)
      algorithm.ignores_mask = ignores_mask;
    CudaContext device = context();
    for (const Types types : kCudaTypes) {
      const bool wide = types.result == MPC_DTYPE_F32;
      device.deterministic = false;
      EXPECT_EQ(chosen_of(types, device),
                wide ? "cublasLt:algo 0, 1.0 us, fastest of 4"
                     : "cublasLt:algo 2, 3.0 us, fastest of 2");
      device.deterministic = true;
      EXPECT_EQ(chosen_of(types, device),
                "cublasLt:algo 2, first of the heuristic, for the same bits in "
                "every run");
    }
    std::filesystem::remove_all(folder);
  }
}

// An earlier version may have stored such an algorithm.
TEST_F(CudaMatmul, AKeptAlgorithmThatAddsInSixteenBitsIsTriedAnew) {
  library.algorithms = {{10}, {7, 0, 2}};
  EXPECT_EQ(chosen(context()), "cublasLt:algo 1, 7.0 us, fastest of 2");
  library.algorithms[1].reduction = cuda::CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
  EXPECT_EQ(chosen(context()), "cublasLt:algo 0, 10.0 us, fastest of 1");
}

// The arena of a program that fills the device.
TEST_F(CudaMatmul, TrialsTakeWhatIsIdle) {
  library.algorithms = {{10}, {7, 100}};
  CudaContext device = context();
  device.cache_folder = "";
  std::vector<unsigned char> arena(1 << 14);
  const auto first = reinterpret_cast<uintptr_t>(arena.data());
  device.idle.address = (first + 255) / 256 * 256;
  device.idle.bytes = arena.size() - (device.idle.address - first);
  // Enough for the flush of the caches, which are 4 KiB here.
  driver.memory_bytes = 8192;
  EXPECT_EQ(chosen(device), "cublasLt:algo 1, 7.0 us, fastest of 2");
  EXPECT_EQ(driver.used_bytes, 0u);
  // Operands that do not fit there are allocated on the device, if possible.
  device.idle.bytes = 300;
  device.device_name = "another";
  EXPECT_NE(chosen(device).find("as a trial failed: cuMemAlloc_v2"),
            std::string::npos);
  driver.memory_bytes = 1 << 20;
  EXPECT_EQ(chosen(device), "cublasLt:algo 1, 7.0 us, fastest of 2");
}

TEST_F(CudaMatmul, WithoutRoomForATrialTakesTheFirst) {
  library.algorithms = {{10}, {7}};
  driver.memory_bytes = 1000;
  EXPECT_EQ(chosen(context()),
            "cublasLt:algo 0, first of the heuristic, as a trial failed: "
            "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (as asked for)");
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Cublaslt, PrefersTheLibraryThatMatchesTheDriver) {
  for (const int version : {13000, 13010, 0})
    EXPECT_STREQ(cuda::cublaslt_files(version)[0], "libcublasLt.so.13");
  for (const int version : {11080, 12000, 12090}) {
    EXPECT_STREQ(cuda::cublaslt_files(version)[0], "libcublasLt.so.12");
    EXPECT_EQ(cuda::cublaslt_files(version).size(), 2u);
  }
}

}  // namespace
}  // namespace mpc::test
