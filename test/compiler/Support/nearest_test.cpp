// Names that a message suggests for a pattern that matches none.

#include "compiler/Support/UserInput/Nearest.h"

#include <gtest/gtest.h>

using mpc::describeNearest;

namespace {

TEST(Nearest, TakesThePartOfANameThatIsNearest) {
  EXPECT_EQ(describeNearest("^fc.wieght$", {"conv.bias", "block.fc.weight"}),
            "; nearest are 'block.fc.weight' and 'conv.bias'");
  EXPECT_EQ(describeNearest("con1", {"conv2", "conv1", "fc1"}),
            "; nearest are 'conv1', 'conv2' and 'fc1'");
}

TEST(Nearest, OffersThreeAtMostAndEachOnce) {
  EXPECT_EQ(describeNearest("x", {"a", "b", "a", "c", "d", ""}),
            "; nearest are 'a', 'b' and 'c'");
}

TEST(Nearest, IsEmptyWithoutCandidates) {
  EXPECT_EQ(describeNearest("x", {}), "");
  EXPECT_EQ(describeNearest(".*", {"a"}), "; nearest is 'a'");
}

} // namespace
