//===- TrainingInfo.cpp - ONNX's training_info ----------------------------===//
//
// Source: onnx/onnx.proto, TrainingInfoProto; docs/IR.md, "Training Related
// Information".
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/Check/AttributeNames.h"
#include "compiler/Import/TrainingStep/TrainingStep.h"
#include "compiler/Support/Faults.h"
#include "compiler/Support/Locations.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpc;

static Location locationOf(int index, MLIRContext *context) {
  return makeNodeLoc(context, "training_info " + std::to_string(index),
                     "training step");
}

/// All names that nodes of the graph may read.
static llvm::StringSet<> valuesOf(const onnx::GraphProto &graph) {
  llvm::StringSet<> names;
  for (const onnx::ValueInfoProto &input : graph.input())
    names.insert(input.name());
  for (const onnx::TensorProto &tensor : graph.initializer())
    names.insert(tensor.name());
  for (const onnx::NodeProto &node : graph.node())
    names.insert(node.output().begin(), node.output().end());
  names.erase("");
  return names;
}

static llvm::StringSet<> initializersOf(const onnx::GraphProto &graph) {
  llvm::StringSet<> names;
  for (const onnx::TensorProto &tensor : graph.initializer())
    names.insert(tensor.name());
  return names;
}

/// Reads the states that an initialization sets: states of the graph and of the
/// same algorithm.
static LogicalResult readInitialValues(const onnx::TrainingInfoProto &info,
                                       TrainingStep &step, Location loc) {
  const llvm::StringSet<> values = valuesOf(info.initialization());
  TrainingStep::InitialValues initial{&info.initialization(), {}};
  for (const onnx::StringStringEntryProto &entry :
       info.initialization_binding()) {
    const std::string &state = entry.key(), &value = entry.value();
    if (!step.states.contains(state))
      return emitError(loc) << "initialization_binding sets '" << state
                            << "', which no update_binding changes";
    if (!values.contains(value))
      return emitError(loc)
             << "initialization_binding gives '" << state << "' the value of '"
             << value << "', which the initialization does not compute";
    initial.bindings.push_back({state, value});
  }
  if (info.initialization().input_size() > 0)
    return emitError(loc) << "the initialization has an input '"
                          << info.initialization().input(0).name()
                          << "', but must have none";
  if (!initial.bindings.empty())
    step.initialValues.push_back(std::move(initial));
  return success();
}

/// The `y` of the last Gradient node with respect to a state: earlier ones may
/// be part of the loss.
static std::string findLoss(const onnx::GraphProto &algorithm,
                            const llvm::StringSet<> &states) {
  std::string loss;
  for (const onnx::NodeProto &node : algorithm.node()) {
    if (node.op_type() != "Gradient")
      continue;
    std::string y;
    bool trains = false;
    for (const onnx::AttributeProto &attribute : node.attribute()) {
      if (attribute.name() == "y")
        y = attribute.s();
      if (attribute.name() == "xs")
        trains |= llvm::any_of(attribute.strings(), [&](const auto &x) {
          return states.contains(x);
        });
    }
    if (trains)
      loss = y;
  }
  return loss;
}

FailureOr<TrainingStep> mpc::readTrainingInfo(const onnx::ModelProto &model,
                                              MLIRContext *context) {
  const FaultScope scope(context, Fault::InvalidStep);
  TrainingStep step;
  const onnx::GraphProto &main = model.graph();
  step.inference = {&main};
  step.evaluation = {&main, &model.training_info(0).algorithm()};
  const llvm::StringSet<> mainValues = valuesOf(main),
                          mainStates = initializersOf(main);
  llvm::StringMap<int> algorithmInitializers; // And their algorithm's index.
  for (auto [index, info] : llvm::enumerate(model.training_info())) {
    Location loc = locationOf(index, context);
    const onnx::GraphProto &algorithm = info.algorithm();
    const llvm::StringSet<> values = valuesOf(algorithm),
                            states = initializersOf(algorithm);
    TrainingStep::Update update;
    update.graphs = {&main, &algorithm};
    llvm::StringSet<> written;
    for (const onnx::StringStringEntryProto &entry : info.update_binding()) {
      const std::string &state = entry.key(), &value = entry.value();
      if (!mainStates.contains(state) && !states.contains(state))
        return emitError(loc) << "update_binding changes '" << state
                              << "', which is not an initializer of the graph "
                                 "or of this algorithm";
      if (!mainValues.contains(value) && !values.contains(value))
        return emitError(loc)
               << "update_binding gives '" << state << "' the value of '"
               << value << "', which nothing computes";
      auto [other, isNew] = step.states.try_emplace(state, index);
      if (!isNew)
        return emitError(loc)
               << "update_binding changes '" << state
               << "', which training_info " << other->second
               << " also changes; a step may change a state only once";
      written.insert(state);
      update.bindings.push_back({state, value});
    }
    if (update.bindings.empty())
      return emitError(loc)
             << "has no update_binding: nothing would be trained";
    // States are identified by name, in whatever graph they are.
    for (const onnx::TensorProto &tensor : algorithm.initializer()) {
      auto [other, isNew] =
          algorithmInitializers.try_emplace(tensor.name(), index);
      if (!isNew && (step.states.contains(tensor.name())))
        return emitError(loc) << "the algorithm has an initializer '"
                              << tensor.name() << "', and so has that of "
                              << "training_info " << other->second
                              << "; rename one: names of states must be unique";
    }
    update.loss = findLoss(algorithm, written);
    step.updates.push_back(std::move(update));
  }
  for (auto [index, info] : llvm::enumerate(model.training_info()))
    if (failed(readInitialValues(info, step, locationOf(index, context))))
      return failure();
  return step;
}
