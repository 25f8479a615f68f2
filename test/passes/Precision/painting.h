//===- painting.h - Types as autocast and grappler choose them --*- C++ -*-===//
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

/// What a choice of types costs in a step.
struct Price {
  int64_t casts = 0, castBytes = 0, bytes = 0; ///< `bytes` has those of casts.
};

/// Types of ops: of those in `low` what they read and write is 16 bit, but for
/// what is pinned.
using Painting = llvm::DenseSet<Operation *>;

inline bool isPainted(Operation *op) {
  return isa<PrecisionOpInterface>(op) && isReported(op);
}

inline PrecisionClass classOf(Operation *op, FloatType low) {
  return cast<PrecisionOpInterface>(op).getPrecisionClass(low);
}

/// Numbers by themselves promote nothing, in PyTorch either.
inline bool isLarge(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getElementType().isF32() && type.getNumElements() > 1;
}

/// What autocast's list of f32 names, beside our sensitive ops.
inline bool isOnWideList(Operation *op) {
  return isa<train::SoftmaxOp, train::LogSoftmaxOp, train::LayerNormOp,
             train::RmsNormOp, train::ExpOp, train::LogOp, train::ReduceSumOp>(
      op);
}

inline Painting paintAsAutocast(func::FuncOp func, FloatType low) {
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
inline Painting reach(const Painting &from, const Painting &through,
                      bool forward) {
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
inline Painting paintAsGrappler(func::FuncOp func, FloatType low) {
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
inline bool isFree(Value value) {
  return getWeightState(value) || value.getDefiningOp<train::ConstantOp>();
}

/// Whether the op moves an input and nothing else. Fused with the cast it costs
/// the same before and after it, and neither is counted.
inline bool movesInput(Operation *op) {
  return isTransparent(op) && op->getNumOperands() == 1 &&
         isa<BlockArgument>(op->getOperand(0));
}

inline int64_t bytesOf(Value value, bool low) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.getNumElements() * (low ? 2 : 4);
}

/// The price of a painting: each value is stored as its op writes it, and cast
/// once if some use wants it otherwise.
inline Price priceOf(func::FuncOp func, const Painting &painted) {
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
inline Price priceOf(func::FuncOp func) {
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

} // namespace mpc::test

#endif // MPC_TEST_PASSES_PRECISION_PAINTING_H
