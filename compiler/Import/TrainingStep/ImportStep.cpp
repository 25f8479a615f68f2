//===- ImportStep.cpp - Import of an own step -----------------------------===//
//
// The graphs of the step become three functions (Attributes.def). States are
// the initializers that bindings change; all other initializers never change. A
// state is read at the start of a function, and an update sees the states as
// the previous updates left them.
//
//===----------------------------------------------------------------------===//

#include "compiler/Dialect/Train/IR/Program.h"
#include "compiler/Import/Check/AttributeNames.h"
#include "compiler/Import/Check/CheckModel.h"
#include "compiler/Import/Graph/Elements.h"
#include "compiler/Import/Graph/GraphImporter.h"
#include "compiler/Import/Graph/ImportedNode.h"
#include "compiler/Support/Faults.h"
#include "compiler/Support/Locations.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;
using Update = TrainingStep::Update;
using Graphs = TrainingStep::Graphs;

//===----------------------------------------------------------------------===//
// Names in the graphs
//===----------------------------------------------------------------------===//

/// The nodes that compute `wanted`; adds all names that they read to `wanted`.
static llvm::DenseSet<const onnx::NodeProto *>
nodesBehind(const Graphs &graphs, llvm::StringSet<> &wanted) {
  llvm::DenseSet<const onnx::NodeProto *> nodes;
  for (const onnx::GraphProto *graph : llvm::reverse(graphs))
    for (const onnx::NodeProto &node : llvm::reverse(graph->node()))
      if (llvm::any_of(node.output(), [&](const std::string &output) {
            return !output.empty() && wanted.contains(output);
          })) {
        nodes.insert(&node);
        forEachRead(node, [&](StringRef name) { wanted.insert(name); });
      }
  return nodes;
}

/// The values that depend on gradients: outputs of Gradient nodes, or of all
/// nodes of an algorithm without any, and values computed from them.
static llvm::StringSet<> valuesOfGradients(const Update &update) {
  llvm::StringSet<> values;
  auto isGradient = [](const onnx::NodeProto &node) {
    return node.op_type() == "Gradient";
  };
  for (const onnx::GraphProto *graph : llvm::drop_begin(update.graphs)) {
    bool hasGradient = llvm::any_of(graph->node(), isGradient);
    for (const onnx::NodeProto &node : graph->node()) {
      bool follows = !hasGradient || isGradient(node);
      forEachRead(node,
                  [&](StringRef name) { follows |= values.contains(name); });
      if (follows)
        values.insert(node.output().begin(), node.output().end());
    }
  }
  return values;
}

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

/// Returns true if a state is one number that no node of inference reads: a
/// count, a rate. Such states get rank 0.
bool GraphImporter::isControl(const onnx::TensorProto &tensor) {
  Type element = elementTypeFor(tensor.data_type(), floatType);
  bool isKnown = element && (element == floatType || element.isInteger(32) ||
                             element.isInteger(64));
  return isKnown &&
         llvm::all_of(tensor.dims(),
                      [](int64_t extent) { return extent == 1; }) &&
         llvm::none_of(step->inference, [&](const auto *part) {
           return llvm::any_of(part->initializer(), [&](const auto &other) {
             return &other == &tensor;
           });
         });
}

/// The value of a state at the start of this function.
Value GraphImporter::readStepState(const onnx::TensorProto &tensor) {
  Type element = elementTypeFor(tensor.data_type(), floatType);
  if (element && element.isInteger(1)) {
    emitError(makeNodeLoc(context, tensor.name(), "initializer"))
        << "is bool; states changed by a training step must be floats or "
           "integers";
    return nullptr;
  }
  bool isNumber = isControl(tensor);
  Value read = readState(tensor, tensor.name(),
                         isNumber ? train::StateRole::Control
                                  : train::StateRole::Statistic);
  if (!read || !isNumber || tensor.dims_size() == 0)
    return read;
  auto type = RankedTensorType::get(
      SmallVector<int64_t>(tensor.dims_size(), 1),
      cast<RankedTensorType>(read.getType()).getElementType());
  return train::ReshapeOp::create(builder, read.getLoc(), type, read);
}

LogicalResult
GraphImporter::writeStepState(const TrainingStep::Binding &binding, Value value,
                              int64_t update) {
  train::StateOp state = states.lookup(binding.state);
  auto type = cast<RankedTensorType>(state.getType());
  if (type.getRank() == 0 && value.getType() != type &&
      cast<RankedTensorType>(value.getType()).getNumElements() == 1)
    value = train::ReshapeOp::create(
        builder, value.getLoc(),
        type.clone(getElementTypeOrSelf(value.getType())), value);
  if (value.getType() != type)
    return emitError(state.getLoc())
           << "is " << typeText(type) << ", but update_binding gives it '"
           << binding.value << "', which is " << typeText(value.getType());
  auto write = train::WriteOp::create(builder, value.getLoc(), state, value);
  write->setAttr(kUpdateAttr, builder.getI64IntegerAttr(update));
  return success();
}

/// A state that inference reads is a weight if its new value depends on
/// gradients, else a statistic. A state that inference does not read belongs to
/// the optimizer.
void GraphImporter::classifyStates() {
  llvm::StringSet<> read;
  for (const onnx::GraphProto *part : step->inference)
    for (const onnx::NodeProto &node : part->node())
      forEachRead(node, [&](StringRef name) { read.insert(name); });
  for (const Update &update : step->updates) {
    llvm::StringSet<> ofGradients = valuesOfGradients(update);
    for (const TrainingStep::Binding &binding : update.bindings) {
      train::StateOp state = states.lookup(binding.state);
      if (!state || state.getRole() == train::StateRole::Control)
        continue;
      bool isFloat = isa<FloatType>(getElementTypeOrSelf(state.getType()));
      if (!read.contains(binding.state))
        state.setRole(train::StateRole::Optimizer);
      else if (isFloat && update.gradients.empty() &&
               ofGradients.contains(binding.value))
        state.setRole(train::StateRole::Parameter);
    }
    for (const TrainingStep::Binding &gradient : update.gradients)
      if (train::StateOp state = states.lookup(gradient.state))
        state.setRole(train::StateRole::Parameter);
  }
}

/// The factors R of X - R * step, if an update of a state X is written with
/// plain ops.
static std::vector<StringRef> factorsOfUpdates(const Update &update) {
  llvm::StringMap<const onnx::NodeProto *> products;
  llvm::StringMap<StringRef> states; // By the value that each gets.
  std::vector<StringRef> factors;
  for (const TrainingStep::Binding &binding : update.bindings)
    states[binding.value] = binding.state;
  for (const onnx::NodeProto &node : update.graphs.back()->node()) {
    if (node.input_size() != 2 || node.output_size() != 1)
      continue;
    if (node.op_type() == "Mul")
      products[node.output(0)] = &node;
    if (node.op_type() != "Sub" ||
        states.lookup(node.output(0)) != node.input(0))
      continue;
    if (const onnx::NodeProto *product = products.lookup(node.input(1)))
      factors.insert(factors.end(), product->input().begin(),
                     product->input().end());
  }
  return factors;
}

/// Initializers that updates use as their learning rate and nothing changes
/// become states that the user may set. A name that several graphs give to
/// different initializers does not.
void GraphImporter::findRates() {
  llvm::StringMap<const onnx::TensorProto *> seen;
  for (const Update &update : step->updates)
    for (const onnx::GraphProto *part : update.graphs)
      for (const onnx::TensorProto &tensor : part->initializer()) {
        auto [entry, isNew] = seen.try_emplace(tensor.name(), &tensor);
        if (!isNew && entry->second != &tensor)
          ambiguous.insert(tensor.name());
      }
  auto add = [&](StringRef name) {
    const onnx::TensorProto *rate = seen.lookup(name);
    if (rate && isControl(*rate) && !ambiguous.contains(name) &&
        !step->states.contains(name))
      rates.insert(rate->name());
  };
  for (const Update &update : step->updates) {
    for (StringRef factor : factorsOfUpdates(update))
      add(factor);
    for (const onnx::GraphProto *part : update.graphs)
      for (const onnx::NodeProto &node : part->node()) {
        bool updates = (node.domain() == "ai.onnx.preview.training" ||
                        node.domain() == "mpc") &&
                       node.op_type() != "Gradient" && node.input_size() > 0;
        if (updates)
          add(node.input(0));
      }
  }
}

void GraphImporter::useInGradient(Value value) {
  llvm::DenseSet<Operation *> inner;
  for (const auto &entry : updated) // Stops at results of earlier updates.
    if (Operation *op = entry.second.getDefiningOp())
      inner.insert(op);
  SmallVector<Value> work = {value};
  while (!work.empty())
    if (Operation *op = work.pop_back_val().getDefiningOp())
      if (inner.insert(op).second)
        llvm::append_range(work, op->getOperands());
  llvm::erase_if(gradients, [&](const std::pair<Value, Value> &entry) {
    Operation *op = entry.second.getDefiningOp();
    return op && inner.contains(op);
  });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void GraphImporter::beginFunction(train::EntryRole role, Form functionForm) {
  form = functionForm;
  if (function)
    builder.setInsertionPointAfter(function);
  Location loc = FileLineColLoc::get(context, model->path, 0, 0);
  function =
      func::FuncOp::create(builder, loc, "", builder.getFunctionType({}, {}));
  train::Program::around(function).setRole(function, role);
  builder.setInsertionPointToStart(function.addEntryBlock());
  values.clear();
  stateReads.clear();
  updated.clear();
  gradients.clear();
  numRandom = 0;
  ops.count = 0;
}

/// Starts anew: names of other graphs stand for other values.
void GraphImporter::beginGraphs(const Graphs &graphs) {
  values.clear();
  for (auto [i, input] : llvm::enumerate(stepInputs)) {
    Value argument = function.getArgument(i);
    GraphValue value{argument, nullptr, false, {}, argument.getLoc()};
    define(input->name(), std::make_shared<GraphValue>(value));
  }
  for (const onnx::GraphProto *part : graphs)
    defineInitializers(*part);
}

/// Imports the nodes that compute the wanted values.
LogicalResult GraphImporter::importNodes(const Graphs &graphs,
                                         const llvm::StringSet<> &wanted) {
  parts = graphs;
  llvm::StringSet<> names = wanted;
  llvm::DenseSet<const onnx::NodeProto *> nodes = nodesBehind(graphs, names);
  used.clear();
  for (StringRef name : names.keys())
    used[name] = 1;
  for (const onnx::GraphProto *part : graphs)
    for (const onnx::TensorProto &tensor : part->initializer()) {
      bool isState =
          step->states.contains(tensor.name()) || rates.contains(tensor.name());
      if (!isState || !names.contains(tensor.name()))
        continue;
      Value value = updated.lookup(tensor.name());
      if (!value)
        value = readStepState(tensor);
      if (!value)
        return failure();
      GraphValue state{value, nullptr, false, {}, value.getLoc()};
      define(tensor.name(), std::make_shared<GraphValue>(state));
    }
  for (const onnx::GraphProto *part : graphs)
    for (const onnx::NodeProto &node : part->node())
      if (nodes.contains(&node) && failed(importNode(node, /*index=*/-1)))
        return failure();
  // In a survey nodes may have failed, which is recorded there.
  return success(!options.survey || options.survey->isComplete());
}

/// Imports the outputs of inference, except those that are new values of
/// states.
LogicalResult GraphImporter::importPredict() {
  llvm::StringSet<> bound, wanted;
  for (const Update &update : step->updates)
    for (const TrainingStep::Binding &binding : update.bindings)
      bound.insert(binding.value);
  onnx::ValueInfoProto prediction;
  prediction.set_name(step->prediction);
  SmallVector<const onnx::ValueInfoProto *> outputs;
  if (!step->prediction.empty())
    outputs.push_back(&prediction);
  else
    for (const onnx::ValueInfoProto &output : step->inference.back()->output())
      if (!bound.contains(output.name()))
        outputs.push_back(&output);
  if (outputs.empty())
    return emitError(UnknownLoc::get(context))
           << "all outputs of the graph are new values of states: no output is "
              "left for prediction";
  for (const onnx::ValueInfoProto *output : outputs)
    wanted.insert(output->name());
  // The size of the labels may not be needed.
  llvm::StringSet<> names = wanted;
  (void)nodesBehind(step->inference, names);
  SmallVector<const onnx::ValueInfoProto *> inputs;
  for (const onnx::ValueInfoProto *input : dataInputs(*step->inference.back()))
    if (step->prediction.empty() || names.contains(input->name()))
      inputs.push_back(input);
  if (failed(importInputs(inputs)))
    return failure();
  for (const onnx::GraphProto *part : step->inference)
    defineInitializers(*part);
  return failed(importNodes(step->inference, wanted)) ? failure()
                                                      : importOutputs(outputs);
}

/// The loss as one float: the sum of the elements that are differentiated.
Value GraphImporter::toLoss(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getRank() == 0)
    return value;
  if (type.getNumElements() == 1)
    return train::ReshapeOp::create(builder, value.getLoc(),
                                    type.clone(ArrayRef<int64_t>()), value);
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  return train::ReduceSumOp::create(builder, value.getLoc(), value, axes);
}

/// The loss of the first update: the value that it differentiates, or the first
/// output that is one float and not a new value of a state.
FailureOr<std::string> GraphImporter::findLoss() {
  const Update &first = step->updates.front();
  if (!first.loss.empty())
    return first.loss;
  llvm::StringSet<> bound;
  for (const TrainingStep::Binding &binding : first.bindings)
    bound.insert(binding.value);
  for (const onnx::GraphProto *part : llvm::reverse(first.graphs))
    for (const onnx::ValueInfoProto &output : part->output()) {
      std::shared_ptr<GraphValue> value = values.lookup(output.name());
      if (!value || !value->value || bound.contains(output.name()))
        continue;
      auto type = cast<RankedTensorType>(value->value.getType());
      if (isa<FloatType>(type.getElementType()) && type.getNumElements() == 1)
        return output.name();
    }
  return emitError(UnknownLoc::get(context))
         << "the training step has no loss: it has no Gradient node with "
            "respect to states that update_binding changes; give the algorithm "
            "an output of one float";
}

/// The seed of the backward pass is data, not a constant to fold.
LogicalResult GraphImporter::defineSeed(const Update &update) {
  if (update.seed.empty())
    return success();
  GraphValue &seed = lookup(update.seed);
  Value value = makeConstant(seed);
  if (!value)
    return failure();
  value.getDefiningOp()->setAttr(kLossSeedAttr, builder.getUnitAttr());
  GraphValue data{value, nullptr, false, {}, seed.loc};
  define(update.seed, std::make_shared<GraphValue>(data));
  return success();
}

LogicalResult GraphImporter::importTrain() {
  beginFunction(train::EntryRole::Train, Form::Exact);
  if (failed(importInputs(stepInputs)))
    return failure();
  Value loss;
  for (auto [index, update] : llvm::enumerate(step->updates)) {
    beginGraphs(update.graphs);
    llvm::StringSet<> wanted;
    for (const auto *bindings : {&update.bindings, &update.gradients})
      for (const TrainingStep::Binding &binding : *bindings)
        for (StringRef name : {binding.value, binding.state})
          wanted.insert(name);
    for (const onnx::GraphProto *part : update.graphs)
      for (const onnx::ValueInfoProto &output : part->output())
        wanted.insert(output.name());
    if (failed(defineSeed(update)) ||
        failed(importNodes(update.graphs, wanted)))
      return failure();
    if (!loss) {
      FailureOr<std::string> name = findLoss();
      if (failed(name))
        return failure();
      lossName = *name;
      if (!(loss = materialize(lookup(lossName))))
        return failure();
      if (!isFloat(loss))
        return emitError(loss.getLoc())
               << "the loss '" << lossName << "' is "
               << typeText(loss.getType()) << "; it must be of floats";
    }
    SmallVector<Value> results;
    for (const TrainingStep::Binding &binding : update.bindings)
      if (!results.emplace_back(materialize(lookup(binding.value))))
        return failure();
    // Written together, because states may be swapped.
    for (auto [i, binding] : llvm::enumerate(update.bindings)) {
      Value value = results[i];
      if (failed(writeStepState(binding, value, index)))
        return failure();
      // No gradient of the next update flows back through the state.
      if (isFloat(value) && index + 1 < step->updates.size())
        value = train::StopGradientOp::create(builder, value.getLoc(),
                                              value.getType(), value);
      updated[binding.state] = value;
    }
    for (const TrainingStep::Binding &gradient : update.gradients) {
      Value value = materialize(lookup(gradient.value));
      if (!value)
        return failure();
      Value weight = stateReads.lookup(gradient.state);
      if (weight.getType() != value.getType())
        return emitError(value.getLoc())
               << "is the gradient of '" << gradient.state << "', which is "
               << typeText(weight.getType()) << ", but it is "
               << typeText(value.getType());
      addGradient(weight, value);
    }
  }
  classifyStates();

  // Gradients are in the order of their states.
  llvm::StringMap<unsigned> places;
  for (auto state :
       function->getParentOfType<ModuleOp>().getOps<train::StateOp>())
    places[state.getSymName()] = places.size();
  auto place = [&](const std::pair<Value, Value> &entry) {
    auto read = entry.first.getDefiningOp<train::ReadOp>();
    return read ? places.lookup(read.getState()) : places.size();
  };
  llvm::stable_sort(gradients, [&](const auto &a, const auto &b) {
    return place(a) < place(b);
  });
  SmallVector<Value> results = {toLoss(loss)};
  SmallVector<StringRef> names = {""};
  for (auto [x, gradient] : gradients) {
    auto read = x.getDefiningOp<train::ReadOp>();
    bool isAsked = !gradient.use_empty() || !step->updates[0].gradients.empty();
    if (!read || !isAsked ||
        states.lookup(read.getState()).getKind() != train::StateKind::Parameter)
      continue;
    results.push_back(gradient);
    names.push_back(read.getState());
  }
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setFunctionType(builder.getFunctionType(
      function.getArgumentTypes(), ValueRange(results).getTypes()));
  for (auto [i, name] : llvm::enumerate(names))
    function.setResultAttr(i, i == 0 ? kNameAttr : kGradientOfAttr,
                           builder.getStringAttr(i == 0 ? "loss" : name));
  return success();
}

LogicalResult GraphImporter::importEvaluate() {
  beginFunction(train::EntryRole::Evaluate, Form::Inference);
  if (failed(importInputs(stepInputs)))
    return failure();
  beginGraphs(step->evaluation);
  llvm::StringSet<> wanted;
  wanted.insert(lossName);
  if (failed(importNodes(step->evaluation, wanted)))
    return failure();
  Value loss = materialize(lookup(lossName));
  if (!loss)
    return failure();
  loss = toLoss(loss);
  func::ReturnOp::create(builder, function.getLoc(), loss);
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), loss.getType()));
  function.setResultAttr(0, kNameAttr, builder.getStringAttr("loss"));
  return success();
}

/// Sets the initial values of states that are known at import. Imports the
/// others into `initialize`, which computes them in each session.
LogicalResult GraphImporter::importInitialValues() {
  if (step->initialValues.empty())
    return success();
  beginFunction(train::EntryRole::Initialize, Form::Inference);
  SmallVector<std::pair<StringRef, Value>> made;
  for (const TrainingStep::InitialValues &initial : step->initialValues) {
    Graphs graphs = {initial.graph};
    llvm::StringSet<> wanted;
    for (const TrainingStep::Binding &binding : initial.bindings)
      wanted.insert(binding.value);
    values.clear();
    defineInitializers(*initial.graph);
    if (failed(importNodes(graphs, wanted)))
      return failure();
    for (const TrainingStep::Binding &binding : initial.bindings) {
      GraphValue &value = lookup(binding.value);
      train::StateOp state = states.lookup(binding.state);
      if (!state) // The state is not read.
        continue;
      if (!value.isKnown()) {
        Value first = checkInitialValue(state, materialize(value), binding);
        if (!first)
          return failure();
        made.push_back({binding.state, first});
        continue;
      }
      FailureOr<ElementsAttr> elements = value.constant;
      if (value.tensor)
        elements = elementsOf(*value.tensor, value.loc);
      if (failed(elements) ||
          failed(setInitialValue(state, *elements, binding)))
        return failure();
    }
  }
  if (made.empty()) {
    function.erase();
    return success();
  }
  SmallVector<Value> results(llvm::make_second_range(made));
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setFunctionType(
      builder.getFunctionType({}, ValueRange(results).getTypes()));
  std::string names;
  for (auto [i, entry] : llvm::enumerate(made)) {
    function.setResultAttr(i, kNameAttr, builder.getStringAttr(entry.first));
    names += (i ? ", '" : "'") + entry.first.str() + "'";
  }
  result.notes.push_back("each session initializes these with random numbers, "
                         "derived from its seed: " +
                         names);
  return success();
}

/// `value` in the shape of the state, which may have rank 0; null after an
/// error.
Value GraphImporter::checkInitialValue(train::StateOp state, Value value,
                                       const TrainingStep::Binding &binding) {
  if (!value)
    return nullptr;
  auto type = cast<RankedTensorType>(state.getType());
  auto given = cast<RankedTensorType>(value.getType());
  if (type.getRank() == 0 && given.getNumElements() == 1 && given != type)
    value = train::ReshapeOp::create(builder, value.getLoc(),
                                     type.clone(given.getElementType()), value);
  if (value.getType() == type)
    return value;
  emitError(state.getLoc())
      << "is " << typeText(type) << ", but initialization_binding gives it '"
      << binding.value << "', which is " << typeText(given);
  return nullptr;
}

LogicalResult
GraphImporter::setInitialValue(train::StateOp state, ElementsAttr value,
                               const TrainingStep::Binding &binding) {
  auto type = cast<RankedTensorType>(state.getType());
  auto dense = dyn_cast<DenseElementsAttr>(value);
  if (dense && type.getRank() == 0 && value.getNumElements() == 1)
    value = dense.reshape(
        type.clone(cast<RankedTensorType>(dense.getType()).getElementType()));
  if (value.getShapedType() != type)
    return emitError(state.getLoc())
           << "is " << typeText(type) << ", but initialization_binding gives "
           << "it '" << binding.value << "', which is "
           << typeText(value.getShapedType());
  state.setInitialValueAttr(value);
  return success();
}

//===----------------------------------------------------------------------===//
// The step as a whole
//===----------------------------------------------------------------------===//

/// Rejects options about what is trained, and how: the file determines that.
LogicalResult GraphImporter::refuseOptions() {
  StringRef given = !options.freeze.empty()         ? "option 'freeze'"
                    : !options.train.empty()        ? "option 'train'"
                    : !options.trainOnly.empty()    ? "option 'train-only'"
                    : !options.detach.empty()       ? "option 'detach'"
                    : !options.extraOutputs.empty() ? "option 'extra-outputs'"
                    : !options.paddingRows.empty()  ? "option 'padding-idx'"
                    : options.batchNorm != ImportOptions::BatchNorm::Auto
                        ? "option 'batchnorm'"
                        : "";
  if (given.empty())
    return success();
  result.error = ModelError::Usage;
  return emitError(UnknownLoc::get(context))
         << Fault::OptionConflict << given
         << " does not apply: the model brings its own training step "
         << "(training_info), which determines what is trained";
}

LogicalResult GraphImporter::importStep() {
  const FaultScope scope(context, Fault::InvalidStep);
  if (failed(refuseOptions()))
    return failure();
  findRates();
  auto module = cast<ModuleOp>(function->getParentOp());
  llvm::StringSet<> seen;
  auto addInputs = [&](const onnx::GraphProto &part) {
    for (const onnx::ValueInfoProto *input : dataInputs(part))
      if (seen.insert(input->name()).second)
        stepInputs.push_back(input);
  };
  for (const Update &update : step->updates)
    for (const onnx::GraphProto *part : update.graphs)
      addInputs(*part);
  if (failed(dimensions.bind(stepInputs, options, context, result.error,
                             result.notes)) ||
      failed(importPredict()) || failed(importTrain()) ||
      failed(importEvaluate()) || failed(importInitialValues()))
    return failure();
  if (llvm::none_of(module.getOps<train::StateOp>(), [](train::StateOp state) {
        return state.getKind() == train::StateKind::Parameter;
      }))
    return emitError(UnknownLoc::get(context))
           << "the training step changes no weight: no state that "
              "update_binding changes has a gradient and is read by the graph";
  module->setAttr(kImportedStepAttr, builder.getStringAttr(lossName));
  SmallVector<StringRef> names(rates.begin(), rates.end());
  module->setAttr(kLearningRatesAttr, builder.getStrArrayAttr(names));
  if (step->updates.size() > 1)
    result.notes.push_back(
        "a step makes " + std::to_string(step->updates.size()) +
        " updates, one after the other; the reported loss is '" + lossName +
        "' of the first");
  return success();
}
