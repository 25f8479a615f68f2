//===- brain_float_test.cpp - Generated functions of every bf16 -----------===//

#include "test/codegen/harness.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

using namespace mpc::test;

namespace {

double fromBrain(uint32_t bits) {
  float value;
  bits <<= 16;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// Numbers bf16 values in order, so that adjacent values differ by one.
int64_t orderOf(double value) {
  float narrow = float(value);
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  int64_t magnitude = (bits & 0x7fffffff) >> 16;
  return bits >> 31 ? -magnitude : magnitude;
}

/// Checks a unary op (or its gradient, for an incoming gradient of 1) on all
/// 65,536 inputs in bf16: at most one unit in the last place off.
void checkBrain(const std::string &op, bool isGradient,
                const std::string &attributes = "") {
  std::string type = "tensor<65536xbf16>";
  Compiled compiled("func.func @f(%g: " + type + ", %x: " + type + ") -> " +
                    type + " { %0 = train." + op +
                    (isGradient ? " %g, %x " : " %x ") + attributes +
                    (isGradient ? ": (" + type + ", " : ": (") + type +
                    ") -> " + type + " return %0 : " + type + " }");
  ASSERT_EQ(compiled.kernels.size(), 1u);
  const Kernel &kernel = compiled.kernels[0];
  Elements inputs(65536);
  for (uint32_t i = 0; i < 65536; ++i)
    inputs[i] = fromBrain(i);
  std::vector<Elements> operands;
  if (isGradient)
    operands.push_back(Elements(65536, 1));
  operands.push_back(inputs);
  Elements wanted = interpret(kernel.source, operands)[0];
  Elements found = call(kernel, operands)[0];
  int64_t worst = 0, at = 0;
  double worstTiny = 0;
  for (uint32_t i = 0; i < 65536; ++i) {
    if (std::isnan(wanted[i]) || std::isnan(found[i])) {
      EXPECT_EQ(std::isnan(wanted[i]), std::isnan(found[i]))
          << op << " of " << inputs[i] << " is " << found[i] << ", not "
          << wanted[i];
      continue;
    }
    // 1 + erf(x / sqrt 2) of gelu cancels for x below -3, as in every f32
    // implementation of the formula (such as PyTorch's): check the absolute
    // error.
    if (std::fabs(wanted[i]) < 1e-4) {
      worstTiny = std::max(worstTiny, std::fabs(found[i] - wanted[i]));
      continue;
    }
    int64_t off = std::abs(orderOf(wanted[i]) - orderOf(found[i]));
    if (off > worst) {
      worst = off;
      at = i;
    }
  }
  EXPECT_LE(worst, 1) << op << " of " << inputs[at] << " is " << found[at]
                      << ", not " << wanted[at];
  EXPECT_LE(worstTiny, 1e-6);
  printf("%s: %ld ulp at %g, below 1e-4 off by %g\n", op.c_str(), long(worst),
         inputs[at], worstTiny);
}

TEST(Math, EveryBrainFloat) {
  for (const char *op : {"relu", "neg", "gelu"})
    checkBrain(op, false);
  for (const char *op : {"relu_grad", "gelu_grad"})
    checkBrain(op, true);
}

/// Checks a function of FunctionOps.td and its derivative. Trigonometric
/// functions have a separate test: bf16 has no fractional digits of large
/// angles.
void checkFunction(const std::string &name, const std::string &parameters = "",
                   const std::string &numbers = "", bool hasDerivative = true) {
  checkBrain(name, false, parameters.empty() ? "" : "{" + parameters + "} ");
  if (hasDerivative)
    checkBrain("function_grad", true,
               "{function = \"" + name + "\", parameters = array<f64" +
                   (numbers.empty() ? "" : ": " + numbers) + ">} ");
}

TEST(Math, EveryBrainFloatOfFunctions) {
  for (const char *name :
       {"tanh", "sigmoid", "softsign", "exp", "log", "asin", "acos", "atan",
        "sinh", "cosh", "asinh", "acosh", "atanh", "erf", "abs", "mish",
        "softplus", "hard_swish"})
    checkFunction(name);
  for (const char *name : {"sign", "floor", "ceil", "round"})
    checkFunction(name, "", "", false);
  checkFunction("silu", "alpha = 1.0 : f64", "1.0");
  checkFunction("silu", "alpha = -1.7 : f64", "-1.7");
  checkFunction("elu",
                "alpha = 1.0 : f64, scale = 1.0 : f64, width = 1.0 : f64",
                "1.0, 1.0, 1.0");
  checkFunction("elu",
                "alpha = 0.5 : f64, scale = 1.0 : f64, width = 0.5 : f64",
                "0.5, 1.0, 0.5");
  checkFunction("leaky_relu", "alpha = 0.01 : f64", "0.01");
  checkFunction("thresholded_relu", "alpha = 0.5 : f64", "0.5");
  checkFunction("hard_sigmoid", "alpha = 0.2 : f64, beta = 0.5 : f64",
                "0.2, 0.5");
  checkFunction("shrink", "bias = 0.5 : f64, lambda = 0.5 : f64", "0.5, 0.5");
  checkFunction("clip", "high = 6.0 : f64, low = -1.0 : f64", "6.0, -1.0");
}

} // namespace
