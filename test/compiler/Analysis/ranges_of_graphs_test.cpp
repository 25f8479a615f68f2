//===- ranges_of_graphs_test.cpp - What is proven of random graphs --------===//

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/AmpLowering.h"
#include "test/compiler/Analysis/ranges.h"
#include "test/gradients/module.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <random>

namespace mpc::test {

/// Draws random ops on rows of 6, with two inputs, weights and masks; all
/// values are results.
static std::string drawGraph(std::mt19937 &random) {
  const std::string t = "tensor<4x6xf32>";
  static const char *const unary[] = {
      "tanh",
      "sigmoid",
      "relu",
      "neg",
      "abs",
      "exp",
      "log",
      "sqrt",
      "gelu",
      "softplus",
      "softsign",
      "erf",
      "sin",
      "atan",
      "mish",
      "hard_swish",
      "floor",
      "silu {alpha = 1.0 : f64}",
      "elu {alpha = 1.0 : f64, scale = 2.0 : f64, width = 0.5 : f64}",
      "leaky_relu {alpha = 0.1 : f64}",
      "clip {high = 6.0 : f64, low = -2.0 : f64}",
      "clip {high = 2.0 : f64, low = 0.5 : f64}",
      "softmax {axis = 1 : i64}",
      "softmax {axis = 0 : i64, zero_empty}",
      "log_softmax {axis = 1 : i64}",
      "cumsum {axis = 1 : i64}",
      "round_to {to = f16}"};
  static const char *const binary[] = {"add",     "sub",     "mul", "div",
                                       "maximum", "minimum", "add", "mul"};
  std::string text = "func.func @predict(%v0: " + t + ", %v1: " + t + ") -> (";
  std::string body = R"(
  %scale = train.constant dense<[1.0, -2.0, 0.5, 3.0, 1.0, 0.0]> : tensor<6xf32> : tensor<6xf32>
  %w = train.constant dense<0.25> : tensor<6x6xf32> : tensor<6x6xf32>
  %seen = train.constant dense<[true, false, true, true, false, false]> : tensor<6xi1> : tensor<6xi1>
  %m0 = train.constant dense<0xFF800000> : tensor<f32> : tensor<f32>
  %m1 = train.constant dense<-1.0e+09> : tensor<f32> : tensor<f32>
  %m2 = train.constant dense<-3.40282347e+38> : tensor<f32> : tensor<f32>
)";
  int count = 2;
  auto old = [&] { return "%v" + std::to_string(random() % count); };
  for (int i = 0; i < 14; ++i) {
    std::string name = "%v" + std::to_string(count), a = old(), b = old();
    switch (random() % 8) {
    default: {
      llvm::StringRef op = unary[random() % std::size(unary)];
      auto [word, attributes] = op.split(' ');
      body += "  " + name + " = train." + word.str() + " " + a + " " +
              attributes.str() + " : (" + t + ") -> " + t + "\n";
      break;
    }
    case 0:
    case 1:
      body += "  " + name + " = train." + binary[random() % std::size(binary)] +
              " " + a + ", " + b + " : (" + t + ", " + t + ") -> " + t + "\n";
      break;
    case 2:
      body += "  " + name + " = train.select %seen, " + a + ", %m" +
              std::to_string(random() % 3) + " : (tensor<6xi1>, " + t +
              ", tensor<f32>) -> " + t + "\n";
      break;
    case 5:
      if (random() % 3 == 0) {
        std::string h = "tensor<4x6xf16>", low = "%h" + name.substr(1);
        body += "  " + low + " = amp.cast " + a + " : " + t + " to " + h +
                "\n  " + name + " = amp.cast " + low + " : " + h + " to " + t +
                "\n";
        break;
      }
      [[fallthrough]];
    case 3:
      body += "  " + name + ", %i" + name.substr(1) + " = train.rms_norm " + a +
              ", %scale {axis = 1 : i64, epsilon = 1.0e-5 : f32} : (" + t +
              ", tensor<6xf32>) -> (" + t + ", tensor<4xf32>)\n";
      break;
    case 4:
      body += "  " + name + " = train.matmul " + a + ", %w : (" + t +
              ", tensor<6x6xf32>) -> " + t + "\n";
    }
    ++count;
  }
  body += "  return ";
  for (int i = 2; i < count; ++i) {
    text += (i > 2 ? ", " : "") + t;
    body += (i > 2 ? ", %v" : "%v") + std::to_string(i);
  }
  body += " : ";
  for (int i = 2; i < count; ++i)
    body += (i > 2 ? ", " : "") + t;
  return text + ") {" + body + "\n}\n";
}

void RangesTest::checkGraph(const std::string &text) {
  SCOPED_TRACE(text);
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context));
  ASSERT_TRUE(bool(module));
  auto func = *module->getOps<func::FuncOp>().begin();
  nameValues(func);
  ConstantFacts constants;
  Ranges ranges(func, constants);
  OwningOpRef<ModuleOp> compiled = module->clone();
  test::ProgramPtr program = test::buildProgram(*compiled);
  ASSERT_TRUE(program);
  test::Session session(program);
  Operation *end = func.front().getTerminator();
  for (int round = 0; round < 40; ++round) {
    std::map<std::string, test::Values> outputs =
        session.run("predict", {numbers(24), numbers(24)});
    for (auto [i, value] : llvm::enumerate(end->getOperands())) {
      const NumberRange &range = ranges.of(value).range;
      SCOPED_TRACE("%v" + std::to_string(i + 2) + ": " + range.text());
      expectWithin(range, outputs["y" + std::to_string(i)], 6);
      if (HasFatalFailure())
        return;
    }
  }
  for (Value value : end->getOperands())
    proven += !ranges.of(value).range.isUnknown(), ++values;
}

TEST_F(RangesTest, OfGraphsHold) {
  for (int i = 0; i < 60 && !HasFatalFailure(); ++i)
    checkGraph(drawGraph(random));
  std::printf("%d of %d values with a range\n", proven, values);
  EXPECT_GT(proven, values / 2);
}

} // namespace mpc::test
