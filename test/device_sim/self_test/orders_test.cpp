// Different orders reveal races within a block, in a warp, and between blocks;
// and the contents of the buffers afterwards.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test/device_sim/device_sim.h"
#include "test/device_sim/self_test/sample_kernels.h"

namespace mpc::device_sim {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Orders, ShowAMissingBarrier) {
  std::vector<float> in(40 * 40);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i);
  std::vector<float> out(in.size());
  const std::string error = run_in_all_orders({{"out", out}}, [&] {
    return samples::transpose_racing(in.data(), out.data(), 40, 40);
  });
  EXPECT_TRUE(contains(error, "byte 4 of 'out' depends on the order")) << error;
}

TEST(Orders, ShowAMissingWarpBarrier) {
  std::vector<int> out(32);
  auto kernel = [&](bool barrier) {
    return run_in_all_orders({{"out", out}}, [&] {
      return run({{}, {32}}, [&] {
        MPC_SHARED(int, values, [32]);
        values[threadIdx.x] = static_cast<int>(threadIdx.x);
        if (barrier) __syncwarp();
        out[threadIdx.x] = values[(threadIdx.x + 1) % 32];
      });
    });
  };
  EXPECT_EQ(kernel(true), "");
  EXPECT_EQ(out[31], 0);
  EXPECT_TRUE(contains(kernel(false), "of 'out' depends on the order"));
}

TEST(Orders, ShowBlocksThatWriteOnePlace) {
  std::vector<uint32_t> last(1);
  const std::string error = run_in_all_orders({{"last", last}}, [&] {
    return run({{100}}, [&] { last[0] = blockIdx.x; });
  });
  EXPECT_EQ(error,
            "byte 0 of 'last' depends on the order of threads: ascending 0x63, "
            "descending 0x00; a barrier is missing, threads write one place, "
            "or something is read that nobody wrote");
  EXPECT_EQ(last[0], 99u);
}

TEST(Orders, ShowSharedMemoryThatNobodyWrote) {
  std::vector<int> out(1);
  const std::string error = run_in_all_orders({{"out", out}}, [&] {
    return run({}, [&] {
      MPC_SHARED(int, value, );
      out[0] = value;
    });
  });
  EXPECT_TRUE(contains(error, "ascending 0xff, descending 0xa5")) << error;
}

TEST(Orders, ShowSumsThatDependOnThem) {
  std::vector<float> sum(1);
  const std::string error = run_in_all_orders({{"sum", sum}}, [&] {
    return run({{}, {256}}, [&] {
      atomicAdd(&sum[0], 1.0f / static_cast<float>(threadIdx.x + 1));
    });
  });
  EXPECT_TRUE(contains(error, "byte 0 of 'sum'")) << error;
}

// Each order starts from the same values; the ascending result stays.
TEST(Orders, RestoreBuffers) {
  std::vector<int> counts{5, 6};
  ASSERT_EQ(
      run_in_all_orders({{"counts", counts}},
                        [&] {
                          return run({{2}, {3}}, [&] { ++counts[blockIdx.x]; });
                        }),
      "");
  EXPECT_EQ(counts, (std::vector<int>{8, 9}));
}

TEST(Orders, NameTheOrderOfAnError) {
  const std::string error = run_in_all_orders(
      {}, [&] { return options().order == Order::kShuffled ? "broken" : ""; });
  EXPECT_EQ(error, "broken [shuffled order]");
}

std::vector<uint32_t> threads_in_order(Order order, uint64_t seed) {
  Options options;
  options.order = order;
  options.seed = seed;
  ScopedOptions scope(options);
  std::vector<uint32_t> seen;
  EXPECT_EQ(run({{2}, {40}},
                [&] {
                  seen.push_back(blockIdx.x * 40 + threadIdx.x);
                  __syncthreads();
                  seen.push_back(blockIdx.x * 40 + threadIdx.x);
                }),
            "");
  return seen;
}

TEST(Orders, RunThreadsInTheirOrder) {
  const auto up = threads_in_order(Order::kAscending, 1);
  const auto down = threads_in_order(Order::kDescending, 1);
  ASSERT_EQ(up.size(), 160u);
  ASSERT_EQ(down.size(), 160u);
  for (uint32_t i = 0; i < 160; ++i) {
    EXPECT_EQ(up[i], i / 80 * 40 + i % 40);
    EXPECT_EQ(down[i], up[159 - i]);
  }
}

// One vote after another, of a block with several warps.
TEST(Orders, KeepVotesOfABlockApart) {
  std::vector<int> votes(3 * 70);
  ASSERT_EQ(run_in_all_orders({{"votes", votes}},
                              [&] {
                                return run({{}, {70}}, [&] {
                                  for (unsigned i = 0; i < 3; ++i)
                                    votes[i * 70 + threadIdx.x] =
                                        __syncthreads_or(threadIdx.x == 99 * i);
                                });
                              }),
            "");
  for (size_t i = 0; i < votes.size(); ++i)
    EXPECT_EQ(votes[i], i < 70 ? 1 : 0) << i;
}

TEST(Orders, HoldAfterWarpOperations) {
  auto lanes_in = [](Order order) {
    Options options;
    options.order = order;
    ScopedOptions scope(options);
    std::vector<uint32_t> seen;
    EXPECT_EQ(run({{}, {32}},
                  [&] {
                    seen.push_back(threadIdx.x);
                    __syncwarp();
                    seen.push_back(threadIdx.x);
                  }),
              "");
    EXPECT_EQ(seen.size(), 64u);
    return std::vector<uint32_t>(seen.begin() + 32, seen.end());
  };
  const auto up = lanes_in(Order::kAscending);
  EXPECT_TRUE(std::is_sorted(up.begin(), up.end()));
  const auto down = lanes_in(Order::kDescending);
  EXPECT_TRUE(std::is_sorted(down.rbegin(), down.rend()));
  auto permuted = lanes_in(Order::kShuffled);
  EXPECT_NE(permuted, up);
  EXPECT_TRUE(
      std::is_permutation(permuted.begin(), permuted.end(), up.begin()));
}

TEST(Orders, ShuffledBlocksRunOnce) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Options options;
    options.order = Order::kShuffled;
    options.seed = seed;
    ScopedOptions scope(options);
    std::vector<int> times(60);
    ASSERT_EQ(run({{3, 4, 5}},
                  [&] {
                    times[blockIdx.x + 3 * (blockIdx.y + 4 * blockIdx.z)] += 1;
                  }),
              "");
    EXPECT_EQ(times, std::vector<int>(60, 1)) << seed;
  }
}

TEST(Orders, ShuffleAnewAtEachBarrierAndBySeed) {
  const auto one = threads_in_order(Order::kShuffled, 1);
  EXPECT_EQ(one, threads_in_order(Order::kShuffled, 1));
  EXPECT_NE(one, threads_in_order(Order::kShuffled, 2));
  auto part = [&](int begin) {
    std::vector<uint32_t> threads(one.begin() + begin,
                                  one.begin() + begin + 40);
    for (uint32_t& thread : threads) thread %= 40;
    return threads;
  };
  EXPECT_NE(part(0), part(40));
  EXPECT_NE(part(0), part(80));
  auto sorted = one;
  std::sort(sorted.begin(), sorted.end());
  for (uint32_t i = 0; i < 160; ++i) EXPECT_EQ(sorted[i], i / 2);
}

}  // namespace
}  // namespace mpc::device_sim
