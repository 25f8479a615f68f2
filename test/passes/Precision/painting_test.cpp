//===- painting_test.cpp - The minimum cut against painting ---------------===//
//
// Other frameworks paint ops by lists. PyTorch's autocast gives each op on a
// list its type and lets the others follow their operands; TensorFlow's
// grappler paints a graph in four passes. Both are implemented here with our
// classes, for the training step that mpc makes of a model. Neither may need
// fewer casts or move fewer bytes than the minimum cut. Casts of weights and
// constants are free in all three, because they exist in both types.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Exec/IR/Exec.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/AmpLowering.h"
#include "passes/Driver/Pipeline.h"
#include "passes/Precision/Passes.h"
#include "test/gradients/harness.h"
#include "test/passes/Precision/painting.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

namespace mpc::test {
namespace {

class Paintings : public testing::TestWithParam<const char *> {
protected:
  Paintings() {
    DialectRegistry registry;
    registry.insert<amp::AmpDialect, exec::ExecDialect, train::TrainDialect,
                    func::FuncDialect, arith::ArithDialect>();
    train::registerAmpLowering(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The training step of the model, before precisions are assigned.
  OwningOpRef<ModuleOp> differentiate(const std::string &model) {
    CompileOptions options;
    options.model = model;
    options.stopAfter = "grad";
    options.dumpStages = folder.path("stages");
    CompileResult result = mpc::compile(options);
    EXPECT_FALSE(failed(result.failure)) << result.diagnostics << result.error;
    return parseSourceFile<ModuleOp>(folder.path("stages/2-grad.mlir"),
                                     ParserConfig(&context));
  }

  test::Folder folder;
  MLIRContext context;
};

TEST_P(Paintings, NeverCostLessThanTheMinimumCut) {
  auto module =
      differentiate(std::string(MPC_GOLDENS "/") + GetParam() + ".onnx");
  ASSERT_TRUE(module);
  auto step = module->lookupSymbol<func::FuncOp>("step");
  ASSERT_TRUE(step);
  FloatType low = BFloat16Type::get(&context);
  Cost autocast = costOf(step, paintAsAutocast(step, low));
  Cost grappler = costOf(step, paintAsGrappler(step, low));

  PassManager passes(&context);
  AssignPrecisionPassOptions options;
  options.minimumGain = 0;
  passes.addPass(createAssignPrecisionPass(options));
  passes.addNestedPass<func::FuncOp>(createElideCastsPass());
  ASSERT_TRUE(succeeded(passes.run(*module)));
  Cost cut = costOf(step);

  auto print = [](const char *name, const Cost &cost) {
    std::printf("  %-10s %5lld casts %12lld bytes cast %13lld bytes moved\n",
                name, (long long)cost.casts, (long long)cost.castBytes,
                (long long)cost.bytes);
  };
  std::printf("%s\n", GetParam());
  print("cut", cut);
  print("autocast", autocast);
  print("grappler", grappler);
  for (const Cost &other : {autocast, grappler}) {
    EXPECT_LE(cut.casts, other.casts);
    EXPECT_LE(cut.castBytes, other.castBytes);
    EXPECT_LT(cut.bytes, other.bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Models, Paintings,
    testing::Values("transformers/plain-script",
                    "families/convolutional/resnet-script",
                    "families/images/unet-bilinear-script"),
    [](const testing::TestParamInfo<const char *> &info) {
      std::string name(llvm::StringRef(info.param).rsplit('/').second);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

} // namespace
} // namespace mpc::test
