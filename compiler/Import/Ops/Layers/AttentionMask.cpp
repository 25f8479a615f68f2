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
    node.error() << Fault::BadAttribute << "attribute '" << name
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
      node.error() << Fault::UnsupportedType << "input 3, the mask, is "
                   << typeText(seen.mask.getType())
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

namespace {

/// Where masks go: to the scores, or to biases of attention.
struct MaskSink {
  /// Hides keys where the condition is false.
  function_ref<void(Value condition)> keepWhere;
  function_ref<void(Value floats)> add;
};

} // namespace

/// The mask by the lengths of samples: hides padding, and keys beyond the
/// bounds of the window.
static void maskByLengths(ImportedNode &node, ArrayRef<int64_t> shape,
                          const AttentionMask &seen, const MaskSink &sink) {
  int64_t rows = shape[2], columns = shape[3];
  if (shapeOf(seen.lengths)[0] != shape[0]) {
    node.shapeError()
        << "input 6, the numbers of keys without padding, must have "
        << shape[0] << " elements, one for each sample";
    return;
  }
  using train::Comparison;
  Value lengths = node.reshape(seen.lengths, {shape[0], 1, 1, 1});
  sink.keepWhere(node.compare(node.integers(node.iota(columns), {columns}),
                              lengths, Comparison::Less));
  std::optional<int64_t> right = seen.causal ? 0 : seen.right;
  if (!right && !seen.left)
    return;
  // Row i is at position lengths - rows + i.
  Value ahead = node.integerOp(
      train::IntegerOperation::Sub, distances(node, rows, columns),
      node.integerOp(train::IntegerOperation::Sub, lengths,
                     node.integers({rows}, {})));
  if (right)
    sink.keepWhere(node.compare(ahead, node.integers({*right}, {}),
                                Comparison::LessOrEqual));
  if (seen.left)
    sink.keepWhere(node.compare(node.integers({-*seen.left}, {}), ahead,
                                Comparison::LessOrEqual));
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

/// Whether `mask` broadcasts to `shape`.
static bool broadcastsTo(Value mask, ArrayRef<int64_t> shape) {
  ArrayRef<int64_t> own = shapeOf(mask);
  return llvm::all_of(llvm::zip(own, shape.take_back(own.size())),
                      [](auto extents) {
                        auto [extent, wanted] = extents;
                        return extent == 1 || extent == wanted;
                      });
}

/// Passes all masks to `sink`. With `exceptCausal`, a mask that hides all keys
/// after the query is left out.
static void readMasks(ImportedNode &node, ArrayRef<int64_t> shape,
                      const AttentionMask &seen, bool exceptCausal,
                      const MaskSink &sink) {
  if (node.failed())
    return;
  int64_t rows = shape[2], columns = shape[3];
  if (seen.mask) {
    Value mask = fillColumns(node, seen.mask, columns);
    if (mask && !broadcastsTo(mask, shape)) {
      node.shapeError() << "input 3, the mask, must broadcast to the scores, "
                        << shape[0] << "x" << shape[1] << "x" << rows << "x"
                        << columns;
      return;
    }
    if (mask && isBool(mask))
      sink.keepWhere(mask);
    else if (mask)
      sink.add(mask);
  }
  if (seen.lengths)
    return maskByLengths(node, shape, seen, sink);
  bool isCausal = seen.causal && !exceptCausal;
  Value constant =
      constantMask(node, rows, columns, [&](int64_t row, int64_t column) {
        int64_t ahead = column - row - seen.past;
        return (!isCausal || ahead <= 0) &&
               (!seen.right || ahead <= *seen.right) &&
               (!seen.left || -ahead <= *seen.left);
      });
  if (constant)
    sink.keepWhere(constant);
}

Value mpc::maskScores(ImportedNode &node, Value scores,
                      const AttentionMask &seen) {
  if (!scores)
    return nullptr;
  SmallVector<int64_t> shape(shapeOf(scores));
  readMasks(node, shape, seen, /*exceptCausal=*/false,
            {[&](Value condition) {
               scores = node.emit<train::SelectOp>(
                   {condition, scores,
                    node.scalar(-std::numeric_limits<double>::infinity())});
             },
             [&](Value floats) {
               scores = node.emit<train::AddOp>({scores, floats});
             }});
  return node.failed() ? Value() : scores;
}

/// A mask as a bias of attention, with rank 4 and all columns; null after an
/// error.
static Value asBias(ImportedNode &node, Value mask, int64_t columns) {
  if (!mask)
    return nullptr;
  SmallVector<int64_t> shape(4 - shapeOf(mask).size(), 1);
  llvm::append_range(shape, shapeOf(mask));
  Value bias = node.reshape(mask, shape);
  if (shape[3] == columns)
    return bias;
  shape[3] = columns;
  return node.broadcast(bias, shape);
}

AttentionBiases mpc::maskBiases(ImportedNode &node, ArrayRef<int64_t> shape,
                                const AttentionMask &seen) {
  AttentionBiases result;
  result.isCausal = seen.causal && seen.past == 0 && !seen.lengths;
  Value hidden;
  readMasks(node, shape, seen, result.isCausal,
            {[&](Value condition) {
               Value bias = node.emit<train::SelectOp>(
                   {asBias(node, condition, shape[3]), node.scalar(0.0),
                    node.scalar(-std::numeric_limits<double>::infinity())});
               hidden = hidden ? node.emit<train::AddOp>({hidden, bias}) : bias;
             },
             [&](Value floats) {
               result.biases.push_back(asBias(node, floats, shape[3]));
             }});
  if (hidden)
    result.biases.push_back(hidden);
  return result;
}
