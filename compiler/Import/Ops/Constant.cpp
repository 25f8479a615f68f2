//===- Constant.cpp - Import of what makes constants ----------------------===//

#include "compiler/Import/ImportedNode.h"

#include <cmath>

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

//===----------------------------------------------------------------------===//
// What makes constants of constants
//===----------------------------------------------------------------------===//

static LogicalResult foldConstantOfShape(ImportedNode &node) {
  SmallVector<int64_t> shape = node.knownInts(0);
  KnownTensor one{node.graph.floatType, {}, {0.0}, {}};
  if (auto *value = node.typedAttr("value", AttributeProto::TENSOR)) {
    GraphValue entry{{}, &value->t(), false, {}, node.loc};
    if (!node.graph.isConstant(entry))
      return node.error()
             << "attribute 'value' must be one float, int32, int64 "
                "or bool";
    auto read = node.graph.readConstant(entry, node.loc, "attribute 'value'");
    if (!read)
      return failure();
    one = *read;
    if (one.size() != 1)
      return node.error() << "attribute 'value' must be one number, but holds "
                          << one.size();
  }
  if (!node.fitsConstant(shape))
    return failure();
  return node.setKnown(one.pick(shape, [](int64_t) { return 0; }));
}

static LogicalResult foldRange(ImportedNode &node) {
  KnownTensor ends[3];
  for (unsigned i = 0; i < 3; ++i) {
    ends[i] = node.constant(i);
    if (!node.failed() && (ends[i].size() != 1 || ends[i].isBool() ||
                           ends[i].elementType != ends[0].elementType))
      return node.error()
             << "start, limit and delta must be numbers of one type";
  }
  if (node.failed())
    return failure();
  double start = ends[0].number(0), limit = ends[1].number(0),
         delta = ends[2].number(0);
  double count = std::max(std::ceil((limit - start) / delta), 0.0);
  if (delta == 0 || !(count <= double(kMaxElements)))
    return node.error() << "goes from " << start << " to " << limit
                        << " in steps of " << delta
                        << ", which is no list that could be made";
  KnownTensor result{ends[0].elementType, {int64_t(count)}, {}, {}};
  if (!node.fitsConstant(result.shape))
    return failure();
  for (int64_t i = 0; i < result.shape[0]; ++i) {
    if (result.isFloat())
      result.floats.push_back(roundTo(node.graph.floatType, start + i * delta));
    else
      result.ints.push_back(uint64_t(ends[0].ints[0]) +
                            uint64_t(i) * uint64_t(ends[2].ints[0]));
  }
  return node.setKnown(result);
}

/// The upper or lower triangle of the last two dimensions, the rest zero.
static LogicalResult foldTrilu(ImportedNode &node) {
  KnownTensor value = node.constant(0);
  bool upper = node.boolAttr("upper", true);
  SmallVector<int64_t> diagonal = {0};
  if (node.hasInput(1))
    diagonal = node.knownInts(1);
  if (!node.failed() && (value.shape.size() < 2 || diagonal.size() != 1))
    node.error() << "takes a matrix and one number, but got a tensor of rank "
                 << value.shape.size() << " and " << diagonal.size()
                 << " numbers";
  if (node.failed())
    return failure();
  int64_t columns = value.shape.back();
  int64_t rows = value.shape[value.shape.size() - 2];
  // Beyond the corners nothing changes.
  int64_t first = std::clamp<int64_t>(diagonal[0], -rows, columns);
  return node.setKnown(value.pick(value.shape, [&](int64_t i) {
    int64_t column = i % columns, row = i / columns % rows;
    bool keeps = upper ? column >= row + first : column <= row + first;
    return keeps ? i : -1;
  }));
}

ArrayRef<OpRow> mpc::constantOps() {
  static const OpRow rows[] = {
      {"Constant", 13, 0, 0, 1, importConstant},
      {"Identity", 1, 1, 1, 1, importIdentity},
      {"ConstantOfShape", 9, 1, 1, 1, refuseData, foldConstantOfShape},
      {"Range", 11, 3, 3, 1, refuseData, foldRange},
      {"Trilu", 14, 1, 2, 1, refuseData, foldTrilu},
  };
  return rows;
}
