//===- Shape.cpp - Import of ops that move elements -----------------------===//

#include "compiler/Import/Ops/Gather.h"

#include <numeric>

using namespace mlir;
using namespace mpc;

static int64_t product(ArrayRef<int64_t> extents) {
  // Extents of values that exist: no overflow.
  return std::accumulate(extents.begin(), extents.end(), int64_t(1),
                         std::multiplies<>());
}

static LogicalResult importFlatten(ImportedNode &node) {
  Value input = node.input(0);
  int64_t axis = node.intAttr("axis", 1);
  if (node.failed())
    return failure();
  ArrayRef<int64_t> shape = shapeOf(input);
  axis = node.normalizeAxis(axis, shape.size(), "attribute 'axis'",
                            /*allowEnd=*/true);
  return node.setOutput(0,
                        node.reshape(input, {product(shape.take_front(axis)),
                                             product(shape.drop_front(axis))}));
}

/// Works out the 0 and -1 of a requested shape.
static std::optional<SmallVector<int64_t>>
resolveShape(ImportedNode &node, ArrayRef<int64_t> from,
             ArrayRef<int64_t> wanted, bool allowZero) {
  SmallVector<int64_t> shape;
  std::optional<size_t> open;
  int64_t known = 1, total = product(from);
  for (size_t i = 0; i < wanted.size(); ++i) {
    int64_t extent = wanted[i];
    if (extent == 0 && !allowZero) {
      if (i >= from.size()) {
        node.shapeError() << "the shape copies dimension " << i
                          << ", which the input does not have";
        return std::nullopt;
      }
      extent = from[i];
    }
    if (extent < -1 || extent == 0 || (extent == -1 && open)) {
      node.shapeError() << "dimension " << i << " of the shape is " << extent
                        << (open ? "; only one may be -1"
                                 : "; it must be positive or -1");
      return std::nullopt;
    }
    shape.push_back(extent);
    if (extent == -1)
      open = i;
    else // Beyond the total it cannot fit; not multiplying avoids overflow.
      known = extent > total / known ? total + 1 : known * extent;
    if (known > total)
      break;
  }
  bool fits = known <= total && (open ? total % known == 0 : known == total);
  if (!fits) {
    node.shapeError() << "the input has " << total
                      << " elements, which do not fill the shape";
    return std::nullopt;
  }
  if (open)
    shape[*open] = total / known;
  return shape;
}

//===----------------------------------------------------------------------===//
// Lists of integers that are known at import
//===----------------------------------------------------------------------===//

/// Gives the numbers of input 0 another rank.
static LogicalResult moveKnownInts(ImportedNode &node, bool isList) {
  SmallVector<int64_t> values = node.knownInts(0);
  return node.failed()
             ? failure()
             : node.setKnownInts(values, isList, node.knownElementType(0));
}

/// Dimensions are bound, so that every shape is known.
static LogicalResult importShape(ImportedNode &node) {
  SmallVector<int64_t> shape = node.shapeOfInput(0);
  int64_t rank = shape.size();
  auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  int64_t start = clamp(node.intAttr("start", 0));
  int64_t end = std::max(clamp(node.intAttr("end", rank)), start);
  if (node.failed())
    return failure();
  return node.setKnownInts(ArrayRef(shape).slice(start, end - start),
                           /*isList=*/true, node.graph.builder.getI64Type());
}

static LogicalResult importGather(ImportedNode &node) {
  int64_t axis = node.intAttr("axis", 0);
  if (!node.isKnownList(0) || !node.isKnownInts(1))
    return importGatherOfData(node);
  node.normalizeAxis(axis, 1, "attribute 'axis'");
  SmallVector<int64_t> values = node.knownInts(0), picked;
  for (int64_t index : node.knownInts(1)) {
    index = node.normalizeAxis(index, values.size(), "an index");
    if (node.failed())
      return failure();
    picked.push_back(values[index]);
  }
  return node.setKnownInts(picked, node.isKnownList(1),
                           node.knownElementType(0));
}

/// One entry of a known list of integers, or `absent`.
static int64_t onlyEntry(ImportedNode &node, unsigned i, int64_t absent) {
  if (!node.hasInput(i))
    return absent;
  SmallVector<int64_t> values = node.knownInts(i);
  if (!node.failed() && values.size() != 1)
    node.error() << "input " << i << " has " << values.size()
                 << " entries, but a list has one dimension";
  return node.failed() ? absent : values.front();
}

static LogicalResult importSlice(ImportedNode &node) {
  if (!node.isKnownList(0))
    return node.shapeError()
           << "is supported for shapes only: input 0 must be integers that are "
              "known at compile time, such as the output of a Shape node";
  SmallVector<int64_t> values = node.knownInts(0), picked;
  int64_t start = onlyEntry(node, 1, 0), end = onlyEntry(node, 2, 0);
  int64_t axis = onlyEntry(node, 3, 0), step = onlyEntry(node, 4, 1);
  node.normalizeAxis(axis, 1, "an entry of 'axes'");
  if (!node.failed() && step != 1 && step != -1)
    return node.error() << "the step must be 1 or -1, but is " << step;
  if (node.failed())
    return failure();
  // Backwards, the ends lie one further to the front.
  int64_t size = values.size(), low = step < 0 ? -1 : 0;
  auto clamp = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + size : position, low,
                               size + low);
  };
  start = clamp(start);
  end = clamp(end);
  for (int64_t i = start; step > 0 ? i < end : i > end; i += step)
    picked.push_back(values[i]);
  return node.setKnownInts(picked, /*isList=*/true, node.knownElementType(0));
}

/// The concatenation of lists; false if they are not all known, or too long for
/// a shape: a file that joins a list to itself again and again stays small.
static bool concatKnownInts(ImportedNode &node, LogicalResult &result) {
  constexpr int64_t most = 1024;
  int64_t count = 0;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    if (!node.isKnownList(i) ||
        node.knownElementType(i) != node.knownElementType(0))
      return false;
    int64_t extent = node.shapeOfInput(i).front();
    if (extent < 0 || extent > most || (count += extent) > most)
      return false;
  }
  SmallVector<int64_t> values;
  for (unsigned i = 0; i < node.numInputs(); ++i)
    llvm::append_range(values, node.knownInts(i));
  node.normalizeAxis(node.intAttr("axis", 0), 1, "attribute 'axis'");
  result = node.failed() ? failure()
                         : node.setKnownInts(values, /*isList=*/true,
                                             node.knownElementType(0));
  return true;
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

static LogicalResult importReshape(ImportedNode &node) {
  bool allowZero = node.boolAttr("allowzero", false);
  if (node.isKnownInts(0) && node.isKnownList(1)) {
    // To a list of all, however it is said; others are data.
    SmallVector<int64_t> wanted = node.knownInts(1);
    if (!node.failed() && (wanted == ArrayRef<int64_t>{-1} ||
                           (wanted.empty() && node.knownInts(0).size() == 1)))
      return moveKnownInts(node, /*isList=*/!wanted.empty());
  }
  Value input = node.input(0);
  SmallVector<int64_t> wanted = node.knownInts(1);
  if (node.failed())
    return failure();
  auto shape = resolveShape(node, shapeOf(input), wanted, allowZero);
  if (!shape)
    return failure();
  return node.setOutput(0, node.reshape(input, *shape));
}

static LogicalResult importTranspose(ImportedNode &node) {
  Value input = node.input(0);
  auto permutation = node.intsAttr("perm");
  if (node.failed())
    return failure();
  size_t rank = shapeOf(input).size();
  if (!permutation) {
    permutation.emplace(rank);
    std::iota(permutation->rbegin(), permutation->rend(), 0);
  }
  SmallVector<int64_t> sorted = *permutation;
  llvm::sort(sorted);
  bool isPermutation = sorted.size() == rank;
  for (size_t i = 0; isPermutation && i < rank; ++i)
    isPermutation = sorted[i] == int64_t(i);
  if (!isPermutation)
    return node.shapeError() << "attribute 'perm' must be a permutation of the "
                             << rank << " dimensions";
  return node.setOutput(0, node.emit<train::TransposeOp>(
                               input, node.i64s("permutation", *permutation)));
}

/// Normalized axes, each at most once.
static SmallVector<int64_t> distinctAxes(ImportedNode &node,
                                         ArrayRef<int64_t> axes, int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t axis : axes) {
    result.push_back(node.normalizeAxis(axis, rank, "an entry of 'axes'"));
    if (!node.failed() && llvm::count(result, result.back()) > 1)
      node.error() << "'axes' names dimension " << result.back() << " twice";
  }
  return result;
}

static LogicalResult importSqueeze(ImportedNode &node) {
  if (node.isKnownList(0) && node.shapeOfInput(0).front() == 1 &&
      (!node.hasInput(1) || node.isKnownList(1))) {
    SmallVector<int64_t> axes = {0};
    if (node.hasInput(1))
      axes = distinctAxes(node, node.knownInts(1), 1);
    if (node.failed())
      return failure();
    return moveKnownInts(node, /*isList=*/axes.empty());
  }
  Value input = node.input(0);
  bool hasAxes = node.hasInput(1);
  SmallVector<int64_t> axes;
  if (hasAxes)
    axes = node.knownInts(1);
  if (node.failed())
    return failure();
  ArrayRef<int64_t> from = shapeOf(input);
  axes = distinctAxes(node, axes, from.size());
  SmallVector<int64_t> shape;
  for (auto [i, extent] : llvm::enumerate(from)) {
    bool isNamed = llvm::is_contained(axes, int64_t(i));
    if (isNamed && extent != 1 && !node.failed())
      return node.shapeError() << "dimension " << i << " is " << extent
                               << "; only dimensions of extent 1 can go";
    if (hasAxes ? !isNamed : extent != 1)
      shape.push_back(extent);
  }
  return node.setOutput(0, node.reshape(input, shape));
}

static LogicalResult importUnsqueeze(ImportedNode &node) {
  if (node.isKnownInts(0) && !node.isKnownList(0) && node.isKnownList(1) &&
      node.shapeOfInput(1).front() == 1) {
    distinctAxes(node, node.knownInts(1), 1);
    return moveKnownInts(node, /*isList=*/true);
  }
  Value input = node.input(0);
  SmallVector<int64_t> axes = node.knownInts(1);
  if (node.failed())
    return failure();
  ArrayRef<int64_t> from = shapeOf(input);
  size_t rank = from.size() + axes.size();
  if (rank > kMaxRank)
    return node.shapeError()
           << "the result has " << rank << " dimensions; at most " << kMaxRank
           << " are supported";
  axes = distinctAxes(node, axes, rank);
  if (node.failed())
    return failure();
  SmallVector<int64_t> shape;
  for (size_t i = 0; i < rank; ++i) {
    bool isNew = llvm::is_contained(axes, int64_t(i));
    shape.push_back(isNew ? 1 : from.front());
    from = isNew ? from : from.drop_front();
  }
  return node.setOutput(0, node.reshape(input, shape));
}

static LogicalResult importConcat(ImportedNode &node) {
  LogicalResult known = failure();
  if (node.hasAttr("axis") && concatKnownInts(node, known))
    return known;
  SmallVector<Value> inputs;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    if (!node.hasInput(i))
      return node.error() << "input " << i << " is missing";
    inputs.push_back(node.input(i));
  }
  if (!node.hasAttr("axis"))
    return node.error() << "attribute 'axis' is missing";
  int64_t axis = node.intAttr("axis", 0);
  if (node.failed())
    return failure();
  auto first = cast<RankedTensorType>(inputs[0].getType());
  axis = node.normalizeAxis(axis, first.getRank(), "attribute 'axis'");
  for (Value input : inputs) {
    auto type = cast<RankedTensorType>(input.getType());
    bool fits = type.getElementType() == first.getElementType() &&
                type.getRank() == first.getRank();
    for (int64_t i = 0; fits && i < type.getRank(); ++i)
      fits = i == axis || type.getDimSize(i) == first.getDimSize(i);
    if (!fits && !node.failed())
      return node.shapeError() << "the inputs must agree in element type and "
                                  "in every dimension but "
                               << axis;
  }
  return node.setOutput(
      0, node.emit<train::ConcatOp>(inputs, node.i64("axis", axis)));
}

ArrayRef<OpRow> mpc::shapeOps() {
  static const OpRow rows[] = {
      {"Flatten", 11, 1, 1, 1, importFlatten},
      {"Reshape", 13, 2, 2, 1, importReshape},
      {"Transpose", 1, 1, 1, 1, importTranspose},
      {"Squeeze", 13, 1, 2, 1, importSqueeze},
      {"Unsqueeze", 13, 2, 2, 1, importUnsqueeze},
      {"Concat", 11, 1, 1u << 16, 1, importConcat},
      {"Shape", 13, 1, 1, 1, importShape},
      {"Gather", 13, 2, 2, 1, importGather},
      {"Slice", 13, 3, 5, 1, importSlice},
  };
  return rows;
}
