//===- Slices.cpp - Constants that repeat along the batch -----------------===//
//
// Exporters compute masks for every sample of a batch from constants, although
// they are all equal. If the result would be large, one slice of it is
// computed, and a broadcast repeats that.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"

#include "mlir/Dialect/Traits.h"

#include <cstring>

using namespace mlir;
using namespace mpc;

/// Elements up to which a constant stays whole, so that all passes see it.
static constexpr int64_t kMaxWhole = int64_t(1) << 20;

/// The constant that an earlier node repeats along the first dimension; null if
/// there is none.
static DenseElementsAttr repeatedSlice(const GraphValue &value) {
  auto repeat = value.value ? value.value.getDefiningOp<train::BroadcastToOp>()
                            : train::BroadcastToOp();
  auto constant = repeat ? repeat.getInput().getDefiningOp<train::ConstantOp>()
                         : train::ConstantOp();
  if (!constant)
    return nullptr;
  auto slice = dyn_cast<DenseElementsAttr>(constant.getValue());
  auto type = cast<RankedTensorType>(repeat.getType());
  bool repeats = slice && (slice.getType().getRank() < type.getRank() ||
                           slice.getType().getDimSize(0) == 1);
  return repeats ? slice : nullptr;
}

/// Whether `bytes` are `count` times the same.
static bool areEqualSlices(ArrayRef<char> bytes, int64_t count) {
  size_t size = bytes.size() / count;
  if (bytes.size() % count != 0)
    return false;
  for (int64_t i = 1; i < count; ++i)
    if (std::memcmp(bytes.data(), bytes.data() + i * size, size) != 0)
      return false;
  return true;
}

bool GraphImporter::hasEqualSlices(const GraphValue &value, int64_t count) {
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(value.constant))
    return elements.isSplat() || areEqualSlices(elements.getRawData(), count);
  if (!value.tensor)
    return false;
  auto data = tensors.read(*value.tensor);
  if (data)
    return areEqualSlices(data->bytes, count);
  llvm::consumeError(data.takeError()); // Reported when it is read.
  return false;
}

bool ImportedNode::takeSlices() {
  SmallVector<int64_t> shape;
  bool isRepeated = false;
  for (unsigned i = 0; i < numInputs(); ++i) {
    bool repeats = hasInput(i) && repeatedSlice(graph.lookup(proto.input(i)));
    isRepeated |= repeats;
    SmallVector<int64_t> before = shape;
    if (!hasInput(i) || !(repeats || isConstant(i)) ||
        !OpTrait::util::getBroadcastedShape(before, shapeOfInput(i), shape))
      return false;
  }
  auto fits = [](ArrayRef<int64_t> shape, int64_t most) {
    llvm::Expected<int64_t> count = countElements(shape);
    if (count)
      return *count <= most;
    llvm::consumeError(count.takeError());
    return false;
  };
  if (shape.empty() || shape[0] <= 1 ||
      (!isRepeated && fits(shape, kMaxWhole)) ||
      !fits(ArrayRef(shape).drop_front(), kMaxKnownElements))
    return false;
  for (unsigned i = 0; i < numInputs(); ++i) {
    const GraphValue &value = graph.lookup(proto.input(i));
    if (spansSlices(i, shape) && !repeatedSlice(value) &&
        !graph.hasEqualSlices(value, shape[0]))
      return false;
  }
  slicedShape = std::move(shape);
  return true;
}

bool ImportedNode::spansSlices(unsigned i, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> own = shapeOfInput(i);
  return own.size() == shape.size() && own[0] != 1;
}

SmallVector<int64_t> ImportedNode::shapeOfSlice(unsigned i) {
  SmallVector<int64_t> shape = shapeOfWhole(i);
  if (shape.size() == slicedShape->size())
    shape[0] = 1;
  return shape;
}

KnownTensor ImportedNode::readSlice(unsigned i) {
  const GraphValue &value = graph.lookup(proto.input(i));
  SmallVector<int64_t> shape = shapeOfSlice(i);
  if (DenseElementsAttr slice = repeatedSlice(value)) {
    if (mlir::failed(graph.countRead(product(shape), loc))) {
      hasFailed = true;
      return {graph.builder.getI64Type(), {0}, {}, {}};
    }
    return KnownTensor::of(slice).broadcastTo(shape);
  }
  KnownTensor whole = readWhole(i);
  if (hasFailed || whole.shape == shape)
    return whole;
  return whole.walk(shape, 0, whole.strides());
}

LogicalResult ImportedNode::setRepeated(DenseElementsAttr slice,
                                        unsigned output) {
  ShapedType type = slice.getType().clone(*slicedShape);
  // Equal elements need no memory.
  if (slice.isSplat() && type.getNumElements() <= kMaxKnownElements)
    return setKnown(ElementsAttr(slice.resizeSplat(type)), output);
  Value value = train::ConstantOp::create(graph.builder, loc, slice);
  return setOutput(output, broadcast(value, *slicedShape));
}
