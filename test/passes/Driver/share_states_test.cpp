//===- share_states_test.cpp - Devices that share states ------------------===//

#include "passes/Driver/ShareStates.h"

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/AmpLowering.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;

namespace {

class ShareStates : public testing::Test {
protected:
  ShareStates() {
    context.loadDialect<train::TrainDialect, func::FuncDialect>();
  }

  OwningOpRef<ModuleOp> parse(llvm::StringRef text) {
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    EXPECT_TRUE(bool(module)) << text.str();
    return module;
  }

  static std::string statesOf(ModuleOp module) {
    EXPECT_TRUE(succeeded(verify(module)));
    std::string text;
    llvm::raw_string_ostream os(text);
    for (auto state : module.getOps<train::StateOp>())
      os << state.getSymName() << ": " << state.getType() << "\n";
    return text;
  }

  static std::string readsOf(ModuleOp module) {
    std::string text;
    module.walk(
        [&](train::ReadOp read) { text += read.getState().str() + " "; });
    return text;
  }

  MLIRContext context;
};

const char *const kPlain = R"(
train.state @w parameter : tensor<4xf32>
train.state @step control : tensor<i64>
)";

TEST_F(ShareStates, AddsWhatTheOthersHaveWhereItStands) {
  auto cpu = parse(kPlain);
  auto gpu = parse(R"(
    train.state @first optimizer : tensor<2xf32>
    train.state @w parameter : tensor<4xf32>
    train.state @w.bf16 working_copy {of = @w} : tensor<4xbf16>
    train.state @step control : tensor<i64>
    train.state @scales optimizer : tensor<2xf32> = dense<[1.0, 2.0]> : tensor<2xf32>
  )");
  std::string all = statesOf(*gpu);
  ASSERT_TRUE(succeeded(shareStates({*cpu, *gpu})));
  EXPECT_EQ(statesOf(*cpu), all);
  EXPECT_EQ(statesOf(*gpu), all);
  auto scales = cpu->lookupSymbol<train::StateOp>("scales");
  EXPECT_EQ(scales.getInitialValueAttr(),
            gpu->lookupSymbol<train::StateOp>("scales").getInitialValueAttr());
}

TEST_F(ShareStates, LeavesOneDeviceAlone) {
  auto module = parse(kPlain);
  std::string before = statesOf(*module);
  ASSERT_TRUE(succeeded(agreeOnConstants({*module})));
  ASSERT_TRUE(succeeded(shareStates({*module})));
  EXPECT_EQ(statesOf(*module), before);
}

// The compiler numbers the constants that it makes, for each device from 0.
TEST_F(ShareStates, TellsConstantsApart) {
  auto cpu = parse(R"(
    train.state @constant.0 constant : tensor<2xf32> = dense<[1.0, 2.0]> : tensor<2xf32>
    train.state @constant.1 constant : tensor<i64> = dense<7> : tensor<i64>
  )");
  auto gpu = parse(R"(
    train.state @constant.0 constant : tensor<2xf32> = dense<[3.0, 2.0]> : tensor<2xf32>
    train.state @constant.1 constant : tensor<i64> = dense<7> : tensor<i64>
    func.func @f() -> (tensor<2xf32>, tensor<i64>) {
      %0 = train.read @constant.0 : tensor<2xf32>
      %1 = train.read @constant.1 : tensor<i64>
      return %0, %1 : tensor<2xf32>, tensor<i64>
    }
  )");
  ASSERT_TRUE(succeeded(shareStates({*cpu, *gpu})));
  EXPECT_EQ(statesOf(*cpu), statesOf(*gpu));
  EXPECT_EQ(readsOf(*gpu), "constant.0.1 constant.1 ");
  auto found = cpu->lookupSymbol<train::StateOp>("constant.0.1");
  auto value = cast<DenseElementsAttr>(found.getInitialValueAttr());
  EXPECT_EQ(*value.value_begin<float>(), 3);
}

const char *const kWide = R"(
  train.state @w constant : tensor<2xf32> = dense<[1.0, 1.001]> : tensor<2xf32>
)";
const char *const kNarrow = R"(
  train.state @w constant : tensor<2xbf16> = dense<[1.0, 1.0]> : tensor<2xbf16>
  func.func @f() -> tensor<2xbf16> {
    %0 = train.read @w : tensor<2xbf16>
    return %0 : tensor<2xbf16>
  }
)";

// A state that is rounded on one device but not on another becomes a working
// copy there, which the runtime makes.
TEST_F(ShareStates, CopiesFrozenWeights) {
  for (bool narrowFirst : {false, true}) {
    auto wide = parse(kWide), narrow = parse(kNarrow);
    SmallVector<ModuleOp> modules = {*wide, *narrow};
    if (narrowFirst)
      std::swap(modules[0], modules[1]);
    ASSERT_TRUE(succeeded(agreeOnConstants(modules)));
    ASSERT_TRUE(succeeded(shareStates(modules)));
    EXPECT_EQ(statesOf(*wide), "w: tensor<2xf32>\nw.bf16: tensor<2xbf16>\n");
    EXPECT_EQ(statesOf(*narrow), statesOf(*wide));
    EXPECT_EQ(readsOf(*narrow), "w.bf16 ");
    auto copy = wide->lookupSymbol<train::StateOp>("w.bf16");
    EXPECT_EQ(copy.getKind(), train::StateKind::WorkingCopy);
    EXPECT_EQ(copy.getOf(), "w");
    EXPECT_FALSE(copy.getInitialValueAttr());
  }
}

TEST_F(ShareStates, RoundsFrozenWeightsOnceWhereAllDo) {
  auto one = parse(kNarrow), other = parse(kNarrow);
  ASSERT_TRUE(succeeded(agreeOnConstants({*one, *other})));
  ASSERT_TRUE(succeeded(shareStates({*one, *other})));
  EXPECT_EQ(statesOf(*one), "w: tensor<2xbf16>\n");
  EXPECT_EQ(statesOf(*other), statesOf(*one));
}

TEST_F(ShareStates, RefusesTwoMeaningsOfOneName) {
  auto cpu = parse(kPlain);
  auto gpu = parse("train.state @w parameter : tensor<5xf32>");
  std::string message;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { message += diagnostic.str(); });
  EXPECT_TRUE(failed(shareStates({*cpu, *gpu})));
  EXPECT_NE(message.find("state 'w' is not the same on all devices"),
            std::string::npos)
      << message;
}

TEST_F(ShareStates, NamesACopyOtherwiseWhereItsNameIsTaken) {
  auto wide = parse(kWide);
  auto narrow =
      parse(std::string(kNarrow) + "train.state @w.bf16 control : tensor<i64>");
  ASSERT_TRUE(succeeded(agreeOnConstants({*wide, *narrow})));
  ASSERT_TRUE(succeeded(shareStates({*wide, *narrow})));
  auto copy = wide->lookupSymbol<train::StateOp>("mpc.w.bf16");
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy.getRole(), train::StateRole::WorkingCopy);
  EXPECT_EQ(copy.getOf(), "w");
}

} // namespace
