//===- Constant.cpp - Import of Constant and Identity ---------------------===//

#include "compiler/Import/ImportedNode.h"

using namespace mlir;
using namespace mpc;
using onnx::AttributeProto;

static LogicalResult importIdentity(ImportedNode &node) {
  const GraphValue &value = node.graph.lookup(node.proto.input(0));
  if (value.isInitializer && node.isOutputUsed(0))
    node.graph.addAlias(value.tensor->name(), node.proto.output(0));
  return node.forwardInput();
}

static LogicalResult setFloats(ImportedNode &node, ArrayRef<float> values,
                               ArrayRef<int64_t> shape) {
  FloatType type = node.graph.floatType;
  SmallVector<Attribute> numbers;
  for (float value : values)
    numbers.push_back(FloatAttr::get(type, value));
  return node.setKnown(
      DenseElementsAttr::get(RankedTensorType::get(shape, type), numbers));
}

static LogicalResult setInts(ImportedNode &node, ArrayRef<int64_t> values,
                             ArrayRef<int64_t> shape) {
  auto type = RankedTensorType::get(shape, node.graph.builder.getI64Type());
  return node.setKnown(DenseElementsAttr::get(type, values));
}

/// A Constant has exactly one attribute, whose name tells its form.
static LogicalResult importConstant(ImportedNode &node) {
  if (node.proto.attribute_size() != 1)
    return node.error() << "must have one attribute, but has "
                        << node.proto.attribute_size();
  if (auto *value = node.typedAttr("value", AttributeProto::TENSOR))
    return node.setKnown(value->t());
  if (auto *value = node.typedAttr("value_float", AttributeProto::FLOAT))
    return setFloats(node, value->f(), {});
  if (auto *value = node.typedAttr("value_int", AttributeProto::INT))
    return setInts(node, value->i(), {});
  if (auto *value = node.typedAttr("value_floats", AttributeProto::FLOATS))
    return setFloats(
        node, ArrayRef<float>(value->floats().data(), value->floats_size()),
        value->floats_size());
  if (auto *value = node.typedAttr("value_ints", AttributeProto::INTS))
    return setInts(node,
                   ArrayRef<int64_t>(value->ints().data(), value->ints_size()),
                   value->ints_size());
  if (node.failed())
    return failure();
  return node.error() << "attribute '" << node.proto.attribute(0).name()
                      << "' is not supported; constants are dense tensors, "
                         "floats or integers";
}

ArrayRef<OpRow> mpc::constantOps() {
  static const OpRow rows[] = {
      {"Constant", 13, 0, 0, 1, importConstant},
      {"Identity", 1, 1, 1, 1, importIdentity},
  };
  return rows;
}
