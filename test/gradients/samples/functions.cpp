//===- functions.cpp - Samples of unary functions -------------------------===//
//
// Includes inputs for which naive formulas fail: at 30 and at 10000 sigmoids
// are 0 or 1, and functions like Relu are 0 or the input itself.
//
//===----------------------------------------------------------------------===//

#include "test/gradients/samples/samples.h"

namespace mpc::test {

namespace {

/// An attribute of the op, and the range from which it is drawn.
struct Number {
  const char *name;
  Range range;
};

struct Function {
  const char *op;
  /// Two of three samples use the first range, where the function is curved.
  std::vector<Range> ranges;
  Values kinks = {};
  std::vector<Number> numbers = {};
  /// For ops with attributes: the kinks for given values, or for the defaults.
  std::function<Values(const Values &)> kinksOf = nullptr;
  Values standard = {};
};

} // namespace

static const Range kFar = {30, 1e4}, kFarBelow = {-1e4, -30};

static void drawFunction(SampleBuilder &s, const Function &function) {
  const std::vector<Range> &ranges = function.ranges;
  bool isPlain = s.number % 3 != 1 || ranges.size() == 1;
  Range range =
      ranges[isPlain ? 0 : 1 + size_t(s.number) / 3 % (ranges.size() - 1)];
  Values numbers, kinks = function.kinks;
  for (size_t i = 0; i < function.numbers.size(); ++i) {
    const Number &number = function.numbers[i];
    bool isGiven = s.cycle({true, false, true});
    numbers.push_back(isGiven ? s.real(number.range.low, number.range.high)
                              : function.standard[i]);
    if (isGiven)
      s.attribute(number.name, numbers.back());
  }
  if (function.kinksOf)
    kinks = function.kinksOf(numbers);
  // The loss must not be so large that its rounding hides the differences.
  Shape shape = isPlain ? s.shape(0, 5) : s.shape(0, 3, 12);
  s.apply({s.parameter("x", shape, range, kinks)});
}

static void drawGelu(SampleBuilder &s) {
  if (const char *form = s.cycle({"", "tanh", "none"}); *form)
    s.attribute("approximate", form);
  Range range = s.number % 3 != 1 ? Range{-4, 4}
                                  : s.cycle<Range>({kFar, kFarBelow, {-9, -4}});
  s.apply({s.parameter("x", s.shape(0, 5, 40), range)});
}

static const std::vector<Function> &functions() {
  static const auto atZero = [](const Values &) { return Values{0}; };
  static const std::vector<Function> table = {
      {"Neg", {{-2, 2}, kFar}},
      {"Sqrt", {{0.25, 4}, {100, 1000}}},
      {"Relu", {{-2, 2}, kFar, kFarBelow}, {0}},
      {"Exp", {{-3, 3}, kFarBelow, {10, 20}}},
      {"Log", {{0.25, 4}, {100, 1000}}},
      {"Sin", {{-7, 7}, {100, 1000}}},
      {"Cos", {{-7, 7}, {100, 1000}}},
      {"Tan", {{-1.2, 1.2}, {2, 4}}},
      {"Asin", {{-0.9, 0.9}}},
      {"Acos", {{-0.9, 0.9}}},
      {"Atan", {{-4, 4}, {30, 300}, {-300, -30}}},
      {"Sinh", {{-3, 3}, {10, 20}, {-20, -10}}},
      {"Cosh", {{-3, 3}, {10, 20}, {-20, -10}}},
      {"Asinh", {{-4, 4}, {30, 1000}, {-1000, -30}}},
      {"Acosh", {{1.25, 4}, {30, 1000}}},
      {"Atanh", {{-0.9, 0.9}}},
      {"Erf", {{-3, 3}, kFar, kFarBelow}},
      {"Abs", {{-2, 2}, kFar, kFarBelow}, {0}},
      {"Reciprocal", {{0.5, 2}, {-2, -0.5}, {30, 100}}},
      {"Tanh", {{-3, 3}, kFar, kFarBelow}},
      {"Sigmoid", {{-5, 5}, kFar, kFarBelow}},
      {"Softsign", {{-4, 4}, {30, 300}, {-300, -30}}, {0}},
      {"Softplus", {{-6, 6}, kFar, kFarBelow}},
      {"Mish", {{-5, 5}, kFar, kFarBelow}},
      {"Swish",
       {{-5, 5}, kFar, kFarBelow},
       {},
       {{"alpha", {0.5, 2}}},
       nullptr,
       {1}},
      {"HardSwish", {{-4, 4}, kFar, kFarBelow}, {-3, 3}},
      {"HardSigmoid",
       {{-3, 3}, kFar, kFarBelow},
       {},
       {{"alpha", {0.2, 0.5}}, {"beta", {0.3, 0.6}}},
       [](const Values &n) {
         return Values{-n[1] / n[0], (1 - n[1]) / n[0]};
       },
       {0.2, 0.5}},
      {"Elu",
       {{-3, 3}, kFar, kFarBelow},
       {},
       {{"alpha", {0.5, 2}}},
       atZero,
       {1}},
      {"Selu",
       {{-3, 3}, kFar, kFarBelow},
       {},
       {{"alpha", {0.5, 2}}, {"gamma", {0.5, 2}}},
       atZero,
       {1.673, 1.051}},
      {"Celu",
       {{-3, 3}, kFar, kFarBelow},
       {},
       {{"alpha", {0.5, 2}}},
       atZero,
       {1}},
      {"LeakyRelu",
       {{-3, 3}, kFar, kFarBelow},
       {},
       {{"alpha", {-0.5, 0.5}}},
       atZero,
       {0.01}},
      {"ThresholdedRelu",
       {{-3, 3}, kFar, kFarBelow},
       {},
       {{"alpha", {-1, 1}}},
       [](const Values &n) { return n; },
       {1}},
      {"Shrink",
       {{-3, 3}, kFar, kFarBelow},
       {},
       {{"lambd", {0.2, 1}}, {"bias", {-1, 1}}},
       [](const Values &n) {
         return Values{-n[0], n[0]};
       },
       {0.5, 0}},
  };
  return table;
}

std::vector<SampledOp> functionSamples() {
  std::vector<SampledOp> result = {{"Gelu", "x", drawGelu}};
  for (const Function &function : functions())
    result.push_back({function.op, "x", [&function](SampleBuilder &s) {
                        drawFunction(s, function);
                      }});
  return result;
}

} // namespace mpc::test
