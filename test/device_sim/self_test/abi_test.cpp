// The results of the functions that device code calls.

#include "test/device_sim/abi.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "test/device_sim/device_sim.h"

namespace mpc::device_sim {
namespace {

constexpr uint32_t kAll = 0xffffffff;

TEST(Index, CoversThreeDimensionsOnce) {
  const Launch launch{{3, 2, 4}, {5, 2, 3}};
  std::set<std::array<uint32_t, 6>> seen;
  ASSERT_EQ(run(launch,
                [&] {
                  std::array<uint32_t, 6> where;
                  for (uint32_t axis = 0; axis < 3; ++axis) {
                    where[axis] = mpc_sim_block_index(axis);
                    where[3 + axis] = mpc_sim_thread_index(axis);
                  }
                  seen.insert(where);
                  const uint32_t linear =
                      where[3] + 5 * (where[4] + 2 * where[5]);
                  EXPECT_EQ(mpc_sim_lane_index(), linear % 32);
                  EXPECT_EQ(mpc_sim_grid_size(0), 3u);
                  EXPECT_EQ(mpc_sim_grid_size(1), 2u);
                  EXPECT_EQ(mpc_sim_grid_size(2), 4u);
                  EXPECT_EQ(mpc_sim_block_size(0), 5u);
                  EXPECT_EQ(mpc_sim_block_size(1), 2u);
                  EXPECT_EQ(mpc_sim_block_size(2), 3u);
                }),
            "");
  EXPECT_EQ(seen.size(), 24u * 30u);
  EXPECT_EQ(*seen.rbegin(), (std::array<uint32_t, 6>{2, 1, 3, 4, 1, 2}));
}

// Runs one shuffle of 100 + lane in a full warp.
struct Shuffled {
  std::vector<uint32_t> values = std::vector<uint32_t>(32);
  std::vector<uint8_t> in_range = std::vector<uint8_t>(32);
};

Shuffled shuffle(uint32_t mode, uint32_t lane, uint32_t clamp) {
  Shuffled result;
  EXPECT_EQ(run({{}, {32}},
                [&] {
                  const uint32_t self = mpc_sim_lane_index();
                  result.values[self] = mpc_sim_shuffle_32(
                      mode, kAll, 100 + self, lane, clamp,
                      &result.in_range[self], __FILE__, __LINE__);
                }),
            "");
  return result;
}

// The clamp operand that CUDA computes from a width.
uint32_t clamp_of(uint32_t mode, uint32_t width) {
  return (32 - width) << 8 | (mode == MPC_SIM_SHUFFLE_UP ? 0 : 31);
}

TEST(Shuffle, FollowsPtxInEverySegment) {
  for (uint32_t mode : {MPC_SIM_SHUFFLE_XOR, MPC_SIM_SHUFFLE_UP,
                        MPC_SIM_SHUFFLE_DOWN, MPC_SIM_SHUFFLE_IDX})
    for (uint32_t width : {1u, 2u, 8u, 32u})
      for (uint32_t lane : {0u, 1u, 3u, 5u, 16u, 31u}) {
        SCOPED_TRACE(std::to_string(mode) + " width " + std::to_string(width) +
                     " lane " + std::to_string(lane));
        const Shuffled is = shuffle(mode, lane, clamp_of(mode, width));
        for (uint32_t self = 0; self < 32; ++self) {
          // As in CUDA's guide: a segment of `width` lanes acts as a separate
          // warp; a lane that would read outside keeps its value. xor may read
          // lower segments.
          const int segment = static_cast<int>(self / width * width);
          const int end = segment + static_cast<int>(width);
          int from = static_cast<int>(self);
          if (mode == MPC_SIM_SHUFFLE_XOR) from = self ^ lane;
          if (mode == MPC_SIM_SHUFFLE_UP) from -= lane;
          if (mode == MPC_SIM_SHUFFLE_DOWN) from += lane;
          if (mode == MPC_SIM_SHUFFLE_IDX) from = segment + lane % width;
          const bool in_range =
              from < end && (mode == MPC_SIM_SHUFFLE_XOR || from >= segment);
          EXPECT_EQ(is.in_range[self], in_range) << self;
          EXPECT_EQ(is.values[self], 100 + (in_range ? from : self)) << self;
        }
      }
}

TEST(Shuffle, Moves64Bits) {
  std::vector<uint64_t> out(32);
  ASSERT_EQ(run({{}, {32}},
                [&] {
                  const uint32_t self = mpc_sim_lane_index();
                  out[self] = mpc_sim_shuffle_64(
                      MPC_SIM_SHUFFLE_XOR, kAll, uint64_t{self} << 40 | 7, 1,
                      31, nullptr, __FILE__, __LINE__);
                }),
            "");
  for (uint64_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], (i ^ 1) << 40 | 7);
}

// A fast lane must not change values that a slow lane still has to read.
TEST(Shuffle, ManyInARowInEveryOrder) {
  std::vector<uint32_t> out(96);
  ASSERT_EQ(run_in_all_orders({{"out", out}},
                              [&] {
                                return run({{}, {96}}, [&] {
                                  uint32_t value = mpc_sim_thread_index(0);
                                  for (uint32_t i = 0; i < 64; ++i)
                                    value = mpc_sim_shuffle_32(
                                        MPC_SIM_SHUFFLE_IDX, kAll, value,
                                        value + 1, 31, nullptr, __FILE__,
                                        __LINE__);
                                  out[mpc_sim_thread_index(0)] = value;
                                });
                              }),
            "");
  for (uint32_t i = 0; i < 96; ++i) EXPECT_EQ(out[i] / 32, i / 32);
}

TEST(Vote, CountsTheLanesOfTheMask) {
  std::vector<uint32_t> any(32), all(32), ballot(32);
  ASSERT_EQ(
      run({{}, {32}},
          [&] {
            const uint32_t lane = mpc_sim_lane_index();
            const uint32_t mask = lane < 8 ? 0xff : 0xffffff00;
            const uint32_t even = lane % 2 == 0;
            any[lane] = mpc_sim_vote(MPC_SIM_VOTE_ANY, mask, lane == 3, "a", 1);
            all[lane] = mpc_sim_vote(MPC_SIM_VOTE_ALL, mask, lane != 3, "a", 2);
            ballot[lane] =
                mpc_sim_vote(MPC_SIM_VOTE_BALLOT, mask, even, "a", 3);
          }),
      "");
  for (uint32_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(any[lane], lane < 8 ? 1u : 0u);
    EXPECT_EQ(all[lane], lane < 8 ? 0u : 1u);
    EXPECT_EQ(ballot[lane], lane < 8 ? 0x55u : 0x55555500u);
  }
}

TEST(Atomic, ReturnsTheValueBefore) {
  int32_t i32 = 2147483647, max_i32 = -5, other_i32 = -5;
  int64_t i64 = 1, max_i64 = -5;
  uint32_t u32 = 7, max_u32 = 0x80000000;
  uint64_t u64 = 7, max_u64 = 1;
  float f32 = 0.5f;
  double f64 = 0.25;
  ASSERT_EQ(run({},
                [&] {
                  EXPECT_EQ(mpc_sim_atomic_add_i32(&i32, 1), 2147483647);
                  EXPECT_EQ(mpc_sim_atomic_add_i64(&i64, -3), 1);
                  EXPECT_EQ(mpc_sim_atomic_add_f32(&f32, 1), 0.5f);
                  EXPECT_EQ(mpc_sim_atomic_add_f64(&f64, 1), 0.25);
                  EXPECT_EQ(mpc_sim_atomic_max_i32(&max_i32, 3), -5);
                  EXPECT_EQ(mpc_sim_atomic_max_i32(&other_i32, -7), -5);
                  EXPECT_EQ(mpc_sim_atomic_max_u32(&max_u32, 1), 0x80000000u);
                  EXPECT_EQ(mpc_sim_atomic_max_i64(&max_i64, 4), -5);
                  EXPECT_EQ(mpc_sim_atomic_max_u64(&max_u64, ~uint64_t{0}), 1u);
                  EXPECT_EQ(mpc_sim_atomic_cas_32(&u32, 8, 9), 7u);
                  EXPECT_EQ(mpc_sim_atomic_cas_32(&u32, 7, 9), 7u);
                  EXPECT_EQ(mpc_sim_atomic_exchange_32(&u32, 10), 9u);
                  EXPECT_EQ(mpc_sim_atomic_cas_64(&u64, 7, 9), 7u);
                  EXPECT_EQ(mpc_sim_atomic_exchange_64(&u64, 10), 9u);
                }),
            "");
  EXPECT_EQ(i32, -2147483647 - 1);
  EXPECT_EQ(i64, -2);
  EXPECT_EQ(f32, 1.5f);
  EXPECT_EQ(f64, 1.25);
  EXPECT_EQ(max_i32, 3);
  EXPECT_EQ(other_i32, -5);
  EXPECT_EQ(max_u32, 0x80000000u);
  EXPECT_EQ(max_i64, 4);
  EXPECT_EQ(max_u64, ~uint64_t{0});
  EXPECT_EQ(u32, 10u);
  EXPECT_EQ(u64, 10u);
}

TEST(SharedMemory, IsPoisonedBeforeEachBlock) {
  static char key;
  std::vector<uint32_t> found;
  ASSERT_EQ(run({{3}, {}, 8},
                [&] {
                  auto* fixed = static_cast<uint32_t*>(mpc_sim_static_shared(
                      &key, "fixed", 4, 4, __FILE__, __LINE__));
                  auto* dynamic = static_cast<uint32_t*>(
                      mpc_sim_dynamic_shared(__FILE__, __LINE__));
                  EXPECT_EQ(reinterpret_cast<uintptr_t>(dynamic) % 16, 0u);
                  found.insert(found.end(), {*fixed, dynamic[0], dynamic[1]});
                  *fixed = dynamic[0] = dynamic[1] = 1;
                }),
            "");
  EXPECT_EQ(found, std::vector<uint32_t>(9, 0xffffffff));
}

}  // namespace
}  // namespace mpc::device_sim
