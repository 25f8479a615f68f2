//===- update_scale_test.cpp - The scaler against a reference -------------===//
//
// Every pattern of overflows of length up to 16, for several settings: the
// folder of amp.update_scale and its lowering must both do what twenty plain
// lines do.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/AmpLowering.h"
#include "compiler/Dialect/Train/IR/Train.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

using namespace mlir;
using namespace mpc;

namespace {

struct Settings {
  float start, growth, backoff;
  int32_t interval;
  float floor, ceiling;
};

struct State {
  float scale;
  int32_t streak;
  bool operator==(const State &other) const {
    return scale == other.scale && streak == other.streak;
  }
};

/// The reference: PyTorch's _amp_update_scale_ with bounds.
State advance(const Settings &settings, State state, bool finite) {
  if (!finite) {
    state.scale *= settings.backoff;
    if (state.scale < settings.floor)
      state.scale = settings.floor;
    state.streak = 0;
    return state;
  }
  state.streak += 1;
  if (state.streak == settings.interval) {
    state.scale *= settings.growth;
    if (state.scale > settings.ceiling)
      state.scale = settings.ceiling;
    state.streak = 0;
  }
  return state;
}

class UpdateScale : public testing::TestWithParam<Settings> {
protected:
  UpdateScale() {
    DialectRegistry registry;
    registry.insert<amp::AmpDialect, train::TrainDialect, arith::ArithDialect,
                    linalg::LinalgDialect, tensor::TensorDialect>();
    train::registerAmpLowering(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();

    Location loc = UnknownLoc::get(&context);
    module = ModuleOp::create(loc);
    Block *body = module->getBody();
    OpBuilder builder = OpBuilder::atBlockEnd(body);
    auto tensor = [](Type element) {
      return RankedTensorType::get({}, element);
    };
    Value scale = body->addArgument(tensor(builder.getF32Type()), loc);
    Value streak = body->addArgument(tensor(builder.getI32Type()), loc);
    Value finite = body->addArgument(tensor(builder.getI1Type()), loc);
    const Settings &s = GetParam();
    op = amp::UpdateScaleOp::create(
        builder, loc, scale, streak, finite, llvm::APFloat(s.growth),
        llvm::APFloat(s.backoff), s.interval, llvm::APFloat(s.floor),
        llvm::APFloat(s.ceiling));
    SmallVector<Value> results;
    EXPECT_TRUE(
        succeeded(cast<train::LinalgLoweringOpInterface>(op.getOperation())
                      .lowerToLinalg(builder, results)));
    lowered = results[0].getDefiningOp<linalg::GenericOp>();
    EXPECT_TRUE(lowered && lowered == results[1].getDefiningOp());
  }

  State fold(State state, bool finite) {
    auto tensor = [](Type element) {
      return RankedTensorType::get({}, element);
    };
    Builder b(&context);
    SmallVector<OpFoldResult> results;
    EXPECT_TRUE(succeeded(
        op->fold({DenseElementsAttr::get(tensor(b.getF32Type()), state.scale),
                  DenseElementsAttr::get(tensor(b.getI32Type()), state.streak),
                  DenseElementsAttr::get(tensor(b.getI1Type()), finite)},
                 results)));
    auto at = [&](int i) {
      return cast<DenseElementsAttr>(cast<Attribute>(results[i]));
    };
    return {at(0).getSplatValue<float>(), at(1).getSplatValue<int32_t>()};
  }

  /// Runs the body of the generic by folding one scalar op after the other.
  State runLowered(State state, bool finite) {
    Builder b(&context);
    Block *body = lowered.getBody();
    DenseMap<Value, Attribute> values;
    values[body->getArgument(0)] = b.getF32FloatAttr(state.scale);
    values[body->getArgument(1)] = b.getI32IntegerAttr(state.streak);
    values[body->getArgument(2)] = b.getBoolAttr(finite);
    for (Operation &scalar : body->without_terminator()) {
      SmallVector<Attribute> operands;
      for (Value operand : scalar.getOperands())
        operands.push_back(values.lookup(operand));
      SmallVector<OpFoldResult> folded;
      EXPECT_TRUE(succeeded(scalar.fold(operands, folded)));
      // A folder answers with a constant or with one of the operands.
      auto attr = dyn_cast<Attribute>(folded[0]);
      values[scalar.getResult(0)] =
          attr ? attr : values.lookup(cast<Value>(folded[0]));
    }
    Operation *yield = body->getTerminator();
    return {
        cast<FloatAttr>(values.lookup(yield->getOperand(0)))
            .getValue()
            .convertToFloat(),
        static_cast<int32_t>(
            cast<IntegerAttr>(values.lookup(yield->getOperand(1))).getInt())};
  }

  /// One transition, computed three ways. Patterns share transitions, so each
  /// is computed once.
  State step(State state, bool finite) {
    auto [it, isNew] = seen.try_emplace({state.scale, state.streak, finite});
    if (!isNew)
      return it->second;
    State expected = advance(GetParam(), state, finite);
    EXPECT_EQ(fold(state, finite), expected)
        << state.scale << " " << state.streak;
    EXPECT_EQ(runLowered(state, finite), expected)
        << state.scale << " " << state.streak;
    return it->second = expected;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  amp::UpdateScaleOp op;
  linalg::GenericOp lowered;
  std::map<std::tuple<float, int32_t, bool>, State> seen;
};

TEST_P(UpdateScale, EveryPatternOfOverflows) {
  const Settings &s = GetParam();
  int patterns = 0;
  for (int length = 1; length <= 16; ++length)
    for (uint32_t pattern = 0; pattern < 1u << length; ++pattern, ++patterns) {
      State state{s.start, 0}, reference{s.start, 0};
      for (int i = 0; i < length; ++i) {
        bool finite = !(pattern >> i & 1);
        state = step(state, finite);
        reference = advance(s, reference, finite);
      }
      ASSERT_EQ(state, reference)
          << "length " << length << " pattern " << pattern;
      ASSERT_LT(state.streak, s.interval);
      if (s.start >= s.floor && s.start <= s.ceiling) {
        ASSERT_GE(state.scale, s.floor);
        ASSERT_LE(state.scale, s.ceiling);
      }
    }
  EXPECT_EQ(patterns, (1 << 17) - 2);
}

INSTANTIATE_TEST_SUITE_P(
    Settings, UpdateScale,
    testing::Values(
        Settings{65536, 2, 0.5, 2000, 1, 16777216}, // The defaults.
        Settings{65536, 2, 0.5, 3, 1, 16777216},    // Growth in reach.
        Settings{4, 2, 0.5, 2, 1, 16},              // Both bounds in reach.
        Settings{8388608, 2, 0.5, 1, 1, 16777216},  // Grows at once.
        Settings{1000, 1.5, 0.3f, 2, 0.25, 5000},   // No powers of two.
        Settings{1e30f, 2, 0.5, 2, 1, 16777216},    // Starts above the ceiling.
        Settings{0.25, 2, 0.5, 4, 1, 16777216}));   // Starts below the floor.

} // namespace
