//===- transparent_test.cpp - Ops of class transparent commute with casts -===//
//
// op(cast(x)) must equal cast(op(x)) bit for bit, in both 16-bit types, through
// the whole compiler. The test tries all ops that are transparent according to
// their interface, in the files that have one of each op; it fails if an op is
// missing there.
//
// The property concerns floats. Rounding makes elements equal, and max_pool
// takes the first of equal elements, so its indices and the sign of a zero may
// differ. The sign of a zero may also differ for max_pool_grad, which adds to
// zero: 0 + -0 is 0.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Exec/IR/Exec.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/AmpLowering.h"
#include "test/gradients/module.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <set>

using namespace mlir;
using namespace mpc;

namespace {

/// Shapes that fill vectors with a remainder, and windows of every kind.
const char *const kMoreOps = R"(
  func.func @more(%x: tensor<5x33xf32>, %y: tensor<2x3x9x11xf32>, %z: tensor<2x9x11x3xf32>,
                  %g: tensor<2x4x5x3xf32>, %i: tensor<2x4x5x3xi8>, %c: tensor<i1>,
                  %rows: tensor<7x3xi32>, %m: tensor<5x1xi1>) {
    %0 = train.neg %x : (tensor<5x33xf32>) -> tensor<5x33xf32>
    %1 = train.relu %x : (tensor<5x33xf32>) -> tensor<5x33xf32>
    %2 = train.select %c, %x, %x : (tensor<i1>, tensor<5x33xf32>, tensor<5x33xf32>) -> tensor<5x33xf32>
    %3 = train.transpose %y {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x3x9x11xf32>) -> tensor<2x9x11x3xf32>
    %4, %5 = train.max_pool %y {kernel_shape = array<i64: 3, 2>, strides = array<i64: 2, 1>, dilations = array<i64: 1, 2>, pads_begin = array<i64: 1, 0>, pads_end = array<i64: 0, 1>} : (tensor<2x3x9x11xf32>) -> (tensor<2x3x4x10xf32>, tensor<2x3x4x10xi8>)
    %6, %7 = train.max_pool %z {channels_last, kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x9x11x3xf32>) -> (tensor<2x4x5x3xf32>, tensor<2x4x5x3xi8>)
    %8 = train.max_pool_grad %g, %i {channels_last, input_shape = array<i64: 2, 9, 11, 3>, kernel_shape = array<i64: 2, 2>, strides = array<i64: 2, 2>, dilations = array<i64: 1, 1>, pads_begin = array<i64: 0, 0>, pads_end = array<i64: 0, 0>} : (tensor<2x4x5x3xf32>, tensor<2x4x5x3xi8>) -> tensor<2x9x11x3xf32>
    %9 = train.embedding %x, %rows : (tensor<5x33xf32>, tensor<7x3xi32>) -> tensor<7x3x33xf32>
    %10:3 = train.split %y {axis = 3 : i64, sizes = array<i64: 2, 8, 1>} : (tensor<2x3x9x11xf32>) -> (tensor<2x3x9x2xf32>, tensor<2x3x9x8xf32>, tensor<2x3x9x1xf32>)
    %11 = train.slice %y {offsets = array<i64: 1, 0, 2, 3>} : (tensor<2x3x9x11xf32>) -> tensor<1x3x7x5xf32>
    %12 = train.select %m, %x, %x : (tensor<5x1xi1>, tensor<5x33xf32>, tensor<5x33xf32>) -> tensor<5x33xf32>
    return
  })";

FloatType floatOf(Type type) {
  return dyn_cast<FloatType>(getElementTypeOrSelf(type));
}

Type withElement(Type type, Type element) {
  return cast<RankedTensorType>(type).clone(element);
}

class Transparent : public testing::Test {
protected:
  Transparent() {
    DialectRegistry registry;
    registry.insert<amp::AmpDialect, exec::ExecDialect, train::TrainDialect,
                    func::FuncDialect, arith::ArithDialect>();
    train::registerAmpLowering(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    ParserConfig config(&context);
    for (const char *file : {"/Train/ops.mlir", "/Train/ops-elementwise.mlir",
                             "/Train/ops-nn.mlir", "/Train/attention.mlir",
                             "/Train/attention-packed.mlir",
                             "/Train/recurrent.mlir", "/Amp/ops.mlir"})
      samples.push_back(parseSourceFile<ModuleOp>(
          std::string(MPC_DIALECT_TESTS) + file, config));
    samples.push_back(parseSourceString<ModuleOp>(kMoreOps, config));
  }

  MLIRContext context;
  std::vector<OwningOpRef<ModuleOp>> samples;
  std::mt19937 random{1};

  Value makeOperand(OpBuilder &builder, Operation *op, Type type);
  Operation *cloneAs(OpBuilder &builder, Operation *op, Type element,
                     ArrayRef<Value> operands);
  OwningOpRef<ModuleOp> bothOrders(Operation *op, FloatType low);
  double number(int kind);
  void check(Operation *op, FloatType low);
};

/// Values that are not floats are constants: conditions, and positions inside a
/// window.
Value Transparent::makeOperand(OpBuilder &builder, Operation *op, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  int64_t end = 2;
  if (auto kernel = op->getAttrOfType<DenseI64ArrayAttr>("kernel_shape"))
    end =
        std::accumulate(kernel.asArrayRef().begin(), kernel.asArrayRef().end(),
                        int64_t(1), std::multiplies<>());
  SmallVector<APInt> values;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    values.push_back(APInt(tensor.getElementTypeBitWidth(), random() % end));
  return train::ConstantOp::create(
      builder, op->getLoc(),
      ElementsAttr(DenseElementsAttr::get(tensor, values)));
}

Operation *Transparent::cloneAs(OpBuilder &builder, Operation *op, Type element,
                                ArrayRef<Value> operands) {
  Operation *copy = builder.clone(*op);
  copy->setOperands(operands);
  for (OpResult result : copy->getResults())
    if (floatOf(result.getType()))
      result.setType(withElement(result.getType(), element));
  return copy;
}

/// A program with the results of `op` in both orders: cast first, cast last.
OwningOpRef<ModuleOp> Transparent::bothOrders(Operation *op, FloatType low) {
  Location loc = op->getLoc();
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(module->getBody());
  auto func = func::FuncOp::create(builder, loc, "predict",
                                   builder.getFunctionType({}, {}));
  Block *body = func.addEntryBlock();
  builder.setInsertionPointToStart(body);
  Type f32 = builder.getF32Type();
  auto toType = [&](Value value, Type element) -> Value {
    return amp::CastOp::create(builder, loc,
                               withElement(value.getType(), element), value);
  };

  SmallVector<Value> wide, narrow;
  for (Value operand : op->getOperands()) {
    if (!floatOf(operand.getType())) {
      wide.push_back(makeOperand(builder, op, operand.getType()));
      narrow.push_back(wide.back());
      continue;
    }
    wide.push_back(body->addArgument(withElement(operand.getType(), f32), loc));
    narrow.push_back(toType(wide.back(), low));
  }
  Operation *first = cloneAs(builder, op, low, narrow);
  Operation *last = cloneAs(builder, op, f32, wide);
  SmallVector<Value> results;
  SmallVector<std::string> names;
  for (auto [before, after] :
       llvm::zip(first->getResults(), last->getResults())) {
    if (!floatOf(before.getType()))
      continue;
    std::string number = std::to_string(results.size() / 2);
    results.push_back(toType(before, f32));
    results.push_back(toType(toType(after, low), f32));
    names.push_back("first" + number);
    names.push_back("last" + number);
  }
  func::ReturnOp::create(builder, loc, results);
  func.setFunctionType(builder.getFunctionType(body->getArgumentTypes(),
                                               ValueRange(results).getTypes()));
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    func.setArgAttr(i, "mpc.name",
                    builder.getStringAttr("x" + std::to_string(i)));
  for (auto [i, name] : llvm::enumerate(names))
    func.setResultAttr(i, "mpc.name", builder.getStringAttr(name));
  return module;
}

/// Numbers for which rounding is delicate, and arbitrary f32 bit patterns.
double Transparent::number(int kind) {
  static const float edges[] = {
      0.0f,     -0.0f,    1.0f,     1.00048828f,   1.00390625f, 1.01171875f,
      2049,     -2051,    65504,    65519.99f,     -65520,      1e6f,
      6.1e-5f,  -6.0e-5f, 2.98e-8f, 2.9802322e-8f, 1e-40f,      -1e-45f,
      3.39e38f, -3.4e38f, INFINITY, -INFINITY,     NAN,         1e-30f};
  if (kind % 3 == 0)
    return edges[random() % std::size(edges)];
  if (kind % 3 == 1)
    return float(int32_t(random())) / float(1 << 28);
  uint32_t bits = random();
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

bool isSame(double a, double b, bool zerosAreEqual) {
  if (std::isnan(a))
    return std::isnan(b);
  return a == b && (std::signbit(a) == std::signbit(b) || zerosAreEqual);
}

void Transparent::check(Operation *op, FloatType low) {
  OwningOpRef<ModuleOp> module = bothOrders(op, low);
  std::string text;
  llvm::raw_string_ostream(text) << *op;
  SCOPED_TRACE(text);
  auto func = *module->getOps<func::FuncOp>().begin();
  SmallVector<int64_t> sizes;
  for (Type type : func.getArgumentTypes())
    sizes.push_back(cast<RankedTensorType>(type).getNumElements());

  test::ProgramPtr program = test::buildProgram(*module);
  ASSERT_TRUE(program);
  test::Session session(program);
  bool zerosAreEqual = isa<train::MaxPoolOp, train::MaxPoolGradOp>(op);
  for (int round = 0; round < 60; ++round) {
    std::vector<test::Values> inputs;
    for (int64_t size : sizes) {
      test::Values values(size);
      for (double &value : values)
        value = number(round);
      inputs.push_back(values);
    }
    std::map<std::string, test::Values> outputs =
        session.run("predict", inputs);
    for (size_t i = 0; outputs.count("first" + std::to_string(i)); ++i) {
      const test::Values &first = outputs["first" + std::to_string(i)];
      const test::Values &last = outputs["last" + std::to_string(i)];
      for (size_t j = 0; j < first.size(); ++j)
        ASSERT_TRUE(isSame(first[j], last[j], zerosAreEqual))
            << "element " << j << " of result " << i << ": cast first "
            << first[j] << ", cast last " << last[j];
    }
  }
}

TEST_F(Transparent, EveryOpWithAClassIsSampled) {
  std::set<std::string> sampled;
  for (auto &module : samples) {
    ASSERT_TRUE(bool(module));
    module->walk([&](Operation *op) {
      sampled.insert(op->getName().getStringRef().str());
    });
  }
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.hasInterface<amp::PrecisionOpInterface>()) {
      EXPECT_TRUE(sampled.count(name.getStringRef().str()))
          << "'" << name.getStringRef().str()
          << "' is in none of the files that hold one of each op";
    }
}

TEST_F(Transparent, CommutesWithACast) {
  int count = 0;
  std::set<std::string> names;
  for (auto &module : samples) {
    ASSERT_TRUE(bool(module));
    module->walk([&](amp::PrecisionOpInterface op) {
      if (op.getPrecisionClass(nullptr) != amp::PrecisionClass::Transparent ||
          llvm::none_of(op->getResultTypes(), floatOf))
        return;
      ++count;
      names.insert(op->getName().getStringRef().str());
      check(op, Float16Type::get(&context));
      check(op, BFloat16Type::get(&context));
    });
  }
  std::printf("%d samples of %zu ops\n", count, names.size());
  for (const char *name :
       {"train.neg", "train.relu", "train.select", "train.reshape",
        "train.transpose", "train.slice", "train.split", "train.max_pool",
        "train.max_pool_grad", "train.embedding"})
    EXPECT_TRUE(names.count(name)) << name;
}

} // namespace
