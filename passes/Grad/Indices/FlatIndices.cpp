//===- FlatIndices.cpp - Flattened multi-dimensional indices --------------===//
//
// A flattened index is a sum of terms, each of which is an index times the
// stride of its dimension. A sum is recognized as one if its terms have
// different strides of the shape that the table had before it was flattened,
// one of them 1, and if constant terms stay within their dimensions. Any other
// sum is a plain row index.
//
//===----------------------------------------------------------------------===//

#include "passes/Grad/Indices/FlatIndices.h"
#include "compiler/Dialect/Train/IR/Train.h"
#include "passes/Grad/EntryPoints.h"
#include "passes/Grad/Indices/Limits.h"

#include <algorithm>

using namespace mlir;
using namespace mpc;
using train::IntegerOperation;

namespace {

struct Term {
  OpOperand *use;              ///< The use of the index or the constant.
  int64_t stride;              ///< What the index is multiplied by.
  DenseIntElementsAttr values; ///< Set for constants: multiples of the stride.
};

} // namespace

/// The op that computes `value`, looking through ops that only move integers.
static Operation *originOf(Value value) {
  Operation *op = value.getDefiningOp();
  while (auto move = dyn_cast_if_present<train::MoveOpInterface>(op)) {
    if (move.getMove() == train::Move::Picked ||
        move.getMove() == train::Move::Joined)
      break;
    op = op->getOperand(0).getDefiningOp();
  }
  return op;
}

/// Whether `op` is a sum of two terms. A single number that is added to all
/// indices shifts them and is not a term.
static bool isSumOfTerms(train::IntegerOp op) {
  if (op.getKind() != IntegerOperation::Add)
    return false;
  return llvm::none_of(op->getOperands(), [](Value operand) {
    DenseIntElementsAttr values = integersOf(operand);
    return values && values.isSplat();
  });
}

/// The terms of the index that `use` takes, expanding nested sums.
static SmallVector<Term> findTerms(OpOperand &use) {
  constexpr size_t kMaxTerms = 16; // Larger than the rank of any tensor.
  SmallVector<Term> terms;
  SmallVector<OpOperand *> work = {&use};
  while (!work.empty() && terms.size() <= kMaxTerms) {
    OpOperand *next = work.pop_back_val();
    if (DenseIntElementsAttr values = integersOf(next->get())) {
      terms.push_back({next, 0, values});
      continue;
    }
    auto op = dyn_cast_or_null<train::IntegerOp>(originOf(next->get()));
    if (op && isSumOfTerms(op)) {
      for (OpOperand &operand : op->getOpOperands())
        work.push_back(&operand);
      continue;
    }
    Term term = {next, 1, nullptr};
    if (op && op.getKind() == IntegerOperation::Mul)
      for (OpOperand &operand : op->getOpOperands())
        if (DenseIntElementsAttr factor =
                integersOf(op->getOperand(1 - operand.getOperandNumber())))
          if (factor.isSplat())
            term = {&operand, factor.getSplatValue<APInt>().getSExtValue(), {}};
    terms.push_back(term);
  }
  return terms;
}

/// The extents that were flattened into dimension 0 of `table`; none if it is
/// not a flattened tensor.
static ArrayRef<int64_t> flattenedExtents(Value table) {
  auto reshape = table.getDefiningOp<train::ReshapeOp>();
  if (!reshape)
    return {};
  ArrayRef<int64_t> from = typeOf(reshape.getInput()).getShape();
  int64_t rows = 1;
  for (size_t dim = 0; dim < from.size(); ++dim) {
    rows *= from[dim];
    if (rows == typeOf(table).getDimSize(0))
      return dim > 0 ? from.take_front(dim + 1) : ArrayRef<int64_t>();
  }
  return {};
}

/// The greatest of `strides`, in descending order, that divides all values.
static int64_t strideOf(DenseIntElementsAttr values,
                        ArrayRef<int64_t> strides) {
  for (int64_t stride : strides)
    if (llvm::all_of(values, [&](const APInt &value) {
          return value.getSExtValue() % stride == 0;
        }))
      return stride;
  return 0;
}

FlatIndices::FlatIndices(func::FuncOp func) {
  func.walk([&](train::IndexOpInterface op) {
    Value table = op.getIndexedTable();
    if (!table)
      return;
    for (OpOperand &use : op->getOpOperands()) {
      if (!op.getIndexRange(use.getOperandNumber()))
        continue;
      // GatherND of one dimension.
      auto place = use.get().getDefiningOp<train::FlatIndexOp>();
      bool isFlat = place && place.getExtents().size() == 1;
      visit(table, isFlat ? place->getOpOperand(0) : use);
    }
  });
}

void FlatIndices::visit(Value table, OpOperand &indices) {
  ArrayRef<int64_t> shape = flattenedExtents(table);
  if (shape.empty() || typeOf(table).getNumElements() == 0)
    return;
  SmallVector<int64_t> strides = {1};
  for (int64_t extent : llvm::reverse(shape.drop_front()))
    strides.insert(strides.begin(), strides.front() * extent);
  SmallVector<Term> terms = findTerms(indices);
  for (Term &term : terms) {
    if (term.values)
      term.stride = strideOf(term.values, strides);
    if (!llvm::is_contained(strides, term.stride))
      return;
  }
  llvm::sort(terms,
             [](const Term &a, const Term &b) { return a.stride > b.stride; });
  auto sameStride = [](const Term &a, const Term &b) {
    return a.stride == b.stride;
  };
  if (terms.size() < 2 || terms.back().stride != 1 ||
      std::adjacent_find(terms.begin(), terms.end(), sameStride) != terms.end())
    return;
  SmallVector<std::pair<OpOperand *, int64_t>> parts;
  int64_t outer = typeOf(table).getDimSize(0);
  for (const Term &term : terms) {
    if (!term.values)
      parts.emplace_back(term.use, outer / term.stride);
    else if (llvm::any_of(term.values, [&](const APInt &value) {
               return value.isNegative() || value.getSExtValue() >= outer;
             }))
      return;
    outer = term.stride;
  }
  extents.insert(parts.begin(), parts.end());
  wholes.insert(&indices);
}
