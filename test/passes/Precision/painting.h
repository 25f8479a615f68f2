//===- painting.h - Precisions chosen by autocast and grappler --*- C++ -*-===//
#ifndef MPC_TEST_PASSES_PRECISION_PAINTING_H
#define MPC_TEST_PASSES_PRECISION_PAINTING_H

#include "compiler/Analysis/Precision/PrecisionFacts.h"
#include "compiler/Dialect/Amp/IR/Amp.h"
#include "compiler/Dialect/Exec/IR/Exec.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Dialect/Train/Lowering/AmpLowering.h"
#include "passes/Driver/Pipeline.h"
#include "passes/Precision/Passes.h"
#include "test/gradients/harness.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

namespace mpc::test {

using namespace mlir;
using amp::PrecisionClass;
using amp::PrecisionOpInterface;

/// The cost of a choice of types in a step.
struct Cost {
  int64_t casts = 0, castBytes = 0, bytes = 0; ///< `bytes` includes castBytes.
};

/// Ops. Those that are painted low: their operands and results are 16 bit,
/// except those that are pinned.
using OpSet = llvm::DenseSet<Operation *>;

inline bool isPainted(Operation *op) {
  return isa<PrecisionOpInterface>(op) && isReported(op);
}

inline PrecisionClass classOf(Operation *op, FloatType low) {
  return cast<PrecisionOpInterface>(op).getPrecisionClass(low);
}

/// Scalars do not promote types, as in PyTorch.
inline bool isLarge(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32() && type.getNumElements() > 1;
}

/// Ops on autocast's f32 list, in addition to our sensitive ops.
inline bool isOnWideList(Operation *op) {
  return isa<train::SoftmaxOp, train::LogSoftmaxOp, train::LayerNormOp,
             train::RmsNormOp, train::ExpOp, train::LogOp, train::ReduceSumOp>(
      op);
}

inline OpSet paintAsAutocast(func::FuncOp func, FloatType low) {
  OpSet painted;
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

/// Ops that can be reached from `from`, or that reach it, through ops of
/// `through`.
inline OpSet reach(const OpSet &from, const OpSet &through, bool forward) {
  OpSet seen;
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

/// Grappler's lists are allow (our low), deny (sensitive), infer (internal,
/// promote) and clear (follow, transparent).
/// Source: tensorflow/core/grappler/optimizers/auto_mixed_precision.cc.
inline OpSet paintAsGrappler(func::FuncOp func, FloatType low) {
  OpSet allow, deny, infer, clear;
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
  OpSet soft = infer;
  soft.insert(clear.begin(), clear.end());
  // Ops after a denied op are denied, up to the last inferred op.
  OpSet behind = reach(deny, soft, /*forward=*/true), denied = deny;
  for (Operation *op : behind)
    if (infer.contains(op))
      denied.insert(op);
  // Remaining ops between two allowed ops are allowed.
  OpSet rest;
  for (Operation *op : soft)
    if (!denied.contains(op))
      rest.insert(op);
  OpSet after = reach(allow, rest, true), before = reach(allow, rest, false);
  for (Operation *op : after)
    if (before.contains(op))
      allow.insert(op);
  // Ops that only move their tensors are also allowed.
  OpSet moves;
  for (Operation *op : clear)
    if (!denied.contains(op))
      moves.insert(op);
  OpSet followers = reach(allow, moves, true),
        leaders = reach(allow, moves, false);
  allow.insert(followers.begin(), followers.end());
  allow.insert(leaders.begin(), leaders.end());
  return allow;
}

/// Weights and constants exist in both types.
inline bool isFree(Value value) {
  return getWeightState(value) || value.getDefiningOp<train::ConstantOp>();
}

/// Whether the op only moves an input. The cast can be fused with it, before or
/// after it, so neither is counted.
inline bool movesInput(Operation *op) {
  return isTransparent(op) && op->getNumOperands() == 1 &&
         isa<BlockArgument>(op->getOperand(0));
}

inline int64_t bytesOf(Value value, bool low) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * (low ? 2 : 4);
}

/// The cost of a painting: each value is stored in the type that its op
/// writes, and cast once if some use needs the other type.
inline Cost costOf(func::FuncOp func, const OpSet &painted) {
  Cost cost;
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
      cost.bytes += bytesOf(value, low);
    for (OpOperand &use : value.getUses()) {
      bool wantsLow = readsLow(use);
      differs |= wantsLow != low && isLarge(value);
      if (isPainted(use.getOwner()) && !movesInput(use.getOwner()))
        cost.bytes += bytesOf(value, wantsLow);
    }
    if (!differs || isFree(value))
      return;
    ++cost.casts;
    cost.castBytes += bytesOf(value, true) + bytesOf(value, false);
  };
  for (BlockArgument argument : func.getArguments())
    visit(argument);
  for (Operation &op : func.front())
    for (Value result : op.getResults())
      visit(result);
  cost.bytes += cost.castBytes;
  return cost;
}

/// The cost of the result of mpc-assign-precision.
inline Cost costOf(func::FuncOp func) {
  Cost cost;
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
      ++cost.casts;
      cost.castBytes += moved;
    } else if (isPainted(&op) && !movesInput(&op)) {
      cost.bytes += moved;
    }
  }
  cost.bytes += cost.castBytes;
  return cost;
}

} // namespace mpc::test

#endif // MPC_TEST_PASSES_PRECISION_PAINTING_H
