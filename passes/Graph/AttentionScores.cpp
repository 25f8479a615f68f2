//===- AttentionScores.cpp - Scores between product and softmax -----------===//

#include "passes/Graph/AttentionScores.h"

#include "passes/Graph/AttentionHeads.h"

using namespace mlir;
using namespace mpc;

bool ScoreTerm::isCondition() const {
  return getElementTypeOrSelf(value.getType()).isInteger(1);
}

/// Returns true if a product computes `value`, with ops in between that keep
/// its elements apart.
static bool leadsToProduct(Value value) {
  SmallVector<Value> left{value};
  for (int steps = 0; !left.empty() && steps < 64; ++steps) {
    Operation *op = left.pop_back_val().getDefiningOp();
    if (isa_and_present<train::MatmulOp>(op))
      return true;
    if (isa_and_present<train::AddOp, train::SubOp, train::MulOp, train::DivOp,
                        train::SelectOp, train::ReshapeOp, train::TanhOp>(op))
      llvm::append_range(left, op->getOperands());
  }
  return false;
}

/// The operand that is the scores, or null: it has the type of the result, and
/// leads to a product.
static Value scoresAmong(Operation *op, unsigned first) {
  for (Value operand : op->getOperands().drop_front(first))
    if (operand.getType() == op->getResult(0).getType() &&
        leadsToProduct(operand))
      return operand;
  return nullptr;
}

/// The term of an addition, or of a difference of scores and a term. A choice
/// between two numbers becomes a condition.
static ScoreTerm termOf(Value value, double factor) {
  ScoreTerm term;
  term.factor = factor;
  value = beforeBroadcast(value);
  term.value = value;
  if (auto select = value.getDefiningOp<train::SelectOp>()) {
    std::optional<double> onTrue = numberOf(select.getOnTrue());
    std::optional<double> onFalse = numberOf(select.getOnFalse());
    if (onTrue && onFalse) {
      term.value = select.getCondition();
      term.onTrue = *onTrue;
      term.onFalse = *onFalse;
    }
  }
  return term;
}

/// If `op` replaces scores by a number, sets `*term` and returns the scores.
static Value readSelection(train::SelectOp op, double factor, ScoreTerm *term) {
  Value scores = scoresAmong(op, 1);
  if (!scores)
    return nullptr;
  bool onTrue = scores == op.getOnTrue();
  auto number = numberOf(onTrue ? op.getOnFalse() : op.getOnTrue());
  if (!number)
    return nullptr;
  term->value = op.getCondition();
  (onTrue ? term->onFalse : term->onTrue) = *number;
  term->replaces = true;
  term->factor = factor;
  return scores;
}

Value mpc::beforeReshape(train::ReshapeOp op) {
  ArrayRef<int64_t> from = shapeOf(op.getInput()), to = shapeOf(op.getResult());
  bool keepsRows = from.size() >= 3 && to.size() >= 3 &&
                   from.take_back(2) == to.take_back(2);
  return keepsRows ? op.getInput() : Value();
}

std::optional<Scores> mpc::readScores(Value value, StringRef *why) {
  Scores scores;
  while (true) {
    if (!value.hasOneUse()) {
      *why = "scores are used elsewhere";
      return std::nullopt;
    }
    Operation *op = value.getDefiningOp();
    if (auto product = dyn_cast_or_null<train::MatmulOp>(op)) {
      scores.product = product;
      return scores;
    }
    double factor;
    // scale tanh(x) = c tanh(scale x / c) with c = |scale|, as tanh is odd. The
    // factors of x follow.
    if (auto tanh = dyn_cast_or_null<train::TanhOp>(op)) {
      if (scores.softcap != 0) {
        *why = "scores have several soft caps (tanh)";
        return std::nullopt;
      }
      scores.softcap = std::abs(scores.scale);
      value = tanh.getInput();
      continue;
    }
    ScoreTerm term;
    Value next;
    if (Value of = multipleOf(value, &factor)) {
      scores.scale *= factor;
      value = of;
      continue;
    }
    if (isa_and_present<train::AddOp, train::SubOp>(op)) {
      next = scoresAmong(op, 0);
      bool subtracts = isa<train::SubOp>(op);
      if (next && !(subtracts && next != op->getOperand(0)))
        term = termOf(op->getOperand(next == op->getOperand(0) ? 1 : 0),
                      subtracts ? -scores.scale : scores.scale);
      else
        next = nullptr;
    } else if (auto select = dyn_cast_or_null<train::SelectOp>(op)) {
      next = readSelection(select, scores.scale, &term);
    } else if (auto reshape = dyn_cast_or_null<train::ReshapeOp>(op)) {
      next = beforeReshape(reshape);
    }
    if (!next) {
      *why = "scores are not a product that is scaled and masked";
      return std::nullopt;
    }
    if (term.value) {
      if (scores.softcap != 0) {
        *why = "scores have a soft cap (tanh) of their sum with a mask or bias";
        return std::nullopt;
      }
      term.leading.assign(shapeOf(value).begin(), shapeOf(value).end() - 2);
      scores.terms.push_back(term);
    }
    value = next;
  }
}
