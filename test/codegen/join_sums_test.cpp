//===- join_sums_test.cpp - Sums of the parts of a concatenation ----------===//
//
// mpc-sink-into-joins sums the parts of a concatenation instead of the whole:
// the same elements in the same order, so not one bit may change.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/AmpLowering.h"
#include "compiler/Reference/Interpreter.h"
#include "passes/Fusion/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mpc;

namespace {

/// A join of parts of 2^17 elements and more along the second dimension, its
/// sum down the rows, and another reader of it.
const char *const kJoin = R"(
  func.func @f(%x: tensor<64x8x6x300xbf16>, %y: tensor<64x8x2x300xbf16>, %z: tensor<64x8x1x300xbf16>) -> (tensor<2700xf32>, tensor<512x2700xbf16>) {
    %0 = train.concat %x, %y, %z {axis = 2 : i64} : (tensor<64x8x6x300xbf16>, tensor<64x8x2x300xbf16>, tensor<64x8x1x300xbf16>) -> tensor<64x8x9x300xbf16>
    %1 = train.reshape %0 : (tensor<64x8x9x300xbf16>) -> tensor<512x2700xbf16>
    %2 = train.reduce_sum %1 {axes = array<i64: 0>} : (tensor<512x2700xbf16>) -> tensor<2700xf32>
    %3 = train.relu %1 : (tensor<512x2700xbf16>) -> tensor<512x2700xbf16>
    return %2, %3 : tensor<2700xf32>, tensor<512x2700xbf16>
  })";

/// The elements of the results of kJoin, and whether parts are summed.
std::vector<double> run(bool sinks, bool &sumsParts) {
  DialectRegistry registry;
  registry.insert<amp::AmpDialect, train::TrainDialect, func::FuncDialect>();
  train::registerAmpLowering(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(kJoin, &context);
  EXPECT_TRUE(bool(module));
  PassManager manager(&context);
  manager.addPass(createLowerToLinalgPass());
  if (sinks) {
    manager.addPass(createCSEPass());
    manager.addNestedPass<func::FuncOp>(createSinkIntoJoinsPass());
  }
  EXPECT_TRUE(succeeded(manager.run(*module)));
  std::string lowered;
  llvm::raw_string_ostream(lowered) << *module;
  sumsParts = lowered.find("tensor<300xf32>") != std::string::npos &&
              lowered.find("tensor<600xf32>") != std::string::npos &&
              lowered.find("tensor<1800xf32>") != std::string::npos;

  auto func = *module->getOps<func::FuncOp>().begin();
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-100, 100);
  std::vector<HostTensor> arguments;
  for (Type type : func.getArgumentTypes()) {
    HostTensor tensor = HostTensor::zeros(cast<RankedTensorType>(type));
    for (auto &element : tensor.elements)
      element.real =
          reference::roundTo(tensor.type.getElementType(), uniform(random));
    arguments.push_back(std::move(tensor));
  }
  auto results = reference::Interpreter().run(func, std::move(arguments));
  std::vector<double> numbers;
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
    return numbers;
  }
  for (const HostTensor &tensor : *results)
    for (const auto &element : tensor.elements)
      numbers.push_back(element.real);
  return numbers;
}

TEST(JoinSums, KeepEveryBit) {
  bool sumsParts = false;
  const std::vector<double> expected = run(false, sumsParts);
  EXPECT_FALSE(sumsParts);
  const std::vector<double> found = run(true, sumsParts);
  EXPECT_TRUE(sumsParts);
  EXPECT_EQ(found.size(), size_t(2700 + 512 * 2700));
  EXPECT_EQ(found, expected);
}

} // namespace
