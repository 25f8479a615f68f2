//===- Sequence.cpp - Import of sequences ---------------------------------===//
//
// Exporters write lists of tensors (results of torch.split, tensors to stack)
// as sequences. Their lengths and all positions in them must be known; they
// leave no trace.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"

using namespace mlir;
using namespace mpc;

using Elements = std::vector<std::shared_ptr<GraphValue>>;

static std::optional<Elements> sequenceInput(ImportedNode &node, unsigned i) {
  const GraphValue &value = node.graph.lookup(node.proto.input(i));
  if (node.failed())
    return std::nullopt;
  if (value.isSequence)
    return value.elements;
  node.error() << "input " << i << " '" << node.proto.input(i)
               << "' must be a sequence";
  return std::nullopt;
}

static LogicalResult setSequence(ImportedNode &node, Elements elements) {
  if (node.failed() ||
      failed(node.graph.addSequence(elements.size(), node.loc)))
    return failure();
  GraphValue entry{{}, nullptr, false, {}, node.loc};
  entry.isSequence = true;
  entry.elements = std::move(elements);
  node.graph.define(node.proto.output(0),
                    std::make_shared<GraphValue>(std::move(entry)));
  return success();
}

static std::shared_ptr<GraphValue> element(ImportedNode &node, Value value) {
  return std::make_shared<GraphValue>(
      GraphValue{value, nullptr, false, {}, node.loc});
}

/// The position in a sequence of `count` elements that input `i` gives; the end
/// is valid if `mayBeEnd`.
static int64_t positionIn(ImportedNode &node, unsigned i, int64_t count,
                          bool mayBeEnd = false) {
  int64_t position = node.knownInteger(i), last = mayBeEnd ? count : count - 1;
  if (!node.failed() && (position < -count || position > last))
    node.error() << "position " << position
                 << " is out of range for a sequence of " << count;
  return position < 0 ? position + count : position;
}

/// The sizes of the parts of a dimension of `extent`: as input 1 lists them or,
/// if that is one number or absent, all of that size or of size 1.
static SmallVector<int64_t> partSizes(ImportedNode &node, int64_t extent) {
  constexpr int64_t kMaxParts = 1 << 16;
  if (node.hasInput(1) && !node.shapeOfInput(1).empty()) {
    SmallVector<int64_t> sizes = node.knownInts(1);
    int64_t left = extent;
    bool fits = true;
    for (int64_t size : sizes) {
      fits &= size >= 1 && size <= left;
      left -= fits ? size : 0;
    }
    if (!node.failed() && (!fits || left != 0))
      node.shapeError() << "the parts [" << ArrayRef(sizes)
                        << "] do not fill a dimension of " << extent;
    return sizes;
  }
  int64_t each = node.hasInput(1) ? node.knownInteger(1) : 1;
  if (!node.failed() && each < 1)
    node.error() << "the parts must not be empty";
  if (node.failed())
    return {};
  int64_t count = llvm::divideCeil(extent, each);
  if (count > kMaxParts) {
    node.shapeError() << "makes " << count << " parts; at most " << kMaxParts
                      << " are supported";
    return {};
  }
  SmallVector<int64_t> sizes(count, each);
  sizes.back() = extent - (count - 1) * each;
  return sizes;
}

static LogicalResult importSplitToSequence(ImportedNode &node) {
  Value input = node.input(0);
  int64_t axis = node.intAttr("axis", 0);
  bool keepDims = node.boolAttr("keepdims", true);
  if (node.failed())
    return failure();
  SmallVector<int64_t> shape(shapeOf(input));
  axis = node.normalizeAxis(axis, shape.size(), "attribute 'axis'");
  if (node.failed())
    return failure();
  bool isSplit = node.hasInput(1);
  SmallVector<int64_t> sizes = partSizes(node, shape[axis]);
  Operation *split = node.emitOp<train::SplitOp>(
      input, {node.i64("axis", axis), node.i64s("sizes", sizes)});
  Elements elements;
  for (size_t i = 0; split && i < sizes.size(); ++i) {
    Value part = split->getResult(i);
    SmallVector<int64_t> without(shape);
    without.erase(without.begin() + axis);
    if (!isSplit && !keepDims)
      part = node.reshape(part, without);
    elements.push_back(element(node, part));
  }
  return setSequence(node, std::move(elements));
}

static LogicalResult importSequenceAt(ImportedNode &node) {
  auto elements = sequenceInput(node, 0);
  int64_t position = elements ? positionIn(node, 1, elements->size()) : 0;
  if (node.failed())
    return failure();
  node.graph.define(node.proto.output(0), (*elements)[position]);
  return success();
}

static LogicalResult importSequenceConstruct(ImportedNode &node) {
  Elements elements;
  for (unsigned i = 0; i < node.numInputs(); ++i)
    elements.push_back(node.graph.share(node.proto.input(i)));
  return setSequence(node, std::move(elements));
}

static LogicalResult importSequenceEmpty(ImportedNode &node) {
  node.intAttr("dtype", 1);
  return setSequence(node, {});
}

static LogicalResult importSequenceInsert(ImportedNode &node) {
  auto elements = sequenceInput(node, 0);
  if (!elements)
    return failure();
  auto position = static_cast<int64_t>(elements->size());
  if (node.hasInput(2))
    position = positionIn(node, 2, position, /*mayBeEnd=*/true);
  if (node.failed())
    return failure();
  elements->insert(elements->begin() + position,
                   node.graph.share(node.proto.input(1)));
  return setSequence(node, std::move(*elements));
}

static LogicalResult importSequenceErase(ImportedNode &node) {
  auto elements = sequenceInput(node, 0);
  if (!elements)
    return failure();
  int64_t last = elements->size() - 1;
  int64_t position = node.hasInput(1) ? positionIn(node, 1, last + 1) : last;
  if (!node.failed() && position < 0)
    node.error() << "the sequence is empty";
  if (node.failed())
    return failure();
  elements->erase(elements->begin() + position);
  return setSequence(node, std::move(*elements));
}

static LogicalResult importSequenceLength(ImportedNode &node) {
  auto elements = sequenceInput(node, 0);
  if (!elements)
    return failure();
  return node.setKnown(KnownTensor{
      node.graph.builder.getI64Type(), {}, {}, {int64_t(elements->size())}});
}

static LogicalResult importConcatFromSequence(ImportedNode &node) {
  auto elements = sequenceInput(node, 0);
  int64_t axis = node.intAttr("axis", 0);
  bool isNew = node.boolAttr("new_axis", false);
  if (node.failed())
    return failure();
  if (elements->empty())
    return node.error() << "the sequence is empty";
  SmallVector<Value> parts;
  for (const auto &value : *elements) {
    Value part = node.graph.materialize(*value);
    if (!part)
      return failure();
    if (parts.empty())
      axis = node.normalizeAxis(axis, shapeOf(part).size() + isNew,
                                "attribute 'axis'");
    SmallVector<int64_t> shape(shapeOf(part));
    if (isNew) {
      shape.insert(shape.begin() + std::min<int64_t>(axis, shape.size()), 1);
      part = node.reshape(part, shape);
    }
    parts.push_back(part);
  }
  return node.setOutput(
      0, node.emit<train::ConcatOp>(parts, node.i64("axis", axis)));
}

ArrayRef<OpRow> mpc::sequenceOps() {
  static const OpRow rows[] = {
      {"SplitToSequence", 11, 1, 2, 1, importSplitToSequence},
      {"SequenceAt", 11, 2, 2, 1, importSequenceAt, nullptr, false, true},
      {"SequenceConstruct", 11, 1, kAnyNumber, 1, importSequenceConstruct},
      {"SequenceEmpty", 11, 0, 0, 1, importSequenceEmpty},
      {"SequenceInsert", 11, 2, 3, 1, importSequenceInsert, nullptr, false,
       true},
      {"SequenceErase", 11, 1, 2, 1, importSequenceErase, nullptr, false, true},
      {"SequenceLength", 11, 1, 1, 1, importSequenceLength, nullptr, false,
       true},
      {"ConcatFromSequence", 11, 1, 1, 1, importConcatFromSequence, nullptr,
       false, true},
  };
  return rows;
}
