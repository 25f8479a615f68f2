//===- Statistics.cpp - Running mean and variance -------------------------===//

#include "compiler/Import/Statistics.h"

#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace mpc;

/// Finds the initializer behind each name, through Identity nodes: exporters
/// put those where they merged initializers. Nodes are sorted.
static StringMap<std::string> findSources(const onnx::GraphProto &graph) {
  StringMap<std::string> sources;
  for (const onnx::TensorProto &tensor : graph.initializer())
    sources[tensor.name()] = tensor.name();
  for (const onnx::NodeProto &node : graph.node()) {
    if (node.op_type() != "Identity" || node.input_size() != 1 ||
        node.output_size() != 1)
      continue;
    auto source = sources.find(node.input(0));
    if (source != sources.end())
      sources.try_emplace(node.output(0), source->second);
  }
  return sources;
}

Statistics::Statistics(const onnx::GraphProto &graph) {
  StringMap<std::string> sources = findSources(graph);
  StringSet<> names; // Of everything in the graph.
  StringMap<unsigned> numUses;
  auto use = [&](const std::string &name) {
    auto source = sources.find(name);
    if (source != sources.end())
      ++numUses[source->second];
  };
  for (const auto &source : sources)
    names.insert(source.getKey());
  for (const onnx::ValueInfoProto &input : graph.input())
    names.insert(input.name());
  for (const onnx::NodeProto &node : graph.node()) {
    for (const std::string &output : node.output())
      names.insert(output);
    if (node.op_type() != "Identity")
      for (const std::string &input : node.input())
        use(input);
  }
  for (const onnx::ValueInfoProto &output : graph.output())
    use(output.name());

  for (int index = 0; index < graph.node_size(); ++index) {
    const onnx::NodeProto &node = graph.node(index);
    if (node.op_type() != "BatchNormalization" || node.input_size() < 5 ||
        node.output_size() == 0)
      continue;
    for (int input : {3, 4}) {
      auto source = sources.find(node.input(input));
      if (source == sources.end())
        continue;
      std::string name = source->second;
      if (numUses[name] > 1) {
        name = node.name().empty() ? node.output(0) : node.name();
        name += input == 3 ? ".running_mean" : ".running_var";
        while (!names.insert(name).second)
          name += "_";
      }
      states[{index, input}] = {name, source->second};
    }
  }
}

const Statistics::State *Statistics::find(int node, int input) const {
  auto entry = states.find({node, input});
  return entry == states.end() ? nullptr : &entry->second;
}
