// The table of the driver API.

#include "kernels/cuda/driver/driver.h"

#include <gtest/gtest.h>

#include "test/cuda/signatures/signatures.h"

namespace mpc::cuda {
namespace {

using TakesTwo = int (*)(int, const char *);
constexpr TakesTwo kTakesTwo = nullptr;
static_assert(test::Signature<int (*)(unsigned, void *)>::is_like(kTakesTwo));
static_assert(!test::Signature<int (*)(long, void *)>::is_like(kTakesTwo));
static_assert(!test::Signature<int (*)(float, void *)>::is_like(kTakesTwo));
static_assert(!test::Signature<int (*)(int, size_t)>::is_like(kTakesTwo));
static_assert(!test::Signature<int (*)(int)>::is_like(kTakesTwo));
static_assert(!test::Signature<void (*)(int, void *)>::is_like(kTakesTwo));

// The check itself is at compile time, in driver_signatures.cpp.
TEST(CudaDriver, IsDeclaredAsByTheToolkit) {
#ifndef MPC_TEST_HAS_CUDA_H
  GTEST_SKIP() << "cuda.h of the CUDA toolkit was not found when this was "
                  "built, so nothing compared our declarations with it";
#endif
}

TEST(CudaDriver, SaysWhichFileIsMissing) {
  Driver driver = {};
  std::string error;
  EXPECT_FALSE(load_driver_from("libmpc-no-such.so.1", &driver, &error));
  EXPECT_EQ(error,
            "cannot load libmpc-no-such.so.1: cannot open shared object file: "
            "No such file or directory");
  EXPECT_EQ(driver.cuInit, nullptr);
}

TEST(CudaDriver, SaysWhichFunctionIsMissing) {
  Driver driver = {};
  std::string error;
  EXPECT_FALSE(load_driver_from("libc.so.6", &driver, &error));
  EXPECT_EQ(error,
            "libc.so.6 lacks the function cuInit: it is older than what is "
            "needed");
  EXPECT_EQ(driver.cuInit, nullptr);
}

TEST(CudaDriver, GivesOutTheTableOfATest) {
  Driver driver = {};
  std::string error;
  replace_driver(&driver);
  EXPECT_EQ(load_driver(&error), &driver);
  replace_driver(nullptr, "there is none");
  EXPECT_EQ(load_driver(&error), nullptr);
  EXPECT_EQ(error, "there is none");
  replace_driver(nullptr);
  EXPECT_NE(load_driver(&error), &driver);
}

TEST(CudaDriver, DescribesErrors) {
  Driver driver = {};
  driver.cuGetErrorName = [](CUresult error, const char **text) {
    if (error != CUDA_ERROR_OUT_OF_MEMORY) return CUDA_ERROR_INVALID_VALUE;
    *text = "CUDA_ERROR_OUT_OF_MEMORY";
    return CUDA_SUCCESS;
  };
  driver.cuGetErrorString = [](CUresult error, const char **text) {
    if (error != CUDA_ERROR_OUT_OF_MEMORY) return CUDA_ERROR_INVALID_VALUE;
    *text = "out of memory";
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(describe_error(driver, "cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY),
            "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
  EXPECT_EQ(describe_error(driver, "cuInit", static_cast<CUresult>(12345)),
            "cuInit: CUDA error 12345");
}

}  // namespace
}  // namespace mpc::cuda
