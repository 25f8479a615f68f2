// Each misuse is an error that names its site, and the next launch works.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "test/device_sim/asan.h"
#include "test/device_sim/device_sim.h"

namespace mpc::device_sim {
namespace {

constexpr unsigned kAll = 0xffffffffu;

// Sites are lines of this file.
std::string here(int line) { return "errors_test.cpp:" + std::to_string(line); }

class Errors : public testing::Test {
 protected:
  void TearDown() override {
    int sum = 0;
    EXPECT_EQ(run({{}, {64}},
                  [&] {
                    sum += 1;
                    __syncthreads();
                    if (__any_sync(kAll, threadIdx.x == 40)) sum += 1;
                  }),
              "");
    EXPECT_EQ(sum, 96);
  }
};

TEST_F(Errors, BarriersAtDifferentPlaces) {
  int first = 0, second = 0;
  const std::string error = run({{2}, {8}}, [&] {
    if (threadIdx.x == 7) return;
    if (threadIdx.x < 3) {
      first = __LINE__ + 1;
      __syncthreads();
    } else {
      second = __LINE__ + 1;
      __syncthreads();
    }
  });
  EXPECT_EQ(error,
            "block (0,0,0), thread (0,0,0): divergent barrier: it waits at the "
            "block barrier at " +
                here(first) +
                ", but thread (3,0,0) waits at the block barrier at " +
                here(second) + "; exited: 1 thread, (7,0,0)");
}

TEST_F(Errors, SomeThreadsNeverComeToTheBarrier) {
  int barrier = 0, shuffle = 0;
  const std::string error = run({{}, {64}}, [&] {
    if (threadIdx.x < 40) {
      barrier = __LINE__ + 1;
      __syncthreads();
    } else {
      shuffle = __LINE__ + 1;
      __shfl_xor_sync(kAll, 1, 1);
    }
  });
  EXPECT_EQ(error,
            "block (0,0,0), thread (0,0,0): divergent barrier: it waits at the "
            "block barrier at " +
                here(barrier) +
                ", but thread (40,0,0) is at the 32-bit xor shuffle with mask "
                "0xffffffff at " +
                here(shuffle) +
                "; thread (40,0,0): the mask 0xffffffff of the 32-bit xor "
                "shuffle at " +
                here(shuffle) +
                " names lane 0, which does not take part: thread (32,0,0) "
                "waits at the block barrier at " +
                here(barrier));
}

// Legal from sm_70 on: a barrier waits for threads that have not exited.
TEST_F(Errors, ExitBeforeABarrierIsOneOnlyIfAsked) {
  std::vector<int> after(6);
  int line = 0;
  auto launch = [&] {
    return run({{}, {6}}, [&] {
      if (threadIdx.x % 2 == 1) return;
      line = __LINE__ + 1;
      __syncthreads();
      after[threadIdx.x] = 1;
    });
  };
  EXPECT_EQ(launch(), "");
  EXPECT_EQ(after, (std::vector<int>{1, 0, 1, 0, 1, 0}));
  Options options;
  options.strict_barriers = true;
  ScopedOptions scope(options);
  EXPECT_EQ(launch(),
            "block (0,0,0), thread (0,0,0): divergent barrier: it waits at the "
            "block barrier at " +
                here(line) + "; exited: 3 threads, (1,0,0), (3,0,0), (5,0,0)");
}

TEST_F(Errors, LanesAtDifferentWarpOperations) {
  int vote = 0, shuffle = 0;
  const std::string error = run({{}, {32, 2}}, [&] {
    if (threadIdx.x == 5 && threadIdx.y == 1) {
      vote = __LINE__ + 1;
      __ballot_sync(kAll, 1);
    } else {
      shuffle = __LINE__ + 1;
      __shfl_down_sync(kAll, 1.0, 1);
    }
  });
  EXPECT_EQ(error,
            "block (0,0,0), thread (0,1,0): the mask 0xffffffff of the 64-bit "
            "down shuffle at " +
                here(shuffle) +
                " names lane 5, which does not take part: thread (5,1,0) is at "
                "the ballot with mask 0xffffffff at " +
                here(vote) +
                "; exited: 32 threads, (0,0,0), (1,0,0), (2,0,0), (3,0,0), "
                "...");
}

TEST_F(Errors, LanesMeetAtDifferentPlaces) {
  unsigned ballot = 0;
  EXPECT_EQ(run({{}, {32}},
                [&] {
                  if (threadIdx.x < 16)
                    ballot = __ballot_sync(kAll, 1);
                  else
                    __ballot_sync(kAll, 0);
                }),
            "");
  EXPECT_EQ(ballot, 0xffffu);
}

// A warp operation does not wait for lanes that have exited, whenever they do.
TEST_F(Errors, LanesOfTheMaskMayExit) {
  std::vector<unsigned> ballots(40);
  ASSERT_EQ(run_in_all_orders({{"ballots", ballots}},
                              [&] {
                                return run({{}, {40}}, [&] {
                                  if (threadIdx.x % 31 == 0) return;
                                  ballots[threadIdx.x] = __ballot_sync(kAll, 1);
                                });
                              }),
            "");
  for (unsigned i = 0; i < 40; ++i)
    EXPECT_EQ(ballots[i], i % 31 == 0 ? 0 : i < 32 ? 0x7ffffffeu : 0xffu) << i;
}

TEST_F(Errors, MasksThatDiffer) {
  std::string error = run({{}, {32}}, [&] {
    __shfl_sync(threadIdx.x == 9 ? 0x200 : kAll, 1, 0, 1);
    __syncwarp(0xffff0000u | 1u << threadIdx.x);
  });
  EXPECT_NE(error.find("names lane 9, which does not take part: thread (9,0,0) "
                       "is at the warp barrier with mask 0xffff0200"),
            std::string::npos)
      << error;
  int line = 0;
  error = run({{}, {3}}, [&] {
    line = __LINE__ + 1;
    __ballot_sync(threadIdx.x == 0 ? 3 : 7, 1);
  });
  EXPECT_EQ(error,
            "block (0,0,0), thread (0,0,0): the mask 0x00000003 of the ballot "
            "at " +
                here(line) +
                " names lane 1, which does not take part: thread (1,0,0) is at "
                "the ballot with mask 0x00000007 at " +
                here(line));
}

TEST_F(Errors, MaskWithoutTheLaneItself) {
  int line = 0;
  const std::string error = run({{}, {32}}, [&] {
    line = __LINE__ + 1;
    __syncwarp(0xfffffff7);
  });
  EXPECT_EQ(error,
            "block (0,0,0), thread (3,0,0): the mask 0xfffffff7 of the warp "
            "barrier does not name the lane itself, 3 (" +
                here(line) + ")");
}

TEST_F(Errors, ShuffleFromALaneThatGivesNothing) {
  int line = 0;
  std::string error = run({{}, {20}}, [&] {
    line = __LINE__ + 1;
    __shfl_xor_sync(kAll, 1, 16);
  });
  EXPECT_EQ(error,
            "block (0,0,0), thread (4,0,0): the 32-bit xor shuffle reads lane "
            "20, which does not exist (" +
                here(line) + ")");
  error = run({{}, {32}}, [&] {
    if (threadIdx.x == 6) return;
    line = __LINE__ + 1;
    __shfl_xor_sync(kAll, 1, 1);
  });
  EXPECT_EQ(error,
            "block (0,0,0), thread (7,0,0): the 32-bit xor shuffle reads lane "
            "6, which has exited (" +
                here(line) + ")");
  error = run({{}, {4}}, [&] {
    line = __LINE__ + 1;
    __shfl_xor_sync(0x3u << (threadIdx.x & 2), 1, 2);
  });
  EXPECT_EQ(error,
            "block (0,0,0), thread (0,0,0): the 32-bit xor shuffle reads lane "
            "2, which is not in the mask 0x00000003 (" +
                here(line) + ")");
}

TEST_F(Errors, WhatDeviceCodeEndsItself) {
  int line = 0;
  const std::string error = run({{1, 3}, {4}}, [&] {
    __syncthreads();
    line = __LINE__ + 1;
    if (blockIdx.y == 1 && threadIdx.x == 2) __trap();
  });
  EXPECT_EQ(error, "block (0,1,0), thread (2,0,0): trap: __trap() (" +
                       here(line) + ")");
  EXPECT_EQ(run({}, [] { throw std::runtime_error("why"); }),
            "block (0,0,0), thread (0,0,0): device code threw an exception: "
            "why");
  alignas(8) unsigned char bytes[8] = {};
  auto* odd = reinterpret_cast<int32_t*>(bytes + 2);
  EXPECT_EQ(run({}, [&] { mpc_sim_atomic_add_i32(odd, 1); }),
            "block (0,0,0), thread (0,0,0): mpc_sim_atomic_add_i32: the "
            "address is not aligned");
  EXPECT_NE(run({}, [] { __shfl_sync(1, 1, 0, 3); }).find("power of two"),
            std::string::npos);
}

#ifdef __x86_64__
// More frames than fit on any stack.
__attribute__((noinline)) int descend(volatile int* levels, int more) {
  volatile char frame[512];
  frame[0] = 1;
  *levels = *levels + 1;
  return more == 0 ? 0 : descend(levels, more - 1) + frame[0];
}

TEST_F(Errors, StackOverflow) {
  volatile int levels = 0;
  EXPECT_EQ(run({{}, {2}},
                [&] {
                  __syncthreads();
                  if (threadIdx.x == 1) descend(&levels, 1 << 30);
                }),
            "block (0,0,0), thread (1,0,0): its stack overflows");
  EXPECT_GT(levels, 20);
}

#if !MPC_DEVICE_SIM_ASAN
TEST_F(Errors, AddressThatIsNotMemory) {
  EXPECT_EQ(run({{2}},
                [] {
                  volatile uintptr_t address = 64;
                  if (blockIdx.x == 1) *reinterpret_cast<int*>(address) = 1;
                }),
            "block (1,0,0), thread (0,0,0): access to the address 0x40, which "
            "is not memory");
}
#endif
#endif

}  // namespace
}  // namespace mpc::device_sim
