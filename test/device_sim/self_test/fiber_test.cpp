// Switching fibers. Compiled twice, for both implementations.

#include "test/device_sim/fiber.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <memory>
#include <vector>

namespace mpc::device_sim {
namespace {

struct State {
  Fiber host;
  std::unique_ptr<Fiber> a, b;
  std::vector<int> trace;
};
State* state;

void count_on_a() {
  double kept = 0.5;
  for (int i = 0;; ++i) {
    state->trace.push_back(10 + i);
    state->a->switch_to(*state->b);
    kept *= 2;
    if (kept == 2) state->trace.push_back(-1);
  }
}

void count_on_b() {
  for (int i = 0;; ++i) {
    state->trace.push_back(20 + i);
    state->b->switch_to(i % 2 == 0 ? *state->a : state->host);
  }
}

class FiberTest : public testing::Test {
 protected:
  FiberTest() {
    state = &state_;
    state_.a = std::make_unique<Fiber>(128 << 10, count_on_a);
    state_.b = std::make_unique<Fiber>(128 << 10, count_on_b);
  }

  State state_;
};

TEST_F(FiberTest, KeepsWhatIsOnEachStack) {
  state_.host.switch_to(*state_.a);
  EXPECT_EQ(state_.trace, (std::vector<int>{10, 20, 11, 21}));
  state_.host.switch_to(*state_.a);
  EXPECT_EQ(state_.trace,
            (std::vector<int>{10, 20, 11, 21, -1, 12, 22, 13, 23}));
}

TEST_F(FiberTest, BeginsAgainAfterReset) {
  state_.host.switch_to(*state_.a);
  state_.trace.clear();
  state_.a->reset();
  state_.b->reset();
  state_.host.switch_to(*state_.b);
  EXPECT_EQ(state_.trace, (std::vector<int>{20, 10, 21}));
}

TEST_F(FiberTest, HasAGuardBelowItsStack) {
  const char* top = state_.a->stack_top();
  EXPECT_FALSE(state_.a->owns_guard(top - (100 << 10)));
  EXPECT_TRUE(state_.a->owns_stack(top - (100 << 10)));
  EXPECT_FALSE(state_.a->owns_stack(top));
  EXPECT_TRUE(state_.a->owns_guard(top - (129 << 10)));
  EXPECT_FALSE(state_.host.owns_guard(top - (129 << 10)));
}

}  // namespace
}  // namespace mpc::device_sim
