//===- loss_text_test.cpp - Sums of losses as text ------------------------===//

#include "passes/Options/Loss/LossText.h"

#include <gtest/gtest.h>

namespace mpc {
namespace {

/// "kind:output*share" for each term, in brackets.
std::string describe(const std::string &text) {
  std::string result;
  for (const LossTermText &term : splitLoss(text))
    result +=
        "[" + term.kind + ":" + term.output +
        (term.hasShare ? "*" + std::to_string(term.share).substr(0, 4) : "") +
        "]";
  return result;
}

TEST(LossText, SplitsSums) {
  EXPECT_EQ(describe("mse"), "[mse:]");
  EXPECT_EQ(describe("cross-entropy:a*0.3 + mse:b"),
            "[softmax-cross-entropy:a*0.30][mse:b]");
  EXPECT_EQ(describe(" mse:a * 2+l1:b"), "[mse:a*2.00][l1:b]");
  EXPECT_EQ(describe("mse+ huber*1e+0"), "[mse:][huber:*1.00]");
  EXPECT_EQ(describe("triplet:a,b,c*0.5"), "[triplet:a,b,c*0.50]");
}

TEST(LossText, KeepsNamesOfOutputs) {
  EXPECT_EQ(describe("mse:a+b"), "[mse:a+b]");
  EXPECT_EQ(describe("mse:a*b"), "[mse:a*b]");
  EXPECT_EQ(describe("mse:/head/Add:0"), "[mse:/head/Add:0]");
  // A loss of the model has no factor.
  EXPECT_EQ(describe("output:loss*2"), "[output:loss*2]");
}

TEST(LossText, IsChecked) {
  OptionCheck check = check::lossKind();
  for (const char *right : {"mse", "cross-entropy", "kl:a*0.5 + cosine:b",
                            "output:a+b", "gaussian-nll:m,v"})
    EXPECT_EQ(check(right), "") << right;
  for (const char *wrong : {"", "mse:", "output", "mse:a + hinge:b", "mse:a*-1",
                            "mse:a*inf", "mse + output:a"})
    EXPECT_NE(check(wrong), "") << wrong;
}

TEST(LossText, ParsesNumbers) {
  EXPECT_EQ(parseNumbers("1,2.5, 3"), (std::vector<double>{1, 2.5, 3}));
  for (const char *wrong : {"", "1,", ",1", "1;2", "x"})
    EXPECT_EQ(parseNumbers(wrong), std::nullopt) << wrong;
  EXPECT_EQ(check::weights("balanced")("balanced"), "");
  for (const char *wrong : {"balanced", "-1", "inf", "nan", "1e39"})
    EXPECT_NE(check::weights()(wrong), "") << wrong;
}

} // namespace
} // namespace mpc
