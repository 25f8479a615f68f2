// Limits of a launch, and accesses beyond the end of shared memory.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>

#include "test/device_sim/asan.h"
#include "test/device_sim/device_sim.h"

namespace mpc::device_sim {
namespace {

std::string here(int line) { return "limits_test.cpp:" + std::to_string(line); }

TEST(Limits, OfALaunch) {
  EXPECT_EQ(run({{}, {32, 33}}, [] {}),
            "launch: 1056 threads per block are over the limit of 1024");
  EXPECT_EQ(run({{}, {1, 1, 65}}, [] {}),
            "launch: block (1,1,65) is over the limit of (1024,1024,64)");
  EXPECT_EQ(run({{1, 65536}}, [] {}),
            "launch: grid (1,65536,1) is over the limit of "
            "(2147483647,65535,65535)");
  EXPECT_EQ(run({{4, 0, 1}}, [] {}), "launch: grid (4,0,1) is empty");
  EXPECT_EQ(run({{}, {0}}, [] {}), "launch: block (0,1,1) is empty");
  std::string inner;
  EXPECT_EQ(run({}, [&] { inner = run({}, [] {}); }), "");
  EXPECT_EQ(inner, "launch: device code cannot launch");
}

TEST(Limits, DynamicSharedMemory) {
  int line = 0;
  const std::string error = run({}, [&] {
    line = __LINE__ + 1;
    MPC_DYNAMIC_SHARED(float, row);
    *row = 1;
  });
  EXPECT_EQ(error,
            "block (0,0,0), thread (0,0,0): dynamic shared memory, but the "
            "launch gives none (" +
                here(line) + ")");
  EXPECT_EQ(run({{}, {}, 232449}, [] {}),
            "launch: 232449 bytes of dynamic shared memory are over the limit "
            "of 232448 bytes per block");
}

TEST(Limits, TooMuchSharedMemory) {
  int line = 0;
  std::string error = run({}, [&] {
    MPC_SHARED(char, a, [40 << 10]);
    line = __LINE__ + 1;
    MPC_SHARED(double, b, [1025]);
    a[0] = 0;
    b[0] = 0;
  });
  EXPECT_EQ(error,
            "block (0,0,0), thread (0,0,0): the static shared array 'b' of "
            "8200 bytes, after 40960, is over the limit of 49152 bytes per "
            "block; use dynamic shared memory (" +
                here(line) + ")");
  auto array = [&] {
    line = __LINE__ + 1;
    MPC_SHARED(char, a, [48 << 10]);
    a[0] = 0;
  };
  EXPECT_EQ(run({{}, {}, 179 << 10}, array), "");
  error = run({{}, {}, (179 << 10) + 1}, array);
  EXPECT_EQ(error,
            "block (0,0,0), thread (0,0,0): static and dynamic shared memory "
            "of 232449 bytes are over the limit of 232448 bytes per block (" +
                here(line) + ")");
  Options options;
  options.limits = Limits::sm_80();
  ScopedOptions scope(options);
  EXPECT_NE(run({{}, {}, 163 << 10}, array), "");
}

// AddressSanitizer ends the program; without it the launch fails.
TEST(Limits, WriteBehindASharedArray) {
  auto launch = [] {
    return run({{2}, {4}}, [] {
      MPC_SHARED(float, a, [4]);
      float* from_block = a + blockIdx.x;
      from_block[threadIdx.x] = 1;
    });
  };
#if MPC_DEVICE_SIM_ASAN
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH((void)launch(), "heap-buffer-overflow");
#else
  EXPECT_EQ(launch(),
            "block (1,0,0): a write behind the end of the shared array 'a'");
#endif
}

}  // namespace
}  // namespace mpc::device_sim
