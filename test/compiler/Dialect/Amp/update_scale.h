//===- update_scale.h - The scaler and a reference --------------*- C++ -*-===//
//
// Runs every pattern of overflows of length up to 16, and a million longer ones
// from arbitrary states, for several settings. The folder of amp.update_scale
// and its lowered code must both agree with a plain reference of twenty lines,
// and, without bounds and hysteresis, with PyTorch (goldens/update_scale.txt).
//
//===----------------------------------------------------------------------===//
#ifndef MPC_TEST_COMPILER_DIALECT_AMP_UPDATE_SCALE_H
#define MPC_TEST_COMPILER_DIALECT_AMP_UPDATE_SCALE_H

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/AmpLowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace mpc::test {

using namespace mlir;

struct Settings {
  float start, growth, backoff;
  int32_t interval;
  float floor, ceiling;
  int32_t hysteresis = 1;
};

/// splitmix64, as in make_update_scale.py.
class Random {
public:
  uint64_t operator()() {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

private:
  uint64_t state = 20;
};

struct State {
  float scale;
  int32_t streak;
  bool operator==(const State &other) const {
    return scale == other.scale && streak == other.streak;
  }
};

/// The reference: PyTorch's _amp_update_scale_ with Megatron's hysteresis
/// counter (update_scale_hysteresis.cu) and bounds on the scale.
struct Reference {
  float scale;
  int32_t growthTracker, hysteresisTracker;

  Reference(const Settings &settings, State state)
      : scale(state.scale), growthTracker(std::max(state.streak, 0)),
        hysteresisTracker(settings.hysteresis + std::min(state.streak, 0)) {}

  void advance(const Settings &settings, bool foundInf) {
    if (foundInf) {
      growthTracker = 0;
      hysteresisTracker -= 1;
      if (hysteresisTracker <= 0)
        scale = std::max(scale * settings.backoff, settings.floor);
      return;
    }
    hysteresisTracker = settings.hysteresis;
    int32_t successful = growthTracker + 1;
    if (successful != settings.interval) {
      growthTracker = successful;
      return;
    }
    float newScale = scale * settings.growth;
    if (std::isfinite(newScale))
      scale = std::min(newScale, settings.ceiling);
    growthTracker = 0;
  }

  /// Encodes both counters in one: tolerated overflows count below zero.
  State encode(const Settings &settings) const {
    int32_t overflows = settings.hysteresis - hysteresisTracker;
    return {scale,
            growthTracker - std::min(overflows, settings.hysteresis - 1)};
  }
};

/// amp.update_scale with some settings: its folder and its lowered code.
class Machine {
public:
  explicit Machine(const Settings &s) {
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
    op = amp::UpdateScaleOp::create(
        builder, loc, scale, streak, finite, llvm::APFloat(s.growth),
        llvm::APFloat(s.backoff), s.interval, llvm::APFloat(s.floor),
        llvm::APFloat(s.ceiling), s.hysteresis);
    SmallVector<Value> results;
    EXPECT_TRUE(
        succeeded(cast<train::LinalgLoweringOpInterface>(op.getOperation())
                      .lowerToLinalg(builder, results)));
    lowered = results[0].getDefiningOp<linalg::GenericOp>();
    EXPECT_TRUE(lowered && lowered == results[1].getDefiningOp());
  }

  /// The index of `state`, which is added if it is new.
  int find(State state) {
    auto [it, isNew] =
        numbers.try_emplace({state.scale, state.streak}, states.size());
    if (isNew)
      states.push_back({state});
    return it->second;
  }

  /// Runs a pattern, lowest bit first; returns the final state.
  State run(State start, uint64_t overflows, int length) {
    int at = find(start);
    for (int i = 0; i < length; ++i)
      at = step(at, !(overflows >> i & 1));
    return states[at].state;
  }

  struct Visited {
    State state;
    int next[2] = {-1, -1};
  };
  std::vector<Visited> states;

private:
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

  /// Runs the body of the linalg.generic by folding its scalar ops in order.
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
      // A folder returns a constant or one of the operands.
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

  /// Computes one transition with the emitted code and checks that the folder
  /// agrees. Patterns share transitions, so each is computed only once.
  int step(int from, bool finite) {
    int &next = states[from].next[finite];
    if (next >= 0)
      return next;
    State before = states[from].state;
    State after = runLowered(before, finite);
    EXPECT_EQ(fold(before, finite), after)
        << before.scale << " " << before.streak;
    int to = find(after);
    return states[from].next[finite] = to;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  amp::UpdateScaleOp op;
  linalg::GenericOp lowered;
  std::map<std::pair<float, int32_t>, int> numbers;
};

} // namespace mpc::test

#endif // MPC_TEST_COMPILER_DIALECT_AMP_UPDATE_SCALE_H
