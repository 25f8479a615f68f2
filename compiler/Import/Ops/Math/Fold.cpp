//===- Fold.cpp - Folding of elementwise ops ------------------------------===//

#include "compiler/Import/Ops/Math/Fold.h"

#include "mlir/Dialect/Traits.h"

using namespace mlir;
using namespace mpc;

/// The shape that all inputs broadcast to; nothing after an error.
static std::optional<SmallVector<int64_t>> commonShape(ImportedNode &node) {
  SmallVector<int64_t> shape;
  for (unsigned i = 0; i < node.numInputs(); ++i) {
    SmallVector<int64_t> before = shape;
    if (!node.failed() && !OpTrait::util::getBroadcastedShape(
                              before, node.shapeOfInput(i), shape))
      node.shapeError() << "the shapes of the inputs do not broadcast";
  }
  if (!node.fitsConstant(shape))
    return std::nullopt;
  return shape;
}

SmallVector<KnownTensor> mpc::broadcastConstants(ImportedNode &node) {
  SmallVector<KnownTensor> inputs;
  auto shape = commonShape(node);
  for (unsigned i = 0; shape && i < node.numInputs(); ++i) {
    KnownTensor value = node.constant(i);
    if (node.failed())
      return {};
    inputs.push_back(value.broadcastTo(*shape));
  }
  return inputs;
}

static bool takes(const Rule &rule, const KnownTensor &input) {
  if (input.isFloat())
    return rule.ofFloats;
  bool logical = !rule.ofFloats;
  return input.isBool() ? rule.takesBools : rule.ofInts && !logical;
}

/// Applies the rule to two tensors of one shape.
static KnownTensor combine(const Rule &rule, const KnownTensor &lhs,
                           const KnownTensor &rhs, Type boolType) {
  KnownTensor out{lhs.elementType, lhs.shape, {}, {}};
  auto type = dyn_cast<FloatType>(lhs.elementType);
  for (int64_t i = 0, count = lhs.size(); i < count; ++i) {
    if (!type)
      out.ints.push_back(
          wrapTo(lhs.elementType, rule.ofInts(lhs.ints[i], rhs.ints[i])));
    else if (rule.makesBools)
      out.ints.push_back(rule.ofFloats(lhs.floats[i], rhs.floats[i]) != 0);
    else
      out.floats.push_back(
          roundTo(type, rule.ofFloats(lhs.floats[i], rhs.floats[i])));
  }
  if (rule.makesBools)
    out.elementType = boolType;
  return out;
}

LogicalResult mpc::foldBy(const Rule &rule, ImportedNode &node) {
  auto shape = commonShape(node);
  if (!shape)
    return failure();
  unsigned count = node.numInputs();
  KnownTensor out, rhs;
  // Reads one constant at a time, since there may be many large ones.
  for (unsigned i = 0; i < count; ++i) {
    KnownTensor value = node.constant(i);
    if (node.failed())
      return failure();
    rhs = value.broadcastTo(*shape);
    if (i == 0)
      out = rhs;
    if (i == 0 && count > 1)
      continue;
    if (!takes(rule, out) || !takes(rule, rhs) ||
        out.elementType != rhs.elementType)
      return node.error() << Fault::UnsupportedType
                          << "is not defined for elements of type "
                          << out.elementType << (count == 1 ? "" : " and ")
                          << (count == 1 ? Type() : rhs.elementType);
    if (rule.divides && !out.isFloat() && llvm::is_contained(rhs.ints, 0))
      return node.error() << "divides an integer by 0";
    out = combine(rule, out, rhs, node.graph.builder.getI1Type());
  }
  return node.setKnown(out);
}
