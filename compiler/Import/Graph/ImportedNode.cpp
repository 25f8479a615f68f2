//===- ImportedNode.cpp - A node during its import ------------------------===//

#include "compiler/Import/Graph/ImportedNode.h"

#include "compiler/Import/Check/CheckModel.h"
#include "compiler/Import/Graph/Elements.h"

#include "mlir/IR/TypeUtilities.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace mpc;
using onnx::AttributeProto;

std::string mpc::typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto tensor = cast<RankedTensorType>(type);
  os << tensor.getElementType() << "[";
  llvm::interleaveComma(tensor.getShape(), os);
  os << "]";
  return text;
}

ImportedNode::ImportedNode(GraphImporter &graph, const onnx::NodeProto &proto,
                           int index)
    : proto(proto), loc(nodeLocation(proto, graph.builder.getContext())),
      graph(graph), index(index) {}

LogicalResult ImportedNode::run(const OpRow &row) {
  const FaultScope scope(loc.getContext(), Fault::InvalidNode);
  unsigned before = graph.errorCount();
  if (succeeded(runRow(row)))
    return success();
  // A failure must have a message.
  if (graph.errorCount() == before)
    error() << Fault::InternalError
            << "internal error: cannot be imported, without a message";
  return failure();
}

LogicalResult ImportedNode::runRow(const OpRow &row) {
  for (unsigned i = 0; i < numInputs(); ++i)
    if (hasInput(i) && graph.lookup(proto.input(i)).isSequence &&
        !row.takesSequences)
      return error() << Fault::UnsupportedType << label(i)
                     << " is a sequence; this op takes tensors";
  bool folds =
      row.fold && ((row.isElementwise && takeSlices()) || hasOnlyConstants());
  if (mlir::failed(folds ? row.fold(*this) : row.import(*this)) || hasFailed)
    return failure();
  // An attribute that was not read might change the meaning.
  for (const AttributeProto &attribute : proto.attribute())
    if (!readAttributes.contains(attribute.name()))
      return error() << Fault::BadAttribute << "attribute '" << attribute.name()
                     << "' is not known for this op in opset " << graph.opset;
  return success();
}

InFlightDiagnostic ImportedNode::error() {
  hasFailed = true;
  return emitError(loc);
}

InFlightDiagnostic ImportedNode::shapeError() {
  InFlightDiagnostic diagnostic = error();
  diagnostic << Fault::ShapeMismatch;
  noteShapes(*diagnostic.getUnderlyingDiagnostic());
  return diagnostic;
}

void ImportedNode::noteShapes(Diagnostic &diagnostic) {
  for (auto [i, value] : dataInputs)
    diagnostic.attachNote(graph.lookup(proto.input(i)).loc)
        << label(i) << " is " << typeText(value.getType())
        << " and comes from here";
}

std::string ImportedNode::label(unsigned i) const {
  return "input " + std::to_string(i) + " '" + proto.input(i) + "'";
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

unsigned ImportedNode::numInputs() const {
  unsigned count = proto.input_size();
  while (count > 0 && proto.input(count - 1).empty())
    --count;
  return count;
}

Value ImportedNode::input(unsigned i) {
  if (hasFailed)
    return nullptr;
  Value value = graph.materialize(graph.lookup(proto.input(i)));
  hasFailed = !value;
  if (value)
    dataInputs.push_back({i, value});
  return value;
}

Value ImportedNode::floatInput(unsigned i) {
  Value value = input(i);
  if (!value)
    return nullptr;
  Type type = cast<RankedTensorType>(value.getType()).getElementType();
  if (isa<FloatType>(type))
    return value;
  error() << Fault::UnsupportedType << label(i) << " is "
          << typeText(value.getType())
          << "; this op is supported for floats only";
  return nullptr;
}

Value ImportedNode::intInput(unsigned i) {
  Value value = input(i);
  if (!value)
    return nullptr;
  Type type = cast<RankedTensorType>(value.getType()).getElementType();
  if (type.isInteger(32) || type.isInteger(64))
    return value;
  error() << Fault::UnsupportedType << label(i) << " is "
          << typeText(value.getType()) << "; it must be int32 or int64";
  return nullptr;
}

Value ImportedNode::numberInput(unsigned i) {
  Value value = input(i);
  if (!value || isFloat(value) || !getElementTypeOrSelf(value).isInteger(1))
    return value;
  error() << Fault::UnsupportedType << label(i) << " is "
          << typeText(value.getType()) << "; it must hold numbers";
  return nullptr;
}

bool ImportedNode::freezesStatistics(Value scale, Value bias) {
  return !hasFailed && graph.freezesStatistics(index, scale, bias);
}

Value ImportedNode::statisticInput(unsigned i, bool frozen) {
  if (hasFailed)
    return nullptr;
  if (index < 0) {
    error() << "stands in a subgraph, where training cannot update running "
               "statistics; move it out of the subgraph, or write it as Sub, "
               "Mul and Add";
    return nullptr;
  }
  if (Value value = graph.materializeStatistic(index, i, frozen))
    return value;
  hasFailed = true;
  if (!graph.lookup(proto.input(i)).isInitializer)
    error() << Fault::NotConstant << label(i)
            << " must be an initializer: training updates it";
  return nullptr;
}

bool ImportedNode::isKnown(unsigned i) {
  return graph.lookup(proto.input(i)).isKnown();
}

bool ImportedNode::isComputed(unsigned i) {
  const GraphValue &value = graph.lookup(proto.input(i));
  return value.value && !value.isInitializer && !value.isKnown();
}

bool ImportedNode::isNumber(unsigned i) {
  const GraphValue &value = graph.lookup(proto.input(i));
  return value.isKnown() && !graph.isTrainedArgument(value);
}

Type ImportedNode::typeOfInput(unsigned i) {
  const GraphValue &value = graph.lookup(proto.input(i));
  if (value.tensor)
    return elementTypeFor(value.tensor->data_type(), graph.floatType);
  return value.value ? getElementTypeOrSelf(value.value)
                     : value.constant.getElementType();
}

SmallVector<int64_t> ImportedNode::shapeOfInput(unsigned i) {
  return slicedShape ? shapeOfSlice(i) : shapeOfWhole(i);
}

SmallVector<int64_t> ImportedNode::shapeOfWhole(unsigned i) {
  const GraphValue &value = graph.lookup(proto.input(i));
  if (value.tensor)
    return SmallVector<int64_t>(value.tensor->dims().begin(),
                                value.tensor->dims().end());
  return llvm::to_vector(value.value
                             ? shapeOf(value.value)
                             : value.constant.getShapedType().getShape());
}

bool ImportedNode::isConstant(unsigned i) {
  return graph.isConstant(graph.lookup(proto.input(i)));
}

bool ImportedNode::hasOnlyConstants() {
  for (unsigned i = 0; i < numInputs(); ++i)
    if (hasInput(i) && !isConstant(i))
      return false;
  return true;
}

KnownTensor ImportedNode::constant(unsigned i) {
  return slicedShape ? readSlice(i) : readWhole(i);
}

KnownTensor ImportedNode::readWhole(unsigned i) {
  std::optional<KnownTensor> value;
  if (!hasFailed)
    value = graph.readConstant(graph.lookup(proto.input(i)), loc, label(i));
  hasFailed |= !value;
  return value.value_or(KnownTensor{graph.builder.getI64Type(), {0}, {}, {}});
}

LogicalResult ImportedNode::reportNonConstantInput() {
  unsigned i = 0;
  while (!hasInput(i) || isConstant(i))
    ++i; // There is one: otherwise the node would have been folded.
  return error() << Fault::NotConstant << label(i)
                 << " is computed from data; this op is supported on constants "
                    "only: values computed from Constant nodes, integer "
                    "initializers and shapes";
}

bool ImportedNode::fitsConstant(ArrayRef<int64_t> shape) {
  if (hasFailed)
    return false;
  llvm::Expected<int64_t> count = countElements(shape);
  if (!count) {
    hasFailed = true;
    (void)graph.report(count.takeError(), loc, "the result");
    return false;
  }
  if (*count <= kMaxKnownElements)
    return true;
  error() << Fault::TooLarge << "computes a constant of " << *count
          << " elements; at most " << kMaxKnownElements
          << " are computed at compile time, so let the exporter store it as "
             "an initializer";
  return false;
}

SmallVector<int64_t>
ImportedNode::makeIndexList(int64_t count,
                            function_ref<int64_t(int64_t)> make) {
  if (!fitsConstant(count))
    return {};
  return llvm::map_to_vector(llvm::seq<int64_t>(0, count), make);
}

SmallVector<int64_t> ImportedNode::iota(int64_t count) {
  return makeIndexList(count, [](int64_t i) { return i; });
}

/// The value of an input that must be known; null after an error.
const GraphValue *ImportedNode::knownInput(unsigned i) {
  if (hasFailed)
    return nullptr;
  const GraphValue &value = graph.lookup(proto.input(i));
  if (value.isKnown())
    return &value;
  error() << Fault::NotConstant << label(i)
          << " must be known at compile time: an initializer or the output of "
             "a Constant node";
  return nullptr;
}

SmallVector<int64_t> ImportedNode::knownInts(unsigned i) {
  const GraphValue *value = knownInput(i);
  if (!value)
    return {};
  auto integers = graph.readIntegers(*value, loc, label(i));
  hasFailed = !integers;
  return integers.value_or(SmallVector<int64_t>());
}

double ImportedNode::knownScalar(unsigned i) {
  const GraphValue *value = knownInput(i);
  if (!value)
    return 0;
  auto number = graph.readScalar(*value, loc, label(i));
  hasFailed = !number;
  return number.value_or(0);
}

int64_t ImportedNode::knownInteger(unsigned i) {
  constexpr double limit = int64_t(1) << 62;
  double number = knownScalar(i);
  if (std::isnan(number)) {
    error() << label(i) << " must be an integer, but is not a number";
    return 0;
  }
  return int64_t(std::clamp(number, -limit, limit));
}

std::vector<double> ImportedNode::knownFloats(unsigned i) {
  constexpr int64_t kMaxFloats = 1 << 16;
  const GraphValue *value = knownInput(i);
  if (!value)
    return {};
  SmallVector<int64_t> shape = shapeOfInput(i);
  if (shape.size() != 1 || shape[0] > kMaxFloats) {
    error() << label(i) << " must be a short list of numbers, but has shape ["
            << ArrayRef(shape) << "]";
    return {};
  }
  std::optional<KnownTensor> known = graph.readConstant(*value, loc, label(i));
  hasFailed = !known;
  if (known && !known->isFloat())
    error() << Fault::UnsupportedType << label(i) << " must hold floats";
  return hasFailed ? std::vector<double>() : known->floats;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const AttributeProto *ImportedNode::find(StringRef name) {
  readAttributes.insert(name);
  for (const AttributeProto &attribute : proto.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

static StringRef attributeTypeName(int32_t type) {
  static constexpr StringLiteral names[] = {
      "nothing", "a float",         "an int",         "a string", "a tensor",
      "a graph", "floats",          "ints",           "strings",  "tensors",
      "graphs",  "a sparse tensor", "sparse tensors", "a type",   "types"};
  return type >= 0 && size_t(type) < std::size(names) ? names[type]
                                                      : "something unknown";
}

const AttributeProto *ImportedNode::typedAttr(StringRef name,
                                              int32_t attributeType) {
  const AttributeProto *attribute = find(name);
  if (!attribute || hasFailed)
    return nullptr;
  if (attribute->type() == attributeType)
    return attribute;
  error() << Fault::BadAttribute << "attribute '" << name << "' must be "
          << attributeTypeName(attributeType) << ", but is "
          << attributeTypeName(attribute->type());
  return nullptr;
}

int64_t ImportedNode::intAttr(StringRef name, int64_t defaultValue) {
  const AttributeProto *attribute = typedAttr(name, AttributeProto::INT);
  return attribute ? attribute->i() : defaultValue;
}

Type ImportedNode::typeAttr(StringRef name, Type otherwise) {
  if (!hasAttr(name))
    return otherwise;
  int64_t number = intAttr(name, 0);
  bool isType = number > 0 && number < 1000;
  Type type = isType ? elementTypeFor(number, graph.floatType) : Type();
  if (type || hasFailed)
    return type;
  error() << Fault::BadAttribute << "attribute '" << name << "' is "
          << dataTypeName(isType ? number : -1)
          << "; supported are floats, int32, int64 and bool";
  return nullptr;
}

bool ImportedNode::boolAttr(StringRef name, bool defaultValue) {
  int64_t value = intAttr(name, defaultValue);
  if (value != 0 && value != 1 && !hasFailed)
    error() << Fault::BadAttribute << "attribute '" << name
            << "' must be 0 or 1, but is " << value;
  return value != 0;
}

double ImportedNode::floatAttr(StringRef name, double defaultValue) {
  const AttributeProto *attribute = typedAttr(name, AttributeProto::FLOAT);
  if (attribute && !std::isfinite(attribute->f())) {
    error() << Fault::BadAttribute << "attribute '" << name
            << "' is not finite";
    return defaultValue;
  }
  return attribute ? attribute->f() : defaultValue;
}

std::string ImportedNode::stringAttr(StringRef name, StringRef defaultValue) {
  const AttributeProto *attribute = typedAttr(name, AttributeProto::STRING);
  return attribute ? attribute->s() : defaultValue.str();
}

SmallVector<StringRef> ImportedNode::stringsAttr(StringRef name) {
  const AttributeProto *attribute = typedAttr(name, AttributeProto::STRINGS);
  if (!attribute)
    return {};
  return SmallVector<StringRef>(attribute->strings().begin(),
                                attribute->strings().end());
}

std::optional<SmallVector<int64_t>> ImportedNode::intsAttr(StringRef name) {
  const AttributeProto *attribute = typedAttr(name, AttributeProto::INTS);
  if (!attribute)
    return std::nullopt;
  return SmallVector<int64_t>(attribute->ints().begin(),
                              attribute->ints().end());
}

int64_t ImportedNode::normalizeAxis(int64_t axis, int64_t rank, StringRef label,
                                    bool allowEnd) {
  if (hasFailed)
    return 0;
  int64_t last = allowEnd ? rank : rank - 1;
  if (axis < -rank || axis > last) {
    shapeError() << label << " must lie in [" << -rank << ", " << last
                 << "], but is " << axis;
    return 0;
  }
  return axis < 0 ? axis + rank : axis;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

NamedAttribute ImportedNode::attr(StringRef name, Attribute value) {
  return graph.builder.getNamedAttr(name, value);
}

NamedAttribute ImportedNode::i64(StringRef name, int64_t value) {
  return attr(name, graph.builder.getI64IntegerAttr(value));
}

NamedAttribute ImportedNode::i64s(StringRef name, ArrayRef<int64_t> values) {
  return attr(name, graph.builder.getDenseI64ArrayAttr(values));
}

NamedAttribute ImportedNode::f32(StringRef name, double value) {
  return attr(name, graph.builder.getF32FloatAttr(value));
}

NamedAttribute ImportedNode::flag(StringRef name) {
  return attr(name, graph.builder.getUnitAttr());
}

/// Sets properties and result types: `type`, or the inferred types. Returns
/// failure where the generated builders would abort.
LogicalResult ImportedNode::setTypes(OperationState &state, Type type) {
  auto info = state.name.getRegisteredInfo();
  if (!info) {
    emitError(loc) << Fault::InternalError << "internal error: '" << state.name
                   << "' is unknown";
    return failure();
  }
  MLIRContext *context = graph.builder.getContext();
  DictionaryAttr attributes = state.attributes.getDictionary(context);
  OpaqueProperties properties = state.getRawProperties();
  if (properties &&
      mlir::failed(info->setOpPropertiesFromAttribute(
          state.name, properties, attributes, [&] { return emitError(loc); })))
    return failure();
  if (type) {
    state.addTypes(type);
    return success();
  }
  auto *interface = info->getInterface<InferTypeOpInterface>();
  SmallVector<Type> types;
  if (!interface || mlir::failed(interface->inferReturnTypes(
                        context, loc, state.operands, attributes, properties,
                        RegionRange(), types)))
    return failure();
  state.addTypes(types);
  return success();
}

/// Checks requirements of later stages that no verifier checks.
LogicalResult ImportedNode::checkResults(Operation *op) {
  if (mlir::failed(graph.checkOps(loc)))
    return failure();
  for (Type type : op->getResultTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    llvm::Expected<int64_t> count = countElements(tensor.getShape());
    if (!count)
      return graph.report(count.takeError(), loc, "the result");
    if (*count == 0)
      return emitError(loc)
             << "the result, " << typeText(type) << ", has no elements";
    if (mlir::failed(graph.addElements(*count, loc)))
      return failure();
  }
  return mlir::verify(op);
}

/// Returns true for a weight or a constant of the model, possibly moved.
static bool isMovedWeight(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto read = dyn_cast<train::ReadOp>(op)) {
      train::StateKind kind = read.getStateOp().getKind();
      return kind == train::StateKind::Parameter ||
             kind == train::StateKind::Constant;
    }
    if (!isa<train::MoveOpInterface>(op) || op->getNumOperands() != 1)
      return false;
    value = op->getOperand(0);
  }
  return false;
}

/// A product with a weight is a linear layer. A product that sums over one
/// element, such as positions times frequencies, is not: equal products of
/// several nodes must stay equal, so that they are computed once.
void ImportedNode::nameLayer(Operation *op) {
  auto product = dyn_cast<train::MatmulOp>(op);
  if (!product)
    return;
  RankedTensorType lhs = product.getLhs().getType();
  int64_t sum =
      lhs.getShape()[lhs.getRank() - (product.getTransposeLhs() ? 2 : 1)];
  if (sum > 1 &&
      (isMovedWeight(product.getLhs()) || isMovedWeight(product.getRhs())))
    product.setLayer(nodeLabel(proto));
}

Operation *ImportedNode::create(OperationState &state, ArrayRef<Value> operands,
                                ArrayRef<NamedAttribute> attributes,
                                Type type) {
  if (hasFailed || llvm::is_contained(operands, Value())) {
    hasFailed = true;
    return nullptr;
  }
  state.addOperands(operands);
  state.addAttributes(attributes);

  // Adds notes about the shapes to the errors of verifiers.
  SmallVector<Diagnostic> held;
  Operation *op = nullptr;
  {
    ScopedDiagnosticHandler hold(loc.getContext(), [&](Diagnostic &diagnostic) {
      held.push_back(std::move(diagnostic));
      return success();
    });
    if (succeeded(setTypes(state, type))) {
      op = graph.builder.create(state);
      nameLayer(op);
      if (mlir::failed(checkResults(op))) {
        op->erase();
        op = nullptr;
      }
    }
  }
  if (!op && held.empty())
    shapeError() << "the shapes of the inputs do not fit together";
  hasFailed |= !op;
  for (Diagnostic &diagnostic : held) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      noteShapes(diagnostic);
    if (!faultOf(diagnostic))
      setFault(diagnostic, Fault::ShapeMismatch);
    loc.getContext()->getDiagEngine().emit(std::move(diagnostic));
  }
  return op;
}

Value ImportedNode::reshape(Value value, ArrayRef<int64_t> shape) {
  if (hasFailed || !value) {
    hasFailed = true;
    return nullptr;
  }
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  return emitAs<train::ReshapeOp>(
      RankedTensorType::get(shape, type.getElementType()), value);
}

Value ImportedNode::scalar(double value) {
  if (hasFailed)
    return nullptr;
  auto type = RankedTensorType::get({}, graph.floatType);
  auto number = graph.builder.getFloatAttr(graph.floatType, value);
  return train::ConstantOp::create(
      graph.builder, loc, ElementsAttr(DenseElementsAttr::get(type, number)));
}

Value ImportedNode::numberLike(Value like, double value) {
  if (!like || hasFailed)
    return nullptr;
  if (isFloat(like))
    return scalar(value);
  Type element = getElementTypeOrSelf(like);
  return data(KnownTensor{element, {}, {}, {toInteger(element, value)}});
}

Value ImportedNode::integers(ArrayRef<int64_t> values,
                             ArrayRef<int64_t> shape) {
  if (hasFailed)
    return nullptr;
  auto type = RankedTensorType::get(shape, graph.builder.getI64Type());
  return train::ConstantOp::create(
      graph.builder, loc, ElementsAttr(DenseElementsAttr::get(type, values)));
}

Value ImportedNode::data(const KnownTensor &known) {
  if (hasFailed)
    return nullptr;
  return train::ConstantOp::create(graph.builder, loc,
                                   ElementsAttr(known.attribute()));
}

Value ImportedNode::compare(Value lhs, Value rhs,
                            train::Comparison comparison) {
  return emit<train::CompareOp>(
      {lhs, rhs},
      attr("comparison",
           train::ComparisonAttr::get(graph.builder.getContext(), comparison)));
}

Value ImportedNode::integerOp(train::IntegerOperation kind, Value lhs,
                              Value rhs) {
  return emit<train::IntegerOp>(
      {lhs, rhs}, attr("kind", train::IntegerOperationAttr::get(
                                   graph.builder.getContext(), kind)));
}

Value ImportedNode::castTo(Value value, Type element) {
  if (!value || getElementTypeOrSelf(value) == element)
    return value;
  return emit<train::CastOp>(value, attr("to", TypeAttr::get(element)));
}

Value ImportedNode::broadcast(Value value, ArrayRef<int64_t> shape) {
  if (!value || shapeOf(value) == shape)
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  return emitAs<train::BroadcastToOp>(type.clone(shape), value);
}

Value ImportedNode::transpose(Value value, ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return value;
  return emit<train::TransposeOp>(value, i64s("permutation", permutation));
}

Value ImportedNode::part(Value value, int64_t dim, int64_t begin,
                         int64_t count) {
  if (!value || shapeOf(value)[dim] == count)
    return value;
  SmallVector<int64_t> shape(shapeOf(value)), offsets(shape.size(), 0);
  shape[dim] = count;
  offsets[dim] = begin;
  return emitAs<train::SliceOp>(
      cast<RankedTensorType>(value.getType()).clone(shape), value,
      i64s("offsets", offsets));
}

Value ImportedNode::pick(Value value, int64_t axis, ArrayRef<int64_t> places) {
  if (!value)
    return nullptr;
  auto count = static_cast<int64_t>(places.size());
  return emit<train::ResampleOp>({value, integers(places, {count, 1})},
                                 i64("axis", axis));
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

bool ImportedNode::isOutputUsed(unsigned i) const {
  return i < unsigned(proto.output_size()) && !proto.output(i).empty() &&
         graph.isUsed(proto.output(i));
}

SmallVector<int64_t> ImportedNode::shapeOfOutput(unsigned i,
                                                 ArrayRef<int64_t> grad) {
  SmallVector<int64_t> shape;
  if (!hasFailed && int(i) < proto.output_size())
    shape = graph.declaredShape(proto.output(i));
  bool fits = shape.size() == grad.size() && shape.size() > 2;
  for (size_t dim = 0; fits && dim < shape.size(); ++dim) {
    if (dim < 2 && shape[dim] < 1)
      shape[dim] = grad[dim];
    fits = shape[dim] >= 1 && (dim >= 2 || shape[dim] == grad[dim]);
  }
  llvm::Expected<int64_t> count = countElements(shape);
  if (fits && count)
    return shape;
  llvm::consumeError(count.takeError());
  if (!hasFailed)
    shapeError() << "the shape of output " << i << " does not follow from the "
                 << "inputs; the model must declare it, in value_info or as an "
                 << "output, as an image of the gradient's extents N and C";
  return {};
}

void ImportedNode::refuseOutput(unsigned i, StringRef why) {
  if (!hasFailed && isOutputUsed(i))
    error() << "output " << i << " '" << proto.output(i) << "' " << why;
}

LogicalResult ImportedNode::setOutput(unsigned i, Value value) {
  if (hasFailed || !value) {
    hasFailed = true;
    return failure();
  }
  if (i >= unsigned(proto.output_size()) || proto.output(i).empty())
    return success();
  if (graph.isDetached(proto.output(i)) && isFloat(value)) {
    value = emit<train::StopGradientOp>(value);
    if (hasFailed)
      return failure();
  }
  GraphValue entry{value, nullptr, false, {}, loc};
  graph.define(proto.output(i), std::make_shared<GraphValue>(entry));
  return success();
}

LogicalResult ImportedNode::setShared(unsigned i,
                                      std::shared_ptr<GraphValue> value) {
  if (hasFailed)
    return failure();
  if (i >= unsigned(proto.output_size()) || proto.output(i).empty())
    return success();
  bool isData = !value->isSequence && !graph.isConstant(*value);
  if (isData && graph.isDetached(proto.output(i)))
    return setOutput(i, graph.materialize(*value));
  graph.define(proto.output(i), std::move(value));
  return success();
}

LogicalResult ImportedNode::forwardInput() {
  return hasFailed ? failure() : setShared(0, graph.share(proto.input(0)));
}

LogicalResult ImportedNode::setKnown(ElementsAttr value, unsigned output) {
  GraphValue entry{{}, nullptr, false, value, loc};
  if (int(output) < proto.output_size() && !proto.output(output).empty())
    graph.define(proto.output(output), std::make_shared<GraphValue>(entry));
  return success();
}

LogicalResult ImportedNode::setKnown(const KnownTensor &value,
                                     unsigned output) {
  if (hasFailed)
    return failure();
  DenseElementsAttr attribute = value.attribute();
  if (mlir::failed(graph.addConstant(attribute, loc)))
    return failure();
  return slicedShape ? setRepeated(attribute, output)
                     : setKnown(ElementsAttr(attribute), output);
}

LogicalResult ImportedNode::setKnown(const onnx::TensorProto &tensor) {
  GraphValue entry{{}, &tensor, false, {}, loc};
  graph.define(proto.output(0), std::make_shared<GraphValue>(entry));
  return success();
}
