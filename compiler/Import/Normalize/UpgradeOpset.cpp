//===- UpgradeOpset.cpp - Upgrade of models of opset 9 to 12 --------------===//

#include "compiler/Import/File/ModelGraphs.h"
#include "compiler/Import/Normalize/NormalizeModel.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstring>
#include <limits>
#include <optional>

using namespace llvm;
using namespace mpc;
using onnx::AttributeProto;
using onnx::TensorProto;

namespace {

class Upgrade {
public:
  explicit Upgrade(int64_t opset) : opset(opset) {}

  void run(onnx::GraphProto &graph);

private:
  using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

  /// Removes an attribute, if it is present, and returns it.
  std::optional<AttributeProto> take(onnx::NodeProto &node, StringRef name);
  /// Sets input `i` to a constant, unless the node has that input. The constant
  /// is a node, because an initializer could be mistaken for a weight.
  void setInput(onnx::NodeProto &node, int i, TensorProto tensor);
  void setFloat(onnx::NodeProto &node, int i, float value);
  void moveInts(onnx::NodeProto &node, StringRef name, int i);
  static void setString(onnx::NodeProto &node, const char *name,
                        const char *value);

  void upgrade(onnx::NodeProto &node);
  void upgradeResize(onnx::NodeProto &node);
  bool flattens(onnx::NodeProto &node, Nodes &result);

  const int64_t opset;
  unsigned numConstants = 0;
  Nodes constants; ///< Constants for the current node.
};

} // namespace

std::optional<AttributeProto> Upgrade::take(onnx::NodeProto &node,
                                            StringRef name) {
  for (int i = 0; i < node.attribute_size(); ++i) {
    if (node.attribute(i).name() != name)
      continue;
    AttributeProto attribute = node.attribute(i);
    node.mutable_attribute()->DeleteSubrange(i, 1);
    return attribute;
  }
  return std::nullopt;
}

void Upgrade::setInput(onnx::NodeProto &node, int i, TensorProto tensor) {
  while (node.input_size() <= i)
    node.add_input();
  if (!node.input(i).empty())
    return;
  std::string owner = node.name().empty() && node.output_size() > 0
                          ? node.output(0)
                          : node.name();
  std::string name = owner + "#" + std::to_string(numConstants++);
  node.set_input(i, name);
  onnx::NodeProto &constant = *constants.Add();
  constant.set_op_type("Constant");
  constant.set_name(name);
  constant.add_output(name);
  AttributeProto &value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(AttributeProto::TENSOR);
  *value.mutable_t() = std::move(tensor);
}

void Upgrade::moveInts(onnx::NodeProto &node, StringRef name, int i) {
  std::optional<AttributeProto> attribute = take(node, name);
  if (!attribute)
    return;
  TensorProto tensor;
  tensor.set_data_type(TensorProto::INT64);
  tensor.add_dims(attribute->ints_size());
  for (int64_t value : attribute->ints())
    tensor.add_int64_data(value);
  setInput(node, i, std::move(tensor));
}

void Upgrade::setFloat(onnx::NodeProto &node, int i, float value) {
  TensorProto tensor;
  tensor.set_data_type(TensorProto::FLOAT);
  tensor.add_float_data(value);
  setInput(node, i, std::move(tensor));
}

void Upgrade::setString(onnx::NodeProto &node, const char *name,
                        const char *value) {
  AttributeProto &attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(AttributeProto::STRING);
  attribute.set_s(value);
}

/// Upsample, and Resize of opset 10: coordinates are asymmetric.
void Upgrade::upgradeResize(onnx::NodeProto &node) {
  node.set_op_type("Resize");
  if (node.input_size() == 2) {
    std::string scales = node.input(1);
    node.set_input(1, "");
    node.add_input(scales);
  }
  setString(node, "coordinate_transformation_mode", "asymmetric");
  setString(node, "nearest_mode", "floor");
}

void Upgrade::upgrade(onnx::NodeProto &node) {
  StringRef op = node.op_type();
  if (op == "Squeeze" || op == "Unsqueeze" || op == "ReduceSum")
    moveInts(node, "axes", 1);
  else if (op == "Split")
    moveInts(node, "split", 1);
  else if (op == "Upsample" || (op == "Resize" && opset < 11))
    upgradeResize(node);
  else if (op == "Scatter")
    node.set_op_type("ScatterElements");
  if (opset < 12 && op == "Dropout")
    if (auto ratio = take(node, "ratio"))
      setFloat(node, 1, ratio->f());
  if (opset < 11 && op == "Clip") {
    auto low = take(node, "min"), high = take(node, "max");
    if (low)
      setFloat(node, 1, low->f());
    if (high)
      setFloat(node, 2, high->f());
  }
  if (opset < 11 && op == "Pad") {
    moveInts(node, "pads", 1);
    if (auto value = take(node, "value"))
      setFloat(node, 2, value->f());
  }
  if (opset < 10 && op == "Slice") {
    moveInts(node, "starts", 1);
    moveInts(node, "ends", 2);
    moveInts(node, "axes", 3);
  }
  if (opset < 10 && op == "TopK")
    if (auto k = take(node, "k")) {
      TensorProto tensor;
      tensor.set_data_type(TensorProto::INT64);
      tensor.add_dims(1);
      tensor.add_int64_data(k->i());
      setInput(node, 1, std::move(tensor));
    }
}

/// Up to opset 12 a softmax is over all dimensions from `axis` on, whose
/// default is 1.
bool Upgrade::flattens(onnx::NodeProto &node, Nodes &result) {
  StringRef op = node.op_type();
  if ((op != "Softmax" && op != "LogSoftmax" && op != "Hardmax") ||
      node.input_size() != 1 || node.output_size() != 1)
    return false;
  int64_t axis = 1;
  if (auto given = take(node, "axis"))
    axis = given->i();
  std::string input = node.input(0), output = node.output(0);
  std::string name = node.name().empty() ? output : node.name();
  auto add = [&](const char *type, std::string from, std::string to) {
    onnx::NodeProto &made = *result.Add();
    made.set_op_type(type);
    made.set_name(name);
    made.add_input(std::move(from));
    made.add_output(std::move(to));
    return &made;
  };
  auto setAxis = [](onnx::NodeProto &of, int64_t value) {
    AttributeProto &attribute = *of.add_attribute();
    attribute.set_name("axis");
    attribute.set_type(AttributeProto::INT);
    attribute.set_i(value);
  };
  setAxis(*add("Flatten", input, output + "#rows"), axis);
  add("Shape", input, output + "#shape");
  onnx::NodeProto &inner = *result.Add();
  inner.Swap(&node);
  setAxis(inner, -1);
  inner.set_input(0, output + "#rows");
  inner.set_output(0, output + "#flat");
  add("Reshape", output + "#flat", output)->add_input(output + "#shape");
  return true;
}

void Upgrade::run(onnx::GraphProto &graph) {
  Nodes result;
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    for (AttributeProto &attribute : *node.mutable_attribute())
      if (attribute.has_g())
        run(*attribute.mutable_g());
    bool isDefault = node.domain().empty() || node.domain() == "ai.onnx";
    if (isDefault && flattens(node, result))
      continue;
    if (isDefault)
      upgrade(node);
    for (onnx::NodeProto &constant : constants)
      result.Add()->Swap(&constant);
    constants.Clear();
    result.Add()->Swap(&node);
  }
  graph.mutable_node()->Swap(&result);
}

void mpc::upgradeOpset(onnx::ModelProto &model) {
  constexpr int64_t kUpgraded = 13;
  onnx::OperatorSetIdProto *newest = nullptr;
  for (onnx::OperatorSetIdProto &set : *model.mutable_opset_import())
    if ((set.domain().empty() || set.domain() == "ai.onnx") &&
        (!newest || set.version() > newest->version()))
      newest = &set;
  if (!newest || newest->version() < kOldestUpgraded ||
      newest->version() >= kUpgraded || !model.has_graph())
    return;
  Upgrade upgrade(newest->version());
  for (onnx::GraphProto *graph : mutableGraphsOf(model))
    upgrade.run(*graph);
  newest->set_version(kUpgraded);
}
