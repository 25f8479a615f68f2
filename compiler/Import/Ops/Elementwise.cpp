//===- Elementwise.cpp - Import of elementwise ops ------------------------===//

#include "compiler/Import/Elements.h"
#include "compiler/Import/ImportedNode.h"

using namespace mlir;
using namespace mpc;

template <typename OpTy> static LogicalResult importUnary(ImportedNode &node) {
  return node.setOutput(0, node.emit<OpTy>(node.floatInput(0)));
}

template <typename OpTy> static LogicalResult importBinary(ImportedNode &node) {
  Value lhs = node.floatInput(0), rhs = node.floatInput(1);
  return node.setOutput(0, node.emit<OpTy>({lhs, rhs}));
}

static LogicalResult importGelu(ImportedNode &node) {
  Value input = node.floatInput(0);
  std::string form = node.stringAttr("approximate", "none");
  if (form != "none" && form != "tanh")
    return node.error() << "attribute 'approximate' must be 'none' or 'tanh', "
                           "but is '"
                        << form << "'";
  SmallVector<NamedAttribute> attributes;
  if (form == "tanh")
    attributes.push_back(node.flag("approximate"));
  return node.setOutput(0, node.emit<train::GeluOp>(input, attributes));
}

/// A known list of integers stays known, so that it can still be a shape.
static LogicalResult castKnownIntegers(ImportedNode &node, Type elementType) {
  SmallVector<int64_t> numbers = node.knownInts(0);
  if (node.failed())
    return failure();
  return node.setKnownInts(numbers, node.isKnownList(0), elementType);
}

static bool isKnownFloat(ImportedNode &node) {
  const GraphValue &value = node.graph.lookup(node.proto.input(0));
  if (value.isInitializer || !value.isKnown())
    return false;
  if (value.constant)
    return value.constant.getNumElements() == 1 &&
           isa<FloatType>(value.constant.getElementType());
  return isa_and_present<FloatType>(
             elementTypeFor(value.tensor->data_type(), node.graph.floatType)) &&
         llvm::all_of(value.tensor->dims(),
                      [](int64_t extent) { return extent == 1; });
}

/// One known number stays known, so that it can still be a ratio.
static LogicalResult roundKnownFloat(ImportedNode &node, FloatType narrow) {
  GraphValue &value = node.graph.lookup(node.proto.input(0));
  SmallVector<int64_t> shape(value.constant
                                 ? value.constant.getShapedType().getRank()
                                 : int64_t(value.tensor->dims_size()),
                             1);
  APFloat number(node.knownScalar(0));
  if (node.failed())
    return failure();
  FloatType type = node.graph.floatType;
  for (FloatType to : {narrow, type}) {
    bool lossy;
    number.convert(to.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                   &lossy);
  }
  return node.setKnown(
      DenseElementsAttr::get(RankedTensorType::get(shape, type), number));
}

/// The 16-bit float of an ONNX data type, null for other types.
static Type narrowFloat(int32_t dataType, OpBuilder &builder) {
  if (dataType == onnx::TensorProto::FLOAT16)
    return builder.getF16Type();
  if (dataType == onnx::TensorProto::BFLOAT16)
    return builder.getBF16Type();
  return nullptr;
}

static LogicalResult importCast(ImportedNode &node) {
  node.boolAttr("saturate", true); // Concerns 8-bit floats only.
  if (!node.hasAttr("to"))
    return node.error() << "attribute 'to' is missing";
  int64_t dataType = node.intAttr("to", 0);
  if (node.failed())
    return failure();
  bool isType = dataType > 0 && dataType < 1000;
  Type to = isType ? elementTypeFor(dataType, node.graph.floatType) : Type();
  if (!to)
    return node.error() << "casts to " << dataTypeName(isType ? dataType : -1)
                        << "; supported are floats, int32, int64 and bool";
  if (node.isKnownInts(0) && isa<IntegerType>(to) && !to.isInteger(1))
    return castKnownIntegers(node, to);
  Type narrow = narrowFloat(dataType, node.graph.builder);
  if (narrow && isKnownFloat(node))
    return roundKnownFloat(node, cast<FloatType>(narrow));
  Value value = node.input(0);
  if (!value)
    return failure();
  // All floats have one type here: to a wider one nothing happens, and to a
  // narrower one the model rounds, whatever its values are stored in later.
  bool converts =
      cast<RankedTensorType>(value.getType()).getElementType() != to;
  if (!converts && !narrow)
    return node.forwardInput();
  if (converts)
    value = node.emit<train::CastOp>(value, node.attr("to", TypeAttr::get(to)));
  if (narrow)
    value = node.emit<train::RoundToOp>(value,
                                        node.attr("to", TypeAttr::get(narrow)));
  return node.setOutput(0, value);
}

ArrayRef<OpRow> mpc::elementwiseOps() {
  static const OpRow rows[] = {
      {"Add", 7, 2, 2, 1, importBinary<train::AddOp>},
      {"Sub", 7, 2, 2, 1, importBinary<train::SubOp>},
      {"Mul", 7, 2, 2, 1, importBinary<train::MulOp>},
      {"Div", 7, 2, 2, 1, importBinary<train::DivOp>},
      {"Neg", 6, 1, 1, 1, importUnary<train::NegOp>},
      {"Relu", 6, 1, 1, 1, importUnary<train::ReluOp>},
      {"Tanh", 6, 1, 1, 1, importUnary<train::TanhOp>},
      {"Sigmoid", 6, 1, 1, 1, importUnary<train::SigmoidOp>},
      {"Softsign", 1, 1, 1, 1, importUnary<train::SoftsignOp>},
      {"Gelu", 20, 1, 1, 1, importGelu},
      {"Cast", 9, 1, 1, 1, importCast},
  };
  return rows;
}
