//===- ranges.h - What is proven, and what programs compute -----*- C++ -*-===//
#ifndef MPC_TEST_COMPILER_ANALYSIS_RANGES_H
#define MPC_TEST_COMPILER_ANALYSIS_RANGES_H

#include "compiler/Analysis/Ranges.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/AmpLowering.h"
#include "test/gradients/module.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace mpc::test {

using namespace mlir;
using amp::NumberRange;

constexpr float kLowest = std::numeric_limits<float>::lowest();

class RangesTest : public testing::Test {
protected:
  RangesTest() {
    DialectRegistry registry;
    registry.insert<amp::AmpDialect, train::TrainDialect, func::FuncDialect>();
    train::registerAmpLowering(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  double number(int kind);
  test::Values numbers(int64_t count);
  NumberRange rangeOf(Type type, const test::Values &values);
  bool checkOp(Operation *op);
  void checkGraph(const std::string &text);

  MLIRContext context;
  std::mt19937 random{1};
  int proven = 0, values = 0;
};

inline double RangesTest::number(int kind) {
  auto within = [&](double low, double high) {
    return float(low + (high - low) * (random() / 4294967296.0));
  };
  static const float masks[] = {-INFINITY, kLowest, -1e9f, 0, 1, -2};
  static const float others[] = {INFINITY, NAN, -INFINITY, 3e38f, 1e-40f, 1};
  switch (kind) {
  case 0:
    return within(-1, 1);
  case 1:
    return within(0.1, 5);
  case 2:
    return within(-5, -0.1);
  case 3:
    return within(-1e4, 1e4);
  case 4:
    return within(-1e10, 1e10);
  case 5:
    return std::ldexp(within(-1, 1), int(random() % 250) - 125);
  case 6:
    return masks[random() % std::size(masks)];
  case 7:
    return others[random() % std::size(others)];
  case 8:
    return kLowest;
  case 9:
    return 0;
  default:
    return 1e10f;
  }
}

inline test::Values RangesTest::numbers(int64_t count) {
  int kind = random() % 11;
  test::Values result(count);
  for (double &value : result)
    value = number(kind);
  return result;
}

inline NumberRange RangesTest::rangeOf(Type type, const test::Values &values) {
  std::vector<float> floats(values.begin(), values.end());
  auto shape = cast<RankedTensorType>(type).clone(Float32Type::get(&context));
  ConstantFacts constants;
  return factsOf(DenseElementsAttr::get(cast<ShapedType>(shape),
                                        ArrayRef<float>(floats)),
                 constants)
      .range;
}

/// Fails unless `values`, in rows of `extent`, are what `range` says.
inline void expectWithin(const NumberRange &range, const test::Values &values,
                         size_t extent) {
  // Sums in this test round differently from those in a program.
  auto slack = [](double bound) { return std::abs(bound) * 1e-6; };
  double sum = 0, squares = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    double x = values[i];
    if (i % extent == 0)
      sum = squares = 0;
    sum += std::abs(x), squares += x * x;
    if (std::isnan(x)) {
      ASSERT_TRUE(range.mayBeNan) << "element " << i;
    } else if (std::isinf(x)) {
      ASSERT_TRUE(range.mayBeInfinite) << "element " << i << ": " << x;
    } else {
      ASSERT_GE(x, range.low) << "element " << i;
      ASSERT_LE(x, range.high) << "element " << i;
      if (x != 0) {
        ASSERT_GE(std::abs(x), range.least) << "element " << i;
      }
    }
    if (std::isfinite(sum)) {
      ASSERT_LE(sum, range.rowSum + slack(range.rowSum)) << "row of " << i;
      ASSERT_LE(std::sqrt(squares), range.rowNorm + slack(range.rowNorm))
          << "row of " << i;
    }
  }
}

inline size_t rowExtent(Type type) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  return shape.empty() ? 1 : std::max<int64_t>(shape.back(), 1);
}

inline FloatType floatOf(Type type) {
  return dyn_cast<FloatType>(getElementTypeOrSelf(type));
}

inline void nameValues(func::FuncOp func) {
  Builder builder(func.getContext());
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    func.setArgAttr(i, "mpc.name",
                    builder.getStringAttr("x" + std::to_string(i)));
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    func.setResultAttr(i, "mpc.name",
                       builder.getStringAttr("y" + std::to_string(i)));
}

} // namespace mpc::test

#endif // MPC_TEST_COMPILER_ANALYSIS_RANGES_H
