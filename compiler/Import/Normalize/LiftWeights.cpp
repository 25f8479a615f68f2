//===- LiftWeights.cpp - Weights that are nodes ---------------------------===//

#include "compiler/Import/File/TensorData.h"
#include "compiler/Import/Normalize/NormalizeModel.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"

#include <cstring>

using namespace llvm;
using namespace mpc;
using onnx::TensorProto;

/// The inputs of an op that are weights, wherever they come from.
static ArrayRef<int> weightInputs(StringRef op) {
  static constexpr int filter[] = {1, 2}, norm[] = {1, 2, 3, 4}, right[] = {1},
                       table[] = {0}, recurrent[] = {1, 2, 3};
  if (op == "Conv" || op == "ConvTranspose" || op == "Gemm" ||
      op == "LayerNormalization" || op == "InstanceNormalization" ||
      op == "GroupNormalization")
    return filter;
  if (op == "BatchNormalization")
    return norm;
  if (op == "MatMul" || op == "PRelu" || op == "RMSNormalization")
    return right;
  if (op == "Gather")
    return table;
  if (op == "LSTM" || op == "GRU" || op == "RNN")
    return recurrent;
  return {};
}

static bool isFloatType(int32_t type) {
  return type == TensorProto::FLOAT || type == TensorProto::DOUBLE ||
         type == TensorProto::FLOAT16 || type == TensorProto::BFLOAT16;
}

static const TensorProto *valueOf(const onnx::NodeProto &node) {
  for (const onnx::AttributeProto &attribute : node.attribute())
    if (attribute.name() == "value" && attribute.has_t())
      return &attribute.t();
  return nullptr;
}

/// The shape in an i64 initializer.
static std::optional<SmallVector<int64_t>> shapeIn(const TensorProto &tensor) {
  if (tensor.data_type() != TensorProto::INT64 || tensor.dims_size() != 1 ||
      tensor.has_data_location())
    return std::nullopt;
  SmallVector<int64_t> shape(tensor.int64_data().begin(),
                             tensor.int64_data().end());
  const std::string &raw = tensor.raw_data();
  if (shape.empty() && raw.size() % sizeof(int64_t) == 0) {
    shape.resize(raw.size() / sizeof(int64_t));
    std::memcpy(shape.data(), raw.data(), raw.size());
  }
  if (shape.empty() || int64_t(shape.size()) != tensor.dims(0))
    return std::nullopt;
  return shape;
}

/// The single f32 number of a tensor; 0 without a tensor.
static std::optional<float> numberIn(const TensorProto *value) {
  if (!value)
    return 0.0f;
  if (value->data_type() != TensorProto::FLOAT)
    return std::nullopt;
  if (value->float_data_size() == 1)
    return value->float_data(0);
  float number;
  if (value->raw_data().size() != sizeof(number))
    return std::nullopt;
  std::memcpy(&number, value->raw_data().data(), sizeof(number));
  return number;
}

/// The result of a ConstantOfShape; its bytes are subtracted from `left`.
/// Nothing if it is unknown or too large.
static std::optional<TensorProto>
filledTensor(const onnx::NodeProto &node,
             const StringMap<const TensorProto *> &initializers,
             int64_t &left) {
  if (node.input_size() != 1)
    return std::nullopt;
  const TensorProto *from = initializers.lookup(node.input(0));
  auto shape = from ? shapeIn(*from) : std::nullopt;
  std::optional<float> number = numberIn(valueOf(node));
  if (!shape || !number)
    return std::nullopt;
  Expected<int64_t> count = countElements(*shape);
  if (!count) {
    consumeError(count.takeError());
    return std::nullopt;
  }
  if (*count < 1 || *count > left / int64_t(sizeof(float)))
    return std::nullopt;
  left -= *count * int64_t(sizeof(float));
  TensorProto tensor;
  tensor.set_data_type(TensorProto::FLOAT);
  for (int64_t extent : *shape)
    tensor.add_dims(extent);
  std::string raw(*count * sizeof(float), '\0');
  for (int64_t i = 0; *number != 0 && i < *count; ++i)
    std::memcpy(raw.data() + i * sizeof(float), &*number, sizeof(float));
  tensor.set_raw_data(std::move(raw));
  return tensor;
}

/// The float tensor that a node provides, without a name; nothing if it
/// provides none.
static std::optional<TensorProto>
weightOf(const onnx::NodeProto &node,
         const StringMap<const TensorProto *> &initializers, int64_t &left) {
  if (node.op_type() == "ConstantOfShape")
    return filledTensor(node, initializers, left);
  const TensorProto *value = valueOf(node);
  if (!value || !isFloatType(value->data_type()) || value->dims_size() == 0)
    return std::nullopt;
  return *value;
}

std::vector<std::string> mpc::liftWeights(onnx::ModelProto &model,
                                          int64_t mostBytes) {
  if (!model.has_graph())
    return {};
  onnx::GraphProto &graph = *model.mutable_graph();
  StringMap<const TensorProto *> initializers;
  size_t numInitializers = 0;
  for (const TensorProto &tensor : graph.initializer()) {
    initializers[tensor.name()] = &tensor;
    numInitializers +=
        isFloatType(tensor.data_type()) && tensor.dims_size() > 0;
  }
  StringMap<int> makers;
  for (int i = 0; i < graph.node_size(); ++i) {
    StringRef op = graph.node(i).op_type();
    if ((op == "Constant" || op == "ConstantOfShape") &&
        graph.node(i).output_size() == 1)
      makers.try_emplace(graph.node(i).output(0), i);
  }
  // Weights by the node that provides them, in the order of their use.
  std::vector<std::pair<int, std::string>> found;
  std::vector<bool> gone(graph.node_size(), false);
  for (const onnx::NodeProto &node : graph.node())
    for (int i : weightInputs(node.op_type())) {
      if (i >= node.input_size())
        continue;
      auto maker = makers.find(node.input(i));
      if (maker == makers.end() || gone[maker->second])
        continue;
      gone[maker->second] = true;
      found.emplace_back(maker->second, node.input(i));
    }
  // If most weights are initializers, nodes provide numbers of the code.
  std::vector<std::string> names;
  if (found.size() <= numInitializers)
    return names;
  std::vector<TensorProto> weights;
  int64_t left = mostBytes;
  for (const auto &[maker, name] : found) {
    auto weight = weightOf(graph.node(maker), initializers, left);
    gone[maker] = weight.has_value();
    if (!weight)
      continue;
    weight->set_name(name);
    names.push_back(name);
    weights.push_back(std::move(*weight));
  }
  if (names.empty())
    return names;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> rest;
  for (int i = 0; i < graph.node_size(); ++i)
    if (!gone[i])
      rest.Add()->Swap(graph.mutable_node(i));
  graph.mutable_node()->Swap(&rest);
  for (TensorProto &weight : weights)
    graph.add_initializer()->Swap(&weight);
  return names;
}
