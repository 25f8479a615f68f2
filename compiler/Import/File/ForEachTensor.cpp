//===- ForEachTensor.cpp - All tensors of a file --------------------------===//

#include "compiler/Import/File/ForEachTensor.h"

#include "compiler/Import/File/ModelGraphs.h"

using namespace llvm;
using namespace mpc;

using Visit = function_ref<Error(onnx::TensorProto &)>;
using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;

static Error visitNodes(Nodes &nodes, Visit visit);

static Error visitGraph(onnx::GraphProto &graph, Visit visit) {
  for (onnx::TensorProto &tensor : *graph.mutable_initializer())
    if (Error error = visit(tensor))
      return error;
  return visitNodes(*graph.mutable_node(), visit);
}

static Error visitAttribute(onnx::AttributeProto &attribute, Visit visit) {
  if (attribute.has_t())
    if (Error error = visit(*attribute.mutable_t()))
      return error;
  for (onnx::TensorProto &tensor : *attribute.mutable_tensors())
    if (Error error = visit(tensor))
      return error;
  if (attribute.has_g())
    if (Error error = visitGraph(*attribute.mutable_g(), visit))
      return error;
  for (onnx::GraphProto &graph : *attribute.mutable_graphs())
    if (Error error = visitGraph(graph, visit))
      return error;
  return Error::success();
}

static Error visitNodes(Nodes &nodes, Visit visit) {
  for (onnx::NodeProto &node : nodes)
    for (onnx::AttributeProto &attribute : *node.mutable_attribute())
      if (Error error = visitAttribute(attribute, visit))
        return error;
  return Error::success();
}

Error mpc::forEachTensor(onnx::ModelProto &model, Visit visit) {
  for (onnx::FunctionProto &function : *model.mutable_functions())
    if (Error error = visitNodes(*function.mutable_node(), visit))
      return error;
  if (!model.has_graph())
    return Error::success();
  for (onnx::GraphProto *graph : mutableGraphsOf(model))
    if (Error error = visitGraph(*graph, visit))
      return error;
  return Error::success();
}
