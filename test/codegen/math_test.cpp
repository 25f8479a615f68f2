//===- math_test.cpp - How exact the generated functions are --------------===//

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

/// Numbers bf16 values in order, so that neighbours differ by one.
int64_t orderOf(double value) {
  float narrow = float(value);
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  int64_t magnitude = (bits & 0x7fffffff) >> 16;
  return bits >> 31 ? -magnitude : magnitude;
}

/// All 65,536 inputs of a unary op (or of the gradient of one, for an incoming
/// gradient of 1) in bf16: at most one unit in the last place off.
void checkBrain(const std::string &op, bool isGradient) {
  std::string type = "tensor<65536xbf16>";
  Compiled compiled("func.func @f(%g: " + type + ", %x: " + type + ") -> " +
                    type + " { %0 = train." + op +
                    (isGradient ? " %g, %x : (" + type + ", " : " %x : (") +
                    type + ") -> " + type + " return %0 : " + type + " }");
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
    // 1 + erf(x / sqrt 2) of gelu cancels for x below -3, in f32 as everywhere
    // that uses the formula (PyTorch does): the absolute error counts.
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
  for (const char *op : {"relu", "neg", "tanh", "sigmoid", "gelu"})
    checkBrain(op, false);
  for (const char *op : {"relu_grad", "tanh_grad", "sigmoid_grad", "gelu_grad"})
    checkBrain(op, true);
}

/// 2^18 inputs of a function of the math dialect in f32, evenly spaced.
void checkSingle(const std::string &op, double low, double high,
                 double relative, double absolute) {
  std::string type = "tensor<262144xf32>";
  Compiled compiled("func.func @f(%x: " + type + ") -> " + type +
                    " { %e = tensor.empty() : " + type +
                    " %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> "
                    "(d0)>, affine_map<(d0) -> (d0)>],"
                    " iterator_types = [\"parallel\"]} ins(%x : " +
                    type + ") outs(%e : " + type +
                    ") { ^bb0(%in: f32, %out: f32): %1 = math." + op +
                    " %in : f32 linalg.yield %1 : f32 } -> " + type +
                    " return %0 : " + type + " }");
  ASSERT_EQ(compiled.kernels.size(), 1u);
  Elements inputs(262144);
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i] =
        float(low + (high - low) * double(i) / double(inputs.size() - 1));
  Elements wanted = interpret(compiled.kernels[0].source, {inputs})[0];
  Elements found = call(compiled.kernels[0], {inputs})[0];
  double worstRelative = 0, worstAbsolute = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    double off = std::fabs(found[i] - wanted[i]);
    worstAbsolute = std::max(worstAbsolute, off);
    if (std::fabs(wanted[i]) > 1e-3)
      worstRelative = std::max(worstRelative, off / std::fabs(wanted[i]));
  }
  printf("%s in [%g, %g]: relative %g, absolute %g\n", op.c_str(), low, high,
         worstRelative, worstAbsolute);
  EXPECT_LE(worstRelative, relative) << op;
  EXPECT_LE(worstAbsolute, absolute) << op;
}

TEST(Math, SingleFloats) {
  checkSingle("exp", -80, 0, 1e-6, 1e-6);
  checkSingle("exp", 0, 80, 1e-6, 1e30);
  checkSingle("tanh", -12, 12, 1e-6, 1e-6);
  checkSingle("erf", -6, 6, 1e-6, 1e-6);
  checkSingle("log", 1e-6, 100, 1e-6, 1e-6);
}

} // namespace
