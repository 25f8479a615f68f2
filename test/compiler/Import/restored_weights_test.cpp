// Weights that exporters transposed, duplicated, or computed by nodes.

#include "compiler/Import/Normalize/NormalizeModel.h"
#include "test/compiler/Import/signature_models.h"

#include "gtest/gtest.h"

using namespace mpc;
using namespace mpc::test;

namespace {

TEST(RestoreTiedWeights, ReplacesStoredCopiesByNodes) {
  auto file = fileWith({{"w", {2, 3}, {1, 2, 3, 4, 5, 6}},
                        {"turned", {3, 2}, {1, 4, 2, 5, 3, 6}},
                        {"same", {2, 3}, {1, 2, 3, 4, 5, 6}},
                        {"other", {3, 2}, {1, 4, 2, 5, 3, 7}},
                        {"flat", {6}, {1, 2, 3, 4, 5, 6}}});
  EXPECT_EQ(restoreTiedWeights(file, isNever),
            (std::vector<std::string>{"'turned' with 'w'", "'same' with 'w'"}));
  const onnx::GraphProto &graph = file->proto.graph();
  ASSERT_EQ(graph.initializer_size(), 3);
  EXPECT_EQ(graph.initializer(1).name(), "other");
  // The new nodes come before all others.
  ASSERT_EQ(graph.node_size(), 3);
  EXPECT_EQ(graph.node(0).op_type(), "Transpose");
  EXPECT_EQ(graph.node(0).input(0), "w");
  EXPECT_EQ(graph.node(0).output(0), "turned");
  EXPECT_EQ(graph.node(0).attribute(0).ints_size(), 2);
  EXPECT_EQ(graph.node(1).op_type(), "Identity");
  EXPECT_EQ(graph.node(2).op_type(), "Relu");
}

TEST(RestoreTiedWeights, IgnoresAccidentalMatches) {
  // Equal elements, a buffer, what was asked for, and copies of no parameter.
  EXPECT_TRUE(restoreTiedWeights(fileWith({{"w", {2, 2}, {1, 1, 1, 1}},
                                           {"ones", {2, 2}, {1, 1, 1, 1}}}),
                                 isNever)
                  .empty());
  EXPECT_TRUE(
      restoreTiedWeights(
          fileWith({{"w", {1, 2}, {1, 2}}, {"b", {2, 1}, {1, 2}}}), isNever)
          .empty());
  EXPECT_TRUE(restoreTiedWeights(
                  fileWith({{"w", {1, 2}, {1, 2}}, {"val_0", {2, 1}, {1, 2}}}),
                  [](llvm::StringRef name) { return name == "val_0"; })
                  .empty());
  EXPECT_TRUE(restoreTiedWeights(fileWith({{"val_0", {1, 2}, {1, 2}},
                                           {"val_1", {2, 1}, {1, 2}}}),
                                 isNever)
                  .empty());
}

TEST(RestoreTiedWeights, DoesNothingWithoutASignature) {
  auto file = std::make_shared<ModelFile>();
  for (const char *name : {"w", "v"}) {
    auto *tensor = file->proto.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    tensor->add_dims(2);
    tensor->add_float_data(1);
    tensor->add_float_data(2);
  }
  EXPECT_TRUE(restoreTiedWeights(file, isNever).empty());
  EXPECT_EQ(file->proto.graph().initializer_size(), 2);
}

// Older files also list every initializer as an input.
TEST(RestoreTiedWeights, RemovesInputs) {
  auto file = fileWith({{"w", {1, 2}, {1, 2}}, {"val_0", {2, 1}, {1, 2}}});
  for (const char *name : {"x", "w", "val_0"})
    file->proto.mutable_graph()->add_input()->set_name(name);
  EXPECT_EQ(restoreTiedWeights(file, isNever).size(), 1u);
  ASSERT_EQ(file->proto.graph().input_size(), 2);
  EXPECT_EQ(file->proto.graph().input(1).name(), "w");
}

TEST(DeduplicateRepeatedWeights, RemovesInputs) {
  auto file = fileWith({{"expand", {2, 2}, {1, 2, 1, 2}}});
  for (const char *name : {"expand", "x"})
    file->proto.mutable_graph()->add_input()->set_name(name);
  EXPECT_EQ(deduplicateRepeatedWeights(file, isNever).size(), 1u);
  ASSERT_EQ(file->proto.graph().input_size(), 1);
  EXPECT_EQ(file->proto.graph().input(0).name(), "x");
}

TEST(LiftWeights, KeepsNodesOfLargeWeights) {
  onnx::ModelProto model;
  for (const char *name : {"a", "b"}) {
    std::string shape = std::string(name) + ".shape";
    auto *tensor = model.mutable_graph()->add_initializer();
    tensor->set_name(shape);
    tensor->set_data_type(onnx::TensorProto::INT64);
    tensor->add_dims(2);
    tensor->add_int64_data(8);
    tensor->add_int64_data(8);
    onnx::NodeProto *maker = model.mutable_graph()->add_node();
    maker->set_op_type("ConstantOfShape");
    maker->add_input(shape);
    maker->add_output(name);
    onnx::NodeProto *user = model.mutable_graph()->add_node();
    user->set_op_type("MatMul");
    user->add_input("x");
    user->add_input(name);
  }
  onnx::ModelProto copy = model;
  EXPECT_EQ(liftWeights(copy, 511), std::vector<std::string>{"a"});
  EXPECT_EQ(liftWeights(model, 512), (std::vector<std::string>{"a", "b"}));
}

TEST(DeduplicateRepeatedWeights, KeepsOneOfEqualParts) {
  auto file = fileWith({{"expand", {2, 1, 3}, {1, 2, 3, 1, 2, 3}},
                        {"other", {2, 1, 3}, {1, 2, 3, 1, 2, 4}},
                        {"ones", {2, 2}, {1, 1, 1, 1}},
                        {"flat", {2}, {1, 1}},
                        {"mask", {2, 2}, {0, -1e9f, 0, -1e9f}},
                        {"arange", {2, 2}, {0, 1, 0, 1}},
                        {"b", {2, 2}, {1, 2, 1, 2}}});
  EXPECT_EQ(deduplicateRepeatedWeights(file, isNever),
            std::vector<std::string>{"'expand'"});
  const onnx::GraphProto &graph = file->proto.graph();
  ASSERT_EQ(graph.initializer_size(), 8);
  EXPECT_EQ(graph.initializer(0).name(), "expand.one");
  EXPECT_EQ(graph.initializer(0).dims(0), 1);
  EXPECT_EQ(graph.initializer(0).raw_data().size(), 3 * sizeof(float));
  EXPECT_EQ(graph.initializer(7).int64_data(0), 2);
  ASSERT_EQ(graph.node_size(), 2);
  EXPECT_EQ(graph.node(0).op_type(), "Expand");
  EXPECT_EQ(graph.node(0).output(0), "expand");
}

TEST(DeduplicateRepeatedWeights, DeduplicatesWithinEqualParts) {
  auto file = fileWith({{"token", {2, 2, 2}, {1, 2, 1, 2, 1, 2, 1, 2}},
                        {"rows", {1, 2, 2}, {1, 2, 1, 2}},
                        {"inner", {2, 2, 2}, {1, 2, 1, 2, 3, 4, 3, 4}}});
  EXPECT_EQ(deduplicateRepeatedWeights(file, isNever),
            (std::vector<std::string>{"'token'", "'rows'"}));
  const onnx::GraphProto &graph = file->proto.graph();
  EXPECT_EQ(graph.initializer(0).dims(0), 1);
  EXPECT_EQ(graph.initializer(0).dims(1), 1);
  EXPECT_EQ(graph.initializer(0).raw_data().size(), 2 * sizeof(float));
  EXPECT_EQ(graph.initializer(1).raw_data().size(), 2 * sizeof(float));
}
TEST(DeduplicateRepeatedWeights, KeepsSelectedWeightsAndCompleteModels) {
  Matrix expand = {"expand", {2, 2}, {1, 2, 1, 2}};
  EXPECT_TRUE(
      deduplicateRepeatedWeights(fileWith({expand}), [](llvm::StringRef name) {
        return name == "expand";
      }).empty());
  EXPECT_TRUE(
      deduplicateRepeatedWeights(fileWith({{"w", {1}, {1}}, expand}), isNever)
          .empty());
}

} // namespace
