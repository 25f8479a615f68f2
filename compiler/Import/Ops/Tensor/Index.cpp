//===- Index.cpp - Positions of indexed elements --------------------------===//

#include "compiler/Import/Ops/Tensor/Index.h"

#include "compiler/Dialect/Train/Ops/Indexing/IndexGroups.h"
#include "compiler/Import/Ops/Tensor/Gather.h"
#include "compiler/Import/Ops/Training/Backward.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mpc;

//===----------------------------------------------------------------------===//
// Flat indices
//===----------------------------------------------------------------------===//

/// Emits flat_index, or computes its result if the indices are constants:
/// `parts[i]` belongs to `axes[i]` of a table of `extents`.
static std::optional<FlatIndex>
flatIndex(ImportedNode &node, unsigned input, ArrayRef<int64_t> axes,
          ArrayRef<int64_t> extents, ArrayRef<int64_t> rowShape,
          llvm::function_ref<Value(unsigned)> part,
          llvm::function_ref<KnownTensor(unsigned)> knownPart) {
  FlatIndex index;
  index.tableRows = product(extents);
  llvm::append_range(index.rowShape, rowShape);
  Type type = node.typeOfInput(input);
  if (!type || !(type.isInteger(32) || type.isInteger(64))) {
    node.shapeError() << "input " << input
                      << ", the indices, must be int32 or int64";
    return std::nullopt;
  }
  if (node.isConstant(input)) {
    KnownTensor rows;
    rows.elementType = node.graph.builder.getI64Type();
    SmallVector<KnownTensor> parts;
    for (unsigned i = 0; i < axes.size(); ++i)
      parts.push_back(knownPart(i));
    if (node.failed())
      return std::nullopt;
    rows.shape = parts[0].shape;
    SmallVector<int64_t> strides = rows.strides();
    for (int64_t at = 0, count = product(rows.shape); at < count; ++at) {
      int64_t row = 0;
      const auto *axis = axes.begin();
      for (auto [dim, extent] : llvm::enumerate(extents)) {
        int64_t place;
        if (axis != axes.end() && *axis == int64_t(dim))
          place = node.normalizeAxis(parts[axis++ - axes.begin()].ints[at],
                                     extent, "an index");
        else
          place = at / strides[dim] % rows.shape[dim];
        row = row * extent + place;
      }
      rows.ints.push_back(row);
    }
    if (node.failed())
      return std::nullopt;
    index.rows = node.integers(rows.ints, rows.shape);
    index.known = std::move(rows);
    return index;
  }
  SmallVector<Value> parts;
  for (unsigned i = 0; i < axes.size(); ++i)
    parts.push_back(part(i));
  index.rows = node.emit<train::FlatIndexOp>(
      parts, {node.i64s("axes", axes), node.i64s("extents", extents)});
  if (!index.rows)
    return std::nullopt;
  return index;
}

std::optional<FlatIndex> mpc::elementIndex(ImportedNode &node,
                                           ArrayRef<int64_t> data, int64_t axis,
                                           unsigned input) {
  SmallVector<int64_t> shape = node.shapeOfInput(input);
  if (node.failed())
    return std::nullopt;
  bool fits = shape.size() == data.size();
  for (size_t dim = 0; fits && dim < shape.size(); ++dim)
    fits = int64_t(dim) == axis || shape[dim] <= data[dim];
  if (!fits) {
    node.shapeError() << "the indices, of shape [" << ArrayRef(shape)
                      << "], must have the dimensions of the data, [" << data
                      << "], or fewer, except in dimension " << axis;
    return std::nullopt;
  }
  return flatIndex(
      node, input, axis, data, {},
      [&](unsigned) { return node.intInput(input); },
      [&](unsigned) { return node.constant(input); });
}

std::optional<FlatIndex>
mpc::tupleIndex(ImportedNode &node, ArrayRef<int64_t> data, int64_t batch) {
  SmallVector<int64_t> shape = node.shapeOfInput(1);
  if (node.failed())
    return std::nullopt;
  int64_t rank = data.size();
  int64_t length = shape.empty() ? 0 : shape.back();
  bool fits = !shape.empty() && batch >= 0 && batch < int64_t(shape.size()) &&
              length >= 1 && batch + length <= rank;
  for (int64_t dim = 0; fits && dim < batch; ++dim)
    fits = shape[dim] == data[dim];
  if (!fits) {
    node.shapeError() << "the indices, of shape [" << ArrayRef(shape)
                      << "], do not name elements of data of shape [" << data
                      << "] with " << batch << " batch dimensions";
    return std::nullopt;
  }
  SmallVector<int64_t> axes =
      llvm::to_vector(llvm::seq<int64_t>(batch, batch + length));
  SmallVector<int64_t> outer(ArrayRef<int64_t>(shape).drop_back());
  Value indices;
  auto part = [&](unsigned i) -> Value {
    if (!indices)
      indices = node.intInput(1);
    if (!indices)
      return nullptr;
    return node.reshape(node.part(indices, int64_t(shape.size()) - 1, i, 1),
                        outer);
  };
  auto knownPart = [&](unsigned i) {
    KnownTensor all = node.constant(1);
    if (node.failed())
      return all;
    return all.pick(outer, [&](int64_t at) { return at * length + i; });
  };
  return flatIndex(node, 1, axes, data.take_front(batch + length),
                   data.drop_front(batch + length), part, knownPart);
}

/// `data` as a table of rows.
static Value asTable(ImportedNode &node, Value data, const FlatIndex &index) {
  SmallVector<int64_t> shape = {index.tableRows};
  llvm::append_range(shape, index.rowShape);
  return node.reshape(data, shape);
}

Value mpc::gatherRows(ImportedNode &node, Value data, const FlatIndex &index) {
  Value table = asTable(node, data, index);
  if (!table)
    return nullptr;
  bool isFloatTable = isFloat(table);
  // A kernel copies long rows.
  constexpr int64_t kLongRow = 16;
  if (isFloatTable && product(index.rowShape) >= kLongRow)
    return node.emit<train::EmbeddingOp>({table, index.rows});
  return node.emit<train::GatherOp>({table, index.rows});
}

Value mpc::addRows(ImportedNode &node, Value updates, const FlatIndex &index,
                   ArrayRef<int64_t> shape) {
  if (node.failed())
    return nullptr;
  SmallVector<int64_t> expected(shapeOf(index.rows));
  llvm::append_range(expected, index.rowShape);
  if (shapeOf(updates) != ArrayRef<int64_t>(expected)) {
    node.shapeError() << "the gradient must have the shape of what is "
                         "gathered, ["
                      << ArrayRef(expected) << "]";
    return nullptr;
  }
  Value sums = node.emit<train::EmbeddingGradOp>(
      {updates, index.rows}, node.i64("rows", index.tableRows));
  return node.reshape(sums, shape);
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

static LogicalResult importGatherElements(ImportedNode &node) {
  Value data = node.input(0);
  int64_t axis = node.intAttr("axis", 0);
  if (node.failed())
    return failure();
  axis = node.normalizeAxis(axis, shapeOf(data).size(), "attribute 'axis'");
  auto index =
      node.failed() ? std::nullopt : elementIndex(node, shapeOf(data), axis);
  return index ? node.setOutput(0, gatherRows(node, data, *index)) : failure();
}

static LogicalResult importGatherND(ImportedNode &node) {
  Value data = node.input(0);
  int64_t batch = node.intAttr("batch_dims", 0);
  if (node.failed())
    return failure();
  auto index = tupleIndex(node, shapeOf(data), batch);
  return index ? node.setOutput(0, gatherRows(node, data, *index)) : failure();
}

/// Inputs dY, the shape of X and the indices.
static LogicalResult importGatherElementsGrad(ImportedNode &node) {
  Value grad = node.floatInput(0);
  SmallVector<int64_t> shape = knownShape(node, 1);
  int64_t axis = node.normalizeAxis(node.intAttr("axis", 0), shape.size(),
                                    "attribute 'axis'");
  auto index = node.failed() ? std::nullopt
                             : elementIndex(node, shape, axis, /*input=*/2);
  return index ? node.setOutput(0, addRows(node, grad, *index, shape))
               : failure();
}

/// Inputs the shape of X, the indices and dY.
static LogicalResult importGatherNDGrad(ImportedNode &node) {
  SmallVector<int64_t> shape = knownShape(node, 0);
  Value grad = node.floatInput(2);
  int64_t batch = node.intAttr("batch_dims", 0);
  auto index = node.failed() ? std::nullopt : tupleIndex(node, shape, batch);
  return index ? node.setOutput(0, addRows(node, grad, *index, shape))
               : failure();
}

/// Folds constants: computes the selected elements.
template <bool isTuple> static LogicalResult foldGather(ImportedNode &node) {
  KnownTensor data = node.constant(0);
  int64_t number = node.intAttr(isTuple ? "batch_dims" : "axis", 0);
  if (node.failed())
    return failure();
  if (!isTuple)
    number = node.normalizeAxis(number, data.shape.size(), "attribute 'axis'");
  if (node.failed())
    return failure();
  auto index = isTuple ? tupleIndex(node, data.shape, number)
                       : elementIndex(node, data.shape, number);
  if (!index || !index->known)
    return failure();
  SmallVector<int64_t> shape(index->known->shape);
  llvm::append_range(shape, index->rowShape);
  if (!node.fitsConstant(shape))
    return failure();
  int64_t width = product(index->rowShape);
  return node.setKnown(data.pick(shape, [&](int64_t at) {
    return index->known->ints[at / width] * width + at % width;
  }));
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

/// `attributes`, and the groups of the indices.
static SmallVector<NamedAttribute>
withGroups(ImportedNode &node, const FlatIndex &index,
           SmallVector<NamedAttribute> attributes) {
  const auto groups = train::IndexGroups::of(index.rows);
  attributes.push_back(node.i64("groups", groups.groups));
  attributes.push_back(node.i64("lanes", groups.lanes));
  return attributes;
}

/// The update that each row of the table takes, the last of several; the
/// smallest i64 for none. A constant if the indices are constants.
static Value lastUpdates(ImportedNode &node, const FlatIndex &index) {
  int64_t count = product(shapeOf(index.rows));
  if (!index.known || index.tableRows > kMaxKnownElements)
    return node.emit<train::LastIndexOp>(
        node.reshape(index.rows, count),
        withGroups(node, index, {node.i64("rows", index.tableRows)}));
  std::vector<int64_t> last(index.tableRows,
                            std::numeric_limits<int64_t>::min());
  for (int64_t i = 0; i < count; ++i)
    last[index.known->ints[i]] = i;
  return node.integers(last, index.tableRows);
}

static std::optional<train::IntegerOperation> reductionOf(StringRef name) {
  using Kind = train::IntegerOperation;
  return llvm::StringSwitch<std::optional<Kind>>(name)
      .Case("add", Kind::Add)
      .Case("mul", Kind::Mul)
      .Case("max", Kind::Max)
      .Case("min", Kind::Min)
      .Default(std::nullopt);
}

/// The data with updates in the rows that the indices select.
static Value scatterRows(ImportedNode &node, Value data, Value updates,
                         const FlatIndex &index, StringRef reduction) {
  SmallVector<int64_t> dataShape(shapeOf(data));
  Value table = asTable(node, data, index);
  SmallVector<int64_t> flat = {product(shapeOf(index.rows))};
  llvm::append_range(flat, index.rowShape);
  updates = node.reshape(updates, flat);
  Value rows = node.reshape(index.rows, flat[0]);
  if (node.failed())
    return nullptr;
  bool areFloats = isFloat(data);
  bool areFew = train::IndexGroups::of(index.rows).areFew(flat[0]);
  Value result;
  if (reduction == "none") {
    Value last = lastUpdates(node, index);
    Value chosen = node.emit<train::GatherOp>({updates, last});
    Value isKept =
        node.compare(last, node.numberLike(last, 0), train::Comparison::Less);
    SmallVector<int64_t> ones = {index.tableRows};
    ones.resize(flat.size(), 1);
    isKept = node.reshape(isKept, ones);
    result = node.emit<train::SelectOp>({isKept, table, chosen});
  } else if (reduction == "add" && areFloats && !areFew) {
    Value sums = node.emit<train::EmbeddingGradOp>(
        {updates, rows}, node.i64("rows", index.tableRows));
    result = node.emit<train::AddOp>({table, sums});
  } else if (auto kind = reductionOf(reduction)) {
    result = node.emit<train::ScatterReduceOp>(
        {table, rows, updates},
        withGroups(
            node, index,
            {node.attr("kind", train::IntegerOperationAttr::get(
                                   node.graph.builder.getContext(), *kind))}));
  } else {
    node.error() << Fault::BadAttribute << "attribute 'reduction' is '"
                 << reduction
                 << "'; supported are 'none', 'add', 'mul', 'max' and 'min'";
    return nullptr;
  }
  return node.reshape(result, dataShape);
}

static LogicalResult importScatter(ImportedNode &node, bool isTuple) {
  Value data = node.input(0), updates = node.input(2);
  int64_t axis = isTuple ? 0 : node.intAttr("axis", 0);
  std::string reduction = node.stringAttr("reduction", "none");
  if (node.failed())
    return failure();
  ArrayRef<int64_t> shape = shapeOf(data);
  if (!isTuple)
    axis = node.normalizeAxis(axis, shape.size(), "attribute 'axis'");
  if (node.failed())
    return failure();
  auto index =
      isTuple ? tupleIndex(node, shape, 0) : elementIndex(node, shape, axis);
  if (!index)
    return failure();
  SmallVector<int64_t> expected(shapeOf(index->rows));
  llvm::append_range(expected, index->rowShape);
  if (shapeOf(updates) != ArrayRef<int64_t>(expected) ||
      getElementTypeOrSelf(updates.getType()) !=
          getElementTypeOrSelf(data.getType()))
    return node.shapeError()
           << "the updates must have the type of the data and shape ["
           << ArrayRef(expected) << "]";
  return node.setOutput(0, scatterRows(node, data, updates, *index, reduction));
}

static LogicalResult importScatterElements(ImportedNode &node) {
  return importScatter(node, /*isTuple=*/false);
}

static LogicalResult importScatterND(ImportedNode &node) {
  return importScatter(node, /*isTuple=*/true);
}

/// Folds constants; applies updates in order.
template <bool isTuple> static LogicalResult foldScatter(ImportedNode &node) {
  KnownTensor data = node.constant(0), updates = node.constant(2);
  int64_t axis = isTuple ? 0 : node.intAttr("axis", 0);
  std::string reduction = node.stringAttr("reduction", "none");
  if (node.failed())
    return failure();
  if (!isTuple)
    axis = node.normalizeAxis(axis, data.shape.size(), "attribute 'axis'");
  if (!node.failed() && reduction != "none")
    node.error() << Fault::BadAttribute << "attribute 'reduction' is '"
                 << reduction << "'; of constants only 'none' is supported";
  if (node.failed())
    return failure();
  auto index = isTuple ? tupleIndex(node, data.shape, 0)
                       : elementIndex(node, data.shape, axis);
  if (!index || !index->known)
    return failure();
  int64_t width = product(index->rowShape), count = index->known->size();
  if (updates.size() != count * width ||
      updates.elementType != data.elementType)
    return node.error() << "the updates must have the type of the data and "
                        << count * width << " elements, but are "
                        << updates.size();
  for (int64_t i = 0; i < count * width; ++i) {
    int64_t at = index->known->ints[i / width] * width + i % width;
    if (data.isFloat())
      data.floats[at] = updates.floats[i];
    else
      data.ints[at] = updates.ints[i];
  }
  return node.setKnown(data);
}

//===----------------------------------------------------------------------===//
// OneHot
//===----------------------------------------------------------------------===//

static LogicalResult importOneHot(ImportedNode &node) {
  Value indices = node.numberInput(0);
  int64_t depth = node.knownInteger(1);
  int64_t axis = node.intAttr("axis", -1);
  if (node.failed())
    return failure();
  if (node.shapeOfInput(2) != ArrayRef<int64_t>(2))
    return node.error() << "input 2 must hold the off and the on value";
  // The values are constants of the op, not parameters.
  bool areFloats = isa_and_present<FloatType>(node.typeOfInput(2));
  std::vector<double> numbers;
  Value values;
  if (areFloats && node.isKnown(2))
    numbers = node.knownFloats(2);
  else
    values = node.input(2);
  if (node.failed())
    return failure();
  if (depth < 1)
    return node.error() << "the depth must be positive, but is " << depth;
  int64_t rank = shapeOf(indices).size();
  axis = node.normalizeAxis(axis, rank + 1, "attribute 'axis'");
  if (node.failed())
    return failure();
  indices = node.castTo(indices, node.graph.builder.getI64Type());
  // Negative indices count from the end; indices out of range set nothing.
  Value fromEnd = node.integerOp(train::IntegerOperation::Add, indices,
                                 node.numberLike(indices, depth));
  Value isNegative = node.compare(indices, node.numberLike(indices, 0),
                                  train::Comparison::Less);
  indices = node.emit<train::SelectOp>({isNegative, fromEnd, indices});
  if (!indices)
    return failure();
  SmallVector<int64_t> column(shapeOf(indices));
  column.insert(column.begin() + axis, 1);
  SmallVector<int64_t> classes(rank + 1, 1);
  classes[axis] = depth;
  Value isOn = node.compare(node.reshape(indices, column),
                            node.integers(node.iota(depth), classes),
                            train::Comparison::Equal);
  auto valueAt = [&](int64_t place) {
    return values ? node.reshape(node.pick(values, 0, place), {})
                  : node.scalar(numbers[place]);
  };
  return node.setOutput(
      0, node.emit<train::SelectOp>({isOn, valueAt(1), valueAt(0)}));
}

ArrayRef<OpRow> mpc::indexOps() {
  static const OpRow rows[] = {
      {"GatherElements", 11, 2, 2, 1, importGatherElements, foldGather<false>},
      {"GatherND", 11, 2, 2, 1, importGatherND, foldGather<true>},
      {"ScatterElements", 11, 3, 3, 1, importScatterElements,
       foldScatter<false>},
      {"ScatterND", 11, 3, 3, 1, importScatterND, foldScatter<true>},
      {"OneHot", 11, 3, 3, 1, importOneHot},
      {"com.microsoft.GatherGrad", 1, 3, 3, 1, importGatherGrad},
      {"com.microsoft.GatherElementsGrad", 1, 3, 3, 1,
       importGatherElementsGrad},
      {"com.microsoft.GatherNDGrad", 1, 3, 3, 1, importGatherNDGrad},
  };
  return rows;
}
