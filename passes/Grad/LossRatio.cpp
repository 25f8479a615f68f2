//===- LossRatio.cpp - Losses that a model divides itself -----------------===//

#include "passes/Grad/LossRatio.h"
#include "passes/Grad/EntryPoints.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace mpc;

namespace {

/// What a value is computed from.
struct Sources {
  bool data = false, parameters = false;
};

} // namespace

static Sources sourcesOf(Value value) {
  Sources sources;
  SmallVector<Value> work = {value};
  llvm::DenseSet<Value> seen;
  while (!work.empty()) {
    Value next = work.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    if (!op) {
      sources.data = true;
      continue;
    }
    if (auto read = dyn_cast<train::ReadOp>(op)) {
      auto state = SymbolTable::lookupNearestSymbolFrom<train::StateOp>(
          read, read.getStateAttr());
      sources.parameters |=
          !state || state.getKind() == train::StateKind::Parameter;
    }
    llvm::append_range(work, op->getOperands());
  }
  return sources;
}

/// Whether neither data nor weights decide on the value.
static bool isFixed(Value value) {
  Sources sources = sourcesOf(value);
  return !sources.data && !sources.parameters;
}

/// The operand that `op` multiplies by a fixed number or adds one to; null if
/// it does something else.
static Value operandBesideNumber(Operation *op) {
  if (isa<train::NegOp>(op))
    return op->getOperand(0);
  if (isa<train::DivOp>(op))
    return isFixed(op->getOperand(1)) ? op->getOperand(0) : Value();
  if (!isa<train::MulOp, train::AddOp, train::SubOp>(op))
    return nullptr;
  for (unsigned i : {0u, 1u})
    if (isFixed(op->getOperand(1 - i)))
      return op->getOperand(i);
  return nullptr;
}

/// `value` before it was cast, reshaped or repeated.
static Value rootOf(Value value) {
  while (isa_and_present<train::CastOp, train::ReshapeOp, train::BroadcastToOp>(
      value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// What is summed up, or averaged, to a single number; null if nothing is.
static Value summandsOf(Value sum) {
  if (typeOf(sum).getNumElements() != 1)
    return nullptr;
  Operation *op = rootOf(sum).getDefiningOp();
  if (isa_and_present<train::ReduceSumOp>(op))
    return op->getOperand(0);
  auto reduce = dyn_cast_or_null<train::ReduceByOp>(op);
  return reduce && reduce.getKind() == train::IntegerOperation::Add
             ? reduce.getInput()
             : Value();
}

/// Whether the elements of `losses` are each multiplied by one of `weights`, or
/// replaced by 0 where that is 0.
static bool areWeighted(Value losses, Value weights) {
  Operation *op = losses.getDefiningOp();
  if (isa_and_present<train::MulOp>(op))
    return rootOf(op->getOperand(0)) == rootOf(weights) ||
           rootOf(op->getOperand(1)) == rootOf(weights);
  auto select = dyn_cast_or_null<train::SelectOp>(op);
  return select && rootOf(select.getCondition()) == rootOf(weights) &&
         matchPattern(rootOf(select->getOperand(2)), m_AnyZeroFloat());
}

/// Whether `ratio` is a mean of losses by weights.
static bool isWeightedMean(train::DivOp ratio) {
  Value sum = skipIdentities(ratio.getLhs());
  while (Operation *op = sum.getDefiningOp()) {
    bool isScaled = isa<train::NegOp, train::MulOp, train::DivOp>(op);
    Value inner = isScaled ? operandBesideNumber(op) : Value();
    if (!inner)
      break;
    sum = skipIdentities(inner);
  }
  Value losses = summandsOf(sum), weights = summandsOf(ratio.getRhs());
  if (!losses || !weights || sourcesOf(weights).parameters)
    return false;
  // One for each loss: a mask that is repeated counts once for several.
  return typeOf(losses).getNumElements() == typeOf(weights).getNumElements() &&
         areWeighted(skipIdentities(losses), weights);
}

std::optional<LossRatio> mpc::findLossRatio(Value loss) {
  Value value = skipIdentities(loss);
  while (Operation *op = value.getDefiningOp()) {
    if (Value inner = operandBesideNumber(op)) {
      value = skipIdentities(inner);
      continue;
    }
    auto ratio = dyn_cast<train::DivOp>(op);
    if (!ratio || !sourcesOf(ratio.getLhs()).data ||
        !sourcesOf(ratio.getRhs()).data)
      return std::nullopt;
    LossRatio found = {ratio};
    found.isWeightedMean = isWeightedMean(ratio);
    if (found.isWeightedMean)
      found.terms = typeOf(summandsOf(ratio.getRhs())).getNumElements();
    return found;
  }
  return std::nullopt;
}

/// Whether `op` multiplies the gradient `grad` by a fixed number.
static bool scalesGradient(Operation *op, Value grad) {
  return isa<train::NegOp, train::MulOp, train::DivOp, train::ReshapeOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return operand == grad || isFixed(operand);
         });
}

bool mpc::skipDenominator(const LossRatio &ratio, train::ConstantOp seed) {
  train::DivOp forward = ratio.op;
  Value grad = seed.getResult();
  while (grad.hasOneUse()) {
    Operation *op = *grad.user_begin();
    auto quotient = dyn_cast<train::DivOp>(op);
    if (quotient && quotient.getLhs() == grad &&
        quotient.getRhs() == forward.getRhs()) {
      quotient.getResult().replaceAllUsesWith(grad);
      quotient.erase();
      return true;
    }
    if (!scalesGradient(op, grad))
      return false;
    grad = op->getResult(0);
  }
  return false;
}
