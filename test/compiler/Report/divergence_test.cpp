//===- divergence_test.cpp - Errors, and which op is to blame -------------===//

#include "compiler/Report/Compare/Divergence.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mpc::report;

namespace {

constexpr float kInf = INFINITY, kNan = NAN;

/// A function whose ops read the given lines.
struct Line {
  const char *node, *op;
  std::vector<int64_t> reads;
};
Function makeFunction(const std::vector<Line> &lines) {
  Function function;
  for (const Line &line : lines) {
    Op op;
    op.node = line.node;
    op.op = line.op;
    for (int64_t read : line.reads) {
      Operand operand;
      operand.origin.op = read;
      op.operands.push_back(operand);
    }
    function.ops.push_back(op);
  }
  return function;
}

TEST(Divergence, ErrorIsRelativeToTheNorm) {
  EXPECT_DOUBLE_EQ(relativeError({3, 5}, {3, 4}), 0.2);
  EXPECT_DOUBLE_EQ(relativeError({3, 5}, {3, 4}, 10), 0.1);
  EXPECT_EQ(relativeError({0, 0}, {0, 0}), 0);
  EXPECT_EQ(relativeError({0, 1e-30f}, {0, 0}), 1);
  EXPECT_EQ(relativeError({}, {}), 0);
}

TEST(Divergence, ErrorOfNonFiniteValues) {
  EXPECT_EQ(relativeError({1, kInf}, {1, 4}), INFINITY);
  EXPECT_EQ(relativeError({1, kNan}, {1, 4}), INFINITY);
  // Masks are infinite in both, or large in one.
  EXPECT_EQ(relativeError({1, -kInf}, {1, -kInf}), 0);
  EXPECT_EQ(relativeError({1, -65504}, {1, -kInf}), 0);
}

TEST(Divergence, OpsMatchByNodeKindAndOrder) {
  Function left = makeFunction({{"a", "train.add", {}},
                                {"a", "train.add", {0}},
                                {"b", "train.mul", {1}},
                                {"c", "train.mul", {0, -1, 2}}});
  Function right = makeFunction({{"loss", "amp.scale_loss", {}},
                                 {"a", "train.add", {}},
                                 {"a", "train.add", {}},
                                 {"b", "train.div", {}},
                                 {"c", "train.mul", {}}});
  std::vector<SharedOp> ops = matchOps(left, right);
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_EQ(ops[0].right, 1u);
  EXPECT_EQ(ops[1].right, 2u);
  EXPECT_EQ(ops[1].inputs, std::vector<int64_t>{0});
  EXPECT_EQ(ops[2].left, 3u);
  EXPECT_EQ(ops[2].right, 4u);
  EXPECT_EQ(ops[2].inputs, (std::vector<int64_t>{0, -1, -1}));
}

TEST(Divergence, FindsTheFirstOpWithCorrectInputs) {
  Function function = makeFunction(
      {{"a", "x", {}}, {"b", "x", {0}}, {"c", "x", {1}}, {"d", "x", {0, 2}}});
  std::vector<SharedOp> ops = matchOps(function, function);
  EXPECT_EQ(findDivergence(ops, {0.01, 0.02, 0.03, 0.1}, 0.1), std::nullopt);
  EXPECT_EQ(findDivergence(ops, {0.01, 0.5, 0.9, 0.9}, 0.1), 1u);
  EXPECT_EQ(findDivergence(ops, {0.01, 0.02, INFINITY, INFINITY}, 0.1), 2u);
  // "c" is the first op with a large error, but "b" caused most of it.
  EXPECT_EQ(findDivergence(ops, {0.01, 0.09, 0.12, 0.2}, 0.1), 1u);
  EXPECT_EQ(findDivergence(ops, {0.04, 0.06, 0.12, 0.2}, 0.1), 2u);
  EXPECT_EQ(findDivergence(ops, {0.09, 0.095, 0.1, 0.12}, 0.1), 0u);
  EXPECT_DOUBLE_EQ(errorOfInputs(ops[3], {0.01, 0.5, 0.9, 2}), 0.9);
  EXPECT_EQ(errorOfInputs(ops[0], {0.01, 0.5, 0.9, 2}), 0);
}

} // namespace
