//===- ranges_of_ops_test.cpp - What is proven of each op -----------------===//
//
// Compiles every op that infers a range for its results, and runs it on numbers
// of all magnitudes, including infinities and NaN: results must be in the range
// inferred from the inputs. Also tests random graphs with unknown inputs.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/AmpLowering.h"
#include "test/compiler/Analysis/ranges.h"
#include "test/gradients/module.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace mpc::test {

/// Cases that are not in the files with one of each op.
const char *const kMoreOps = R"(
  func.func @more(%x: tensor<5x3xf32>, %c: tensor<5x3xi1>, %i: tensor<5x3xi64>) {
    %0 = train.cast %x {to = f32} : (tensor<5x3xf32>) -> tensor<5x3xf32>
    %1 = train.cast %c {to = f32} : (tensor<5x3xi1>) -> tensor<5x3xf32>
    %2 = train.cast %i {to = f32} : (tensor<5x3xi64>) -> tensor<5x3xf32>
    %3 = train.mul %x, %x : (tensor<5x3xf32>, tensor<5x3xf32>) -> tensor<5x3xf32>
    return
  })";

/// Values that are not floats are constants: conditions and indices.
static Value makeIntegers(OpBuilder &builder, Location loc, Type type,
                          std::mt19937 &random) {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<APInt> values;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    values.push_back(APInt(tensor.getElementTypeBitWidth(), random() % 2));
  return train::ConstantOp::create(
      builder, loc, ElementsAttr(DenseElementsAttr::get(tensor, values)));
}

/// Returns false if no code can be generated for the op.
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
  // Clone, because compiling destroys the module.
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
  for (const char *file :
       {"/Train/ops.mlir", "/Train/ops-elementwise.mlir", "/Train/ops-nn.mlir",
        "/Train/attention.mlir", "/Train/recurrent.mlir"})
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

} // namespace mpc::test
