//===- AttentionHeads.cpp - Factors of attention's products ---------------===//

#include "passes/Graph/AttentionHeads.h"

#include "compiler/Dialect/Train/Ops/Gradient.h"

#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

Value mpc::multipleOf(Value value, double *factor) {
  Operation *op = value.getDefiningOp();
  if (!isa_and_present<train::MulOp, train::DivOp>(op))
    return nullptr;
  double number;
  Value other = besideNumber(op, &number);
  bool divides = isa<train::DivOp>(op);
  if (!other || (divides && other != op->getOperand(0)))
    return nullptr;
  *factor = divides ? 1 / number : number;
  return std::isfinite(*factor) && *factor != 0 ? other : nullptr;
}

static SmallVector<int64_t> identity(size_t rank) {
  return llvm::to_vector(llvm::seq<int64_t>(0, rank));
}

/// The operand of a reshape that changes the leading extents only, else null.
static Value beforeLeadingReshape(Value value) {
  auto reshape = value.getDefiningOp<train::ReshapeOp>();
  if (!reshape)
    return nullptr;
  ArrayRef<int64_t> from = shapeOf(reshape.getInput()), to = shapeOf(value);
  bool keepsRows = from.size() >= 2 && to.size() >= 2 &&
                   from.take_back(2) == to.take_back(2);
  return keepsRows ? reshape.getInput() : Value();
}

/// If `value` repeats its operand along the last of its leading dimensions,
/// apart from ones of extent 1, returns the operand, else null.
static Value beforeRepeat(Value value) {
  auto repeat = value.getDefiningOp<train::BroadcastToOp>();
  if (!repeat)
    return nullptr;
  SmallVector<int64_t> from(shapeOf(repeat.getInput()));
  ArrayRef<int64_t> to = shapeOf(value);
  if (from.size() != to.size() || from.size() < 3)
    return nullptr;
  size_t dim = from.size() - 3;
  while (dim > 0 && to[dim] == 1)
    --dim;
  if (from[dim] != 1)
    return nullptr;
  from[dim] = to[dim];
  return ArrayRef<int64_t>(from) == to ? repeat.getInput() : Value();
}

Rows Rows::of(Value factor, bool exchange, double *scale, bool mayRepeat,
              ArrayRef<int64_t> scores) {
  Rows rows;
  rows.value = factor;
  ArrayRef<int64_t> own = shapeOf(factor).drop_back(2);
  if (mayRepeat && !own.empty() && own.size() == scores.size() &&
      own.back() == 1)
    rows.repeats = scores.back();
  rows.permutation = identity(own.size() + 2);
  if (exchange)
    std::swap(rows.permutation[own.size()], rows.permutation[own.size() + 1]);
  rows.lookThrough(scale, mayRepeat);
  return rows;
}

/// Constant factors, changes of leading extents, exchanges of rows and columns
/// and one repetition may be in any order. A transpose of other dimensions is
/// the last step, because it cannot be exchanged with a reshape.
void Rows::lookThrough(double *scale, bool mayRepeat) {
  double factor;
  while (true) {
    size_t rank = permutation.size();
    if (Value of = scale ? multipleOf(value, &factor) : Value()) {
      *scale *= factor;
      value = of;
    } else if (auto transpose = value.getDefiningOp<train::TransposeOp>()) {
      ArrayRef<int64_t> inner = transpose.getPermutation();
      for (int64_t &dim : permutation)
        dim = inner[dim];
      value = transpose.getInput();
    } else if (!ArrayRef(permutation)
                    .drop_back(2)
                    .equals(ArrayRef(identity(rank)).drop_back(2))) {
      return;
    } else if (Value of = beforeLeadingReshape(value)) {
      bool isExchanged = permutation[rank - 1] + 1 == int64_t(rank - 1);
      value = of;
      rank = shapeOf(of).size();
      permutation = identity(rank);
      if (isExchanged)
        std::swap(permutation[rank - 2], permutation[rank - 1]);
    } else if (Value of =
                   mayRepeat && repeats == 1 ? beforeRepeat(value) : Value()) {
      repeats = ShapedType::getNumElements(shapeOf(value)) /
                ShapedType::getNumElements(shapeOf(of));
      value = of;
    } else {
      return;
    }
  }
}

SmallVector<int64_t> Rows::shape() const {
  SmallVector<int64_t> result;
  for (int64_t dim : permutation)
    result.push_back(shapeOf(value)[dim]);
  return result;
}

int64_t Rows::countHeads() const {
  return ShapedType::getNumElements(ArrayRef(shape()).drop_back(2));
}

Value Rows::build(RewriterBase &rewriter, Location loc, int64_t batch) const {
  Value rows = value;
  if (!llvm::is_sorted(permutation))
    rows = train::TransposeOp::create(rewriter, loc, value, permutation);
  SmallVector<int64_t> to = {batch, countHeads() / batch};
  llvm::append_range(to, shapeOf(rows).take_back(2));
  return train::reshapeTo(rewriter, loc, rows, to);
}
