//===- GraphEdits.cpp - Edits that make an ONNX model smaller -------------===//

#include "tools/mpc-reduce/GraphEdits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mpc;
using llvm::StringRef;

namespace {
using Names = llvm::StringSet<>;
using Renames = llvm::StringMap<std::string>;
} // namespace

/// Calls `visit` with every graph that an attribute of `node` holds.
template <typename Node, typename Visit>
static void visitSubgraphs(Node &node, Visit visit) {
  for (auto &attribute : *node.mutable_attribute()) {
    if (attribute.has_g())
      visit(*attribute.mutable_g());
    for (auto &graph : *attribute.mutable_graphs())
      visit(graph);
  }
}

/// Keeps the elements of a repeated field for which `isKept` holds.
template <typename Field, typename IsKept>
static void keepIf(Field &field, IsKept isKept) {
  int kept = 0;
  for (int i = 0; i < field.size(); ++i)
    if (isKept(field[i]))
      field.SwapElements(kept++, i);
  field.DeleteSubrange(kept, field.size() - kept);
}

//===----------------------------------------------------------------------===//
// What is not needed
//===----------------------------------------------------------------------===//

void mpc::dropAnnotations(onnx::ModelProto &model) {
  model.clear_training_info();
  model.clear_metadata_props();
  model.clear_doc_string();
  model.mutable_graph()->clear_doc_string();
  model.mutable_graph()->clear_quantization_annotation();
  for (onnx::NodeProto &node : *model.mutable_graph()->mutable_node())
    node.clear_doc_string();
}

/// Adds the names that the nodes of a subgraph read, defined inside or outside
/// the subgraph.
static void addReads(onnx::GraphProto &graph, Names &names) {
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    for (const std::string &name : node.input())
      names.insert(name);
    visitSubgraphs(node, [&](auto &inner) { addReads(inner, names); });
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    names.insert(output.name());
}

/// Adds the functions that nodes call, directly or indirectly.
static void addCalls(onnx::GraphProto &graph, Names &called);

template <typename Nodes>
static void addCallsOfNodes(Nodes &nodes, Names &called) {
  for (onnx::NodeProto &node : nodes) {
    called.insert(node.domain() + ":" + node.op_type());
    visitSubgraphs(node, [&](auto &inner) { addCalls(inner, called); });
  }
}

static void addCalls(onnx::GraphProto &graph, Names &called) {
  addCallsOfNodes(*graph.mutable_node(), called);
}

static void dropUnusedFunctions(onnx::ModelProto &model) {
  Names called;
  addCalls(*model.mutable_graph(), called);
  auto isCalled = [&](const onnx::FunctionProto &function) {
    return called.contains(function.domain() + ":" + function.name());
  };
  for (size_t before = 0; before != called.size();) {
    before = called.size();
    for (onnx::FunctionProto &function : *model.mutable_functions())
      if (isCalled(function))
        addCallsOfNodes(*function.mutable_node(), called);
  }
  keepIf(*model.mutable_functions(), isCalled);
}

void mpc::dropUnused(onnx::ModelProto &model) {
  onnx::GraphProto &graph = *model.mutable_graph();
  Names needed;
  for (const onnx::ValueInfoProto &output : graph.output())
    needed.insert(output.name());
  // Nodes are in topological order.
  std::vector<bool> isNeeded(graph.node_size());
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    onnx::NodeProto &node = *graph.mutable_node(i);
    isNeeded[i] = llvm::any_of(node.output(), [&](const std::string &name) {
      return !name.empty() && needed.contains(name);
    });
    if (!isNeeded[i])
      continue;
    for (const std::string &name : node.input())
      needed.insert(name);
    visitSubgraphs(node, [&](auto &inner) { addReads(inner, needed); });
  }
  int index = 0;
  keepIf(*graph.mutable_node(),
         [&](const auto &) { return isNeeded[index++]; });

  Names computed;
  for (const onnx::NodeProto &node : graph.node())
    for (const std::string &name : node.output())
      computed.insert(name);
  auto isRead = [&](const auto &value) {
    return needed.contains(value.name());
  };
  keepIf(*graph.mutable_initializer(), isRead);
  keepIf(*graph.mutable_input(), isRead);
  keepIf(*graph.mutable_value_info(),
         [&](const auto &value) { return computed.contains(value.name()); });
  keepIf(*graph.mutable_sparse_initializer(), [&](const auto &tensor) {
    return needed.contains(tensor.values().name());
  });
  dropUnusedFunctions(model);
}

void mpc::dropOutputs(onnx::ModelProto &model, size_t begin, size_t end) {
  model.mutable_graph()->mutable_output()->DeleteSubrange(int(begin),
                                                          int(end - begin));
}

//===----------------------------------------------------------------------===//
// Bypass
//===----------------------------------------------------------------------===//

static void renameReads(onnx::GraphProto &graph, const Renames &renames) {
  auto renamed = [&](const std::string &name) {
    auto found = renames.find(name);
    return found == renames.end() ? name : found->second;
  };
  for (onnx::NodeProto &node : *graph.mutable_node()) {
    for (std::string &name : *node.mutable_input())
      name = renamed(name);
    visitSubgraphs(node, [&](auto &inner) { renameReads(inner, renames); });
  }
  for (onnx::ValueInfoProto &output : *graph.mutable_output())
    output.set_name(renamed(output.name()));
}

/// Removes outputs whose name occurs earlier, after renaming.
static void dropRepeatedOutputs(onnx::GraphProto &graph) {
  Names seen;
  keepIf(*graph.mutable_output(), [&](const onnx::ValueInfoProto &output) {
    return seen.insert(output.name()).second;
  });
}

bool mpc::bypassNodes(onnx::ModelProto &model, size_t begin, size_t end,
                      size_t input) {
  onnx::GraphProto &graph = *model.mutable_graph();
  Names initializers;
  for (const onnx::TensorProto &tensor : graph.initializer())
    initializers.insert(tensor.name());
  Renames renames;
  for (size_t i = begin; i < end; ++i) {
    const onnx::NodeProto &node = graph.node(int(i));
    std::vector<std::string> data;
    for (const std::string &name : node.input())
      if (!name.empty() && !initializers.contains(name))
        data.push_back(name);
    if (input >= data.size())
      return false;
    auto earlier = renames.find(data[input]);
    std::string source =
        earlier == renames.end() ? data[input] : earlier->second;
    for (const std::string &name : node.output())
      renames[name] = source;
  }
  graph.mutable_node()->DeleteSubrange(int(begin), int(end - begin));
  renameReads(graph, renames);
  dropRepeatedOutputs(graph);
  return true;
}

//===----------------------------------------------------------------------===//
// Ends
//===----------------------------------------------------------------------===//

/// The type that the graph declares for a value; null if there is none.
static const onnx::ValueInfoProto *findType(const onnx::GraphProto &graph,
                                            StringRef name) {
  for (const auto *values : {&graph.value_info(), &graph.output()})
    for (const onnx::ValueInfoProto &value : *values)
      if (value.name() == name && value.has_type())
        return &value;
  return nullptr;
}

void mpc::endAt(onnx::ModelProto &model, size_t node) {
  onnx::GraphProto &graph = *model.mutable_graph();
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> outputs;
  for (const std::string &name : graph.node(int(node)).output()) {
    if (name.empty())
      continue;
    if (const onnx::ValueInfoProto *known = findType(graph, name))
      *outputs.Add() = *known;
    else
      outputs.Add()->set_name(name);
  }
  graph.mutable_output()->Swap(&outputs);
}

bool mpc::beginAt(onnx::ModelProto &model, size_t node) {
  onnx::GraphProto &graph = *model.mutable_graph();
  for (const std::string &name : graph.node(int(node)).output()) {
    const onnx::ValueInfoProto *known = findType(graph, name);
    if (!name.empty() && !known)
      return false;
    if (known)
      *graph.add_input() = *known;
  }
  graph.mutable_node()->DeleteSubrange(int(node), 1);
  return true;
}
