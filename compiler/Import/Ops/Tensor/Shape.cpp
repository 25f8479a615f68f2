//===- Shape.cpp - Import of ops that move elements -----------------------===//

#include "compiler/Import/Ops/Tensor/Gather.h"
#include "compiler/Import/Ops/Training/Backward.h"

#include "mlir/Dialect/Traits.h"

#include <numeric>

using namespace mlir;
using namespace mpc;

/// Replaces the 0 and -1 of a requested shape.
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
    else // More than the total is an error; not multiplying avoids overflow.
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
// Reshapes
//===----------------------------------------------------------------------===//

using MaybeShape = std::optional<SmallVector<int64_t>>;

static MaybeShape flattenedShape(ImportedNode &node, ArrayRef<int64_t> from) {
  int64_t axis = node.normalizeAxis(node.intAttr("axis", 1), from.size(),
                                    "attribute 'axis'", /*allowEnd=*/true);
  if (node.failed())
    return std::nullopt;
  return SmallVector<int64_t>{product(from.take_front(axis)),
                              product(from.drop_front(axis))};
}

static MaybeShape reshapedShape(ImportedNode &node, ArrayRef<int64_t> from) {
  bool allowZero = node.boolAttr("allowzero", false);
  SmallVector<int64_t> wanted = node.knownInts(1);
  if (node.failed())
    return std::nullopt;
  return resolveShape(node, from, wanted, allowZero);
}

/// Normalizes axes, each of which may occur once.
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

static MaybeShape squeezedShape(ImportedNode &node, ArrayRef<int64_t> from) {
  bool hasAxes = node.hasInput(1);
  SmallVector<int64_t> axes;
  if (hasAxes)
    axes = distinctAxes(node, node.knownInts(1), from.size());
  SmallVector<int64_t> shape;
  for (auto [i, extent] : llvm::enumerate(from)) {
    bool isNamed = llvm::is_contained(axes, int64_t(i));
    if (isNamed && extent != 1 && !node.failed())
      node.shapeError() << "dimension " << i << " is " << extent
                        << "; only dimensions of extent 1 can be removed";
    if (hasAxes ? !isNamed : extent != 1)
      shape.push_back(extent);
  }
  return node.failed() ? MaybeShape() : shape;
}

static MaybeShape unsqueezedShape(ImportedNode &node, ArrayRef<int64_t> from) {
  SmallVector<int64_t> axes = node.knownInts(1);
  size_t rank = from.size() + axes.size();
  if (rank > kMaxRank && !node.failed())
    node.shapeError() << "the result has " << rank << " dimensions; at most "
                      << kMaxRank << " are supported";
  axes = distinctAxes(node, axes, rank);
  if (node.failed())
    return std::nullopt;
  SmallVector<int64_t> shape;
  for (size_t i = 0; i < rank; ++i) {
    bool isNew = llvm::is_contained(axes, int64_t(i));
    shape.push_back(isNew ? 1 : from.front());
    from = isNew ? from : from.drop_front();
  }
  return shape;
}

template <MaybeShape shapeAfter(ImportedNode &, ArrayRef<int64_t>)>
static LogicalResult importView(ImportedNode &node) {
  Value input = node.input(0);
  MaybeShape shape = input ? shapeAfter(node, shapeOf(input)) : MaybeShape();
  return shape ? node.setOutput(0, node.reshape(input, *shape)) : failure();
}

template <MaybeShape shapeAfter(ImportedNode &, ArrayRef<int64_t>)>
static LogicalResult foldView(ImportedNode &node) {
  KnownTensor value = node.constant(0);
  MaybeShape shape =
      node.failed() ? MaybeShape() : shapeAfter(node, value.shape);
  if (!shape)
    return failure();
  value.shape = *shape;
  return node.setKnown(value);
}

/// All dimensions are bound, so every shape is known.
static LogicalResult importShape(ImportedNode &node) {
  SmallVector<int64_t> shape = node.shapeOfInput(0);
  int64_t rank = shape.size();
  auto clamp = [&](int64_t axis) {
    return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank);
  };
  int64_t start = clamp(node.intAttr("start", 0));
  int64_t end = std::max(clamp(node.intAttr("end", rank)), start);
  ArrayRef<int64_t> part = ArrayRef(shape).slice(start, end - start);
  return node.setKnown(KnownTensor{node.graph.builder.getI64Type(),
                                   {end - start},
                                   {},
                                   {part.begin(), part.end()}});
}

//===----------------------------------------------------------------------===//
// Transposes and broadcasts
//===----------------------------------------------------------------------===//

static MaybeShape permutationOf(ImportedNode &node, size_t rank) {
  auto permutation = node.intsAttr("perm");
  if (!permutation) {
    permutation.emplace(rank);
    std::iota(permutation->rbegin(), permutation->rend(), 0);
  }
  SmallVector<int64_t> sorted = *permutation;
  llvm::sort(sorted);
  if (!llvm::equal(sorted, llvm::seq<int64_t>(0, rank)) && !node.failed())
    node.shapeError() << "attribute 'perm' must be a permutation of the "
                      << rank << " dimensions";
  return node.failed() ? MaybeShape() : permutation;
}

static LogicalResult importTranspose(ImportedNode &node) {
  Value input = node.input(0);
  MaybeShape permutation =
      input ? permutationOf(node, shapeOf(input).size()) : MaybeShape();
  if (!permutation)
    return failure();
  return node.setOutput(0, node.emit<train::TransposeOp>(
                               input, node.i64s("permutation", *permutation)));
}

static LogicalResult foldTranspose(ImportedNode &node) {
  KnownTensor value = node.constant(0);
  MaybeShape permutation = permutationOf(node, value.shape.size());
  if (!permutation)
    return failure();
  SmallVector<int64_t> own = value.strides(), shape, strides;
  for (int64_t dim : *permutation) {
    shape.push_back(value.shape[dim]);
    strides.push_back(own[dim]);
  }
  return node.setKnown(value.walk(shape, 0, strides));
}

/// The shape that input 1 broadcasts `from` to.
static MaybeShape expandedShape(ImportedNode &node, ArrayRef<int64_t> from) {
  SmallVector<int64_t> wanted = node.knownInts(1), shape;
  if (node.failed())
    return std::nullopt;
  if (wanted.size() > kMaxRank ||
      llvm::any_of(wanted, [](int64_t extent) { return extent < 1; })) {
    node.error() << "the shape must have at most " << kMaxRank
                 << " dimensions, all positive, but is [" << ArrayRef(wanted)
                 << "]";
    return std::nullopt;
  }
  if (!OpTrait::util::getBroadcastedShape(from, wanted, shape)) {
    node.shapeError() << "the input does not broadcast to shape ["
                      << ArrayRef(wanted) << "]";
    return std::nullopt;
  }
  return shape;
}

static LogicalResult importExpand(ImportedNode &node) {
  Value input = node.input(0);
  MaybeShape shape = input ? expandedShape(node, shapeOf(input)) : MaybeShape();
  if (!shape)
    return failure();
  if (ArrayRef<int64_t>(*shape) == shapeOf(input))
    return node.forwardInput();
  return node.setOutput(0, node.broadcast(input, *shape));
}

static LogicalResult foldExpand(ImportedNode &node) {
  SmallVector<int64_t> from = node.shapeOfInput(0);
  MaybeShape shape = expandedShape(node, from);
  if (!shape)
    return failure();
  // A mask that is the same for each sample.
  bool repeats = from.size() < shape->size() || (!from.empty() && from[0] == 1);
  if (repeats && product(*shape) > kMaxKnownElements &&
      product(*shape) <= kMaxKnownTotal &&
      product(ArrayRef(*shape).drop_front()) <= kMaxKnownElements)
    return importExpand(node);
  if (!node.fitsConstant(*shape))
    return failure();
  KnownTensor value = node.constant(0);
  if (node.failed())
    return failure();
  return node.setKnown(value.broadcastTo(*shape));
}

//===----------------------------------------------------------------------===//
// Slices and splits
//===----------------------------------------------------------------------===//

static LogicalResult foldGather(ImportedNode &node) {
  KnownTensor value = node.constant(0), indices = node.constant(1);
  int64_t axis = node.normalizeAxis(node.intAttr("axis", 0), value.shape.size(),
                                    "attribute 'axis'");
  if (!node.failed() && (indices.isFloat() || indices.isBool()))
    node.error() << Fault::UnsupportedType
                 << "the indices must be int32 or int64";
  if (node.failed())
    return failure();
  int64_t extent = value.shape[axis];
  for (int64_t &index : indices.ints)
    index = node.normalizeAxis(index, extent, "an index");
  ArrayRef<int64_t> from = value.shape;
  SmallVector<int64_t> shape(from.take_front(axis));
  llvm::append_range(shape, indices.shape);
  llvm::append_range(shape, from.drop_front(axis + 1));
  if (!node.fitsConstant(shape))
    return failure();
  int64_t inner = product(from.drop_front(axis + 1));
  int64_t count = indices.size();
  return node.setKnown(value.pick(shape, [&](int64_t i) {
    int64_t outer = i / inner / count, index = indices.ints[i / inner % count];
    return (outer * extent + index) * inner + i % inner;
  }));
}

namespace {

/// The positions that a Slice takes from each dimension.
struct SliceBox {
  SmallVector<int64_t> starts, extents, steps;
};

} // namespace

/// Input `first` has the starts; ends, axes and steps follow.
static std::optional<SliceBox>
sliceBox(ImportedNode &node, ArrayRef<int64_t> from, unsigned first = 1) {
  SmallVector<int64_t> starts = node.knownInts(first),
                       ends = node.knownInts(first + 1);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, starts.size()));
  SmallVector<int64_t> steps(starts.size(), 1);
  if (node.hasInput(first + 2))
    axes = node.knownInts(first + 2);
  if (node.hasInput(first + 3))
    steps = node.knownInts(first + 3);
  if (node.failed())
    return std::nullopt;
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    node.error() << "starts, ends, axes and steps must have equally many "
                    "entries, but have "
                 << starts.size() << ", " << ends.size() << ", " << axes.size()
                 << " and " << steps.size();
    return std::nullopt;
  }
  axes = distinctAxes(node, axes, from.size());
  if (node.failed())
    return std::nullopt;

  SliceBox box{SmallVector<int64_t>(from.size(), 0), SmallVector<int64_t>(from),
               SmallVector<int64_t>(from.size(), 1)};
  for (auto [start, end, axis, step] :
       llvm::zip_equal(starts, ends, axes, steps)) {
    if (step == 0 || step == std::numeric_limits<int64_t>::min()) {
      node.error() << "the step of dimension " << axis << " is " << step
                   << "; it must not be 0 or the least integer";
      return std::nullopt;
    }
    // For negative steps, ends lie one position further to the front.
    int64_t size = from[axis], low = step < 0 ? -1 : 0;
    auto clamp = [&, step = step](int64_t position) {
      return std::clamp<int64_t>(position < 0 ? position + size : position, low,
                                 size + low);
    };
    int64_t first = clamp(start), distance = clamp(end) - first;
    if (step < 0)
      distance = -distance;
    int64_t stride = std::abs(step);
    box.starts[axis] = first;
    box.steps[axis] = step;
    // Not (distance + stride - 1): steps may be huge.
    box.extents[axis] = distance <= 0 ? 0 : (distance - 1) / stride + 1;
  }
  return box;
}

/// Sets an output without elements: Concat skips it, other ops reject it.
static LogicalResult setEmpty(ImportedNode &node, unsigned output, Value like,
                              ArrayRef<int64_t> shape) {
  KnownTensor empty{
      getElementTypeOrSelf(like.getType()), llvm::to_vector(shape), {}, {}};
  return node.setKnown(empty, output);
}

/// Takes the positions of a nonempty box.
static Value takeBox(ImportedNode &node, Value input, SliceBox box) {
  for (auto [dim, step] : llvm::enumerate(box.steps)) {
    int64_t count = box.extents[dim], start = box.starts[dim];
    if (step == 1 || count == 1)
      continue;
    input = node.pick(input, dim,
                      node.makeIndexList(count, [&, step = step](auto i) {
                        return start + i * step;
                      }));
    box.starts[dim] = 0;
  }
  if (node.failed())
    return nullptr;
  auto type = cast<RankedTensorType>(input.getType());
  if (type.getShape() == ArrayRef<int64_t>(box.extents))
    return input;
  return node.emitAs<train::SliceOp>(
      RankedTensorType::get(box.extents, type.getElementType()), input,
      node.i64s("offsets", box.starts));
}

static LogicalResult importSlice(ImportedNode &node) {
  Value input = node.input(0);
  std::optional<SliceBox> box =
      input ? sliceBox(node, shapeOf(input)) : std::nullopt;
  if (!box)
    return failure();
  if (llvm::is_contained(box->extents, 0))
    return setEmpty(node, 0, input, box->extents);
  return node.setOutput(0, takeBox(node, input, *box));
}

/// Inputs dY and the shape of X, then as in Slice.
static LogicalResult importSliceGrad(ImportedNode &node) {
  Value grad = node.floatInput(0);
  SmallVector<int64_t> shape = knownShape(node, 1);
  if (node.failed())
    return failure();
  std::optional<SliceBox> box = sliceBox(node, shape, /*first=*/2);
  if (!box)
    return failure();
  if (shapeOf(grad) != ArrayRef<int64_t>(box->extents))
    return node.shapeError() << "the gradient must have the shape of the "
                                "slice, ["
                             << ArrayRef(box->extents) << "]";
  Value whole = leafOf(node, shape);
  return node.setOutput(
      0, gradientOf(node, takeBox(node, whole, *box), grad, whole));
}

static LogicalResult foldSlice(ImportedNode &node) {
  KnownTensor value = node.constant(0);
  std::optional<SliceBox> box = sliceBox(node, value.shape);
  if (!box)
    return failure();
  SmallVector<int64_t> strides = value.strides();
  int64_t offset = 0;
  for (size_t dim = 0; dim < strides.size(); ++dim) {
    offset += box->starts[dim] * strides[dim];
    // A single position has no step; its value may be huge.
    strides[dim] *= box->extents[dim] > 1 ? box->steps[dim] : 0;
  }
  return node.setKnown(value.walk(box->extents, offset, strides));
}

/// The sizes of the parts, from input 1, `num_outputs` or the number of
/// outputs.
static SmallVector<int64_t> splitSizes(ImportedNode &node, int64_t extent) {
  SmallVector<int64_t> sizes;
  int64_t count = node.proto.output_size();
  if (node.hasInput(1)) {
    if (node.hasAttr("num_outputs"))
      node.error() << "has both input 1 and attribute 'num_outputs'";
    sizes = node.knownInts(1);
  } else {
    int64_t number = node.intAttr("num_outputs", count);
    if (number != count && !node.failed())
      node.error() << Fault::BadAttribute << "attribute 'num_outputs' is "
                   << number << ", but the node has " << count << " outputs";
    // Since opset 18 the last part may be smaller.
    int64_t each = llvm::divideCeil(extent, count);
    if (node.graph.opset < 18 && extent % count != 0 && !node.failed())
      node.shapeError() << "dimension " << extent << " does not divide into "
                        << count << " equal parts";
    for (int64_t left = extent; count-- > 0; left -= sizes.back())
      sizes.push_back(std::min(each, left));
  }
  return sizes;
}

static LogicalResult importSplit(ImportedNode &node) {
  Value input = node.input(0);
  if (!input)
    return failure();
  ArrayRef<int64_t> shape = shapeOf(input);
  int64_t axis = node.normalizeAxis(node.intAttr("axis", 0), shape.size(),
                                    "attribute 'axis'");
  if (node.failed())
    return failure();
  SmallVector<int64_t> sizes = splitSizes(node, shape[axis]);
  int64_t left = shape[axis];
  bool fits = int64_t(sizes.size()) == node.proto.output_size();
  for (int64_t size : sizes) {
    fits &= size >= 0 && size <= left;
    left -= fits ? size : 0;
  }
  if (node.failed())
    return failure();
  if (!fits || left != 0)
    return node.shapeError() << "the parts must be " << node.proto.output_size()
                             << ", positive, and fill the " << shape[axis]
                             << " positions of dimension " << axis
                             << ", but are [" << ArrayRef(sizes) << "]";
  SmallVector<int64_t> parts;
  llvm::copy_if(sizes, std::back_inserter(parts),
                [](int64_t size) { return size > 0; });
  Operation *split = node.emitOp<train::SplitOp>(
      input, {node.i64("axis", axis), node.i64s("sizes", parts)});
  unsigned next = 0;
  for (size_t i = 0; split && i < sizes.size(); ++i) {
    SmallVector<int64_t> empty(shapeOf(input));
    empty[axis] = 0;
    if (failed(sizes[i] == 0 ? setEmpty(node, i, input, empty)
                             : node.setOutput(i, split->getResult(next++))))
      return failure();
  }
  return success(split != nullptr);
}

//===----------------------------------------------------------------------===//
// Concat and Pad
//===----------------------------------------------------------------------===//

/// Checks Concat's requirements of its inputs and returns the normalized axis.
static int64_t concatAxis(ImportedNode &node, ArrayRef<Type> types,
                          ArrayRef<SmallVector<int64_t>> shapes) {
  if (!node.hasAttr("axis"))
    node.error() << Fault::BadAttribute << "attribute 'axis' is missing";
  int64_t axis = node.failed() ? 0 : node.intAttr("axis", 0);
  axis = node.normalizeAxis(axis, shapes[0].size(), "attribute 'axis'");
  for (auto [type, shape] : llvm::zip_equal(types, shapes)) {
    bool fits = type == types[0] && shape.size() == shapes[0].size();
    for (int64_t i = 0; fits && i < int64_t(shape.size()); ++i)
      fits = i == axis || shape[i] == shapes[0][i];
    if (!fits && !node.failed())
      node.shapeError()
          << "the inputs must agree in element type and in every dimension but "
          << axis;
  }
  return axis;
}

static LogicalResult importConcat(ImportedNode &node) {
  SmallVector<Value> inputs;
  SmallVector<Type> types;
  SmallVector<SmallVector<int64_t>> shapes;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    if (ShapedType::getNumElements(node.shapeOfInput(i)) == 0)
      continue;
    Value input = node.input(i);
    if (!input)
      return failure();
    inputs.push_back(input);
    types.push_back(getElementTypeOrSelf(input.getType()));
    shapes.emplace_back(shapeOf(input));
  }
  if (inputs.empty())
    return node.error() << "all inputs are empty";
  int64_t axis = concatAxis(node, types, shapes);
  return node.setOutput(
      0, inputs.size() == 1
             ? inputs[0]
             : node.emit<train::ConcatOp>(inputs, node.i64("axis", axis)));
}

static LogicalResult foldConcat(ImportedNode &node) {
  std::vector<KnownTensor> inputs;
  SmallVector<Type> types;
  SmallVector<SmallVector<int64_t>> shapes;
  int64_t count = 0; // Cannot overflow: inputs are few and small.
  for (unsigned i = 0; i < node.numInputs(); ++i)
    count += product(node.shapeOfInput(i));
  if (!node.fitsConstant(count))
    return failure();
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    inputs.push_back(node.constant(i));
    types.push_back(inputs.back().elementType);
    shapes.push_back(inputs.back().shape);
  }
  int64_t axis = concatAxis(node, types, shapes);
  if (node.failed())
    return failure();
  KnownTensor result{types[0], shapes[0], {}, {}};
  result.shape[axis] = 0;
  for (ArrayRef<int64_t> shape : shapes)
    result.shape[axis] += shape[axis];
  int64_t outer = product(ArrayRef(result.shape).take_front(axis));
  for (int64_t row = 0; row < outer; ++row)
    for (const KnownTensor &input : inputs) {
      int64_t size = input.size() / outer;
      auto append = [&](auto &to, const auto &from) {
        to.insert(to.end(), from.begin() + row * size,
                  from.begin() + (row + 1) * size);
      };
      if (result.isFloat())
        append(result.floats, input.floats);
      else
        append(result.ints, input.ints);
    }
  return node.setKnown(result);
}

/// Output 1 is the number of positions along the axis for each input.
template <LogicalResult (*concat)(ImportedNode &)>
static LogicalResult importConcatTraining(ImportedNode &node) {
  if (failed(concat(node)) || !node.isOutputUsed(1))
    return failure(node.failed());
  int64_t rank = node.shapeOfInput(0).size();
  int64_t axis =
      node.normalizeAxis(node.intAttr("axis", 0), rank, "attribute 'axis'");
  KnownTensor lengths{node.graph.builder.getI64Type(), {}, {}, {}};
  for (unsigned i = 0; !node.failed() && i < node.numInputs(); ++i) {
    SmallVector<int64_t> shape = node.shapeOfInput(i);
    lengths.ints.push_back(axis < int64_t(shape.size()) ? shape[axis] : 0);
  }
  lengths.shape = {lengths.size()};
  return node.setKnown(lengths, 1);
}

/// The numbers of elements to add before and after each dimension; negative
/// numbers remove elements.
static std::optional<SmallVector<std::pair<int64_t, int64_t>>>
padsOf(ImportedNode &node, ArrayRef<int64_t> from) {
  SmallVector<int64_t> pads = node.knownInts(1);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, from.size()));
  if (node.hasInput(3))
    axes = distinctAxes(node, node.knownInts(3), from.size());
  if (!node.failed() && pads.size() != 2 * axes.size())
    node.error() << "the pads must be two for each of the " << axes.size()
                 << " dimensions, but are " << pads.size();
  if (node.failed())
    return std::nullopt;
  SmallVector<std::pair<int64_t, int64_t>> result(from.size(), {0, 0});
  for (auto [i, axis] : llvm::enumerate(axes)) {
    auto &[before, after] = result[axis];
    before = pads[i];
    after = pads[i + axes.size()];
    int64_t most = kMaxElements, least = -from[axis];
    bool isSmall =
        before >= least && before <= most && after >= least && after <= most;
    if (!isSmall || from[axis] + std::min<int64_t>(before, 0) +
                            std::min<int64_t>(after, 0) <
                        1) {
      node.shapeError() << "the pads of dimension " << axis << ", " << before
                        << " and " << after << ", remove all of its "
                        << from[axis] << " positions, or exceed 2^40";
      return std::nullopt;
    }
  }
  return result;
}

/// The element of a dimension of `extent` at position `place` after padding.
static int64_t paddedFrom(StringRef mode, int64_t place, int64_t extent) {
  if (mode == "edge")
    return std::clamp<int64_t>(place, 0, extent - 1);
  if (mode == "wrap")
    return (place % extent + extent) % extent;
  if (extent == 1)
    return 0;
  // Reflects without repeating the ends.
  int64_t period = 2 * (extent - 1);
  int64_t offset = (place % period + period) % period;
  return std::min(offset, period - offset);
}

/// Pads `value` by the mode, one dimension after the other.
static LogicalResult importPad(ImportedNode &node) {
  Value value = node.input(0);
  std::string mode = node.stringAttr("mode", "constant");
  bool isConstant = mode == "constant";
  if (!isConstant && mode != "reflect" && mode != "edge" && mode != "wrap")
    return node.error() << Fault::BadAttribute << "attribute 'mode' is '"
                        << mode
                        << "'; known are constant, reflect, edge and wrap";
  auto pads = value ? padsOf(node, shapeOf(value)) : std::nullopt;
  double number = isConstant && node.hasInput(2) ? node.knownScalar(2) : 0;
  if (!pads || node.failed())
    return failure();
  SmallVector<int64_t> shape(shapeOf(value));
  for (auto [extent, pad] : llvm::zip_equal(shape, *pads))
    extent += pad.first + pad.second;
  llvm::Expected<int64_t> count = countElements(shape);
  if (!count)
    return node.graph.report(count.takeError(), node.loc, "the result");

  Type type = getElementTypeOrSelf(value.getType());
  for (auto [dim, pad] : llvm::enumerate(*pads)) {
    if (pad.first == 0 && pad.second == 0)
      continue;
    SmallVector<int64_t> inner(shapeOf(value)), offsets(shape.size(), 0);
    if (!isConstant) {
      int64_t extent = inner[dim], before = pad.first;
      value =
          node.pick(value, dim, node.makeIndexList(shape[dim], [&](int64_t i) {
            return paddedFrom(mode, i - before, extent);
          }));
      if (!value)
        return failure();
      continue;
    }
    for (int64_t side : {pad.first, pad.second})
      inner[dim] += std::min<int64_t>(side, 0);
    offsets[dim] = std::max<int64_t>(-pad.first, 0);
    if (shapeOf(value) != ArrayRef<int64_t>(inner))
      value = node.emitAs<train::SliceOp>(RankedTensorType::get(inner, type),
                                          value, node.i64s("offsets", offsets));
    auto constant = [&](int64_t extent) -> Value {
      inner[dim] = extent;
      return node.broadcast(node.numberLike(value, number), inner);
    };
    SmallVector<Value> parts;
    if (pad.first > 0)
      parts.push_back(constant(pad.first));
    parts.push_back(value);
    if (pad.second > 0)
      parts.push_back(constant(pad.second));
    if (parts.size() > 1)
      value = node.emit<train::ConcatOp>(parts, node.i64("axis", dim));
  }
  return node.setOutput(0, value);
}

ArrayRef<OpRow> mpc::shapeOps() {
  static const OpRow rows[] = {
      {"Flatten", 11, 1, 1, 1, importView<flattenedShape>,
       foldView<flattenedShape>},
      {"Reshape", 13, 2, 2, 1, importView<reshapedShape>,
       foldView<reshapedShape>},
      {"Squeeze", 13, 1, 2, 1, importView<squeezedShape>,
       foldView<squeezedShape>},
      {"Unsqueeze", 13, 2, 2, 1, importView<unsqueezedShape>,
       foldView<unsqueezedShape>},
      {"Shape", 13, 1, 1, 1, importShape},
      {"Transpose", 1, 1, 1, 1, importTranspose, foldTranspose},
      {"Expand", 8, 2, 2, 1, importExpand, foldExpand},
      {"Gather", 13, 2, 2, 1, importGatherOfData, foldGather},
      {"Slice", 13, 3, 5, 1, importSlice, foldSlice},
      {"Split", 13, 1, 2, 1u << 16, importSplit},
      {"Concat", 11, 1, kAnyNumber, 1, importConcat, foldConcat},
      {"Pad", 13, 2, 4, 1, importPad},
      {"com.microsoft.SliceGrad", 1, 4, 6, 1, importSliceGrad},
      {"com.microsoft.ConcatTraining", 1, 1, kAnyNumber, 2,
       importConcatTraining<importConcat>, importConcatTraining<foldConcat>},
      {"com.microsoft.SplitTraining", 1, 2, 2, kAnyNumber, importSplit},
  };
  return rows;
}
