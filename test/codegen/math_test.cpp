//===- math_test.cpp - How exact the generated functions are --------------===//

#include "test/codegen/harness.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace mpc::test;

namespace {

/// Compiles a kernel that applies a function of the math dialect to floats.
Compiled compileFunction(const std::string &op, size_t count,
                         const std::string &element = "f32",
                         llvm::StringRef device = "cpu") {
  std::string type = "tensor<" + std::to_string(count) + "x" + element + ">";
  return Compiled(
      "func.func @f(%x: " + type + ") -> " + type +
          " { %e = tensor.empty() : " + type +
          " %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> "
          "(d0)>, affine_map<(d0) -> (d0)>],"
          " iterator_types = [\"parallel\"]} ins(%x : " +
          type + ") outs(%e : " + type + ") { ^bb0(%in: " + element +
          ", %out: " + element + "): %1 = math." + op + " %in : " + element +
          " linalg.yield %1 : " + element + " } -> " + type +
          " return %0 : " + type + " }",
      device);
}

/// Checks relative errors for 2^18 evenly spaced inputs whose results are at
/// least `least`.
void checkSingle(const std::string &op, double low, double high,
                 double relative, double least) {
  Compiled compiled = compileFunction(op, 262144);
  ASSERT_EQ(compiled.kernels.size(), 1u);
  Elements inputs(262144);
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] =
        float(low + (high - low) * double(i) / double(inputs.size() - 1));
  Elements wanted = interpret(compiled.kernels[0].source, {inputs})[0];
  Elements found = call(compiled.kernels[0], {inputs})[0];
  double worstRelative = 0, worstTiny = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    double off = std::fabs(found[i] - wanted[i]);
    if (std::fabs(wanted[i]) >= least)
      worstRelative = std::max(worstRelative, off / std::fabs(wanted[i]));
    else
      worstTiny = std::max(worstTiny, off);
  }
  printf("%s in [%g, %g]: relative %g, below %g off by %g\n", op.c_str(), low,
         high, worstRelative, least, worstTiny);
  EXPECT_LE(worstRelative, relative) << op;
  EXPECT_LE(worstTiny, least) << op;
}

TEST(Math, SingleFloats) {
  // exp and exp2 return 0 for results below 2^-125.
  checkSingle("exp", -100, 88.7, 2e-7, 3e-38);
  checkSingle("exp", -1e-3, 1e-3, 2e-7, 3e-38);
  checkSingle("exp2", -140, 127.9, 2e-7, 3e-38);
  // Gradients are multiplied by 1 - tanh^2, which magnifies errors near 1.
  checkSingle("tanh", 0.5, 12, 1.5e-7, 1e-30);
  checkSingle("tanh", -12, 12, 2e-7, 1e-30);
  checkSingle("tanh", -1e-3, 1e-3, 2e-7, 1e-30);
  checkSingle("erf", -6, 6, 4e-7, 1e-30);
  checkSingle("erf", -1e-3, 1e-3, 4e-7, 1e-30);
  checkSingle("log", 1e-6, 100, 1e-6, 1e-3);
  checkSingle("sin", -8, 8, 2e-7, 1e-12);
  checkSingle("cos", -8, 8, 2e-7, 1e-12);
  checkSingle("sin", 1e4, 2e4, 2e-7, 1e-12);
  checkSingle("cos", -1e9, 1e9, 2e-7, 1e-12);
  checkSingle("sin", 1e11, 1e12, 2e-7, 1e-12);
  checkSingle("atan", -20, 20, 3e-7, 1e-30);
  checkSingle("atan", -3e38, 3e38, 3e-7, 1e-30);
  checkSingle("atan", -1e-3, 1e-3, 3e-7, 1e-30);
  checkSingle("expm1", -20, 80, 4e-7, 1e-30);
  checkSingle("expm1", -1e-3, 1e-3, 4e-7, 1e-30);
  checkSingle("log1p", -0.99, 100, 1e-6, 1e-30);
}

/// Our own exp of f64, for devices without a library.
TEST(Math, DoubleExp) {
  constexpr int count = 4096;
  Compiled compiled = compileFunction("exp", count, "f64", "cuda");
  ASSERT_EQ(compiled.kernels.size(), 1u);
  for (double range : {709.5, 20.0, 1e-6}) {
    Elements inputs;
    for (int i = 0; i < count; ++i)
      inputs.push_back(range * (2.0 * i / (count - 1) - 1));
    Elements found = call(compiled.kernels[0], {inputs})[0];
    for (int i = 0; i < count; ++i) {
      double wanted = std::exp(std::max(inputs[i], -708.0));
      ASSERT_NEAR(found[i], wanted, 3e-16 * wanted) << "exp of " << inputs[i];
    }
  }
  Elements limits = call(compileFunction("exp", 3, "f64", "cuda").kernels[0],
                         {{NAN, INFINITY, 0}})[0];
  EXPECT_TRUE(std::isnan(limits[0]));
  EXPECT_EQ(limits[1], INFINITY);
  EXPECT_EQ(limits[2], 1);
}

/// Our own log of f64, which powers use.
TEST(Math, DoubleLog) {
  constexpr int count = 4096;
  Compiled compiled = compileFunction("log", count, "f64", "cuda");
  ASSERT_EQ(compiled.kernels.size(), 1u);
  for (double range : {700.0, 3.0, 1e-3}) {
    Elements inputs;
    for (int i = 0; i < count; ++i)
      inputs.push_back(std::exp(range * (2.0 * i / (count - 1) - 1)));
    Elements found = call(compiled.kernels[0], {inputs})[0];
    for (int i = 0; i < count; ++i) {
      double wanted = std::log(inputs[i]);
      ASSERT_NEAR(found[i], wanted, 3e-16 * std::max(1.0, std::fabs(wanted)))
          << "log of " << inputs[i];
    }
  }
  Elements limits = call(compileFunction("log", 5, "f64", "cuda").kernels[0],
                         {{NAN, INFINITY, 0, -1, 1}})[0];
  EXPECT_TRUE(std::isnan(limits[0]));
  EXPECT_EQ(limits[1], INFINITY);
  EXPECT_EQ(limits[2], -INFINITY);
  EXPECT_TRUE(std::isnan(limits[3]));
  EXPECT_EQ(limits[4], 0);
}

/// Our own sin and cos of f64, which learning rate schedules use.
TEST(Math, DoubleSines) {
  constexpr int count = 4096;
  for (std::string name : {"sin", "cos"}) {
    Compiled compiled = compileFunction(name.c_str(), count, "f64", "cuda");
    ASSERT_EQ(compiled.kernels.size(), 1u);
    for (double range : {M_PI, 1e4, 1e-6}) {
      Elements inputs;
      for (int i = 0; i < count; ++i)
        inputs.push_back(range * (2.0 * i / (count - 1) - 1));
      Elements found = call(compiled.kernels[0], {inputs})[0];
      for (int i = 0; i < count; ++i) {
        double wanted =
            name == "sin" ? std::sin(inputs[i]) : std::cos(inputs[i]);
        ASSERT_NEAR(found[i], wanted, 3e-16) << name << " of " << inputs[i];
      }
    }
    Elements limits =
        call(compileFunction(name.c_str(), 3, "f64", "cuda").kernels[0],
             {{NAN, INFINITY, 0}})[0];
    EXPECT_TRUE(std::isnan(limits[0]));
    EXPECT_TRUE(std::isnan(limits[1]));
    EXPECT_EQ(limits[2], name == "sin" ? 0 : 1);
  }
}

/// Results for NaN, infinities and saturating inputs equal those of the C
/// library.
TEST(Math, Limits) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double most = std::numeric_limits<float>::max();
  const Elements inputs = {NAN,   infinity, -infinity, most, -most, 200, -200,
                           89.25, 4,        -4,        0,    -0.0,  1,   128};
  for (const char *op : {"exp", "exp2", "erf", "tanh"}) {
    Compiled compiled = compileFunction(op, inputs.size());
    ASSERT_EQ(compiled.kernels.size(), 1u);
    Elements wanted = interpret(compiled.kernels[0].source, {inputs})[0];
    Elements found = call(compiled.kernels[0], {inputs})[0];
    for (size_t i = 0; i < inputs.size(); ++i) {
      float limit = float(wanted[i]); // f32 overflows before f64 does.
      if (std::isnan(limit))
        EXPECT_TRUE(std::isnan(found[i])) << op << " of " << inputs[i];
      else if (std::isinf(limit) || limit == 0 || std::fabs(limit) == 1)
        EXPECT_EQ(found[i], limit) << op << " of " << inputs[i];
      else
        EXPECT_NEAR(found[i], limit, std::fabs(limit) * 1e-6)
            << op << " of " << inputs[i];
    }
  }
}

/// Masked elements contribute exactly 0, in vectors of every length and on a
/// GPU.
TEST(Math, PowersOfLowNumbersAreZero) {
  Elements inputs = {-std::numeric_limits<double>::infinity(),
                     -std::numeric_limits<float>::max(), -1e10, -1e4, -200};
  for (size_t count : {5u, 1u})
    for (const char *device : {"cpu", "cuda"})
      for (const char *op : {"exp", "exp2"}) {
        inputs.resize(count);
        Compiled compiled = compileFunction(op, count, "f32", device);
        ASSERT_EQ(compiled.kernels.size(), 1u);
        EXPECT_EQ(call(compiled.kernels[0], {inputs})[0], Elements(count, 0))
            << op << " on " << device;
      }
}

/// Results of an op in f32 for an incoming gradient of 1, if it is a gradient.
Elements evaluate(const std::string &op, const Elements &inputs) {
  std::string type = "tensor<" + std::to_string(inputs.size()) + "xf32>";
  bool isGradient = op.find("_grad") != std::string::npos;
  bool isApproximate = op.find('~') != std::string::npos;
  Compiled compiled(
      "func.func @f(" + std::string(isGradient ? "%g: " + type + ", " : "") +
      "%x: " + type + ") -> " + type + " { %0 = train." +
      op.substr(0, op.find('~')) + (isGradient ? " %g, %x" : " %x") +
      (isApproximate ? " {approximate}" : "") + " : (" +
      (isGradient ? type + ", " : "") + type + ") -> " + type +
      " return %0 : " + type + " }");
  EXPECT_EQ(compiled.kernels.size(), 1u);
  std::vector<Elements> operands;
  if (isGradient)
    operands.push_back(Elements(inputs.size(), 1));
  operands.push_back(inputs);
  return call(compiled.kernels[0], operands)[0];
}

/// Far from zero, functions return their limits, and nothing is NaN, although
/// squares of the inputs are infinite.
TEST(Math, FarFromZero) {
  const double most = std::numeric_limits<float>::max();
  Elements above, below, ones, zeros, minusOnes;
  for (double magnitude : {1e4, 1e10, 2e19, 1e30, most}) {
    above.push_back(float(magnitude));
    below.push_back(-float(magnitude));
    ones.push_back(1);
    zeros.push_back(0);
    minusOnes.push_back(-1);
  }
  for (const char *op : {"gelu", "gelu~"}) {
    EXPECT_EQ(evaluate(op, above), above) << op;
    EXPECT_EQ(evaluate(op, below), zeros) << op;
  }
  for (const char *op : {"gelu_grad", "gelu_grad~"}) {
    EXPECT_EQ(evaluate(op, above), ones) << op;
    EXPECT_EQ(evaluate(op, below), zeros) << op;
  }
  EXPECT_EQ(evaluate("sigmoid", above), ones);
  EXPECT_EQ(evaluate("sigmoid", below), zeros);
  EXPECT_EQ(evaluate("tanh", above), ones);
  EXPECT_EQ(evaluate("tanh", below), minusOnes);
}

/// Small results keep their precision although the argument of the logarithm is
/// near 1, and a large logit does not absorb the other term.
TEST(Math, BinaryCrossEntropyKeepsItsDigits) {
  Elements logits, targets;
  for (double x : {0.0, 1.0, 10.0, 17.0, 40.0, 80.0, 1e4, 1e10, 3e38})
    for (double sign : {1.0, -1.0})
      for (double target : {0.0, 1.0, 0.75, 0.999}) {
        logits.push_back(float(sign * x));
        targets.push_back(float(target));
      }
  std::string type = "tensor<" + std::to_string(logits.size()) + "xf32>";
  Compiled compiled(
      "func.func @f(%x: " + type + ", %t: " + type + ") -> " + type +
      " { %0 = train.element_loss %x, %t {kind = "
      "#train<element_loss bce_with_logits>, reduction = "
      "#train<reduction none>} : (" +
      type + ", " + type + ") -> " + type + " return %0 : " + type + " }");
  ASSERT_EQ(compiled.kernels.size(), 1u);
  Elements found = call(compiled.kernels[0], {logits, targets})[0];
  for (size_t i = 0; i < logits.size(); ++i) {
    double x = logits[i], side = x > 0 ? 1 : 0;
    double wanted =
        x * (side - targets[i]) + std::log1p(std::exp(-std::fabs(x)));
    // A few roundings of numbers of one sign; subnormal results may be 0.
    EXPECT_NEAR(found[i], wanted, 8 * 0x1p-24 * wanted + 3e-38)
        << x << " against " << targets[i];
  }
}

} // namespace
