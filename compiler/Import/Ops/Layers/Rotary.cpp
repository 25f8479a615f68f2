//===- Rotary.cpp - Import of RotaryEmbedding -----------------------------===//

#include "compiler/Import/Ops/Tensor/Gather.h"

using namespace mlir;
using namespace mpc;

namespace {

/// Splits each head into the two parts that are rotated together, and joins
/// them again.
class RotaryHalves {
public:
  RotaryHalves(ImportedNode &node, bool isInterleaved)
      : node(node), isInterleaved(isInterleaved) {}

  /// Elements 2 i and 2 i + 1, or i and i + half, of the last dimension.
  std::pair<Value, Value> part(Value value) {
    SmallVector<int64_t> shape(shapeOf(value));
    int64_t last = shape.size() - 1, half = shape[last] / 2;
    if (!isInterleaved)
      return {node.part(value, last, 0, half),
              node.part(value, last, half, half)};
    SmallVector<int64_t> pairs(shape);
    pairs[last] = half;
    pairs.push_back(2);
    value = node.reshape(value, pairs);
    shape[last] = half;
    auto one = [&](int64_t which) {
      return node.reshape(node.part(value, last + 1, which, 1), shape);
    };
    Value first = one(0);
    return {first, one(1)};
  }

  Value join(Value first, Value second) {
    if (!first || !second)
      return nullptr;
    SmallVector<int64_t> shape(shapeOf(first));
    int64_t last = shape.size() - 1;
    if (!isInterleaved)
      return node.emit<train::ConcatOp>({first, second},
                                        node.i64("axis", last));
    SmallVector<int64_t> single(shape);
    single.push_back(1);
    Value pairs = node.emit<train::ConcatOp>(
        {node.reshape(first, single), node.reshape(second, single)},
        node.i64("axis", last + 1));
    shape[last] *= 2;
    return pairs ? node.reshape(pairs, shape) : Value();
  }

private:
  ImportedNode &node;
  bool isInterleaved;
};

} // namespace

/// Cosines or sines [batch, length, depth / 2] from input `index`, looked up if
/// there are positions.
static Value readAngles(ImportedNode &node, unsigned index, Value positions,
                        ArrayRef<int64_t> wanted) {
  Value angles = node.floatInput(index);
  if (!angles)
    return nullptr;
  size_t rank = positions ? 2 : 3;
  if (shapeOf(angles).size() != rank) {
    node.shapeError() << "input " << index << " must have " << rank
                      << " dimensions " << (positions ? "with" : "without")
                      << " positions";
    return nullptr;
  }
  if (positions)
    angles = gatherAlong(node, angles, 0, positions);
  if (angles && shapeOf(angles) != wanted) {
    node.shapeError() << "the angles of input " << index << " must be ["
                      << wanted << "]";
    return nullptr;
  }
  return angles;
}

static LogicalResult importRotaryEmbedding(ImportedNode &node) {
  Value input = node.floatInput(0);
  Value positions = node.hasInput(3) ? node.intInput(3) : Value();
  RotaryHalves halves(node, node.boolAttr("interleaved", false));
  int64_t heads = node.intAttr("num_heads", 0);
  int64_t rotated = node.intAttr("rotary_embedding_dim", 0);
  if (node.failed())
    return failure();
  SmallVector<int64_t> whole(shapeOf(input));
  if (whole.size() != 3 && whole.size() != 4)
    return node.shapeError() << "input 0 must have 3 or 4 dimensions";
  bool areJoined = whole.size() == 3;
  if (areJoined && (heads < 1 || whole[2] % heads != 0))
    return node.shapeError()
           << "attribute 'num_heads' is " << heads << ", but must divide the "
           << whole[2] << " channels of input 0";
  // [batch, length, heads, depth] or [batch, heads, length, depth]
  SmallVector<int64_t> shape(whole);
  if (areJoined)
    shape = {whole[0], whole[1], heads, whole[2] / heads};
  int64_t batch = shape[0], length = areJoined ? shape[1] : shape[2];
  int64_t depth = shape[3];
  if (rotated == 0)
    rotated = depth;
  if (rotated < 2 || rotated > depth || rotated % 2 != 0)
    return node.shapeError()
           << "attribute 'rotary_embedding_dim' is " << rotated
           << ", but must be even and at most " << depth;

  Value cosines = readAngles(node, 1, positions, {batch, length, rotated / 2});
  Value sines = readAngles(node, 2, positions, {batch, length, rotated / 2});
  if (!cosines || !sines)
    return failure();
  SmallVector<int64_t> angles = {batch, length, 1, rotated / 2};
  if (!areJoined)
    std::swap(angles[1], angles[2]);
  cosines = node.reshape(cosines, angles);
  sines = node.reshape(sines, angles);

  input = node.reshape(input, shape);
  auto [first, second] = halves.part(node.part(input, 3, 0, rotated));
  auto times = [&](Value a, Value b) {
    return node.emit<train::MulOp>({a, b});
  };
  Value result = halves.join(
      node.emit<train::SubOp>({times(cosines, first), times(sines, second)}),
      node.emit<train::AddOp>({times(sines, first), times(cosines, second)}));
  if (rotated < depth)
    result = node.emit<train::ConcatOp>(
        {result, node.part(input, 3, rotated, depth - rotated)},
        node.i64("axis", 3));
  return node.setOutput(0, result ? node.reshape(result, whole) : Value());
}

ArrayRef<OpRow> mpc::rotaryOps() {
  static const OpRow rows[] = {
      {"RotaryEmbedding", 23, 3, 4, 1, importRotaryEmbedding},
  };
  return rows;
}
