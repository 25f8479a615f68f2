//===- update_scale_test.cpp - The scaler against twenty plain lines ------===//

#include "test/compiler/Dialect/Amp/update_scale.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace mpc::test {
namespace {

class UpdateScale : public testing::TestWithParam<Settings> {
protected:
  void compare(State start, uint64_t overflows, int length) {
    const Settings &s = GetParam();
    Reference reference(s, start);
    for (int i = 0; i < length; ++i)
      reference.advance(s, overflows >> i & 1);
    ASSERT_EQ(machine.run(start, overflows, length), reference.encode(s))
        << "from " << start.scale << " " << start.streak << " length " << length
        << " pattern " << overflows;
  }

  Machine machine{GetParam()};
};

TEST_P(UpdateScale, EveryPatternOfOverflows) {
  for (int length = 1; length <= 16; ++length)
    for (uint64_t pattern = 0; pattern < 1u << length; ++pattern)
      ASSERT_NO_FATAL_FAILURE(compare({GetParam().start, 0}, pattern, length));
  const Settings &s = GetParam();
  for (const Machine::Visited &visited : machine.states) {
    EXPECT_LT(visited.state.streak, s.interval);
    EXPECT_GT(visited.state.streak, -s.hysteresis);
    if (s.start >= s.floor && s.start <= s.ceiling) {
      EXPECT_GE(visited.state.scale, s.floor);
      EXPECT_LE(visited.state.scale, s.ceiling);
    }
  }
}

// Patterns with few and many overflows, from various scales and streaks.
TEST_P(UpdateScale, AMillionPatternsFromAnywhere) {
  const Settings &s = GetParam();
  Random random;
  for (int i = 0; i < 1000000; ++i) {
    uint64_t overflows = random();
    for (int rarer = random() % 6; rarer > 0; --rarer)
      overflows &= random();
    int32_t left = 1 + random() % std::min(s.interval, 64);
    int32_t streak =
        random() % 2 ? s.interval - left : -int32_t(random() % s.hysteresis);
    ASSERT_NO_FATAL_FAILURE(
        compare({s.start, streak}, overflows, 17 + random() % 48));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, UpdateScale,
    testing::Values(
        Settings{65536, 2, 0.5, 2000, 1, 16777216}, // The defaults.
        Settings{65536, 2, 0.5, 3, 1, 16777216},    // Growth in reach.
        Settings{4, 2, 0.5, 2, 1, 16},              // Both bounds in reach.
        Settings{8388608, 2, 0.5, 1, 1, 16777216},  // Grows immediately.
        Settings{1000, 1.5, 0.3f, 2, 0.25, 5000},   // Not powers of two.
        Settings{1e30f, 2, 0.5, 2, 1, 16777216},    // Above the ceiling.
        Settings{0.25, 2, 0.5, 4, 1, 16777216},     // Below the floor.
        Settings{0x1p120f, 2, 0.5, 1, 0x1p-126f, 0x1p127f}, // As in PyTorch.
        Settings{1024, 2, 0.5, 2, 1024, 1024},              // Static.
        Settings{65536, 2, 0.5, 3, 1, 16777216, 2}, // Megatron's hysteresis.
        Settings{64, 2, 0.5, 1, 1, 16777216, 5}));  // More hysteresis.

} // namespace
} // namespace mpc::test
