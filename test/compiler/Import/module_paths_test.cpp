// Module paths in metadata of exporters, for nodes whose names are not paths.

#include "compiler/Import/Normalize/ModulePaths.h"

#include "gtest/gtest.h"

using namespace mpc;

namespace {

/// Adds a node whose `metadata_props` have scopes with `value`.
void addNode(onnx::GraphProto &graph, const std::string &name,
             const std::string &output, const std::string &value) {
  constexpr int kNodeMetadata = 9;
  onnx::NodeProto &node = *graph.add_node();
  node.set_name(name);
  node.add_output(output);
  onnx::StringStringEntryProto entry;
  entry.set_key("pkg.torch.onnx.name_scopes");
  entry.set_value(value);
  // Parse it as a libonnx does that does not have the field, and one that does.
  std::string bytes;
  onnx::NodeProto parsed;
  node.GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(
      kNodeMetadata, entry.SerializeAsString());
  ASSERT_TRUE(node.SerializeToString(&bytes) && parsed.ParseFromString(bytes));
  node = parsed;
}

// The last scope is the op, the one before it the module.
TEST(ModulePaths, AreRead) {
  onnx::GraphProto graph;
  addNode(graph, "node_1", "a", "['', 'm', 'm.h.0', 'linear']");
  addNode(graph, "", "b", R"(["", "it's", "add"])");
  addNode(graph, "node_3", "c", "['', 'top']");
  std::map<std::string, std::string> expected = {
      {"node_1", "m.h.0"}, {"b", "it's"}, {"node_3", ""}};
  EXPECT_EQ(readModulePaths(graph), expected);
}

TEST(ModulePaths, IgnoreMalformedLists) {
  onnx::GraphProto graph;
  for (const char *value : {"", "'", "['a", "linear", "['a']", "[\"a', 'b']"})
    addNode(graph, std::string("node") + value, "y", value);
  graph.add_node()->set_name("bare");
  EXPECT_TRUE(readModulePaths(graph).empty());
}

} // namespace
