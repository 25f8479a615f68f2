// Names that a message suggests for a pattern that matches none.

#include "compiler/Support/UserInput/Nearest.h"

#include <gtest/gtest.h>

using mpc::describeNearest;

namespace {

TEST(Nearest, TakesThePartOfANameThatIsNearest) {
  EXPECT_EQ(describeNearest("^fc.wieght$", {"conv.bias", "block.fc.weight"}),
            "; similar name: 'block.fc.weight'");
  EXPECT_EQ(describeNearest("con1", {"conv2", "conv1", "fc1"}),
            "; similar names: 'conv1', 'conv2' and 'fc1'");
}

TEST(Nearest, OffersThreeAtMostAndEachOnce) {
  EXPECT_EQ(describeNearest("ab", {"a1", "a2", "a1", "a3", "a4", ""}),
            "; similar names: 'a1', 'a2' and 'a3'");
}

TEST(Nearest, IsEmptyWithoutSimilarCandidates) {
  EXPECT_EQ(describeNearest("x", {}), "");
  EXPECT_EQ(describeNearest(".*", {"a"}), "");
  EXPECT_EQ(describeNearest("x", {"a", "b"}), "");
  EXPECT_EQ(describeNearest("head", {"conv1"}), "");
}

} // namespace
