//===- AttentionMask.cpp - Which keys a query attends to ------------------===//

#include "compiler/Import/Ops/Layers/AttentionMask.h"

#include <limits>

using namespace mlir;
using namespace mpc;

static bool isBool(Value mask) {
  return getElementTypeOrSelf(mask.getType()).isInteger(1);
}

static std::optional<int64_t> readWindow(ImportedNode &node, StringRef name) {
  int64_t size = node.intAttr(name, -1);
  if (size < -1)
    node.error() << "attribute '" << name
                 << "' must be -1 (unbounded) or not negative, but is " << size;
  return size < 0 ? std::nullopt : std::optional(size);
}

AttentionMask mpc::readAttentionMask(ImportedNode &node, int64_t past) {
  AttentionMask seen;
  seen.past = past;
  seen.causal = node.boolAttr("is_causal", false);
  seen.left = readWindow(node, "left_window_size");
  seen.right = readWindow(node, "right_window_size");
  if (node.hasInput(3)) {
    seen.mask = node.input(3);
    if (seen.mask && !isBool(seen.mask) && !isFloat(seen.mask))
      node.error() << "input 3, the mask, is " << typeText(seen.mask.getType())
                   << "; supported are bool, true where a query sees a key, "
                      "and floats that are added to the scores";
    else if (seen.mask && shapeOf(seen.mask).size() > 4)
      node.shapeError() << "input 3, the mask, must have at most 4 dimensions";
  }
  if (node.hasInput(6)) {
    seen.lengths = node.intInput(6);
    if (seen.lengths && shapeOf(seen.lengths).size() != 1)
      node.shapeError() << "input 6, the numbers of keys without padding, must "
                           "have 1 dimension";
    if (node.hasInput(4))
      node.error() << "inputs 4 and 6 exclude each other: keys of earlier "
                      "calls have no padding";
  }
  return seen;
}

/// A constant [rows, columns] of `isSeen(row, column)`; null if it is true
/// everywhere, or after an error.
static Value constantMask(ImportedNode &node, int64_t rows, int64_t columns,
                          function_ref<bool(int64_t, int64_t)> isSeen) {
  if (!node.fitsConstant({rows, columns}))
    return nullptr;
  SmallVector<bool> values;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      values.push_back(isSeen(i, j));
  if (llvm::all_of(values, [](bool seen) { return seen; }))
    return nullptr;
  OpBuilder &builder = node.graph.builder;
  auto type = RankedTensorType::get({rows, columns}, builder.getI1Type());
  return train::ConstantOp::create(
      builder, node.loc, ElementsAttr(DenseElementsAttr::get(type, values)));
}

/// Positions of keys minus those of queries, i64 [rows, columns].
static Value distances(ImportedNode &node, int64_t rows, int64_t columns) {
  if (!node.fitsConstant({rows, columns}))
    return nullptr;
  return node.integers(
      node.makeIndexList(rows * columns,
                         [&](int64_t i) { return i % columns - i / columns; }),
      {rows, columns});
}

static Value keepWhere(ImportedNode &node, Value condition, Value scores) {
  return node.emit<train::SelectOp>(
      {condition, scores,
       node.scalar(-std::numeric_limits<double>::infinity())});
}

/// The mask by the lengths of samples: hides padding, and keys beyond the
/// bounds of the window.
static Value maskByLengths(ImportedNode &node, Value scores,
                           const AttentionMask &seen) {
  SmallVector<int64_t> shape(shapeOf(scores));
  int64_t rows = shape[2], columns = shape[3];
  if (shapeOf(seen.lengths)[0] != shape[0]) {
    node.shapeError()
        << "input 6, the numbers of keys without padding, must have "
        << shape[0] << " elements, one for each sample";
    return nullptr;
  }
  using train::Comparison;
  Value lengths = node.reshape(seen.lengths, {shape[0], 1, 1, 1});
  scores = keepWhere(node,
                     node.compare(node.integers(node.iota(columns), {columns}),
                                  lengths, Comparison::Less),
                     scores);
  std::optional<int64_t> right = seen.causal ? 0 : seen.right;
  if (!right && !seen.left)
    return scores;
  // Row i is at position lengths - rows + i.
  Value ahead = node.integerOp(
      train::IntegerOperation::Sub, distances(node, rows, columns),
      node.integerOp(train::IntegerOperation::Sub, lengths,
                     node.integers({rows}, {})));
  if (right)
    scores = keepWhere(node,
                       node.compare(ahead, node.integers({*right}, {}),
                                    Comparison::LessOrEqual),
                       scores);
  if (seen.left)
    scores = keepWhere(node,
                       node.compare(node.integers({-*seen.left}, {}), ahead,
                                    Comparison::LessOrEqual),
                       scores);
  return scores;
}

/// Extends the mask to the columns of the scores; missing columns are hidden.
static Value fillColumns(ImportedNode &node, Value mask, int64_t columns) {
  SmallVector<int64_t> shape(shapeOf(mask));
  if (shape.empty() || shape.back() == 1 || shape.back() >= columns)
    return mask;
  shape.back() = columns - shape.back();
  auto type =
      RankedTensorType::get(shape, getElementTypeOrSelf(mask.getType()));
  Attribute none =
      isBool(mask) ? Attribute(node.graph.builder.getBoolAttr(false))
                   : FloatAttr::get(type.getElementType(),
                                    -std::numeric_limits<double>::infinity());
  Value rest = train::ConstantOp::create(
      node.graph.builder, node.loc,
      ElementsAttr(DenseElementsAttr::get(type, none)));
  return node.emit<train::ConcatOp>(
      {mask, rest}, node.i64("axis", int64_t(shape.size()) - 1));
}

Value mpc::maskScores(ImportedNode &node, Value scores,
                      const AttentionMask &seen) {
  if (!scores)
    return nullptr;
  SmallVector<int64_t> shape(shapeOf(scores));
  int64_t rows = shape[2], columns = shape[3];
  if (seen.mask) {
    Value mask = fillColumns(node, seen.mask, columns);
    scores = !mask          ? Value()
             : isBool(mask) ? keepWhere(node, mask, scores)
                            : node.emit<train::AddOp>({scores, mask});
    if (scores && ArrayRef<int64_t>(shape) != shapeOf(scores)) {
      node.shapeError() << "input 3, the mask, must broadcast to the scores, "
                        << shape[0] << "x" << shape[1] << "x" << rows << "x"
                        << columns;
      return nullptr;
    }
  }
  if (seen.lengths)
    return scores ? maskByLengths(node, scores, seen) : Value();
  Value constant =
      constantMask(node, rows, columns, [&](int64_t row, int64_t column) {
        int64_t ahead = column - row - seen.past;
        return (!seen.causal || ahead <= 0) &&
               (!seen.right || ahead <= *seen.right) &&
               (!seen.left || -ahead <= *seen.left);
      });
  if (node.failed())
    return nullptr;
  return constant && scores ? keepWhere(node, constant, scores) : scores;
}
