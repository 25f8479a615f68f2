//===- Statistics.cpp - Running mean and variance -------------------------===//

#include "compiler/Import/Initializers/Statistics.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;
using namespace mpc;

/// Finds the initializer behind each name, through Identity nodes: exporters
/// insert those when they merge initializers. Nodes are sorted.
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

namespace {

/// How the graph uses names.
struct Uses {
  explicit Uses(const onnx::GraphProto &graph);

  StringMap<std::string> sources; ///< Initializers behind names.
  StringMap<unsigned>
      numUses;       ///< Uses of initializers, not counting Identity nodes.
  StringSet<> names; ///< Names of everything in the graph.
};

/// The places of one statistic: the nodes of one module.
struct Places {
  std::string source;
  std::vector<std::pair<int, int>> nodes; ///< Node and input.
};

} // namespace

Uses::Uses(const onnx::GraphProto &graph) : sources(findSources(graph)) {
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
}

/// All statistics, in the order of their first nodes.
static std::vector<Places> findPlaces(const onnx::GraphProto &graph,
                                      const Uses &uses, bool hasSignature) {
  MapVector<SmallVector<StringRef>, Places,
            std::map<SmallVector<StringRef>, unsigned>>
      found;
  for (int index = 0; index < graph.node_size(); ++index) {
    const onnx::NodeProto &node = graph.node(index);
    if (node.op_type() != "BatchNormalization" || node.input_size() < 5 ||
        node.output_size() == 0)
      continue;
    for (int input : {3, 4}) {
      auto source = uses.sources.find(node.input(input));
      if (source == uses.sources.end())
        continue;
      // The input, and the names that identify the module.
      SmallVector<StringRef> key = {input == 3 ? "mean" : "var", node.input(1),
                                    node.input(2)};
      for (int statistic : {3, 4}) {
        auto behind = uses.sources.find(node.input(statistic));
        bool follows = hasSignature && behind != uses.sources.end();
        key.push_back(follows ? StringRef(behind->second)
                              : StringRef(node.input(statistic)));
      }
      Places &places = found[key];
      places.source = source->second;
      places.nodes.push_back({index, input});
    }
  }
  std::vector<Places> result;
  for (auto &[key, places] : found)
    result.push_back(std::move(places));
  return result;
}

Statistics::Statistics(const onnx::GraphProto &graph, bool hasSignature) {
  Uses uses(graph);
  for (const Places &places : findPlaces(graph, uses, hasSignature)) {
    std::string name = places.source;
    if (uses.numUses[name] > places.nodes.size()) {
      auto [index, input] = places.nodes.front();
      const onnx::NodeProto &node = graph.node(index);
      name = node.name().empty() ? node.output(0) : node.name();
      name += input == 3 ? ".running_mean" : ".running_var";
      while (!uses.names.insert(name).second)
        name += "_";
    }
    for (const auto &place : places.nodes)
      states[place] = {name, places.source};
  }
}

const Statistics::State *Statistics::find(int node, int input) const {
  auto entry = states.find({node, input});
  return entry == states.end() ? nullptr : &entry->second;
}
