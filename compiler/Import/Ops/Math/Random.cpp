//===- Random.cpp - Import of random numbers ------------------------------===//
//
// In training they depend on the seed of the run, like dropout; otherwise they
// are the same at each call. The `seed` of a node is ignored.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"

using namespace mlir;
using namespace mpc;

static Value random(ImportedNode &node, ArrayRef<int64_t> shape, bool normal) {
  SmallVector<NamedAttribute> attributes = {
      node.i64s("shape", shape), node.i64("index", node.graph.nextRandom())};
  if (normal)
    attributes.push_back(node.flag("normal"));
  return node.emitAs<train::RandomOp>(
      RankedTensorType::get(shape, node.graph.floatType), {}, attributes);
}

/// scale * numbers + offset
static LogicalResult setScaled(ImportedNode &node, Value numbers, double scale,
                               double offset) {
  if (scale != 1)
    numbers = node.emit<train::MulOp>({numbers, node.scalar(scale)});
  if (offset != 0)
    numbers = node.emit<train::AddOp>({numbers, node.scalar(offset)});
  return node.setOutput(0, numbers);
}

template <bool normal, bool like>
static LogicalResult importRandom(ImportedNode &node) {
  node.floatAttr("seed", 0);
  Type type = node.typeAttr("dtype", node.graph.floatType);
  if (type && !isa<FloatType>(type))
    node.error() << Fault::BadAttribute
                 << "attribute 'dtype' must be a float type";
  double scale, offset;
  if (normal) {
    offset = node.floatAttr("mean", 0);
    scale = node.floatAttr("scale", 1);
  } else {
    offset = node.floatAttr("low", 0);
    scale = node.floatAttr("high", 1) - offset;
  }
  SmallVector<int64_t> shape;
  if (like)
    shape = node.shapeOfInput(0);
  else if (auto given = node.intsAttr("shape"))
    shape = *given;
  if (node.failed())
    return failure();
  return setScaled(node, random(node, shape, normal), scale, offset);
}

/// 1 with the probability given by the input.
static LogicalResult importBernoulli(ImportedNode &node) {
  node.floatAttr("seed", 0);
  Type type = node.typeAttr("dtype", node.graph.floatType);
  Value chances = node.floatInput(0);
  if (node.failed())
    return failure();
  Value isOne = node.compare(random(node, shapeOf(chances), /*normal=*/false),
                             chances, train::Comparison::Less);
  return node.setOutput(0, node.castTo(isOne, type));
}

ArrayRef<OpRow> mpc::randomOps() {
  static const OpRow rows[] = {
      {"RandomNormal", 1, 0, 0, 1, importRandom<true, false>},
      {"RandomNormalLike", 1, 1, 1, 1, importRandom<true, true>},
      {"RandomUniform", 1, 0, 0, 1, importRandom<false, false>},
      {"RandomUniformLike", 1, 1, 1, 1, importRandom<false, true>},
      {"Bernoulli", 15, 1, 1, 1, importBernoulli},
  };
  return rows;
}
