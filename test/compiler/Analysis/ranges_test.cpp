//===- ranges_test.cpp - What is proven, and what programs compute --------===//
//
// Every op that says what its results can be is compiled and run on numbers of
// all sizes, infinities and NaN among them: what comes out must be what follows
// from what went in. Then random graphs, of whose inputs nothing is known.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Ranges.h"
#include "compiler/Dialect/Train/IR/AmpLowering.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "test/gradients/module.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <set>

using namespace mlir;
using namespace mpc;
using amp::NumberRange;

namespace {

constexpr float kLowest = std::numeric_limits<float>::lowest();

/// What is not in the files that hold one of each op.
const char *const kMoreOps = R"(
  func.func @more(%x: tensor<5x3xf32>, %c: tensor<5x3xi1>, %i: tensor<5x3xi64>) {
    %0 = train.cast %x {to = f32} : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %1 = train.cast %c {to = f32} : (tensor<5x3xi1>) -> tensor<5x3xf32>
    %2 = train.cast %i {to = f32} : (tensor<5x3xi64>) -> tensor<5x3xf32>
    %3 = train.mul %x, %x : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    return
  })";

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

double RangesTest::number(int kind) {
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

test::Values RangesTest::numbers(int64_t count) {
  int kind = random() % 11;
  test::Values result(count);
  for (double &value : result)
    value = number(kind);
  return result;
}

NumberRange RangesTest::rangeOf(Type type, const test::Values &values) {
  std::vector<float> floats(values.begin(), values.end());
  auto shape = cast<RankedTensorType>(type).clone(Float32Type::get(&context));
  ConstantFacts constants;
  return factsOf(DenseElementsAttr::get(cast<ShapedType>(shape),
                                        ArrayRef<float>(floats)),
                 constants)
      .range;
}

/// Fails unless `values`, in rows of `extent`, are what `range` says.
void expectWithin(const NumberRange &range, const test::Values &values,
                  size_t extent) {
  // Sums of this test are not those of a program.
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

size_t rowExtent(Type type) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
  return shape.empty() ? 1 : std::max<int64_t>(shape.back(), 1);
}

FloatType floatOf(Type type) {
  return dyn_cast<FloatType>(getElementTypeOrSelf(type));
}

void nameValues(func::FuncOp func) {
  Builder builder(func.getContext());
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    func.setArgAttr(i, "mpc.name",
                    builder.getStringAttr("x" + std::to_string(i)));
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    func.setResultAttr(i, "mpc.name",
                       builder.getStringAttr("y" + std::to_string(i)));
}

/// What is no float is known: conditions, and indices.
Value makeIntegers(OpBuilder &builder, Location loc, Type type,
                   std::mt19937 &random) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<APInt> values;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    values.push_back(APInt(tensor.getElementTypeBitWidth(), random() % 2));
  return train::ConstantOp::create(
      builder, loc, ElementsAttr(DenseElementsAttr::get(tensor, values)));
}

/// False if the op has no code.
bool RangesTest::checkOp(Operation *op) {
  if (!isa<train::LinalgLoweringOpInterface, train::KernelOpInterface>(op))
    return false;
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  SCOPED_TRACE(text);
  Location loc = op->getLoc();
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  auto func = func::FuncOp::create(builder, loc, "predict",
                                   builder.getFunctionType({}, {}));
  Block *body = func.addEntryBlock();
  builder.setInsertionPointToStart(body);
  auto wide = [&](Type type) {
    return cast<RankedTensorType>(type).clone(builder.getF32Type());
  };
  SmallVector<Value> operands, results;
  for (Value operand : op->getOperands()) {
    auto constant = operand.getDefiningOp<train::ConstantOp>();
    if (constant)
      operands.push_back(builder.clone(*constant)->getResult(0));
    else if (floatOf(operand.getType()))
      operands.push_back(body->addArgument(wide(operand.getType()), loc));
    else
      operands.push_back(makeIntegers(builder, loc, operand.getType(), random));
  }
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  for (OpResult result : copy->getResults())
    if (floatOf(result.getType())) {
      result.setType(wide(result.getType()));
      results.push_back(result);
    }
  if (results.empty())
    return false;
  func::ReturnOp::create(builder, loc, results);
  func.setFunctionType(builder.getFunctionType(body->getArgumentTypes(),
                                               ValueRange(results).getTypes()));
  nameValues(func);
  // Of the op alone; compiling takes the module apart.
  OwningOpRef<ModuleOp> compiled = module->clone();
  test::ProgramPtr program = test::buildProgram(*compiled);
  EXPECT_TRUE(program);
  if (!program)
    return false;

  test::Session session(program);
  ConstantFacts constants;
  Ranges known(func, constants);
  for (int round = 0; round < 80; ++round) {
    std::vector<test::Values> inputs;
    SmallVector<NumberRange> ranges, found(copy->getNumResults());
    for (Value operand : operands) {
      if (!isa<BlockArgument>(operand)) {
        ranges.push_back(known.of(operand).range);
        continue;
      }
      int64_t count = cast<ShapedType>(operand.getType()).getNumElements();
      inputs.push_back(numbers(count));
      ranges.push_back(rangeOf(operand.getType(), inputs.back()));
    }
    cast<amp::RangeOpInterface>(copy).inferRanges(ranges, found);
    std::map<std::string, test::Values> outputs =
        session.run("predict", inputs);
    std::string given;
    for (const NumberRange &range : ranges)
      given += " " + range.text();
    SCOPED_TRACE("of" + given);
    for (auto [i, result] : llvm::enumerate(results)) {
      const NumberRange &range =
          found[cast<OpResult>(result).getResultNumber()];
      SCOPED_TRACE(range.text());
      expectWithin(range, outputs["y" + std::to_string(i)],
                   rowExtent(result.getType()));
      proven += !range.isUnknown(), ++values;
      if (HasFatalFailure())
        return true;
    }
  }
  return true;
}

TEST_F(RangesTest, OfOpsHold) {
  std::set<std::string> checked;
  ParserConfig config(&context);
  std::vector<OwningOpRef<ModuleOp>> samples;
  samples.push_back(parseSourceString<ModuleOp>(kMoreOps, config));
  for (const char *file : {"/Train/ops.mlir", "/Train/ops-elementwise.mlir",
                           "/Train/ops-nn.mlir", "/Train/attention.mlir"})
    samples.push_back(parseSourceFile<ModuleOp>(
        std::string(MPC_DIALECT_TESTS) + file, config));
  for (auto &module : samples) {
    ASSERT_TRUE(bool(module));
    module->walk([&](amp::RangeOpInterface op) {
      if (checkOp(op))
        checked.insert(op->getName().getStringRef().str());
    });
  }
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<amp::RangeOpInterface>() &&
        name.getDialectNamespace() == "train" &&
        (name.hasInterface<train::LinalgLoweringOpInterface>() ||
         name.hasInterface<train::KernelOpInterface>())) {
      EXPECT_TRUE(checked.count(name.getStringRef().str()))
          << "'" << name.getStringRef().str() << "' was not tried";
    }
  std::printf("%zu ops, %d of %d results with a range\n", checked.size(),
              proven, values);
  EXPECT_GT(proven, values / 2);
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// Random ops on rows of 6, of two inputs, weights and masks; all values are
/// results.
std::string drawGraph(std::mt19937 &random) {
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

} // namespace
