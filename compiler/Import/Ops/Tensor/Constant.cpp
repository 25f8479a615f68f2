//===- Constant.cpp - Import of constants ---------------------------------===//

#include "compiler/Import/Graph/Elements.h"
#include "compiler/Import/Graph/ImportedNode.h"

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

/// A Constant has exactly one attribute, whose name determines its form.
static LogicalResult importConstant(ImportedNode &node) {
  if (node.proto.attribute_size() != 1)
    return node.error() << Fault::BadAttribute
                        << "must have one attribute, but has "
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
  return node.error() << Fault::BadAttribute << "attribute '"
                      << node.proto.attribute(0).name()
                      << "' is not supported; constants are dense tensors, "
                         "floats or integers";
}

//===----------------------------------------------------------------------===//
// Constant folding
//===----------------------------------------------------------------------===//

static LogicalResult foldConstantOfShape(ImportedNode &node) {
  SmallVector<int64_t> shape = node.knownInts(0);
  KnownTensor one{node.graph.floatType, {}, {0.0}, {}};
  if (auto *value = node.typedAttr("value", AttributeProto::TENSOR)) {
    GraphValue entry{{}, &value->t(), false, {}, node.loc};
    if (!node.graph.isConstant(entry))
      return node.error()
             << Fault::BadAttribute
             << "attribute 'value' must be one float, int32, int64 or bool";
    auto read = node.graph.readConstant(entry, node.loc, "attribute 'value'");
    if (!read)
      return failure();
    one = *read;
    if (one.size() != 1)
      return node.error() << Fault::BadAttribute
                          << "attribute 'value' must be one number, but holds "
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
             << Fault::UnsupportedType
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
                        << ", which gives no finite list of elements";
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

static LogicalResult importSize(ImportedNode &node) {
  int64_t count = ShapedType::getNumElements(node.shapeOfInput(0));
  return node.setKnown(
      KnownTensor{node.graph.builder.getI64Type(), {}, {}, {count}});
}

/// Ones on a diagonal of a matrix with the shape of the input.
static LogicalResult importEyeLike(ImportedNode &node) {
  SmallVector<int64_t> shape = node.shapeOfInput(0);
  Type type = node.typeAttr("dtype", node.typeOfInput(0));
  int64_t diagonal = node.intAttr("k", 0);
  if (!node.failed() && (shape.size() != 2 || !type))
    node.error() << Fault::UnsupportedType << "takes a matrix of numbers";
  if (node.failed() || !node.fitsConstant(shape))
    return failure();
  KnownTensor result{type, shape, {}, {}};
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
    bool isOn = i % shape[1] - i / shape[1] == diagonal;
    if (result.isFloat())
      result.floats.push_back(isOn);
    else
      result.ints.push_back(isOn);
  }
  return node.setKnown(result);
}

/// The positions of elements that are not zero, one per column.
static LogicalResult foldNonZero(ImportedNode &node) {
  KnownTensor value = node.constant(0);
  SmallVector<int64_t> strides = value.strides(), found;
  for (int64_t i = 0, count = value.size(); i < count; ++i)
    if (value.number(i) != 0)
      found.push_back(i);
  auto count = static_cast<int64_t>(found.size());
  auto rank = static_cast<int64_t>(value.shape.size());
  KnownTensor result{node.graph.builder.getI64Type(), {rank, count}, {}, {}};
  for (int64_t dim = 0; dim < rank; ++dim)
    for (int64_t at : found)
      result.ints.push_back(at / strides[dim] % value.shape[dim]);
  return node.failed() ? failure() : node.setKnown(result);
}

/// A window function for signals: a sum of cosines.
static LogicalResult importWindow(ImportedNode &node, ArrayRef<double> terms) {
  bool periodic = node.boolAttr("periodic", true);
  Type type = node.typeAttr("output_datatype", node.graph.floatType);
  int64_t count = node.knownInteger(0);
  if (!node.failed() && (count < 1 || count > kMaxKnownElements))
    node.error() << "the size must be from 1 to " << kMaxKnownElements
                 << ", but is " << count;
  if (node.failed())
    return failure();
  KnownTensor window{node.graph.floatType, {count}, {}, {}};
  // A symmetric window with one weight consists of its middle: ONNX's formula
  // would divide 0 by 0.
  if (count == 1 && !periodic)
    window.floats.push_back(1);
  for (int64_t i = window.floats.size(); i < count; ++i) {
    double angle = 2 * M_PI * double(i) / double(periodic ? count : count - 1);
    double value = 0, sign = 1;
    for (auto [k, term] : llvm::enumerate(terms)) {
      value += sign * term * std::cos(double(k) * angle);
      sign = -sign;
    }
    window.floats.push_back(roundTo(node.graph.floatType, value));
  }
  return node.setKnown(window.castTo(type));
}

static LogicalResult importHannWindow(ImportedNode &node) {
  return importWindow(node, {0.5, 0.5});
}
static LogicalResult importHammingWindow(ImportedNode &node) {
  return importWindow(node, {25.0 / 46, 21.0 / 46});
}
static LogicalResult importBlackmanWindow(ImportedNode &node) {
  return importWindow(node, {0.42, 0.5, 0.08});
}

/// A triangle of data, selected with a mask.
static LogicalResult importTrilu(ImportedNode &node) {
  Value value = node.input(0);
  bool upper = node.boolAttr("upper", true);
  int64_t diagonal = node.hasInput(1) ? node.knownInteger(1) : 0;
  if (node.failed())
    return failure();
  if (shapeOf(value).size() < 2)
    return node.shapeError() << "takes matrices";
  ArrayRef<int64_t> shape = shapeOf(value).take_back(2);
  if (!node.fitsConstant(shape))
    return failure();
  KnownTensor mask{
      node.graph.builder.getI1Type(), llvm::to_vector(shape), {}, {}};
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
    int64_t distance = i % shape[1] - i / shape[1];
    mask.ints.push_back(upper ? distance >= diagonal : distance <= diagonal);
  }
  Value keeps = train::ConstantOp::create(node.graph.builder, node.loc,
                                          ElementsAttr(mask.attribute()));
  return node.setOutput(
      0, node.emit<train::SelectOp>({keeps, value, node.numberLike(value, 0)}));
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
  // Diagonals beyond the corners are equivalent.
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
      {"ConstantOfShape", 9, 1, 1, 1, requireConstants, foldConstantOfShape},
      {"Range", 11, 3, 3, 1, requireConstants, foldRange},
      {"Trilu", 14, 1, 2, 1, importTrilu, foldTrilu},
      {"Size", 1, 1, 1, 1, importSize},
      {"EyeLike", 9, 1, 1, 1, importEyeLike},
      {"NonZero", 9, 1, 1, 1, requireConstants, foldNonZero},
      {"HannWindow", 17, 1, 1, 1, importHannWindow},
      {"HammingWindow", 17, 1, 1, 1, importHammingWindow},
      {"BlackmanWindow", 17, 1, 1, 1, importBlackmanWindow},
  };
  return rows;
}
