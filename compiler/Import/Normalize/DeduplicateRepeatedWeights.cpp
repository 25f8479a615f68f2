//===- DeduplicateRepeatedWeights.cpp - Repeated weights ------------------===//

#include "compiler/Import/Initializers/InitializerHeuristics.h"
#include "compiler/Import/Initializers/Signature.h"
#include "compiler/Import/Normalize/NormalizeModel.h"

using namespace llvm;
using namespace mpc;

namespace {

/// The part that a tensor repeats.
struct Part {
  SmallVector<int64_t> shape; ///< 1 in repeated dimensions.
  TensorBytes data;
};

} // namespace

/// The repeated part of a tensor whose parts along the leading dimensions are
/// equal: a class token for each sample, a row of a table for each position of
/// each sample. Nothing if the parts differ, if there is only one, or if name
/// or contents show that it is not a weight.
static std::optional<Part> partOf(const onnx::TensorProto &tensor,
                                  TensorReader &reader) {
  if (tensor.data_type() != onnx::TensorProto::FLOAT ||
      tensor.dims_size() < 2 || isExportersTable(tensor.name()) ||
      isExporterFillConstant(tensor.name()))
    return std::nullopt;
  auto data = reader.read(tensor);
  if (!data) {
    consumeError(data.takeError()); // Reported where the elements are used.
    return std::nullopt;
  }
  Part part{{tensor.dims().begin(), tensor.dims().end()}, std::move(*data)};
  if (part.data.bytes.empty() || isMask(part.data, tensor.data_type()))
    return std::nullopt;
  bool repeats = false;
  for (int64_t &extent : MutableArrayRef(part.shape).drop_back()) {
    ArrayRef<char> bytes = part.data.bytes;
    size_t size = bytes.size() / extent;
    for (size_t at = size; at < bytes.size(); at += size)
      if (bytes.slice(at, size) != bytes.take_front(size))
        size = bytes.size();
    if (size == bytes.size() && extent != 1)
      break;
    repeats |= extent != 1;
    extent = 1;
    part.data.bytes = bytes.take_front(size);
  }
  if (!repeats || isSplat(part.data, sizeof(float)))
    return std::nullopt;
  return part;
}

std::vector<std::string>
mpc::deduplicateRepeatedWeights(const std::shared_ptr<ModelFile> &model,
                                function_ref<bool(StringRef)> isApart) {
  std::vector<std::string> names;
  Signature signature(model->proto);
  // If no parameter is missing, none was folded.
  if (signature.missing().empty())
    return names;
  onnx::GraphProto &graph = *model->proto.mutable_graph();
  TensorReader reader(model);
  std::vector<onnx::TensorProto> shapes;
  StringSet<> made;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (onnx::TensorProto &tensor : *graph.mutable_initializer()) {
    std::string name = tensor.name();
    if (!signature.mayHoldParameters(name) || isApart(name))
      continue;
    std::optional<Part> part = partOf(tensor, reader);
    if (!part)
      continue;
    onnx::TensorProto one;
    one.set_name(name + kUntiledSuffix.str());
    one.set_data_type(onnx::TensorProto::FLOAT);
    one.mutable_dims()->Add(part->shape.begin(), part->shape.end());
    one.set_raw_data(part->data.bytes.data(), part->data.bytes.size());
    if (isPositionalTable(part->data, one))
      continue;
    names.push_back("'" + name + "'");
    made.insert(name);
    onnx::TensorProto &shape = shapes.emplace_back();
    shape.set_name(name + ".shape");
    shape.set_data_type(onnx::TensorProto::INT64);
    shape.add_dims(tensor.dims_size());
    for (int64_t extent : tensor.dims())
      shape.add_int64_data(extent);
    onnx::NodeProto &node = *nodes.Add();
    node.set_name(name);
    node.set_op_type("Expand");
    node.add_input(one.name());
    node.add_input(shape.name());
    node.add_output(name);
    tensor = std::move(one);
  }
  eraseNamed(*graph.mutable_input(), made);
  for (onnx::TensorProto &shape : shapes)
    *graph.add_initializer() = std::move(shape);
  for (onnx::NodeProto &node : *graph.mutable_node())
    nodes.Add()->Swap(&node);
  graph.mutable_node()->Swap(&nodes);
  return names;
}
