//===- magnitudes_test.cpp - What errors of results are relative to -------===//

#include "compiler/Report/Model/Magnitudes.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mpc::report;
using mpc::ErrorPropagation;

namespace {

constexpr float kInfinity = INFINITY;
constexpr double kUnitOfF32 = 0x1p-24, kUnitOfF64 = 0x1p-53;

/// A function, line by line, and the value of each line.
class Graph {
public:
  using Numbers = std::vector<double>;

  /// Adds a line that reads earlier lines (-1 for none); returns its number.
  int64_t add(ErrorPropagation terms, Numbers value, std::vector<int64_t> reads,
              std::vector<size_t> elements = {}) {
    Op op;
    op.op = "op";
    op.node = "node" + std::to_string(function.ops.size());
    op.terms = {terms};
    for (size_t i = 0; i < reads.size(); ++i) {
      Operand operand;
      operand.origin.op = reads[i];
      operand.dtype = "f32";
      operand.bytes = 4 * (i < elements.size() ? elements[i]
                           : reads[i] < 0      ? 1
                                               : values[reads[i]].size());
      op.operands.push_back(operand);
    }
    function.ops.push_back(op);
    values.push_back(value);
    return values.size() - 1;
  }

  Op &line(int64_t number) { return function.ops[number]; }

  /// The least norms of all lines.
  Numbers leastNorms(double unit = kUnitOfF64) {
    std::vector<SharedOp> ops = matchOps(function, function);
    Magnitudes magnitudes(ops, function, unit);
    Numbers norms;
    for (size_t i = 0; i < values.size(); ++i)
      norms.push_back(magnitudes.leastNormOf(i, 0, values[i]));
    return norms;
  }

  Function function;
  std::vector<Numbers> values;
};

TEST(Magnitudes, SumsOfManyElements) {
  Graph graph;
  int64_t x = graph.add(ErrorPropagation::Other, {24, -32}, {});
  int64_t sum = graph.add(ErrorPropagation::Summed, {-8}, {x});
  int64_t mean =
      graph.add(ErrorPropagation::Averaged, {1, 2, 3, 4}, {x}, {256});
  int64_t other = graph.add(ErrorPropagation::Other, {1}, {x});
  int64_t unknown = graph.add(ErrorPropagation::Summed, {1}, {-1});
  std::vector<double> norms = graph.leastNorms();
  EXPECT_EQ(norms[x], 0);
  EXPECT_DOUBLE_EQ(norms[sum], 40.0 / 16);
  EXPECT_DOUBLE_EQ(norms[mean], 40.0 / 16 / 64);
  EXPECT_EQ(norms[other], 0);
  EXPECT_EQ(norms[unknown], 0);
}

TEST(Magnitudes, IgnoreNonFiniteValues) {
  Graph graph;
  int64_t x = graph.add(ErrorPropagation::Other, {kInfinity, 3, 4}, {});
  int64_t sum = graph.add(ErrorPropagation::Summed, {kInfinity}, {x});
  EXPECT_EQ(graph.leastNorms()[sum], 5.0 / 16);
}

TEST(Magnitudes, EachResultForItself) {
  Graph graph;
  int64_t x = graph.add(ErrorPropagation::Other, {24, -32}, {});
  int64_t norm = graph.add(ErrorPropagation::Other, {1, 1}, {x});
  graph.line(norm).terms = {ErrorPropagation::Other, ErrorPropagation::Summed};
  std::vector<SharedOp> ops = matchOps(graph.function, graph.function);
  Magnitudes magnitudes(ops, graph.function, kUnitOfF64);
  magnitudes.leastNormOf(x, 0, {24, -32});
  EXPECT_EQ(magnitudes.leastNormOf(norm, 0, {1, 1}), 0);
  EXPECT_DOUBLE_EQ(magnitudes.leastNormOf(norm, 1, {1}), 40.0 / 16);
  EXPECT_EQ(magnitudes.leastNormOf(norm, 2, {1}), 0);
}

// The difference of two terms: only rounding errors, or a result with digits.
TEST(Magnitudes, SumsOfTwoThatCancel) {
  Graph graph;
  int64_t x = graph.add(ErrorPropagation::Other, {3, 4}, {});
  int64_t y = graph.add(ErrorPropagation::Other, {-3, -4}, {});
  int64_t nothing = graph.add(ErrorPropagation::Added, {1e-16, 0}, {x, y});
  int64_t little = graph.add(ErrorPropagation::Added, {1e-3, 0}, {x, y});
  int64_t roundings = graph.add(ErrorPropagation::Added, {1e-7, 0}, {x, y});
  std::vector<double> norms = graph.leastNorms();
  const double terms = std::sqrt(50.0);
  EXPECT_DOUBLE_EQ(norms[nothing], terms / 16);
  EXPECT_DOUBLE_EQ(norms[little], terms * 0x1p-14);
  EXPECT_DOUBLE_EQ(norms[roundings], terms * 0x1p-14);
  // An f32 reference is no more accurate.
  EXPECT_DOUBLE_EQ(graph.leastNorms(kUnitOfF32)[roundings], terms / 16);
  EXPECT_DOUBLE_EQ(graph.leastNorms(kUnitOfF32)[little], terms * 0x1p-14);
}

TEST(Magnitudes, FollowMovesAndProducts) {
  Graph graph;
  int64_t x = graph.add(ErrorPropagation::Other, {3}, {});
  int64_t y = graph.add(ErrorPropagation::Other, {-3}, {});
  int64_t nothing = graph.add(ErrorPropagation::Added, {0}, {x, y});
  int64_t moved = graph.add(ErrorPropagation::Other, {0, 0, 0, 0}, {nothing});
  graph.line(moved).precisionClass = "transparent";
  int64_t mask = graph.add(ErrorPropagation::Other, {0, 0, 1, 0}, {});
  int64_t masked =
      graph.add(ErrorPropagation::Scaled, {0, 0, 0, 0}, {moved, mask});
  int64_t other = graph.add(ErrorPropagation::Other, {0, 0, 0, 0}, {masked});
  int64_t sum = graph.add(ErrorPropagation::Summed, {0}, {masked});
  std::vector<double> norms = graph.leastNorms();
  const double terms = std::sqrt(18.0);
  EXPECT_DOUBLE_EQ(norms[nothing], terms / 16);
  EXPECT_DOUBLE_EQ(norms[moved], terms / 16 * 2);
  EXPECT_DOUBLE_EQ(norms[masked], terms / 16);
  EXPECT_EQ(norms[other], 0);
  EXPECT_DOUBLE_EQ(norms[sum], terms / 16);
}

TEST(Magnitudes, QuotientsAndCentredProducts) {
  Graph graph;
  int64_t x = graph.add(ErrorPropagation::Other, {3}, {});
  int64_t y = graph.add(ErrorPropagation::Other, {-3}, {});
  int64_t nothing = graph.add(ErrorPropagation::Added, {0}, {x, y});
  int64_t count = graph.add(ErrorPropagation::Other, {4, 4}, {});
  int64_t shared =
      graph.add(ErrorPropagation::Divided, {0, 0}, {nothing, count});
  int64_t chosen = graph.add(ErrorPropagation::Moved, {0, 0}, {-1, shared});
  int64_t grad = graph.add(ErrorPropagation::Other, {2, 2, 2, 2}, {});
  int64_t softmax = graph.add(ErrorPropagation::Other, {.1, .7, .1, .1}, {});
  int64_t centred =
      graph.add(ErrorPropagation::Centred, {0, 1e-17, 0, 0}, {grad, softmax});
  std::vector<double> norms = graph.leastNorms();
  EXPECT_DOUBLE_EQ(norms[shared], std::sqrt(18.0) / 16 * std::sqrt(2.0) / 4);
  EXPECT_DOUBLE_EQ(norms[chosen], norms[shared]);
  EXPECT_DOUBLE_EQ(norms[centred], 2 * std::sqrt(.52) / 16);
}

// The gradient through the maximum that a log-sum-exp subtracts: the incoming
// gradient minus the sum of its product with the softmax. It is 0; an error of
// 1 % is detected.
TEST(Magnitudes, DetectTrueErrors) {
  Graph graph;
  int64_t grad = graph.add(ErrorPropagation::Other, {0.5, -0.25}, {});
  int64_t parts =
      graph.add(ErrorPropagation::Other, {0.2, 0.3, -0.2, -0.05}, {});
  int64_t sum = graph.add(ErrorPropagation::Summed, {0.5, -0.25}, {parts});
  int64_t rest = graph.add(ErrorPropagation::Added, {1e-17, 0}, {grad, sum});
  std::vector<double> norms = graph.leastNorms();
  auto errorOf = [&](std::vector<double> value) {
    return relativeError(value, graph.values[rest], norms[rest]);
  };
  EXPECT_LT(errorOf({3e-8, -3e-8}), 1e-5);
  EXPECT_LT(errorOf({0.5 / 512, -0.25 / 512}), 0.25);
  EXPECT_GT(errorOf({0.005, -0.0025}), 0.1);
}

} // namespace
