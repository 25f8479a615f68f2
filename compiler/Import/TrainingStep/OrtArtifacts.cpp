//===- OrtArtifacts.cpp - ONNX Runtime training artifacts -----------------===//
//
// The meaning of inputs follows from names (training_api/module.cc): an input
// of the training model is a parameter if the checkpoint has it, a buffer if a
// gradient is added to it, or the flag that clears the buffers; all other
// inputs are given by the user.
//
//===----------------------------------------------------------------------===//

#include "compiler/Import/TrainingStep/OrtArtifacts.h"

#include "compiler/Import/Check/AttributeNames.h"
#include "compiler/Import/Normalize/NormalizeModel.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace mpc;

static Error invalidArtifacts(const Twine &message) {
  return makeModelError(ModelError::Invalid, message);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kTraining = "training_model.onnx";
static constexpr StringLiteral kEvaluation = "eval_model.onnx";
static constexpr StringLiteral kOptimizer = "optimizer_model.onnx";
static constexpr StringLiteral kCheckpoint = "checkpoint";

/// The prefix of the only training model in `folder`.
static Expected<std::string> findPrefix(StringRef folder) {
  std::vector<std::string> prefixes;
  std::error_code error;
  for (sys::fs::directory_iterator entry(folder, error), end;
       entry != end && !error; entry.increment(error)) {
    StringRef name = sys::path::filename(entry->path());
    if (name.consume_back(kTraining))
      prefixes.push_back(name.str());
  }
  if (error)
    return makeModelError(ModelError::Io,
                          "cannot be listed: " + error.message());
  if (prefixes.empty())
    return makeModelError(
        ModelError::Io,
        "the folder has no " + kTraining +
            "; give an ONNX file, or a folder with the training artifacts of "
            "ONNX Runtime");
  llvm::sort(prefixes);
  if (prefixes.size() > 1)
    return makeModelError(ModelError::Usage,
                          "holds several training models, '" + prefixes[0] +
                              kTraining + "' and '" + prefixes[1] + kTraining +
                              "'; put each into a separate folder");
  return prefixes.front();
}

/// Prepends the name of the file to the message of an error.
static Error inFile(const Twine &name, Error error) {
  ModelError kind = ModelError::Invalid;
  std::string text;
  handleAllErrors(std::move(error), [&](const ModelFileError &info) {
    kind = info.kind;
    text = info.message;
  });
  return makeModelError(kind, "'" + name + "': " + text);
}

static std::string pathOf(StringRef folder, const Twine &name) {
  SmallString<256> path(folder);
  sys::path::append(path, name);
  return path.str().str();
}

//===----------------------------------------------------------------------===//
// The optimizer
//===----------------------------------------------------------------------===//

namespace {

/// Reads the nodes of an optimizer model.
class OptimizerReader {
public:
  explicit OptimizerReader(const onnx::GraphProto &graph) : graph(graph) {}

  Expected<OptimizerChoice> read();

private:
  Error readAdamW(const onnx::NodeProto &node);
  Error checkInputs(const onnx::NodeProto &node, ArrayRef<StringRef> names);
  static double number(const onnx::NodeProto &node, StringRef name,
                       double otherwise);

  const onnx::GraphProto &graph;
  OptimizerChoice choice;
  std::string gradients = "gradients"; ///< Possibly clipped.
};

} // namespace

double OptimizerReader::number(const onnx::NodeProto &node, StringRef name,
                               double otherwise) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == name)
      return attribute.type() == onnx::AttributeProto::INT
                 ? double(attribute.i())
                 : double(attribute.f());
  return otherwise;
}

Error OptimizerReader::checkInputs(const onnx::NodeProto &node,
                                   ArrayRef<StringRef> names) {
  bool fits = node.input_size() >= int(names.size());
  for (int i = 0; fits && i < node.input_size(); ++i)
    fits = i < int(names.size()) ? node.input(i) == names[i]
                                 : node.input(i).empty();
  if (fits)
    return Error::success();
  return invalidArtifacts(node.op_type() + " must take " +
                          llvm::join(names, ", ") +
                          ", as generate_artifacts() writes it");
}

Error OptimizerReader::readAdamW(const onnx::NodeProto &node) {
  StringRef names[] = {
      "learning_rate",       "step", "params", gradients, "first_order_moments",
      "second_order_moments"};
  if (Error error = checkInputs(node, names))
    return error;
  bool isHf = number(node, "adam_mode", 0) != 0;
  choice.name = isHf ? "hf-adamw" : "adamw";
  choice.beta1 = number(node, "alpha", 0.9);
  choice.beta2 = number(node, "beta", 0.999);
  choice.epsilon = number(node, "epsilon", 1e-8);
  choice.weightDecay = number(node, "weight_decay", 1e-2);
  choice.correctsBias = number(node, "correct_bias", 1) != 0;
  return Error::success();
}

Expected<OptimizerChoice> OptimizerReader::read() {
  for (const onnx::NodeProto &node : graph.node()) {
    if (node.op_type() == "InplaceClipGradNorm" && choice.name.empty()) {
      if (Error error = checkInputs(node, {"gradients"}))
        return error;
      choice.clipNorm = number(node, "max_norm", 1);
      gradients = node.output_size() > 0 ? node.output(0) : "";
    } else if (node.op_type() == "AdamWOptimizer" && choice.name.empty()) {
      if (Error error = readAdamW(node))
        return error;
    } else if (node.op_type() == "SGDOptimizerV2" && choice.name.empty()) {
      if (Error error =
              checkInputs(node, {"learning_rate", "params", gradients}))
        return error;
      choice.name = "sgd";
      choice.weightDecay = 0;
    } else {
      return invalidArtifacts("has a node " + node.op_type() +
                              "; known are InplaceClipGradNorm and then one "
                              "AdamWOptimizer or SGDOptimizerV2");
    }
  }
  if (choice.name.empty())
    return invalidArtifacts("has no AdamWOptimizer and no SGDOptimizerV2");
  return choice;
}

//===----------------------------------------------------------------------===//
// The training model
//===----------------------------------------------------------------------===//

namespace {

/// Moves the training state out of the graphs, and records its new values.
class Joiner {
public:
  Joiner(OrtArtifacts &artifacts, onnx::GraphProto &training,
         onnx::GraphProto &evaluation)
      : artifacts(artifacts), training(training), evaluation(evaluation) {}

  Error run();

private:
  void addParameters(ArrayRef<OrtTensor> tensors);
  Error takeGradients();
  Error bindStatistics();
  Error findLoss();
  void findPrediction();
  Error checkNames();

  OrtArtifacts &artifacts;
  onnx::GraphProto &training, &evaluation;
  StringSet<> parameters, trained;
};

} // namespace

void Joiner::addParameters(ArrayRef<OrtTensor> tensors) {
  ModelFile &model = *artifacts.model;
  for (const OrtTensor &tensor : tensors) {
    parameters.insert(tensor.name);
    onnx::TensorProto &proto = *model.proto.mutable_graph()->add_initializer();
    proto.set_name(tensor.name.str());
    proto.set_data_type(tensor.dataType);
    for (int64_t extent : tensor.shape)
      proto.add_dims(extent);
    model.checkpoint[tensor.name] = tensor.data;
  }
}

/// Each gradient is added to its buffer by a node: takes its operand as the
/// gradient.
Error Joiner::takeGradients() {
  constexpr StringLiteral kSuffix = "_grad.accumulation.buffer";
  StringSet<> gone;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (onnx::NodeProto &node : *training.mutable_node()) {
    if (node.op_type() != "InPlaceAccumulatorV2") {
      nodes.Add()->Swap(&node);
      continue;
    }
    StringRef name = node.input_size() > 0 ? StringRef(node.input(0)) : "";
    if (node.input_size() < 2 || !name.consume_back(kSuffix) ||
        !trained.contains(name))
      return invalidArtifacts(
          "adds a gradient to '" + name +
          "', which is not a gradient buffer of a trainable "
          "parameter in the checkpoint");
    artifacts.gradients.push_back({name.str(), node.input(1)});
    gone.insert(node.input(0));
    if (node.input_size() > 2)
      gone.insert(node.input(2));
    gone.insert(node.output().begin(), node.output().end());
  }
  training.mutable_node()->Swap(&nodes);
  eraseNamed(*training.mutable_input(), gone);
  eraseNamed(*training.mutable_output(), gone);
  if (artifacts.gradients.empty())
    return invalidArtifacts("accumulates no gradients, so it trains nothing");
  return Error::success();
}

/// ONNX Runtime's kernel of this op updates running statistics in place,
/// whatever its outputs are; a module that is called twice updates them twice.
Error Joiner::bindStatistics() {
  StringMap<std::string> current;
  std::vector<std::string> order;
  for (auto [index, node] : enumerate(*training.mutable_node())) {
    if (node.op_type() != "BatchNormInternal" || node.input_size() < 5)
      continue;
    while (node.output_size() < 3)
      node.add_output();
    for (int i : {1, 2}) {
      const std::string state = node.input(2 + i);
      if (!parameters.contains(state))
        continue;
      if (trained.contains(state))
        return invalidArtifacts(
            "trains the running statistic '" + state +
            "'; list it in frozen_params of generate_artifacts()");
      std::string &value = current[state];
      if (value.empty())
        order.push_back(state);
      else
        node.set_input(2 + i, value);
      if (node.output(i).empty())
        node.set_output(i, state + "#" + std::to_string(index));
      value = node.output(i);
    }
  }
  for (const std::string &state : order)
    artifacts.bindings.push_back({state, current[state]});
  return Error::success();
}

Error Joiner::findLoss() {
  if (training.output_size() == 0 || evaluation.output_size() == 0)
    return invalidArtifacts("has no scalar output that could be the loss");
  artifacts.loss = training.output(0).name();
  if (evaluation.output(0).name() != artifacts.loss)
    return invalidArtifacts(
        "gives the loss as '" + artifacts.loss +
        "', but the model for evaluation gives '" +
        evaluation.output(0).name() +
        "' first; both must come from one call of generate_artifacts()");
  for (const onnx::TensorProto &tensor : training.initializer())
    if (tensor.name() == artifacts.loss + "_grad")
      artifacts.seed = tensor.name();
  return Error::success();
}

/// Finds the outputs in addition to the loss, or the value that the loss block
/// compares with the input that it appended.
void Joiner::findPrediction() {
  if (evaluation.output_size() > 1) {
    evaluation.mutable_output()->DeleteSubrange(0, 1);
    return;
  }
  const onnx::NodeProto *only = nullptr;
  for (const onnx::NodeProto &node : evaluation.node())
    for (const std::string &input : node.input())
      if (input == "target") {
        if (only)
          return;
        only = &node;
      }
  if (!only || only->input_size() != 2)
    return; // Not a comparison of two values: findOutput looks for a loss op.
  artifacts.prediction = only->input(only->input(0) == "target" ? 1 : 0);
}

/// Checks that nodes compute all bound values and the loss, and that no node
/// reads names that do not exist or were removed.
Error Joiner::checkNames() {
  StringSet<> computed;
  for (const onnx::NodeProto &node : training.node())
    computed.insert(node.output().begin(), node.output().end());
  for (const auto *bindings : {&artifacts.bindings, &artifacts.gradients})
    for (const TrainingStep::Binding &binding : *bindings)
      if (binding.value.empty() || !computed.contains(binding.value))
        return invalidArtifacts("gives '" + binding.state +
                                "' the gradient or the value"
                                " '" +
                                binding.value + "', which no node computes");
  if (!computed.contains(artifacts.loss))
    return invalidArtifacts("gives the loss '" + artifacts.loss +
                            "', which no node computes");
  computed.clear();
  for (const onnx::NodeProto &node : evaluation.node())
    computed.insert(node.output().begin(), node.output().end());
  for (const std::string &name : {artifacts.loss, artifacts.prediction})
    if (!name.empty() && !computed.contains(name))
      return invalidArtifacts(
          "gives '" + name +
          "', which no node of the model for evaluation computes");
  return Error::success();
}

Error Joiner::run() {
  for (const OrtTensor &tensor : artifacts.checkpoint.trained)
    trained.insert(tensor.name);
  addParameters(artifacts.checkpoint.trained);
  addParameters(artifacts.checkpoint.frozen);
  if (Error error = takeGradients())
    return error;
  if (Error error = bindStatistics())
    return error;
  if (Error error = findLoss())
    return error;
  findPrediction();
  for (onnx::GraphProto *graph : {&training, &evaluation})
    eraseNamed(*graph->mutable_input(), parameters);
  return checkNames();
}

//===----------------------------------------------------------------------===//
// The artifacts
//===----------------------------------------------------------------------===//

static int64_t opsetOf(const onnx::ModelProto &model) {
  int64_t opset = 0;
  for (const onnx::OperatorSetIdProto &set : model.opset_import())
    if (set.domain().empty() || set.domain() == "ai.onnx")
      opset = std::max<int64_t>(opset, set.version());
  return opset;
}

Expected<OrtArtifacts> mpc::readOrtArtifacts(StringRef folder) {
  Expected<std::string> prefix = findPrefix(folder);
  if (!prefix)
    return prefix.takeError();
  auto readModel = [&](StringRef name) -> Expected<std::shared_ptr<ModelFile>> {
    auto model = readModelFile(pathOf(folder, *prefix + name));
    if (!model)
      return inFile(*prefix + name, model.takeError());
    if (!(*model)->proto.has_graph())
      return inFile(*prefix + name, invalidArtifacts("holds no graph"));
    return model;
  };
  auto training = readModel(kTraining);
  if (!training)
    return training.takeError();
  auto evaluation = readModel(kEvaluation);
  if (!evaluation)
    return evaluation.takeError();
  OrtArtifacts artifacts;
  auto checkpoint = readOrtCheckpoint(pathOf(folder, *prefix + kCheckpoint));
  if (!checkpoint)
    return inFile(*prefix + kCheckpoint, checkpoint.takeError());
  artifacts.checkpoint = std::move(*checkpoint);
  if (artifacts.checkpoint.isNominal)
    return inFile(
        *prefix + kCheckpoint,
        invalidArtifacts("is nominal: it lists parameters without their "
                         "values; replace it by the full checkpoint"));
  if (sys::fs::exists(pathOf(folder, *prefix + kOptimizer))) {
    auto optimizer = readModel(kOptimizer);
    if (!optimizer)
      return optimizer.takeError();
    auto choice = OptimizerReader((*optimizer)->proto.graph()).read();
    if (!choice)
      return inFile(*prefix + kOptimizer, choice.takeError());
    artifacts.optimizer = *choice;
  }

  int64_t opset = opsetOf((*training)->proto);
  if (opsetOf((*evaluation)->proto) != opset)
    return invalidArtifacts(
        "the training and evaluation models have different opsets, " +
        Twine(opset) + " and " + Twine(opsetOf((*evaluation)->proto)) +
        "; both must come from one call of generate_artifacts()");
  artifacts.model = std::make_shared<ModelFile>();
  artifacts.model->path = artifacts.model->folder = folder.str();
  onnx::ModelProto &proto = artifacts.model->proto;
  proto.set_ir_version((*training)->proto.ir_version());
  proto.set_producer_name((*training)->proto.producer_name());
  proto.set_producer_version((*training)->proto.producer_version());
  proto.mutable_functions()->Swap((*training)->proto.mutable_functions());
  proto.mutable_opset_import()->Swap((*training)->proto.mutable_opset_import());
  proto.mutable_graph()->set_name("parameters");
  for (const auto &file : {*training, *evaluation})
    proto.add_training_info()->mutable_algorithm()->Swap(
        file->proto.mutable_graph());
  auto algorithm = [&](int i) -> onnx::GraphProto & {
    return *proto.mutable_training_info(i)->mutable_algorithm();
  };
  if (Error error = Joiner(artifacts, algorithm(0), algorithm(1)).run())
    return inFile(*prefix + kTraining, std::move(error));
  return artifacts;
}

/// Keeps the nodes and inputs that lead to the outputs.
static void prune(onnx::GraphProto &graph) {
  StringSet<> needed, gone;
  for (const onnx::ValueInfoProto &output : graph.output())
    needed.insert(output.name());
  google::protobuf::RepeatedPtrField<onnx::NodeProto> kept;
  for (int i = graph.node_size(); i-- > 0;) {
    onnx::NodeProto &node = *graph.mutable_node(i);
    if (none_of(node.output(), [&](const std::string &output) {
          return !output.empty() && needed.contains(output);
        }))
      continue;
    forEachRead(node, [&](StringRef name) { needed.insert(name); });
    kept.Add()->Swap(&node);
  }
  std::reverse(kept.pointer_begin(), kept.pointer_end());
  graph.mutable_node()->Swap(&kept);
  for (const onnx::ValueInfoProto &input : graph.input())
    if (!needed.contains(input.name()))
      gone.insert(input.name());
  eraseNamed(*graph.mutable_input(), gone);
}

/// The value that the loss is computed from, if it is known; else the loss
/// itself. If the file does not declare its shape, takes that of the value that
/// it is compared with.
static onnx::ValueInfoProto findOutput(const OrtArtifacts &artifacts,
                                       const onnx::GraphProto &evaluation) {
  std::string name = artifacts.prediction, compared = "target";
  bool hasClasses = false;
  for (const onnx::NodeProto &node : evaluation.node())
    if (name.empty() && is_contained(node.output(), artifacts.loss) &&
        StringRef(node.op_type()).contains("Loss") && node.input_size() > 1) {
      name = node.input(0);
      compared = node.input(1);
      hasClasses = true;
    }
  if (name.empty())
    name = artifacts.loss;
  onnx::ValueInfoProto output;
  for (const onnx::ValueInfoProto &value : evaluation.value_info())
    if (value.name() == name)
      return value;
  for (const onnx::ValueInfoProto &input : evaluation.input())
    if (input.name() == compared)
      *output.mutable_type() = input.type();
  output.set_name(name);
  auto &type = *output.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  onnx::TensorShapeProto &shape = *type.mutable_shape();
  if (hasClasses && shape.dim_size() > 0) {
    shape.add_dim();
    for (int i = shape.dim_size() - 1; i > 1; --i)
      shape.mutable_dim()->SwapElements(i, i - 1);
  }
  return output;
}

onnx::ModelProto mpc::makeInferenceModel(const OrtArtifacts &artifacts) {
  const onnx::ModelProto &joined = artifacts.model->proto;
  onnx::ModelProto model;
  model.set_ir_version(joined.ir_version());
  for (const onnx::OperatorSetIdProto &set : joined.opset_import())
    if (set.domain().empty())
      *model.add_opset_import() = set;
  *model.mutable_functions() = joined.functions();
  onnx::GraphProto &graph = *model.mutable_graph();
  graph = joined.training_info(1).algorithm();
  // If there were outputs in addition to the loss, only they are left.
  if (graph.output_size() == 1 && graph.output(0).name() == artifacts.loss)
    *graph.mutable_output(0) = findOutput(artifacts, graph);
  // In inference form the op has one output; onnxruntime-training leaves more.
  for (onnx::NodeProto &node : *graph.mutable_node())
    if (node.op_type() == "BatchNormalization" && node.output_size() > 1)
      node.mutable_output()->DeleteSubrange(1, node.output_size() - 1);
  prune(graph);
  for (onnx::TensorProto tensor : joined.graph().initializer()) {
    ArrayRef<char> data =
        artifacts.model->checkpoint.lookup(tensor.name()).bytes;
    tensor.set_raw_data(std::string(data.data(), data.size()));
    *graph.add_initializer() = std::move(tensor);
  }
  return model;
}

TrainingStep mpc::makeStep(const OrtArtifacts &artifacts) {
  const onnx::ModelProto &model = artifacts.model->proto;
  const onnx::GraphProto *parameters = &model.graph();
  TrainingStep step;
  step.inference =
      step.evaluation = {parameters, &model.training_info(1).algorithm()};
  step.prediction = artifacts.prediction;
  TrainingStep::Update update;
  update.graphs = {parameters, &model.training_info(0).algorithm()};
  update.bindings = artifacts.bindings;
  update.gradients = artifacts.gradients;
  update.loss = artifacts.loss;
  update.seed = artifacts.seed;
  for (const auto *bindings : {&update.bindings, &update.gradients})
    for (const TrainingStep::Binding &binding : *bindings)
      step.states[binding.state] = 0;
  step.updates.push_back(std::move(update));
  return step;
}
