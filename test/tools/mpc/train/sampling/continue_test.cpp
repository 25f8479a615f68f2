// Checkpoints continue in their order, whatever version of mpc wrote them.

#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/training/sampling/ContinueOrder.h"

#include <gtest/gtest.h>

using namespace mpc::tool;

namespace {

std::string refusal(const char *saved, const char *begun, ExitCode code) {
  try {
    (void)orderToContinue(saved, begun, 5);
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.exitCode, code);
    return failure.what();
  }
  return "";
}

TEST(ContinueOrder, KeepsTheOrderThatTheCheckpointHas) {
  for (const char *name : {"", ComputedOrder::kName, BalancedOrder::kName})
    EXPECT_EQ(orderToContinue(name, name, 5), nullptr);
  auto older = orderToContinue("", ComputedOrder::kName, 5);
  older->begin(3, 2);
  for (uint64_t i = 0; i < 5; ++i)
    EXPECT_EQ(older->at(i).index, permute(5, 3, 2)[i]);
}

TEST(ContinueOrder, RefusesOtherOrders) {
  EXPECT_NE(refusal("balanced", "", Usage).find("add it"), std::string::npos);
  EXPECT_NE(refusal("", "balanced", Usage).find("omit it"), std::string::npos);
  EXPECT_NE(refusal("computed", "balanced", Usage).find("omit it"),
            std::string::npos);
  EXPECT_NE(refusal("sorted", "", Damaged).find("in the order 'sorted'"),
            std::string::npos);
}

} // namespace
