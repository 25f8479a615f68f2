//===- LossRatio.cpp - Losses that a model normalizes itself --------------===//

#include "passes/Grad/Loss/LossRatio.h"
#include "compiler/Dialect/Train/IR/Views.h"
#include "passes/Grad/EntryPoints.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace mpc;

/// The operand that `op` multiplies by a fixed value or adds one to; null for
/// other ops.
static Value operandBesideNumber(Operation *op, const Sources &sources) {
  auto affine = dyn_cast<train::AffineOpInterface>(op);
  if (!affine)
    return nullptr;
  for (OpOperand &operand : op->getOpOperands()) {
    bool othersAreFixed = llvm::all_of(op->getOpOperands(), [&](OpOperand &o) {
      return &o == &operand || sources.isConstantLike(o.get());
    });
    if (affine.isAffineIn(operand.getOperandNumber()) && othersAreFixed)
      return operand.get();
  }
  return nullptr;
}

/// `value` before it was cast, reshaped or repeated.
static Value rootOf(Value value) {
  while (auto op = value.getDefiningOp<train::MoveOpInterface>()) {
    train::Move move = op.getMove();
    if (move != train::Move::InOrder && move != train::Move::Repeated)
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The operand of the sum or mean that computes the single number `sum`; null
/// if there is none.
static Value summandsOf(Value sum) {
  if (typeOf(sum).getNumElements() != 1)
    return nullptr;
  auto reduce = rootOf(sum).getDefiningOp<train::ReductionOpInterface>();
  return reduce ? reduce.getSummands() : Value();
}

/// Whether `op` multiplies its operands.
static bool isProduct(Operation *op) {
  auto affine = dyn_cast_or_null<train::AffineOpInterface>(op);
  return affine && op->getNumOperands() == 2 && affine.isLinearIn(0) &&
         affine.isLinearIn(1);
}

/// Whether the elements of `losses` are each multiplied by one of `weights`, or
/// replaced by 0 where that is 0.
static bool areWeighted(Value losses, Value weights) {
  Operation *op = losses.getDefiningOp();
  if (isProduct(op))
    return rootOf(op->getOperand(0)) == rootOf(weights) ||
           rootOf(op->getOperand(1)) == rootOf(weights);
  auto select = dyn_cast_or_null<train::SelectOp>(op);
  return select && rootOf(select.getCondition()) == rootOf(weights) &&
         matchPattern(rootOf(select->getOperand(2)), m_AnyZeroFloat());
}

/// Whether `ratio` is a weighted mean of losses.
static bool isWeightedMean(train::DivOp ratio, const Sources &sources) {
  Value sum = skipIdentities(ratio.getLhs());
  while (Operation *op = sum.getDefiningOp()) {
    auto affine = dyn_cast<train::AffineOpInterface>(op);
    bool isScaled = affine && affine.isLinearIn(0);
    Value inner = isScaled ? operandBesideNumber(op, sources) : Value();
    if (!inner)
      break;
    sum = skipIdentities(inner);
  }
  Value losses = summandsOf(sum), weights = summandsOf(ratio.getRhs());
  if (!losses || !weights || sources.hasParameters(weights))
    return false;
  // There must be one weight for each loss: a mask that is repeated would count
  // only once for several losses.
  return typeOf(losses).getNumElements() == typeOf(weights).getNumElements() &&
         areWeighted(skipIdentities(losses), weights);
}

std::optional<LossRatio> mpc::findLossRatio(Value term,
                                            const Sources &sources) {
  auto ratio = term.getDefiningOp<train::DivOp>();
  if (!ratio || !sources.hasData(ratio.getLhs()) ||
      !sources.hasData(ratio.getRhs()))
    return std::nullopt;
  LossRatio found = {ratio};
  found.isWeightedMean = isWeightedMean(ratio, sources);
  if (found.isWeightedMean)
    found.terms = typeOf(summandsOf(ratio.getRhs())).getNumElements();
  return found;
}

/// Whether `op` multiplies the gradient `grad` by a fixed value.
static bool scalesGradient(Operation *op, Value grad, const Sources &sources) {
  if (train::isView(op))
    return true;
  auto affine = dyn_cast<train::AffineOpInterface>(op);
  return affine && llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
           return operand.get() == grad
                      ? affine.isLinearIn(operand.getOperandNumber())
                      : sources.isConstantLike(operand.get());
         });
}

/// The ops from `seed` on that scale the gradient, up to the one that divides
/// it by the denominator of `forward`; none if nothing does.
static SmallVector<Operation *> findQuotient(Value seed, train::DivOp forward,
                                             const Sources &sources) {
  llvm::DenseMap<Value, Operation *> madeBy;
  SmallVector<Value> work = {seed};
  while (!work.empty()) {
    Value grad = work.pop_back_val();
    for (Operation *op : grad.getUsers()) {
      auto quotient = dyn_cast<train::DivOp>(op);
      if (quotient && quotient.getLhs() == grad &&
          quotient.getRhs() == forward.getRhs()) {
        SmallVector<Operation *> path = {op};
        for (Value value = grad; value != seed;) {
          path.push_back(value.getDefiningOp());
          value = madeBy[value]->getResult(0);
        }
        std::reverse(path.begin(), path.end());
        return path;
      }
      if (scalesGradient(op, grad, sources) &&
          madeBy.insert({op->getResult(0), grad.getDefiningOp()}).second)
        work.push_back(op->getResult(0));
    }
  }
  return {};
}

bool mpc::startBackwardAtNumerator(const LossRatio &ratio,
                                   train::ConstantOp seed, Value divisor,
                                   const Sources &sources) {
  SmallVector<Operation *> path = findQuotient(seed, ratio.op, sources);
  if (path.empty())
    return false;
  OpBuilder builder(seed.getContext());
  Value grad = seed.getResult();
  for (Operation *next : path) {
    if (!grad.hasOneUse()) {
      builder.setInsertionPointAfterValue(grad);
      Value weighted =
          train::MulOp::create(builder, seed.getLoc(), grad, divisor);
      grad.replaceUsesWithIf(weighted, [&](OpOperand &use) {
        return use.getOwner() != next &&
               use.getOwner() != weighted.getDefiningOp();
      });
    }
    if (next != path.back())
      grad = next->getResult(0);
  }
  path.back()->getResult(0).replaceAllUsesWith(grad);
  path.back()->erase();
  return true;
}
