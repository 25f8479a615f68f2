//===- AlongAxis.cpp - Import of sorting and cumulative sums --------------===//

#include "compiler/Import/Graph/ImportedNode.h"
#include "compiler/Import/Ops/Tensor/Index.h"

using namespace mlir;
using namespace mpc;

static LogicalResult importCumSum(ImportedNode &node) {
  Value input = node.numberInput(0);
  bool exclusive = node.boolAttr("exclusive", false);
  bool reverse = node.boolAttr("reverse", false);
  int64_t axis = node.knownInteger(1);
  if (node.failed())
    return failure();
  SmallVector<NamedAttribute> attributes = {node.i64(
      "axis", node.normalizeAxis(axis, shapeOf(input).size(), "the axis"))};
  if (exclusive)
    attributes.push_back(node.flag("exclusive"));
  if (reverse)
    attributes.push_back(node.flag("reverse"));
  return node.setOutput(0, node.emit<train::CumSumOp>(input, attributes));
}

static LogicalResult foldCumSum(ImportedNode &node) {
  KnownTensor value = node.constant(0);
  bool exclusive = node.boolAttr("exclusive", false);
  bool reverse = node.boolAttr("reverse", false);
  int64_t number = node.knownInteger(1);
  if (!node.failed() && value.isBool())
    node.error() << "adds numbers, not bools";
  int64_t axis = node.normalizeAxis(number, value.shape.size(), "the axis");
  if (node.failed())
    return failure();
  int64_t stride = value.strides()[axis], extent = value.shape[axis];
  KnownTensor sums = value;
  for (int64_t row = 0, rows = extent ? value.size() / extent : 0; row < rows;
       ++row) {
    int64_t first = row / stride * stride * extent + row % stride;
    double sum = 0;
    uint64_t total = 0; // Sum of integers, which wraps around.
    for (int64_t i = 0; i < extent; ++i) {
      int64_t at = first + (reverse ? extent - 1 - i : i) * stride;
      double before = sum;
      uint64_t totalBefore = total;
      if (value.isFloat()) {
        sum += value.floats[at];
        sums.floats[at] =
            roundTo(node.graph.floatType, exclusive ? before : sum);
      } else {
        total += value.ints[at];
        sums.ints[at] =
            wrapTo(value.elementType, exclusive ? totalBefore : total);
      }
    }
  }
  return node.setKnown(sums);
}

template <bool smallest>
static LogicalResult importArgExtreme(ImportedNode &node) {
  Value input = node.input(0);
  int64_t axis = node.intAttr("axis", 0);
  bool keepDims = node.boolAttr("keepdims", true);
  bool last = node.boolAttr("select_last_index", false);
  if (node.failed())
    return failure();
  SmallVector<int64_t> shape(shapeOf(input));
  axis = node.normalizeAxis(axis, shape.size(), "attribute 'axis'");
  SmallVector<NamedAttribute> attributes = {node.i64("axis", axis)};
  if (smallest)
    attributes.push_back(node.flag("smallest"));
  if (last)
    attributes.push_back(node.flag("last"));
  Value result = node.emit<train::ArgExtremeOp>(input, attributes);
  if (!result)
    return failure();
  shape[axis] = 1;
  return node.setOutput(0, keepDims ? node.reshape(result, shape) : result);
}

/// Computes the indices, then gathers the values.
static LogicalResult importTopK(ImportedNode &node) {
  Value input = node.numberInput(0);
  SmallVector<int64_t> k = node.knownInts(1);
  int64_t axis = node.intAttr("axis", -1);
  bool largest = node.boolAttr("largest", true);
  node.boolAttr("sorted", true); // Results are always sorted.
  if (node.failed())
    return failure();
  SmallVector<int64_t> shape(shapeOf(input));
  axis = node.normalizeAxis(axis, shape.size(), "attribute 'axis'");
  if (!node.failed() && (k.size() != 1 || k[0] < 1 || k[0] > shape[axis]))
    return node.shapeError() << "K must be one number from 1 to " << shape[axis]
                             << ", but is [" << ArrayRef(k) << "]";
  if (node.failed())
    return failure();
  SmallVector<NamedAttribute> attributes = {node.i64("axis", axis),
                                            node.i64("k", k[0])};
  if (!largest)
    attributes.push_back(node.flag("smallest"));
  Value indices = node.emit<train::TopIndicesOp>(input, attributes);
  if (!indices)
    return failure();
  FlatIndex index;
  index.rows = node.emit<train::FlatIndexOp>(
      indices, {node.i64s("axes", axis), node.i64s("extents", shape)});
  index.tableRows = ShapedType::getNumElements(shape);
  if (failed(node.setOutput(0, gatherRows(node, input, index))))
    return failure();
  return node.setOutput(1, indices);
}

/// 1 at the first largest element of each row, else 0.
static LogicalResult importHardmax(ImportedNode &node) {
  Value input = node.floatInput(0);
  int64_t axis = node.intAttr("axis", -1);
  if (node.failed())
    return failure();
  SmallVector<int64_t> shape(shapeOf(input)), classes(shape.size(), 1);
  axis = node.normalizeAxis(axis, shape.size(), "attribute 'axis'");
  Value largest = node.emit<train::ArgExtremeOp>(input, node.i64("axis", axis));
  if (!largest)
    return failure();
  classes[axis] = shape[axis];
  SmallVector<int64_t> numbers = node.iota(shape[axis]);
  shape[axis] = 1;
  Value isLargest =
      node.compare(node.reshape(largest, shape),
                   node.integers(numbers, classes), train::Comparison::Equal);
  return node.setOutput(0, node.castTo(isLargest, node.graph.floatType));
}

/// Reverses the first steps of each sample, as many as its length: gathers rows
/// of a table of time and batch.
static LogicalResult importReverseSequence(ImportedNode &node) {
  Value input = node.input(0), lengths = node.intInput(1);
  int64_t timeAxis = node.intAttr("time_axis", 0);
  int64_t batchAxis = node.intAttr("batch_axis", 1);
  if (node.failed())
    return failure();
  ArrayRef<int64_t> shape = shapeOf(input);
  if (shape.size() < 2 || std::min(timeAxis, batchAxis) != 0 ||
      std::max(timeAxis, batchAxis) != 1)
    return node.shapeError() << "attributes 'time_axis' and 'batch_axis' must "
                                "be 0 and 1, or 1 and 0, of at least 2 "
                                "dimensions";
  int64_t steps = shape[timeAxis], batch = shape[batchAxis];
  if (shapeOf(lengths) != ArrayRef<int64_t>({batch}))
    return node.shapeError() << "input 1 must have " << batch << " elements";
  auto count = [&](int64_t extent, int64_t axis) {
    SmallVector<int64_t> stands(2, 1);
    stands[axis] = extent;
    return node.integers(node.iota(extent), stands);
  };
  using Operation = train::IntegerOperation;
  Value times = count(steps, timeAxis);
  SmallVector<int64_t> stands(2, 1);
  stands[batchAxis] = batch;
  lengths = node.reshape(node.castTo(lengths, node.graph.builder.getI64Type()),
                         stands);
  Value last = node.integerOp(Operation::Sub, lengths, node.integers({1}, {}));
  Value places = node.emit<train::SelectOp>(
      {node.compare(times, lengths, train::Comparison::Less),
       node.integerOp(Operation::Sub, last, times), times});
  Value rows = node.integerOp(
      Operation::Add,
      node.integerOp(Operation::Mul, places,
                     node.integers({timeAxis == 0 ? batch : 1}, {})),
      node.integerOp(Operation::Mul, count(batch, batchAxis),
                     node.integers({timeAxis == 0 ? 1 : steps}, {})));
  FlatIndex index;
  index.rows = rows;
  index.tableRows = steps * batch;
  llvm::append_range(index.rowShape, shape.drop_front(2));
  return node.setOutput(0, node.failed() ? Value()
                                         : gatherRows(node, input, index));
}

ArrayRef<OpRow> mpc::alongAxisOps() {
  static const OpRow rows[] = {
      {"CumSum", 11, 2, 2, 1, importCumSum, foldCumSum},
      {"ArgMax", 12, 1, 1, 1, importArgExtreme<false>},
      {"ArgMin", 12, 1, 1, 1, importArgExtreme<true>},
      {"TopK", 11, 2, 2, 2, importTopK},
      {"Hardmax", 13, 1, 1, 1, importHardmax},
      {"ReverseSequence", 10, 2, 2, 1, importReverseSequence},
  };
  return rows;
}
