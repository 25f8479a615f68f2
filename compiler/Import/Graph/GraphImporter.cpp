//===- GraphImporter.cpp - Import of a graph into a module ----------------===//

#include "compiler/Import/Graph/GraphImporter.h"

#include "compiler/Dialect/Train/IR/Program.h"
#include "compiler/Import/Check/AttributeNames.h"
#include "compiler/Import/Check/CheckModel.h"
#include "compiler/Import/Graph/Elements.h"
#include "compiler/Import/Graph/ImportedNode.h"
#include "compiler/Import/Initializers/InitializerHeuristics.h"
#include "compiler/Support/Faults.h"
#include "compiler/Support/Locations.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/Path.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

/// Integer and bool initializers up to this size become train.constant.
constexpr int64_t kMaxConstantElements = 1024;

/// Before opset 14 a BatchNormalization is in training form if it has several
/// outputs.
static bool isTrainingNorm(const onnx::NodeProto &node) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == "training_mode")
      return attribute.i() != 0;
  return llvm::any_of(llvm::drop_begin(node.output()),
                      [](const std::string &name) { return !name.empty(); });
}

GraphImporter::GraphImporter(std::shared_ptr<const ModelFile> model,
                             int64_t opset, const TrainingStep *step,
                             const ImportOptions &options, MLIRContext *context,
                             ImportResult &result)
    : builder(context), opset(opset),
      floatType(options.float64 ? FloatType(builder.getF64Type())
                                : FloatType(builder.getF32Type())),
      model(model), graph(model->proto.graph()), step(step), options(options),
      context(context), result(result), tensors(model), signature(model->proto),
      statistics(graph, signature.isKnown()),
      countErrors(context, [this](Diagnostic &diagnostic) {
        numErrors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
        return failure(); // Other handlers print it.
      }) {
  builder.setListener(&ops);
}

//===----------------------------------------------------------------------===//
// The graph as a whole
//===----------------------------------------------------------------------===//

void GraphImporter::run() {
  Location loc = FileLineColLoc::get(context, model->path, 0, 0);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  (*module)->setAttr(kModelAttr, builder.getStringAttr(
                                     llvm::sys::path::filename(model->path)));
  (*module)->setAttr(kOpsetAttr, builder.getI64IntegerAttr(opset));
  builder.setInsertionPointToStart(module->getBody());
  beginFunction(train::EntryRole::Predict,
                step ? Form::Inference : Form::Either);
  insertStatesBefore = function;

  if (succeeded(step ? importStep() : importGraph()) &&
      succeeded(verify(*module))) {
    noteDecisions();
    result.module = std::move(module);
    return;
  }
  if (options.survey)
    noteModel();
  if (result.error == ModelError::None) {
    result.error = ModelError::Invalid;
  }
}

LogicalResult GraphImporter::importGraph() {
  if (failed(freeze.compile(options.freeze, context)) ||
      failed(train.compile(options.train, context)) ||
      failed(trainOnly.compile(options.trainOnly, context)) ||
      failed(detach.compile(options.detach, context)) ||
      failed(padding.bind(options.paddingRows, graph, context))) {
    result.error = ModelError::Usage;
    return failure();
  }
  const onnx::GraphProto *all[] = {&graph};
  parts = all;
  SmallVector<const onnx::ValueInfoProto *> inputs = dataInputs(graph);
  if (failed(dimensions.bind(inputs, options, context, result.error,
                             result.notes)))
    return failure();
  countUses(graph);
  hasTrainingNorm = llvm::any_of(graph.node(), [](const auto &node) {
    return node.op_type() == "BatchNormalization" && isTrainingNorm(node);
  });
  defineInitializers(graph);
  if (failed(importInputs(inputs)))
    return failure();
  for (auto [index, node] : llvm::enumerate(graph.node()))
    if (failed(importNode(node, index)))
      return failure();
  if (options.survey && !options.survey->isComplete())
    return failure();
  auto outputs = llvm::map_to_vector(
      graph.output(),
      [](const onnx::ValueInfoProto &output) { return &output; });
  return failed(importOutputs(outputs)) ? failure() : checkOptions();
}

/// In a survey, a node that fails is counted and the import continues.
LogicalResult GraphImporter::importNode(const onnx::NodeProto &node,
                                        int index) {
  ModelSurvey *survey = options.survey;
  if (survey && !unsupportedReason(node, opset).empty())
    return success(); // Counted by checkModel.
  llvm::StringSet<> own;
  if (survey && !seesAll(node, own)) {
    ++survey->numUnseen;
    return success();
  }
  const OpRow *row = findOp(qualifiedOp(node), opset);
  if (succeeded(ImportedNode(*this, node, index).run(*row)))
    return checkOps(nodeLocation(node, context));
  if (!survey || result.error == ModelError::Limit)
    return failure();
  ++survey->numFailed;
  for (const std::string &output : node.output())
    values.erase(output);
  return success();
}

/// Returns true if all values that a node and its subgraphs use have been
/// imported; `own` are the names of the subgraphs.
bool GraphImporter::seesAll(const onnx::NodeProto &node,
                            llvm::StringSet<> &own) {
  for (const std::string &input : node.input())
    if (!input.empty() && !values.contains(input) && !own.contains(input))
      return false;
  for (StringRef name : namesInAttributes(node))
    if (!values.contains(name) && !own.contains(name))
      return false;
  for (const onnx::AttributeProto &attribute : node.attribute()) {
    const onnx::GraphProto &body = attribute.g();
    for (const onnx::ValueInfoProto &input : body.input())
      own.insert(input.name());
    for (const onnx::TensorProto &tensor : body.initializer())
      own.insert(tensor.name());
    for (const onnx::NodeProto &inner : body.node()) {
      if (!unsupportedReason(inner, opset).empty() || !seesAll(inner, own))
        return false;
      own.insert(inner.output().begin(), inner.output().end());
    }
    for (const onnx::ValueInfoProto &output : body.output())
      if (!values.contains(output.name()) && !own.contains(output.name()))
        return false;
  }
  return true;
}

/// Includes uses in subgraphs.
void GraphImporter::countUses(const onnx::GraphProto &graph) {
  for (const onnx::NodeProto &node : graph.node()) {
    for (const std::string &name : node.input())
      ++used[name];
    for (StringRef name : namesInAttributes(node))
      ++used[name];
    for (const onnx::AttributeProto &attribute : node.attribute())
      if (attribute.has_g())
        countUses(attribute.g());
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    ++used[output.name()];
}

LogicalResult GraphImporter::importBody(const onnx::GraphProto &body) {
  constexpr int64_t kMaxNodes = 1'000'000;
  for (const onnx::TensorProto &tensor : body.initializer()) {
    GraphValue value{{},
                     &tensor,
                     false,
                     {},
                     makeNodeLoc(context, tensor.name(), "initializer")};
    define(tensor.name(), std::make_shared<GraphValue>(value));
    if (isa_and_present<FloatType>(
            elementTypeFor(tensor.data_type(), floatType)) &&
        tensor.dims_size() > 0)
      bodyWeights.insert(tensor.name());
  }
  for (const onnx::NodeProto &node : body.node()) {
    if (++numNested > kMaxNodes) {
      result.error = ModelError::Limit;
      return emitError(nodeLocation(node, context))
             << Fault::TooLarge
             << "with this node all loop iterations together have more than "
             << kMaxNodes << " nodes";
    }
    const OpRow *row = findOp(qualifiedOp(node), opset);
    if (failed(ImportedNode(*this, node, /*index=*/-1).run(*row)) ||
        failed(checkOps(nodeLocation(node, context))))
      return failure();
  }
  return success();
}

/// Fails if a pattern matches nothing: it is probably misspelt.
LogicalResult GraphImporter::checkPatterns() {
  SmallVector<StringRef> initializers, computed;
  for (const onnx::TensorProto &tensor : graph.initializer())
    initializers.push_back(tensor.name());
  for (const onnx::NodeProto &node : graph.node())
    computed.append(node.output().begin(), node.output().end());
  bool isFine = true;
  isFine &= succeeded(freeze.checkMatched(initializers, context, result.notes));
  isFine &= succeeded(train.checkMatched(initializers, context, result.notes));
  isFine &=
      succeeded(trainOnly.checkMatched(initializers, context, result.notes));
  isFine &= succeeded(detach.checkMatched(computed, context, result.notes));
  return success(isFine);
}

/// Fails if options have no effect, or leave nothing to train.
LogicalResult GraphImporter::checkOptions() {
  const FaultScope scope(context, Fault::OptionConflict);
  bool isUsed = succeeded(checkPatterns());
  if (failed(padding.checkUsed(context)) || !isUsed) {
    result.error = ModelError::Usage;
    return failure();
  }
  if (!trained.empty() || frozenReads.empty() ||
      (options.freeze.empty() && options.trainOnly.empty()))
    return success();
  result.error = ModelError::Usage;
  // With --train-only, only the parameters that it names count.
  int64_t numChosen = llvm::count_if(
      frozen, [&](const auto &entry) { return isChosen(entry.getKey()); });
  if (options.freeze.empty() || numChosen == 0)
    return emitError(UnknownLoc::get(context))
           << (options.trainOnly.empty() ? "option 'freeze'"
                                         : "option 'train-only'")
           << " matches no trainable initializer: masks, tables and buffers "
              "also need option 'train'=REGEX";
  return emitError(UnknownLoc::get(context))
         << "option 'freeze' matches every parameter "
         << (options.trainOnly.empty() ? "of the model ("
                                       : "that option 'train-only' names (")
         << numChosen << "): nothing is left to train; exclude at least one";
}

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

void GraphImporter::defineInitializers(const onnx::GraphProto &graph) {
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    GraphValue value{{},
                     &tensor,
                     /*isInitializer=*/true,
                     {},
                     makeNodeLoc(context, tensor.name(), "initializer")};
    define(tensor.name(), std::make_shared<GraphValue>(value));
  }
}

/// The attributes of an input or output.
DictionaryAttr GraphImporter::describeInterface(StringRef name,
                                                bool isBatched) {
  NamedAttrList list;
  list.set(kNameAttr, builder.getStringAttr(name));
  if (isBatched)
    list.set(kBatchDimAttr, builder.getI64IntegerAttr(0));
  return list.getDictionary(context);
}

LogicalResult
GraphImporter::importInputs(ArrayRef<const onnx::ValueInfoProto *> inputs) {
  if (failed(checkInterface(inputs.size(), "inputs")))
    return failure();
  SmallVector<Type> types;
  for (const onnx::ValueInfoProto *input : inputs) {
    Location loc = makeNodeLoc(context, input->name(), "input");
    int32_t dataType = input->type().tensor_type().elem_type();
    Type elementType = elementTypeFor(dataType, floatType);
    if (!elementType)
      return emitError(loc) << Fault::UnsupportedType << "has element type "
                            << dataTypeName(dataType)
                            << "; supported are floats, int32, int64 and bool";
    SmallVector<int64_t> shape = dimensions.shapeOf(*input);
    llvm::Expected<int64_t> count = countElements(shape);
    if (!count)
      return report(count.takeError(), loc);
    if (isa<FloatType>(elementType) &&
        dataType != (floatType.isF64() ? onnx::TensorProto::DOUBLE
                                       : onnx::TensorProto::FLOAT))
      result.notes.push_back("input '" + input->name() + "' is " +
                             dataTypeName(dataType).str() +
                             " in the model; the program takes " +
                             (floatType.isF64() ? "f64" : "f32"));
    auto type = RankedTensorType::get(shape, elementType);
    Value argument = function.getBody().addArgument(type, loc);
    types.push_back(type);
    GraphValue value{argument, nullptr, false, {}, loc};
    define(input->name(), std::make_shared<GraphValue>(value));
  }
  function.setFunctionType(builder.getFunctionType(types, {}));
  SmallVector<DictionaryAttr> attributes;
  for (const onnx::ValueInfoProto *input : inputs)
    attributes.push_back(
        describeInterface(input->name(), dimensions.isBatched(*input)));
  function.setAllArgAttrs(attributes);
  return success();
}

/// Compares the model's declaration of an output with the computed type.
LogicalResult GraphImporter::checkOutput(const onnx::ValueInfoProto &output,
                                         Value value, Location loc) {
  if (!output.type().has_tensor_type())
    return success(); // Declares nothing.
  const auto &declared = output.type().tensor_type();
  auto type = cast<RankedTensorType>(value.getType());
  bool declaresType = declared.elem_type() != onnx::TensorProto::UNDEFINED;
  if (declaresType &&
      elementTypeFor(declared.elem_type(), floatType) != type.getElementType())
    return emitError(loc) << Fault::ShapeMismatch << "is declared as "
                          << dataTypeName(declared.elem_type())
                          << ", but the graph computes " << typeText(type);
  if (!declared.has_shape())
    return success();
  bool fits = declared.shape().dim_size() == type.getRank();
  for (int64_t i = 0; fits && i < type.getRank(); ++i) {
    const auto &dim = declared.shape().dim(i);
    // A symbol that no input has is just a name and has no size.
    int64_t size = dim.has_dim_value() ? dim.dim_value()
                                       : dimensions.sizeOf(dim.dim_param());
    fits = size == type.getDimSize(i) || (size == 0 && !dim.has_dim_value());
  }
  if (fits)
    return success();
  std::string shape;
  llvm::raw_string_ostream os(shape);
  llvm::interleaveComma(declared.shape().dim(), os, [&](const auto &dim) {
    if (dim.has_dim_value())
      os << dim.dim_value();
    else
      os << (dim.dim_param().empty() ? "?" : dim.dim_param());
  });
  return emitError(loc) << Fault::ShapeMismatch << "is declared as [" << shape
                        << "], but the graph computes " << typeText(type);
}

LogicalResult
GraphImporter::importOutputs(ArrayRef<const onnx::ValueInfoProto *> outputs) {
  if (failed(checkInterface(outputs.size(), "outputs")))
    return failure();
  SmallVector<Value> results;
  for (const onnx::ValueInfoProto *output : outputs) {
    Location loc = makeNodeLoc(context, output->name(), "output");
    Value value = materialize(lookup(output->name()));
    if (!value || failed(checkOutput(*output, value, loc)))
      return failure();
    results.push_back(value);
  }
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setFunctionType(builder.getFunctionType(
      function.getArgumentTypes(), ValueRange(results).getTypes()));
  SmallVector<DictionaryAttr> attributes;
  for (auto [result, output] : llvm::zip_equal(results, outputs)) {
    auto shape = cast<RankedTensorType>(result.getType()).getShape();
    bool isBatched =
        !shape.empty() && dimensions.isBatchedOutput(*output, shape[0]);
    attributes.push_back(describeInterface(output->name(), isBatched));
  }
  function.setAllResultAttrs(attributes);
  return success();
}

//===----------------------------------------------------------------------===//
// Initializers and constants
//===----------------------------------------------------------------------===//

FailureOr<ElementsAttr>
GraphImporter::elementsOf(const onnx::TensorProto &tensor, Location loc) {
  Type elementType = elementTypeFor(tensor.data_type(), floatType);
  if (!elementType)
    return emitError(loc) << Fault::UnsupportedType << "holds "
                          << dataTypeName(tensor.data_type())
                          << " elements; supported are floats, int32, int64 "
                             "and bool";
  auto data = tensors.read(tensor);
  if (!data)
    return report(data.takeError(), loc);
  if (data->bytes.empty())
    return emitError(loc, "has no elements");
  SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  auto elements = makeElements(
      *data, tensor.data_type(), RankedTensorType::get(shape, elementType),
      tensor.name().empty() ? nodeName(loc) : tensor.name());
  if (!elements)
    return report(elements.takeError(), loc);
  return *elements;
}

Value GraphImporter::readState(const onnx::TensorProto &tensor, StringRef name,
                               train::StateRole role) {
  Value &read = stateReads[name];
  if (read)
    return read;
  Location loc = makeNodeLoc(context, name, "initializer");
  train::StateOp &state = states[name];
  if (state)
    return read = train::ReadOp::create(builder, loc, state);
  if (name == "__metadata__") {
    emitError(loc, "the name is reserved by the safetensors format of "
                   "checkpoints; rename the initializer")
        << Fault::InvalidName;
    return nullptr;
  }
  FailureOr<ElementsAttr> elements = elementsOf(tensor, loc);
  if (failed(elements))
    return nullptr;
  auto type = cast<RankedTensorType>((*elements).getShapedType());
  auto dense = dyn_cast<DenseElementsAttr>(*elements);
  if (role == train::StateRole::Control && dense) { // A single number.
    type = RankedTensorType::get({}, type.getElementType());
    elements = ElementsAttr(dense.reshape(type));
  }
  int32_t dataType = tensor.data_type();
  numWidened += dataType == onnx::TensorProto::FLOAT16 ||
                dataType == onnx::TensorProto::BFLOAT16;
  if (role == train::StateRole::Parameter && type.getRank() == 0)
    result.notes.push_back(
        "initializer '" + name.str() +
        "' is a scalar and will be trained; use option 'freeze'='^" +
        name.str() + "$' to keep it constant");
  renameClashingEntry(name);
  OpBuilder above(insertStatesBefore);
  state = train::StateOp::create(above, loc, name, role, type, *elements);
  read = train::ReadOp::create(builder, loc, state);
  return read;
}

/// Renames an entry point that has this name, because a state of the model
/// keeps the model's name.
void GraphImporter::renameClashingEntry(StringRef name) {
  if (!train::symbolizeEntryRole(name))
    return;
  auto module = function->getParentOfType<ModuleOp>();
  for (auto func : module.getOps<func::FuncOp>())
    if (func.getSymName() == name)
      func.setSymName(train::Program(module).freeName(name));
}

Value GraphImporter::makeConstant(const GraphValue &value) {
  ElementsAttr elements = value.constant;
  if (value.tensor) {
    FailureOr<ElementsAttr> read = elementsOf(*value.tensor, value.loc);
    if (failed(read))
      return nullptr;
    elements = *read;
  }
  // Later stages require data with elements; only shapes may be empty.
  if (elements.getNumElements() == 0) {
    emitError(value.loc) << "the result, " << typeText(elements.getShapedType())
                         << ", has no elements";
    return nullptr;
  }
  return train::ConstantOp::create(builder, value.loc, elements);
}

/// PyTorch's exporter stores the numbers of the model's code (`0.5 * x`) as
/// initializers with names of its own, and tables that it computed under the
/// name of the function. A `val_7` that is a list of different numbers or a
/// matrix is a transposed or sliced weight.
GraphImporter::Use GraphImporter::useOf(const onnx::TensorProto &tensor) {
  auto found = uses.find(tensor.name());
  if (found != uses.end())
    return found->second;
  Use use = decideUse(tensor);
  if (!isChosen(tensor.name()) && use == Use::Trained)
    use = Use::Frozen;
  return uses[tensor.name()] = use;
}

/// Returns true if `--train-only` matches an initializer or is not given.
bool GraphImporter::isChosen(StringRef name) {
  return options.trainOnly.empty() || trainOnly.matchAndMark(name);
}

/// Ignores elements that cannot be read: their use reports the error later.
GraphImporter::Use GraphImporter::decideUse(const onnx::TensorProto &tensor) {
  StringRef name = tensor.name();
  if (step) // Only what the step changes is a state.
    return tensor.dims_size() <= 1 ? Use::Number : Use::Frozen;
  return freeze.matchAndMark(name) ? Use::Frozen : decideUseUnfrozen(tensor);
}

GraphImporter::Use
GraphImporter::decideUseUnfrozen(const onnx::TensorProto &tensor) {
  using Role = Signature::Role;
  StringRef name = tensor.name();
  if (train.matchAndMark(name))
    return Use::Trained;
  Role role = signature.roleOf(name);
  if (role == Role::Buffer ||
      (role == Role::Computed && !signature.mayHoldParameters(name)))
    return Use::Buffer;
  // Parameters of modules have dimensions.
  if (role == Role::Computed && tensor.dims_size() == 0)
    return Use::Number;
  bool isParameter = role == Role::Parameter;
  if (isExportersTable(name) && !isParameter)
    return Use::Number;
  if (role == Role::Computed && isExporterFillConstant(name))
    return Use::Filling;
  auto data = tensors.read(tensor);
  if (!data) {
    llvm::consumeError(data.takeError());
    return Use::Trained;
  }
  // Such tables can be parameters in PyTorch that are not trained.
  if (isPositionalTable(*data, tensor))
    return Use::PositionalTable;
  if (isParameter)
    return Use::Trained;
  // Training a mask would turn it into a bias of every score.
  if (isMask(*data, tensor.data_type()))
    return Use::Mask;
  bool isSplatOfNumbers = isSplat(*data, dataTypeSize(tensor.data_type()));
  if (isSplatOfNumbers && isExportersValue(name) && tensor.dims_size() <= 1)
    return Use::Number;
  if (isSplatOfNumbers && role == Role::Computed && tensor.dims_size() > 2)
    return Use::Filling;
  return Use::Trained;
}

bool GraphImporter::isTrainedArgument(const GraphValue &value) {
  if (!value.isInitializer || !value.tensor)
    return false;
  const onnx::TensorProto &tensor = *value.tensor;
  StringRef name = tensor.name();
  if (freeze.matchAndMark(name) || !isChosen(name))
    return false;
  Signature::Role role = signature.roleOf(name);
  if (role == Signature::Role::Parameter)
    return true;
  // TorchScript's exporter gives tensors that it computed names like
  // "onnx::Pow_12" or "/fc/...". --train=val_ is meant for weights only.
  if (isExportersValue(name) || name.contains("::") || name.starts_with("/"))
    return false;
  if (train.matchAndMark(name))
    return true;
  if (role != Signature::Role::Unknown)
    return false;
  if (tensor.dims_size() > 0)
    return true;
  // A use by an earlier node takes precedence.
  return uses.try_emplace(name, Use::Argument).first->second == Use::Trained;
}

/// Returns true if the user or PyTorch's signature determines the use of an
/// initializer.
bool GraphImporter::isDecided(const onnx::TensorProto &tensor) {
  StringRef name = tensor.name();
  return freeze.matchAndMark(name) || train.matchAndMark(name) ||
         signature.roleOf(name) != Signature::Role::Unknown;
}

void GraphImporter::useAsInitialState(const GraphValue &value) {
  if (value.value || !value.isInitializer || isDecided(*value.tensor))
    return;
  auto data = tensors.read(*value.tensor);
  if (!data)
    llvm::consumeError(data.takeError()); // Reported at the use of the data.
  else if (isSplat(*data, dataTypeSize(value.tensor->data_type())))
    uses.try_emplace(value.tensor->name(), Use::Start);
}

void GraphImporter::useAsClassWeights(const GraphValue &value) {
  if (!value.value && value.isInitializer && !isDecided(*value.tensor))
    uses.try_emplace(value.tensor->name(), Use::ClassWeights);
}

Value GraphImporter::materialize(GraphValue &value) {
  if (value.value)
    return value.value;
  if (value.isSequence) {
    emitError(value.loc) << Fault::UnsupportedType
                         << "is a sequence; a tensor is needed";
    return nullptr;
  }
  if (!value.isInitializer)
    return value.value = makeConstant(value);
  const onnx::TensorProto &tensor = *value.tensor;
  bool isFloat =
      isa_and_present<FloatType>(elementTypeFor(tensor.data_type(), floatType));
  llvm::Expected<int64_t> count = countElements(
      ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()));
  if (!count) {
    (void)report(count.takeError(), value.loc);
    return nullptr;
  }
  // Initializers of one name in several graphs cannot be states.
  if ((!isFloat && *count <= kMaxConstantElements) ||
      ambiguous.contains(tensor.name()))
    return value.value = makeConstant(value);
  Use use = isFloat ? useOf(tensor) : Use::Frozen;
  // A number that the exporter does not mark as a parameter is a number of the
  // code, too.
  bool isNumber =
      use == Use::Number || (use == Use::Buffer && tensor.dims_size() == 0);
  if (isNumber && *count <= kMaxConstantElements)
    return value.value = makeConstant(value);
  bool isTrained = use == Use::Trained;
  if (isTrained)
    trained.insert(tensor.name());
  else if (isFloat && use == Use::Frozen && !step &&
           decideUseUnfrozen(tensor) == Use::Trained &&
           frozen.insert(tensor.name()).second) {
    result.frozenElements += *count;
    result.frozenWeights.insert(tensor.name());
  }
  value.value = readState(tensor, tensor.name(),
                          isTrained ? train::StateRole::Parameter
                                    : train::StateRole::Constant);
  if (value.value && isFloat && !isTrained)
    frozenReads.insert(value.value);
  return value.value;
}

bool GraphImporter::freezesStatistics(int node, Value scale, Value bias) {
  ++numNorms;
  bool freezes = frozenReads.contains(scale) && frozenReads.contains(bias);
  // Mean and variance belong together: if one is named, both are frozen.
  for (int input : {3, 4})
    if (const Statistics::State *state = statistics.find(node, input))
      freezes |= freeze.matchAndMark(state->name);
  bool isEval = node >= 0 && !isTrainingNorm(graph.node(node));
  switch (options.batchNorm) {
  case ImportOptions::BatchNorm::Auto:
    numFrozenNorms += freezes;
    numEvalNorms += !freezes && isEval && hasTrainingNorm;
    return freezes || (isEval && hasTrainingNorm);
  case ImportOptions::BatchNorm::Train:
    return false;
  case ImportOptions::BatchNorm::Frozen:
    return true;
  case ImportOptions::BatchNorm::AsExported:
    return isEval;
  }
  llvm_unreachable("all choices handled");
}

Value GraphImporter::materializeStatistic(int node, int input,
                                          bool isConstant) {
  const Statistics::State *state = statistics.find(node, input);
  if (!state)
    return nullptr;
  if (isConstant)
    result.frozenWeights.insert(state->name);
  return readState(*lookup(state->initializer).tensor, state->name,
                   isConstant ? train::StateRole::Constant
                              : train::StateRole::Statistic);
}

std::optional<SmallVector<int64_t>>
GraphImporter::readIntegers(const GraphValue &value, Location loc,
                            StringRef label) {
  constexpr int64_t kMaxIntegers = 1 << 20;
  if (value.constant) {
    auto elements = dyn_cast<DenseIntElementsAttr>(value.constant);
    if (elements && !elements.getElementType().isInteger(1))
      return llvm::map_to_vector(
          elements.getValues<APInt>(),
          [](const APInt &v) { return v.getSExtValue(); });
    emitError(loc) << Fault::UnsupportedType << label << " must hold integers";
    return std::nullopt;
  }
  const onnx::TensorProto &tensor = *value.tensor;
  bool isInteger = tensor.data_type() == onnx::TensorProto::INT64 ||
                   tensor.data_type() == onnx::TensorProto::INT32;
  if (!isInteger || tensor.dims_size() > 1) {
    emitError(loc) << Fault::ShapeMismatch << label
                   << " must be a list of integers, but is "
                   << dataTypeName(tensor.data_type()) << " of rank "
                   << tensor.dims_size();
    return std::nullopt;
  }
  auto data = tensors.read(tensor);
  if (!data) {
    (void)report(data.takeError(), value.loc);
    return std::nullopt;
  }
  if (int64_t(data->bytes.size()) > kMaxIntegers) {
    emitError(loc) << Fault::TooLarge << label
                   << " is too long for a list of dimensions";
    return std::nullopt;
  }
  return llvm::to_vector(mpc::readIntegers(*data, tensor.data_type()));
}

std::optional<double> GraphImporter::readScalar(const GraphValue &value,
                                                Location loc, StringRef label) {
  ElementsAttr elements = value.constant;
  if (value.tensor) {
    FailureOr<ElementsAttr> read = elementsOf(*value.tensor, value.loc);
    if (failed(read))
      return std::nullopt;
    elements = *read;
  }
  auto dense = dyn_cast<DenseElementsAttr>(elements);
  if (!dense || dense.getNumElements() != 1) {
    emitError(loc) << Fault::ShapeMismatch << label << " must be one number";
    return std::nullopt;
  }
  if (isa<FloatType>(dense.getElementType())) {
    APFloat number = *dense.getValues<APFloat>().begin();
    return number.convertToDouble();
  }
  APInt number = *dense.getValues<APInt>().begin();
  // A bool is 0 or 1, not -1.
  return number.getBitWidth() == 1 ? double(number.getZExtValue())
                                   : double(number.getSExtValue());
}

//===----------------------------------------------------------------------===//
// Constants computed at import
//===----------------------------------------------------------------------===//

bool GraphImporter::isConstant(const GraphValue &value) {
  if (value.constant)
    return isa<DenseElementsAttr>(value.constant) &&
           value.constant.getNumElements() <= kMaxKnownElements;
  if (!value.tensor)
    return false;
  const onnx::TensorProto &tensor = *value.tensor;
  Type elementType = elementTypeFor(tensor.data_type(), floatType);
  if (!elementType)
    return false;
  if (value.isInitializer && isa<FloatType>(elementType)) {
    Use use = useOf(tensor);
    // A frozen matrix is a weight, which keeps its name; a frozen list may be
    // the frequencies that positions are multiplied by.
    if (use == Use::Trained || (use == Use::Frozen && tensor.dims_size() > 1))
      return false;
  }
  llvm::Expected<int64_t> count = countElements(
      ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()));
  if (count)
    return *count <= kMaxKnownElements;
  llvm::consumeError(count.takeError()); // Reported if it is used as data.
  return false;
}

std::optional<KnownTensor> GraphImporter::readConstant(const GraphValue &value,
                                                       Location loc,
                                                       StringRef label) {
  if (value.constant) {
    if (failed(countRead(value.constant.getNumElements(), loc)))
      return std::nullopt;
    return KnownTensor::of(cast<DenseElementsAttr>(value.constant));
  }
  const onnx::TensorProto &tensor = *value.tensor;
  auto data = tensors.read(tensor);
  if (!data) {
    (void)report(data.takeError(), value.loc);
    return std::nullopt;
  }
  size_t size = std::max<size_t>(dataTypeSize(tensor.data_type()), 1);
  if (failed(countRead(data->bytes.size() / size, loc)))
    return std::nullopt;
  KnownTensor result;
  result.elementType = elementTypeFor(tensor.data_type(), floatType);
  result.shape.assign(tensor.dims().begin(), tensor.dims().end());
  if (!result.isFloat()) {
    result.ints = mpc::readIntegers(*data, tensor.data_type());
    return result;
  }
  result.floats = readFloats(*data, tensor.data_type());
  for (double &number : result.floats) {
    double rounded = roundTo(floatType, number);
    if (std::isinf(rounded) && !std::isinf(number)) {
      emitError(loc) << label << " holds " << number
                     << ", which is out of range for float32";
      return std::nullopt;
    }
    number = rounded;
  }
  if (value.isInitializer && useOf(tensor) == Use::Frozen)
    this->result.foldedWeights[tensor.name()] = result.floats;
  return result;
}
