//===- ExportTraining.cpp - A training step as training_info --------------===//
//
// The importer turns it into the same program again
// (compiler/Import/TrainingStep/ImportStep.cpp): Adam updates are functions of
// domain "mpc", which it recognizes as mpc's own ops. Their bodies are for
// other runtimes.
//
//===----------------------------------------------------------------------===//

#include "compiler/Export/ExportTraining.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;
using namespace mpc;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TensorProto;

static Error invalidTraining(const Twine &message) {
  return makeModelError(ModelError::Invalid, message);
}

//===----------------------------------------------------------------------===//
// Pieces of graphs
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kPreview = "ai.onnx.preview.training";
static constexpr StringLiteral kOwnDomain = "mpc";

using Names = std::vector<std::string>;

template <typename Nodes>
static NodeProto &addNode(Nodes &nodes, StringRef op, const Names &inputs,
                          const Names &outputs, StringRef domain = "") {
  NodeProto &node = *nodes.Add();
  node.set_op_type(op.str());
  node.set_domain(domain.str());
  node.set_name(outputs.front() + "/" + op.str());
  for (const std::string &input : inputs)
    node.add_input(input);
  for (const std::string &output : outputs)
    node.add_output(output);
  return node;
}

static onnx::AttributeProto &addAttribute(NodeProto &node, StringRef name) {
  onnx::AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name.str());
  return attribute;
}

static void addInt(NodeProto &node, StringRef name, int64_t value) {
  onnx::AttributeProto &attribute = addAttribute(node, name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

static void addFloat(NodeProto &node, StringRef name, double value) {
  onnx::AttributeProto &attribute = addAttribute(node, name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(static_cast<float>(value));
}

static void addText(NodeProto &node, StringRef name, StringRef value) {
  onnx::AttributeProto &attribute = addAttribute(node, name);
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value.str());
}

static void addTexts(NodeProto &node, StringRef name, const Names &values) {
  onnx::AttributeProto &attribute = addAttribute(node, name);
  attribute.set_type(onnx::AttributeProto::STRINGS);
  for (const std::string &value : values)
    attribute.add_strings(value);
}

//===----------------------------------------------------------------------===//
// The update of adam
//===----------------------------------------------------------------------===//

/// PyTorch's Adam or AdamW for one tensor, as a function: returns X, V and H
/// after the update from the rate R, the number T of previous updates, and the
/// gradient G.
static void addAdam(onnx::ModelProto &model, bool decoupled) {
  onnx::FunctionProto &function = *model.add_functions();
  function.set_domain(kOwnDomain.str());
  function.set_name(decoupled ? "AdamW" : "Adam");
  for (const char *name : {"R", "T", "X", "G", "V", "H"})
    function.add_input(name);
  for (const char *name : {"X_new", "V_new", "H_new"})
    function.add_output(name);
  for (const onnx::OperatorSetIdProto &set : model.opset_import())
    if (set.domain().empty())
      *function.add_opset_import() = set;
  auto &nodes = *function.mutable_node();
  auto add = [&](StringRef op, const Names &inputs, StringRef output) {
    addNode(nodes, op, inputs, {output.str()});
  };
  for (const char *name : {"beta1", "beta2", "epsilon", "weight_decay"}) {
    function.add_attribute(name);
    NodeProto &node = addNode(nodes, "Constant", {}, {name});
    onnx::AttributeProto &value = addAttribute(node, "value_float");
    value.set_type(onnx::AttributeProto::FLOAT);
    value.set_ref_attr_name(name);
  }
  addFloat(addNode(nodes, "Constant", {}, {"one"}), "value_float", 1);
  addInt(addNode(nodes, "Constant", {}, {"next"}), "value_int", 1);
  add("Add", {"T", "next"}, "count");
  addInt(addNode(nodes, "Cast", {"count"}, {"t"}), "to", TensorProto::FLOAT);
  if (!decoupled) {
    add("Mul", {"weight_decay", "X"}, "decay");
    add("Add", {"G", "decay"}, "g");
  } else {
    add("Identity", {"G"}, "g");
  }
  for (std::string n : {"1", "2"}) {
    add("Pow", {"beta" + n, "t"}, "power" + n);
    add("Sub", {"one", "power" + n}, "correction" + n);
    add("Sub", {"one", "beta" + n}, "rest" + n);
  }
  add("Mul", {"beta1", "V"}, "kept_v");
  add("Mul", {"rest1", "g"}, "added_v");
  add("Add", {"kept_v", "added_v"}, "V_new");
  add("Mul", {"g", "g"}, "square");
  add("Mul", {"beta2", "H"}, "kept_h");
  add("Mul", {"rest2", "square"}, "added_h");
  add("Add", {"kept_h", "added_h"}, "H_new");
  add("Div", {"H_new", "correction2"}, "h");
  add("Sqrt", {"h"}, "root");
  add("Add", {"root", "epsilon"}, "divisor");
  add("Div", {"R", "correction1"}, "rate");
  add("Mul", {"rate", "V_new"}, "v");
  add("Div", {"v", "divisor"}, "step");
  if (decoupled) {
    add("Mul", {"R", "weight_decay"}, "shrink");
    add("Sub", {"one", "shrink"}, "share");
    add("Mul", {"X", "share"}, "kept");
    add("Sub", {"kept", "step"}, "X_new");
  } else {
    add("Sub", {"X", "step"}, "X_new");
  }
}

//===----------------------------------------------------------------------===//
// The algorithm
//===----------------------------------------------------------------------===//

namespace {

class Writer {
public:
  Writer(onnx::ModelProto &model, const TrainingDescription &training)
      : model(model), training(training), main(model.graph()),
        info(*model.add_training_info()), graph(*info.mutable_algorithm()) {}

  Error write();

private:
  Error copyForward();
  Error copyNorm(NodeProto &node, const NodeProto &original);
  Error writeLoss();
  void writeGradient();
  void writeClipping();
  void writeUpdate();
  void bind(const std::string &state, const std::string &value);
  void addTensor(const std::string &name, ArrayRef<int64_t> shape,
                 ArrayRef<float> values);
  void addNumber(const std::string &name, double value);
  NodeProto &add(StringRef op, const Names &inputs, const Names &outputs,
                 StringRef domain = "") {
    return addNode(*graph.mutable_node(), op, inputs, outputs, domain);
  }
  /// The name of the value in the algorithm.
  std::string valueOf(const std::string &name) const {
    auto found = copies.find(name);
    return found == copies.end() ? name : found->second;
  }
  const NodeProto *producerOf(StringRef name) const;

  onnx::ModelProto &model;
  const TrainingDescription &training;
  const GraphProto main; ///< A copy: the model's graph changes.
  onnx::TrainingInfoProto &info;
  GraphProto &graph;
  StringMap<std::string> copies;
  std::string loss;
};

} // namespace

void Writer::bind(const std::string &state, const std::string &value) {
  onnx::StringStringEntryProto &entry = *info.add_update_binding();
  entry.set_key(state);
  entry.set_value(value);
}

void Writer::addTensor(const std::string &name, ArrayRef<int64_t> shape,
                       ArrayRef<float> values) {
  TensorProto &tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::FLOAT);
  for (int64_t extent : shape)
    tensor.add_dims(extent);
  tensor.set_raw_data(std::string(reinterpret_cast<const char *>(values.data()),
                                  values.size() * sizeof(float)));
}

void Writer::addNumber(const std::string &name, double value) {
  float number = static_cast<float>(value);
  addTensor(name, {}, number);
}

const NodeProto *Writer::producerOf(StringRef name) const {
  for (const NodeProto &node : main.node())
    if (is_contained(node.output(), name))
      return &node;
  return nullptr;
}

/// Copies a norm with the statistics of the batch, and updates the running
/// ones.
Error Writer::copyNorm(NodeProto &node, const NodeProto &original) {
  if (node.input_size() < 5 || !training.statistics.count(node.input(3)))
    return Error::success(); // Frozen statistics.
  int64_t opset = 0;
  for (const onnx::OperatorSetIdProto &set : model.opset_import())
    if (set.domain().empty() || set.domain() == "ai.onnx")
      opset = std::max<int64_t>(opset, set.version());
  if (opset < 14)
    return invalidTraining(
        "node '" + original.name() + "' is a BatchNormalization of opset " +
        Twine(opset) +
        ", which has no training form; convert the model to opset "
        "14 or later (onnx.version_converter)");
  for (int i = node.attribute_size(); i-- > 0;)
    if (node.attribute(i).name() == "training_mode")
      node.mutable_attribute()->DeleteSubrange(i, 1);
  addInt(node, "training_mode", 1);
  while (node.output_size() > 1)
    node.mutable_output()->RemoveLast();
  for (int i : {3, 4}) {
    std::string next = "train/" + node.input(i);
    node.add_output(next);
    bind(node.input(i), next);
  }
  return Error::success();
}

/// Copies the forward pass in training form, if that differs.
Error Writer::copyForward() {
  bool differs = any_of(main.node(), [](const NodeProto &node) {
    return node.op_type() == "Dropout" ||
           node.op_type() == "BatchNormalization";
  });
  if (!differs)
    return Error::success();
  TensorProto &yes = *graph.add_initializer();
  yes.set_name("train/yes");
  yes.set_data_type(TensorProto::BOOL);
  yes.set_raw_data(std::string(1, '\1'));
  for (const NodeProto &original : main.node()) {
    for (const onnx::AttributeProto &attribute : original.attribute())
      if (attribute.has_g())
        return invalidTraining(
            "node '" + original.name() +
            "' has a subgraph, and the model has a Dropout or "
            "BatchNormalization: such models cannot be exported for "
            "training");
    NodeProto node = original;
    node.set_name("train/" + original.name());
    for (std::string &input : *node.mutable_input())
      input = valueOf(input);
    for (std::string &output : *node.mutable_output())
      if (!output.empty()) {
        std::string copy = "train/" + output;
        copies[output] = copy;
        output = copy;
      }
    if (node.op_type() == "Dropout") {
      while (node.input_size() < 3)
        node.add_input("");
      node.set_input(2, yes.name());
    }
    if (node.op_type() == "BatchNormalization")
      if (Error error = copyNorm(node, original))
        return error;
    graph.add_node()->Swap(&node);
  }
  return Error::success();
}

Error Writer::writeLoss() {
  loss = "train/loss";
  std::string output = training.lossOutput;
  if (!producerOf(output))
    return invalidTraining("the model has no output '" + output +
                           "' of a node");
  if (training.lossKind == "output") {
    for (const onnx::ValueInfoProto &value : main.output())
      if (value.name() == output && value.type().tensor_type().has_shape() &&
          value.type().tensor_type().shape().dim_size() == 0) {
        loss = valueOf(output);
        return Error::success();
      }
    addInt(add("ReduceMean", {valueOf(output)}, {loss}), "keepdims", 0);
    return Error::success();
  }
  onnx::ValueInfoProto &target = *graph.add_input();
  target.set_name(training.target.name);
  auto &type = *target.mutable_type()->mutable_tensor_type();
  bool hasClasses = !training.classAxis.empty();
  type.set_elem_type(hasClasses ? TensorProto::INT64 : TensorProto::FLOAT);
  for (int64_t extent : training.target.shape)
    type.mutable_shape()->add_dim()->set_dim_value(extent);
  if (training.targetIsBatched && main.input_size() > 0) {
    const auto &first = main.input(0).type().tensor_type().shape();
    if (first.dim_size() > 0 && !first.dim(0).dim_param().empty())
      *type.mutable_shape()->mutable_dim(0) = first.dim(0);
  }
  std::string prediction = output, labels = training.target.name;
  const NodeProto *last = producerOf(output);
  bool isClasses = training.lossKind == "softmax-cross-entropy";
  if ((isClasses &&
       (last->op_type() == "Softmax" || last->op_type() == "LogSoftmax")) ||
      (training.lossKind == "bce-with-logits" && last->op_type() == "Sigmoid"))
    prediction = last->input(0);
  prediction = valueOf(prediction);
  if (isClasses) {
    // For classes in the last dimension, or rows of several samples: one label
    // per row.
    int64_t axis = std::stoll(training.classAxis);
    int64_t rank = training.target.shape.size() + 1;
    if (axis != 1 && axis != rank - 1)
      return invalidTraining(
          "classes stand at dimension " + Twine(axis) + " of '" + output +
          "', which is neither the second nor the last dimension: "
          "such a loss cannot be exported for training");
    if (axis != 1 || training.joinsRows) {
      TensorProto &shape = *graph.add_initializer();
      shape.set_name("train/all");
      shape.set_data_type(TensorProto::INT64);
      shape.add_dims(1);
      shape.add_int64_data(-1);
      add("Reshape", {labels, shape.name()}, {"train/list"});
      labels = "train/list";
      if (axis != 1) {
        addInt(add("Flatten", {prediction}, {"train/rows"}), "axis", axis);
        prediction = "train/rows";
      }
    }
    NodeProto &node =
        add("SoftmaxCrossEntropyLoss", {prediction, labels}, {loss});
    addInt(node, "ignore_index", -100);
    return Error::success();
  }
  std::string each = "train/each";
  if (training.lossKind == "bce-with-logits") {
    add("Relu", {prediction}, {"train/positive"});
    add("Mul", {prediction, labels}, {"train/hit"});
    add("Sub", {"train/positive", "train/hit"}, {"train/linear"});
    add("Abs", {prediction}, {"train/size"});
    add("Neg", {"train/size"}, {"train/less"});
    add("Softplus", {"train/less"}, {"train/soft"});
    add("Add", {"train/linear", "train/soft"}, {each});
  } else {
    add("Sub", {prediction, labels}, {"train/error"});
    if (training.lossKind == "mse")
      add("Mul", {"train/error", "train/error"}, {each});
    else
      add("Abs", {"train/error"}, {each});
  }
  addInt(add("ReduceMean", {each}, {loss}), "keepdims", 0);
  return Error::success();
}

void Writer::writeGradient() {
  Names xs, zs, outputs;
  for (const TrainingDescription::Tensor &weight : training.parameters) {
    xs.push_back(weight.name);
    outputs.push_back("train/gradient/" + weight.name);
  }
  StringSet<> initializers;
  for (const TensorProto &tensor : main.initializer())
    initializers.insert(tensor.name());
  for (const GraphProto *part :
       {&main, static_cast<const GraphProto *>(&graph)})
    for (const onnx::ValueInfoProto &input : part->input())
      if (!initializers.contains(input.name()))
        zs.push_back(input.name());
  Names inputs = xs;
  inputs.insert(inputs.end(), zs.begin(), zs.end());
  NodeProto &node = add("Gradient", inputs, outputs, kPreview);
  addTexts(node, "xs", xs);
  addTexts(node, "zs", zs);
  addText(node, "y", loss);
}

/// g min(1, limit / (norm + 1e-6)), as in torch.nn.utils.clip_grad_norm_.
void Writer::writeClipping() {
  if (training.clipNorm == 0)
    return;
  Names squares;
  for (const TrainingDescription::Tensor &weight : training.parameters) {
    squares.push_back("train/square/" + weight.name);
    addInt(add("ReduceSumSquare", {"train/gradient/" + weight.name},
               {squares.back()}),
           "keepdims", 0);
  }
  addNumber("train/limit", training.clipNorm);
  addNumber("train/little", 1e-6);
  addNumber("train/one", 1);
  add("Sum", squares, {"train/square"});
  add("Sqrt", {"train/square"}, {"train/norm"});
  add("Add", {"train/norm", "train/little"}, {"train/divisor"});
  add("Div", {"train/limit", "train/divisor"}, {"train/ratio"});
  add("Min", {"train/ratio", "train/one"}, {"train/factor"});
}

void Writer::writeUpdate() {
  addNumber("train/rate", training.rate);
  TensorProto &count = *graph.add_initializer();
  count.set_name("train/count");
  count.set_data_type(TensorProto::INT64);
  count.add_int64_data(training.step);
  TensorProto &one = *graph.add_initializer();
  one.set_name("train/next");
  one.set_data_type(TensorProto::INT64);
  one.add_int64_data(1);
  const std::string &optimizer = training.optimizer;
  bool isAdam = optimizer == "adam" || optimizer == "adamw";
  if (optimizer == "sgd" && training.weightDecay != 0)
    addNumber("train/decay", training.weightDecay);
  for (const TrainingDescription::Tensor &weight : training.parameters) {
    const std::string &name = weight.name;
    std::string gradient = "train/gradient/" + name, next = "train/new/" + name;
    if (training.clipNorm != 0) {
      add("Mul", {gradient, "train/factor"}, {"train/clipped/" + name});
      gradient = "train/clipped/" + name;
    }
    auto state = [&](StringRef prefix, const char *moment) {
      std::string own = ("train/" + prefix + "/" + name).str();
      auto values = training.moments.find(std::string(moment) + "/" + name);
      std::vector<float> zeros;
      ArrayRef<float> data;
      if (values != training.moments.end())
        data = values->second;
      else
        data = zeros = std::vector<float>(weight.count(), 0.0f);
      addTensor(own, weight.shape, data);
      return own;
    };
    if (isAdam) {
      std::string v = state("first", "adam.first_moment");
      std::string h = state("second", "adam.second_moment");
      NodeProto &node = add(optimizer == "adamw" ? "AdamW" : "Adam",
                            {"train/rate", "train/count", name, gradient, v, h},
                            {next, v + "/new", h + "/new"}, kOwnDomain);
      addFloat(node, "beta1", training.beta1);
      addFloat(node, "beta2", training.beta2);
      addFloat(node, "epsilon", training.epsilon);
      addFloat(node, "weight_decay", training.weightDecay);
      bind(v, v + "/new");
      bind(h, h + "/new");
    } else if (optimizer == "momentum") {
      std::string v = state("velocity", "momentum.velocity");
      NodeProto &node =
          add("Momentum", {"train/rate", "train/count", name, gradient, v},
              {next, v + "/new"}, kPreview);
      addFloat(node, "alpha", training.momentum);
      addFloat(node, "beta", 1);
      addFloat(node, "norm_coefficient", training.weightDecay);
      addText(node, "mode", training.nesterov ? "nesterov" : "standard");
      bind(v, v + "/new");
    } else {
      if (training.weightDecay != 0) {
        add("Mul", {"train/decay", name}, {"train/shrink/" + name});
        add("Add", {gradient, "train/shrink/" + name}, {"train/sum/" + name});
        gradient = "train/sum/" + name;
      }
      add("Mul", {"train/rate", gradient}, {"train/step/" + name});
      add("Sub", {name, "train/step/" + name}, {next});
    }
    bind(name, next);
  }
  add("Add", {"train/count", "train/next"}, {"train/count/new"});
  bind("train/count", "train/count/new");
}

Error Writer::write() {
  graph.set_name("train");
  if (Error error = copyForward())
    return error;
  if (Error error = writeLoss())
    return error;
  writeGradient();
  writeClipping();
  writeUpdate();
  onnx::ValueInfoProto &output = *graph.add_output();
  output.set_name(loss);
  output.mutable_type()->mutable_tensor_type()->set_elem_type(
      TensorProto::FLOAT);
  output.mutable_type()->mutable_tensor_type()->mutable_shape();
  auto addSet = [&](StringRef domain) {
    for (const onnx::OperatorSetIdProto &set : model.opset_import())
      if (set.domain() == domain)
        return;
    onnx::OperatorSetIdProto &set = *model.add_opset_import();
    set.set_domain(domain.str());
    set.set_version(1);
  };
  addSet(kPreview);
  if (training.optimizer == "adam" || training.optimizer == "adamw") {
    addSet(kOwnDomain);
    addAdam(model, training.optimizer == "adamw");
  }
  // Random numbers continue from this step.
  onnx::StringStringEntryProto &entry = *model.add_metadata_props();
  entry.set_key("mpc.step_count");
  entry.set_value(std::to_string(training.step));
  // Functions require IR version 8.
  model.set_ir_version(std::max<int64_t>(model.ir_version(), 8));
  return Error::success();
}

Error mpc::addTrainingInfo(onnx::ModelProto &model,
                           const TrainingDescription &training) {
  return Writer(model, training).write();
}
