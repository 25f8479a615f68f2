//===- softmax_test.cpp - Softmax, its logarithm and its losses -----------===//
//
// Rows of numbers of every magnitude, on the CPU and in the GPU simulator: they
// are as accurate as rows of small numbers.
//
//===----------------------------------------------------------------------===//

#include "test/codegen/harness.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace mpc::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMax = std::numeric_limits<float>::max();
constexpr double kUlp = 0x1p-23;
/// Some whole vectors and a remainder.
constexpr size_t kWidth = 37;

struct Row {
  Elements x;
  size_t label;
};

/// Rows around a magnitude: values close to it, far from it, all equal, and
/// over the whole range of f32.
std::vector<Row> rowsOf(double magnitude) {
  auto row = [](size_t label, auto &&element) {
    Row result{{}, label};
    for (size_t i = 0; i < kWidth; ++i)
      result.x.push_back(float(std::clamp(element(double(i)), -kMax, kMax)));
    return result;
  };
  std::vector<Row> rows;
  for (double m : {magnitude, -magnitude}) {
    double unit = std::max(1e-3, std::fabs(m) * kUlp);
    rows.push_back(row(3, [&](double i) { return m * (1 - 3 * i * kUlp); }));
    rows.push_back(
        row(35, [&](double i) { return m - std::fmod(5 * i, 37) * unit; }));
    rows.push_back(row(0, [&](double) { return m; }));
    rows.push_back(row(36, [&](double i) { return m * std::cos(i); }));
    rows.push_back(
        row(17, [&](double i) { return std::fmod(i, 7) == 3 ? m : 0.25 * i; }));
  }
  return rows;
}

/// The results for a row in f64.
struct Exact {
  explicit Exact(const Row &row) : label(row.label) {
    double max = *std::max_element(row.x.begin(), row.x.end()), sum = 0;
    for (double x : row.x)
      sum += std::exp(x - max);
    for (double x : row.x) {
      distance.push_back(max - x);
      log.push_back(x - max - std::log(sum));
      p.push_back(std::exp(x - max) / sum);
    }
  }
  size_t label;
  Elements distance, log, p;
};

/// The relative error of an exponential includes the absolute error of its
/// argument, which matters if the argument is large.
double ofExponential(double distance) {
  return 4 * kUlp * std::max(1.0, distance);
}

class Softmax
    : public ::testing::TestWithParam<std::tuple<const char *, double>> {
protected:
  /// The results of an op on rows [n, kWidth], by name of the op.
  std::vector<Elements> run(const std::string &body, const std::string &results,
                            const std::vector<Row> &rows,
                            bool hasLabels = false) {
    std::string n = std::to_string(rows.size());
    std::string x = "tensor<" + n + "x" + std::to_string(kWidth) + "xf32>";
    std::string text = "func.func @f(%x: " + x;
    if (hasLabels)
      text += ", %l: tensor<" + n + "xi64>";
    text += ") -> (" + results + ") { " + body + " }";
    for (const auto &[from, to] :
         {std::pair<std::string, std::string>{"!X", x}, {"!N", n}})
      for (size_t at; (at = text.find(from)) != std::string::npos;)
        text.replace(at, from.size(), to);
    Compiled compiled(text, std::get<0>(GetParam()));
    EXPECT_EQ(compiled.kernels.size(), 1u);
    std::vector<Elements> inputs(hasLabels ? 2 : 1);
    for (const Row &row : rows) {
      inputs[0].insert(inputs[0].end(), row.x.begin(), row.x.end());
      if (hasLabels)
        inputs[1].push_back(double(row.label));
    }
    return call(compiled.kernels.front(), inputs);
  }
  std::vector<Row> rows() const { return rowsOf(std::get<1>(GetParam())); }
};

TEST_P(Softmax, KeepsItsDigits) {
  std::vector<Row> all = rows();
  std::vector<Elements> found =
      run("%0 = train.softmax %x {axis = 1 : i64} : (!X) -> !X "
          "%1 = train.log_softmax %x {axis = 1 : i64} : (!X) -> !X "
          "return %0, %1 : !X, !X",
          "!X, !X", all);
  for (size_t n = 0; n < all.size(); ++n) {
    Exact exact(all[n]);
    for (size_t i = 0; i < kWidth; ++i) {
      SCOPED_TRACE("row " + std::to_string(n) + ", element " +
                   std::to_string(i) + ", " + std::to_string(all[n].x[i]));
      // Subnormal results may be 0.
      EXPECT_NEAR(found[0][n * kWidth + i], exact.p[i],
                  exact.p[i] * ofExponential(exact.distance[i]) + 3e-38);
      // A sum near 1 may be off by one unit of 1, and so may its logarithm.
      double wanted = float(exact.log[i]);
      if (std::isinf(wanted))
        EXPECT_EQ(found[1][n * kWidth + i], wanted);
      else
        EXPECT_NEAR(found[1][n * kWidth + i], exact.log[i],
                    4 * kUlp * std::max(1.0, -exact.log[i]));
    }
  }
}

TEST_P(Softmax, EqualNumbersShareExactly) {
  double magnitude = std::get<1>(GetParam());
  std::vector<Row> all;
  for (double m : {magnitude, -magnitude})
    all.push_back({Elements(kWidth, float(m)), 0});
  std::vector<Elements> found =
      run("%0 = train.softmax %x {axis = 1 : i64} : (!X) -> !X return %0 : !X",
          "!X", all);
  for (double p : found[0])
    EXPECT_EQ(p, double(1.0f / float(kWidth)));
}

TEST_P(Softmax, CrossEntropyKeepsItsDigits) {
  std::vector<Row> all = rows();
  std::vector<Elements> found = run(
      "%s = train.constant dense<1.0> : tensor<!Nxf32> : tensor<!Nxf32> "
      "%0 = train.softmax_cross_entropy %x, %l {reduction = #train<reduction "
      "none>} : (!X, tensor<!Nxi64>) -> tensor<!Nxf32> "
      "%1 = train.softmax_cross_entropy_grad %s, %x, %l {reduction = "
      "#train<reduction none>} : (tensor<!Nxf32>, !X, tensor<!Nxi64>) -> !X "
      "return %0, %1 : tensor<!Nxf32>, !X",
      "tensor<!Nxf32>, !X", all, /*hasLabels=*/true);
  for (size_t n = 0; n < all.size(); ++n) {
    SCOPED_TRACE("row " + std::to_string(n));
    Exact exact(all[n]);
    double loss = -exact.log[exact.label];
    if (std::isinf(float(loss)))
      EXPECT_EQ(found[0][n], kInfinity);
    else
      EXPECT_NEAR(found[0][n], loss, 4 * kUlp * std::max(1.0, loss));
    for (size_t i = 0; i < kWidth; ++i) {
      double wanted = exact.p[i] - (i == exact.label ? 1 : 0);
      // The difference from 1 may be off by one unit of 1.
      EXPECT_NEAR(found[1][n * kWidth + i], wanted,
                  exact.p[i] * ofExponential(exact.distance[i]) + 3e-38 +
                      (i == exact.label ? kUlp : 0))
          << "element " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Magnitudes, Softmax,
                         ::testing::Combine(::testing::Values("cpu", "cuda"),
                                            ::testing::Values(1.0, 1e2, 1e4,
                                                              1e6, 1e10, 1e30,
                                                              3e38, kMax)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::to_string(info.index);
                         });

/// Masked elements contribute nothing, fully masked rows give what ONNX
/// specifies or 0, and NaN stays NaN.
class SoftmaxLimits : public Softmax {};

TEST_P(SoftmaxLimits, AreExact) {
  auto row = [](double x, double at5, double rest = -kInfinity) {
    Row result{Elements(kWidth, rest), 5};
    result.x[2] = x;
    result.x[5] = at5;
    return result;
  };
  std::vector<Row> all = {
      row(3, 3),                   // Two of all are not masked,
      row(-1e10, -1e10),           // wherever they lie,
      row(-1, -1, -kMax),          // or masked by a number,
      row(kMax, kMax, -kMax),      // with more between them than f32 has.
      row(-kInfinity, -kInfinity), // Nothing is left.
      row(NAN, 3, 1),
      row(kInfinity, 3, 1),
      row(-kMax, -kMax, -kMax)};
  std::vector<Elements> found =
      run("%0 = train.softmax %x {axis = 1 : i64} : (!X) -> !X "
          "%1 = train.softmax %x {axis = 1 : i64, zero_empty} : (!X) -> !X "
          "%2 = train.log_softmax %x {axis = 1 : i64} : (!X) -> !X "
          "return %0, %1, %2 : !X, !X, !X",
          "!X, !X, !X", all);
  for (size_t n = 0; n < all.size(); ++n)
    for (size_t i = 0; i < kWidth; ++i) {
      SCOPED_TRACE("row " + std::to_string(n) + ", element " +
                   std::to_string(i));
      size_t at = n * kWidth + i;
      bool isSeen = i == 2 || i == 5;
      if (n < 4) {
        EXPECT_EQ(found[0][at], isSeen ? 0.5 : 0);
        EXPECT_EQ(found[1][at], isSeen ? 0.5 : 0);
        if (isSeen) {
          EXPECT_NEAR(found[2][at], -std::log(2.0), kUlp);
        }
      } else if (n == 7) {
        EXPECT_EQ(found[0][at], double(1.0f / float(kWidth)));
        EXPECT_EQ(found[1][at], double(1.0f / float(kWidth)));
      } else {
        EXPECT_TRUE(std::isnan(found[0][at]));
        EXPECT_TRUE(std::isnan(found[2][at]));
        if (n == 4)
          EXPECT_EQ(found[1][at], 0);
        else
          EXPECT_TRUE(std::isnan(found[1][at]));
      }
    }
}

// Masked elements get no gradient, and neither do fully masked rows.
TEST_P(SoftmaxLimits, MasksHaveNoGradient) {
  auto row = [](double x, double rest) {
    Row result{Elements(kWidth, rest), 5};
    result.x[2] = result.x[5] = x;
    return result;
  };
  std::vector<Row> all = {row(3, -kInfinity), row(3, -kMax), row(3, -1e9),
                          row(-1e4, -1e9), row(-kInfinity, -kInfinity)};
  std::vector<Elements> found =
      run("%0 = train.softmax %x {axis = 1 : i64, zero_empty} : (!X) -> !X "
          "%1 = train.cos %0 : (!X) -> !X "
          "%2 = train.softmax_grad %1, %0 {axis = 1 : i64} : (!X, !X) -> !X "
          "return %0, %2 : !X, !X",
          "!X, !X", all);
  for (size_t n = 0; n < all.size(); ++n)
    for (size_t i = 0; i < kWidth; ++i) {
      SCOPED_TRACE("row " + std::to_string(n) + ", element " +
                   std::to_string(i));
      bool isSeen = n < 4 && (i == 2 || i == 5);
      EXPECT_EQ(found[0][n * kWidth + i], isSeen ? 0.5 : 0);
      if (isSeen)
        EXPECT_NEAR(found[1][n * kWidth + i], 0, kUlp);
      else
        EXPECT_EQ(found[1][n * kWidth + i], 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Devices, SoftmaxLimits,
                         ::testing::Combine(::testing::Values("cpu", "cuda"),
                                            ::testing::Values(1.0)),
                         [](const auto &info) {
                           return std::string(std::get<0>(info.param));
                         });

} // namespace
