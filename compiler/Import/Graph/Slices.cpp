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

/// The constant whose only slice along the first dimension an earlier node
/// repeats; null if there is none.
static DenseElementsAttr repeatedSlice(const GraphValue &value) {
  auto repeat = value.value ? value.value.getDefiningOp<train::BroadcastToOp>()
                            : train::BroadcastToOp();
  auto constant = repeat ? repeat.getInput().getDefiningOp<train::ConstantOp>()
                         : train::ConstantOp();
  if (!constant)
    return nullptr;
  auto slice = dyn_cast<DenseElementsAttr>(constant.getValue());
  auto type = cast<RankedTensorType>(repeat.getType());
  return slice && slice.getType().getRank() == type.getRank() &&
                 slice.getType().getDimSize(0) == 1
             ? slice
             : nullptr;
}

/// Leaves one of `count` slices along the first dimension if all have the same
/// bits.
template <typename T>
static bool keepFirst(std::vector<T> &elements, int64_t count) {
  size_t size = elements.size() / count;
  for (int64_t i = 1; i < count; ++i)
    if (std::memcmp(elements.data(), elements.data() + i * size,
                    size * sizeof(T)) != 0)
      return false;
  elements.resize(size);
  return true;
}

bool ImportedNode::takeSlices() {
  SmallVector<int64_t> shape;
  SmallVector<DenseElementsAttr> repeated;
  for (unsigned i = 0; i < numInputs(); ++i) {
    repeated.push_back(hasInput(i) ? repeatedSlice(graph.lookup(proto.input(i)))
                                   : DenseElementsAttr());
    SmallVector<int64_t> before = shape;
    if (!hasInput(i) || !(repeated.back() || isConstant(i)) ||
        !OpTrait::util::getBroadcastedShape(before, shapeOfInput(i), shape))
      return false;
  }
  if (shape.empty() || shape[0] <= 1 ||
      (llvm::none_of(repeated, [](auto slice) { return bool(slice); }) &&
       ShapedType::getNumElements(shape) <= kMaxWhole))
    return false;
  std::vector<KnownTensor> found;
  for (unsigned i = 0; i < numInputs(); ++i) {
    SmallVector<int64_t> own = shapeOfInput(i);
    const bool spans = own.size() == shape.size() && own[0] != 1;
    if (spans)
      own[0] = 1;
    if (repeated[i]) {
      if (ShapedType::getNumElements(own) > kMaxKnownElements)
        return false;
      found.push_back(KnownTensor::of(repeated[i]).broadcastTo(own));
      continue;
    }
    found.push_back(constant(i));
    if (hasFailed)
      return false;
    KnownTensor &value = found.back();
    if (spans && !(value.isFloat() ? keepFirst(value.floats, shape[0])
                                   : keepFirst(value.ints, shape[0])))
      return false;
    value.shape = own;
  }
  slices = Slices{shape[0], std::move(found)};
  return true;
}

LogicalResult ImportedNode::setRepeated(DenseElementsAttr slice,
                                        unsigned output) {
  Value value = train::ConstantOp::create(graph.builder, loc, slice);
  SmallVector<int64_t> shape(slice.getType().getShape());
  shape[0] = slices->count;
  return setOutput(output, broadcast(value, shape));
}
