//===- painting_test.cpp - The minimum cut against painting ---------------===//
//
// What others do: paint ops by lists. PyTorch's autocast gives each op of a
// list its type and lets the rest follow what they read; TensorFlow's grappler
// paints a graph in four passes. Both are written down here over our classes,
// on the training step that mpc makes of a model, and never cast less nor move
// less than the minimum cut. Casts of weights and of constants are free in all
// three: they exist in both types.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Exec/IR/Exec.h"
#include "compiler/Dialect/Train/IR/AmpLowering.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "passes/Pipeline.h"
#include "passes/Precision/Passes.h"
#include "passes/Precision/PrecisionFacts.h"
#include "test/gradients/harness.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace mpc;
using amp::PrecisionClass;
using amp::PrecisionOpInterface;

namespace {

/// What a choice of types costs in a step.
struct Price {
  int64_t casts = 0, castBytes = 0, bytes = 0; ///< `bytes` has those of casts.
};

/// Types of ops: of those in `low` what they read and write is 16 bit, but for
/// what is pinned.
using Painting = llvm::DenseSet<Operation *>;

bool isPainted(Operation *op) {
  return isa<PrecisionOpInterface>(op) && isReported(op);
}

PrecisionClass classOf(Operation *op, FloatType low) {
  return cast<PrecisionOpInterface>(op).getPrecisionClass(low);
}

/// Numbers by themselves promote nothing, in PyTorch either.
bool isLarge(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32() && type.getNumElements() > 1;
}

/// What autocast's list of f32 names, beside our sensitive ops.
bool isOnWideList(Operation *op) {
  return isa<train::SoftmaxOp, train::LogSoftmaxOp, train::LayerNormOp,
             train::RmsNormOp, train::ExpOp, train::LogOp, train::ReduceSumOp>(
      op);
}

Painting paintAsAutocast(func::FuncOp func, FloatType low) {
  Painting painted;
  llvm::DenseSet<Value> lowValues;
  for (Operation &op : func.front()) {
    if (!isPainted(&op))
      continue;
    bool isLow = classOf(&op, low) == PrecisionClass::Low;
    bool isWide =
        classOf(&op, low) == PrecisionClass::Sensitive || isOnWideList(&op);
    if (!isLow && !isWide) {
      auto readsLarge = [&](bool wantLow) {
        return llvm::any_of(op.getOpOperands(), [&](OpOperand &use) {
          return isLarge(use.get()) &&
                 !cast<PrecisionOpInterface>(op).isOperandPinned(
                     use.getOperandNumber()) &&
                 lowValues.contains(use.get()) == wantLow;
        });
      };
      isLow = readsLarge(true) && !readsLarge(false);
    }
    if (!isLow)
      continue;
    painted.insert(&op);
    for (OpResult result : op.getResults())
      if (!cast<PrecisionOpInterface>(op).isResultPinned(
              result.getResultNumber()))
        lowValues.insert(result);
  }
  return painted;
}

/// Ops that reach, or are reached by, one of `from` through ops of `through`.
Painting reach(const Painting &from, const Painting &through, bool forward) {
  Painting seen;
  SmallVector<Operation *> work(from.begin(), from.end());
  while (!work.empty()) {
    Operation *op = work.pop_back_val();
    SmallVector<Operation *> next;
    if (forward)
      llvm::append_range(next, op->getUsers());
    else
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp())
          next.push_back(producer);
    for (Operation *other : next)
      if (through.contains(other) && seen.insert(other).second)
        work.push_back(other);
  }
  return seen;
}

/// Its lists are allow (our low), deny (sensitive), infer (internal, promote)
/// and clear (follow, transparent).
/// Source: tensorflow/core/grappler/optimizers/auto_mixed_precision.cc.
Painting paintAsGrappler(func::FuncOp func, FloatType low) {
  Painting allow, deny, infer, clear;
  for (Operation &op : func.front()) {
    if (!isPainted(&op))
      continue;
    switch (classOf(&op, low)) {
    case PrecisionClass::Low:
      allow.insert(&op);
      break;
    case PrecisionClass::Sensitive:
      deny.insert(&op);
      break;
    case PrecisionClass::Internal:
    case PrecisionClass::Promote:
      infer.insert(&op);
      break;
    case PrecisionClass::Follow:
    case PrecisionClass::Transparent:
      clear.insert(&op);
      break;
    }
  }
  Painting soft = infer;
  soft.insert(clear.begin(), clear.end());
  // What lies behind a denied op is denied, up to the last inferred op.
  Painting behind = reach(deny, soft, /*forward=*/true), denied = deny;
  for (Operation *op : behind)
    if (infer.contains(op))
      denied.insert(op);
  // What is left between two that are allowed is allowed.
  Painting rest;
  for (Operation *op : soft)
    if (!denied.contains(op))
      rest.insert(op);
  Painting after = reach(allow, rest, true), before = reach(allow, rest, false);
  for (Operation *op : after)
    if (before.contains(op))
      allow.insert(op);
  // And so is what only moves their tensors.
  Painting moves;
  for (Operation *op : clear)
    if (!denied.contains(op))
      moves.insert(op);
  Painting followers = reach(allow, moves, true),
           leaders = reach(allow, moves, false);
  allow.insert(followers.begin(), followers.end());
  allow.insert(leaders.begin(), leaders.end());
  return allow;
}

/// Weights and constants exist in both types.
bool isFree(Value value) {
  return getWeightState(value) || value.getDefiningOp<train::ConstantOp>();
}

/// Whether the op moves an input and nothing else. Fused with the cast it costs
/// the same before and after it, and neither is counted.
bool movesInput(Operation *op) {
  return isTransparent(op) && op->getNumOperands() == 1 &&
         isa<BlockArgument>(op->getOperand(0));
}

int64_t bytesOf(Value value, bool low) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * (low ? 2 : 4);
}

/// The price of a painting: each value is stored as its op writes it, and cast
/// once if some use wants it otherwise.
Price priceOf(func::FuncOp func, const Painting &painted) {
  Price price;
  auto writesLow = [&](Value value) {
    auto result = dyn_cast<OpResult>(value);
    return result && painted.contains(result.getOwner()) &&
           !cast<PrecisionOpInterface>(result.getOwner())
                .isResultPinned(result.getResultNumber());
  };
  auto readsLow = [&](OpOperand &use) {
    return painted.contains(use.getOwner()) &&
           !cast<PrecisionOpInterface>(use.getOwner())
                .isOperandPinned(use.getOperandNumber());
  };
  auto visit = [&](Value value) {
    if (!isF32Tensor(value.getType()))
      return;
    bool low = writesLow(value), differs = false;
    Operation *producer = value.getDefiningOp();
    if (producer && isPainted(producer) && !movesInput(producer))
      price.bytes += bytesOf(value, low);
    for (OpOperand &use : value.getUses()) {
      bool wantsLow = readsLow(use);
      differs |= wantsLow != low && isLarge(value);
      if (isPainted(use.getOwner()) && !movesInput(use.getOwner()))
        price.bytes += bytesOf(value, wantsLow);
    }
    if (!differs || isFree(value))
      return;
    ++price.casts;
    price.castBytes += bytesOf(value, true) + bytesOf(value, false);
  };
  for (BlockArgument argument : func.getArguments())
    visit(argument);
  for (Operation &op : func.front())
    for (Value result : op.getResults())
      visit(result);
  price.bytes += price.castBytes;
  return price;
}

/// The price of what mpc-assign-precision left.
Price priceOf(func::FuncOp func) {
  Price price;
  auto bytes = [](Value value) -> int64_t {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || !isa<FloatType>(type.getElementType()))
      return 0;
    return type.getNumElements() * type.getElementTypeBitWidth() / 8;
  };
  for (Operation &op : func.front()) {
    int64_t moved = 0;
    for (Value operand : op.getOperands())
      moved += bytes(operand);
    for (Value result : op.getResults())
      moved += bytes(result);
    if (auto cast = dyn_cast<amp::CastOp>(op)) {
      if (isFree(cast.getInput()))
        continue;
      ++price.casts;
      price.castBytes += moved;
    } else if (isPainted(&op) && !movesInput(&op)) {
      price.bytes += moved;
    }
  }
  price.bytes += price.castBytes;
  return price;
}

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

  /// The model as its training step, before precisions.
  OwningOpRef<ModuleOp> differentiate(const std::string &model) {
    CompileOptions options;
    options.model = model;
    options.stopAfter = "grad";
    options.dumpStages = folder.path("stages");
    CompileResult result = compileModel(options);
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
  Price autocast = priceOf(step, paintAsAutocast(step, low));
  Price grappler = priceOf(step, paintAsGrappler(step, low));

  PassManager passes(&context);
  AssignPrecisionPassOptions options;
  options.minimumGain = 0;
  passes.addPass(createAssignPrecisionPass(options));
  passes.addNestedPass<func::FuncOp>(createElideCastsPass());
  ASSERT_TRUE(succeeded(passes.run(*module)));
  Price cut = priceOf(step);

  auto print = [](const char *name, const Price &price) {
    std::printf("  %-10s %5lld casts %12lld bytes cast %13lld bytes moved\n",
                name, (long long)price.casts, (long long)price.castBytes,
                (long long)price.bytes);
  };
  std::printf("%s\n", GetParam());
  print("cut", cut);
  print("autocast", autocast);
  print("grappler", grappler);
  for (const Price &other : {autocast, grappler}) {
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
