//===- RestoreTiedWeights.cpp - Weights folded into others ----------------===//

#include "compiler/Import/Initializers/InitializerHeuristics.h"
#include "compiler/Import/Initializers/Signature.h"
#include "compiler/Import/Normalize/NormalizeModel.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace mpc;

namespace {

/// A float initializer and its elements.
struct Weight {
  const onnx::TensorProto *tensor;
  TensorBytes data;
};

/// A node that computes a copy of the parameter `original`.
struct Copy {
  std::string name, original;
  bool isTransposed;
};

} // namespace

static onnx::NodeProto nodeOf(const Copy &copy) {
  onnx::NodeProto node;
  node.set_name(copy.name);
  node.set_op_type(copy.isTransposed ? "Transpose" : "Identity");
  node.add_input(copy.original);
  node.add_output(copy.name);
  if (copy.isTransposed) {
    onnx::AttributeProto *order = node.add_attribute();
    order->set_name("perm");
    order->set_type(onnx::AttributeProto::INTS);
    order->add_ints(1);
    order->add_ints(0);
  }
  return node;
}

static std::vector<Copy>
findCopies(const std::shared_ptr<const ModelFile> &model,
           function_ref<bool(StringRef)> isApart) {
  using Role = Signature::Role;
  const onnx::GraphProto &graph = model->proto.graph();
  Signature signature(model->proto);
  TensorReader reader(model);
  CopyFinder parameters;
  std::vector<Weight> computed;
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    Role role = signature.roleOf(tensor.name());
    if (tensor.data_type() != onnx::TensorProto::FLOAT ||
        (role != Role::Parameter && role != Role::Computed))
      continue;
    auto data = reader.read(tensor);
    if (!data) {
      consumeError(data.takeError()); // Reported where the elements are used.
      continue;
    }
    if (role == Role::Parameter)
      parameters.add(tensor, *data);
    else
      computed.push_back({&tensor, std::move(*data)});
  }
  std::vector<Copy> copies;
  for (const Weight &weight : computed)
    if (!isApart(weight.tensor->name()))
      if (auto copy = parameters.find(*weight.tensor, weight.data))
        copies.push_back({weight.tensor->name(), copy->original->name(),
                          copy->isTransposed});
  return copies;
}

std::vector<std::string>
mpc::restoreTiedWeights(const std::shared_ptr<ModelFile> &model,
                        function_ref<bool(StringRef)> isApart) {
  std::vector<Copy> copies = findCopies(model, isApart);
  if (copies.empty())
    return {};
  onnx::GraphProto &graph = *model->proto.mutable_graph();
  std::vector<std::string> said;
  StringSet<> names;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (const Copy &copy : copies) {
    *nodes.Add() = nodeOf(copy);
    said.push_back("'" + copy.name + "' with '" + copy.original + "'");
    names.insert(copy.name);
  }
  eraseNamed(*graph.mutable_initializer(), names);
  eraseNamed(*graph.mutable_input(), names);
  for (onnx::NodeProto &node : *graph.mutable_node())
    nodes.Add()->Swap(&node);
  graph.mutable_node()->Swap(&nodes);
  return said;
}
