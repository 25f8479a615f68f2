// What PyTorch's exporter says of initializers, and what they hold.

#include "compiler/Import/Initializers/Contents.h"
#include "compiler/Import/Initializers/Signature.h"
#include "compiler/Import/Normalize/NormalizeModel.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <google/protobuf/unknown_field_set.h>

using namespace mpc;

namespace {

/// A model with these initializers and, in the metadata of its graph, this
/// signature: as bytes, for not every libonnx knows the field.
onnx::ModelProto modelWith(std::initializer_list<const char *> initializers,
                           const char *signature) {
  onnx::ModelProto model;
  for (const char *name : initializers)
    model.mutable_graph()->add_initializer()->set_name(name);
  onnx::StringStringEntryProto entry;
  entry.set_key("pkg.torch.export.ExportedProgram.graph_signature");
  entry.set_value(signature);
  auto *graph = model.mutable_graph();
  graph->GetReflection()->MutableUnknownFields(graph)->AddLengthDelimited(
      16, entry.SerializeAsString());
  onnx::ModelProto parsed;
  EXPECT_TRUE(parsed.ParseFromString(model.SerializeAsString()));
  return parsed;
}

TEST(Signature, TellsParametersFromTheRest) {
  Signature signature(
      modelWith({"fc.weight", "pe", "lifted_tensor_0", "val_3"},
                "\n# inputs\np_fc_weight: PARAMETER target='fc.weight'\n"
                "p_cls: PARAMETER target='cls'\n"
                "b_pe: BUFFER target='pe' persistent=True\n"
                "c_lifted_tensor_0: CONSTANT_TENSOR target='lifted_tensor_0'\n"
                "x: USER_INPUT\n\n# outputs\nlinear: USER_OUTPUT\n"));
  EXPECT_EQ(signature.roleOf("fc.weight"), Signature::Role::Parameter);
  EXPECT_EQ(signature.roleOf("pe"), Signature::Role::Buffer);
  EXPECT_EQ(signature.roleOf("lifted_tensor_0"), Signature::Role::Buffer);
  EXPECT_EQ(signature.roleOf("val_3"), Signature::Role::Computed);
  EXPECT_EQ(signature.missing(), std::vector<std::string>{"cls"});
}

TEST(Signature, IsUnknownWithoutMetadata) {
  onnx::ModelProto model;
  model.mutable_graph()->add_initializer()->set_name("w");
  Signature signature(model);
  EXPECT_EQ(signature.roleOf("w"), Signature::Role::Unknown);
  EXPECT_TRUE(signature.missing().empty());
}

/// Newer exporters say what they computed initializers from.
TEST(Signature, FollowsWhatWasComputedFromParameters) {
  onnx::ModelProto model =
      modelWith({"val_0", "mul", "const_cast"},
                "p_a: PARAMETER target='a'\np_b: PARAMETER target='b'\n");
  EXPECT_EQ(Signature(model).missing().size(), 2u);
  EXPECT_TRUE(Signature(model).mayHoldParameters("mul"));
  auto add = [&](const char *name, const char *origins) {
    onnx::StringStringEntryProto entry;
    entry.set_key("pkg.onnxscript.optimizer.folded_from");
    entry.set_value(origins);
    onnx::ValueInfoProto *value = model.mutable_graph()->add_value_info();
    value->set_name(name);
    value->GetReflection()->MutableUnknownFields(value)->AddLengthDelimited(
        4, entry.SerializeAsString());
  };
  add("val_0", "['a', 'transpose']");
  add("mul", "['arange', 'ab']");
  onnx::ModelProto parsed;
  ASSERT_TRUE(parsed.ParseFromString(model.SerializeAsString()));
  Signature signature(parsed);
  EXPECT_TRUE(signature.mayHoldParameters("val_0"));
  EXPECT_TRUE(signature.mayHoldParameters("val_0.one"));
  EXPECT_FALSE(signature.mayHoldParameters("mul.one"));
  EXPECT_FALSE(signature.mayHoldParameters("mul"));
  EXPECT_FALSE(signature.mayHoldParameters("const_cast"));
  // The other one is tied, or not needed.
  EXPECT_EQ(signature.missing(), std::vector<std::string>{"a"});
}

TEST(Signature, OfNonsenseIsNoParameter) {
  Signature signature(modelWith({"w"}, ": PARAMETER target='\ntarget=''\nw"));
  EXPECT_EQ(signature.roleOf("w"), Signature::Role::Computed);
  EXPECT_TRUE(signature.missing().empty());
}

/// A file with the signature of one parameter, `w`; initializers of these
/// shapes and elements.
struct Matrix {
  const char *name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

std::shared_ptr<ModelFile> fileWith(const std::vector<Matrix> &matrices) {
  auto file = std::make_shared<ModelFile>();
  file->proto = modelWith({}, "p_w: PARAMETER target='w'\n"
                              "b_b: BUFFER target='b' persistent=True\n");
  for (const Matrix &matrix : matrices) {
    auto *tensor = file->proto.mutable_graph()->add_initializer();
    tensor->set_name(matrix.name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    for (int64_t extent : matrix.shape)
      tensor->add_dims(extent);
    for (float value : matrix.values)
      tensor->add_float_data(value);
  }
  file->proto.mutable_graph()->add_node()->set_op_type("Relu");
  return file;
}

bool isNever(llvm::StringRef) { return false; }

TEST(TieCopies, MakesNodesOfWhatTheExporterStoredAgain) {
  auto file = fileWith({{"w", {2, 3}, {1, 2, 3, 4, 5, 6}},
                        {"turned", {3, 2}, {1, 4, 2, 5, 3, 6}},
                        {"same", {2, 3}, {1, 2, 3, 4, 5, 6}},
                        {"other", {3, 2}, {1, 4, 2, 5, 3, 7}},
                        {"flat", {6}, {1, 2, 3, 4, 5, 6}}});
  EXPECT_EQ(tieCopies(file, isNever),
            (std::vector<std::string>{"'turned' with 'w'", "'same' with 'w'"}));
  const onnx::GraphProto &graph = file->proto.graph();
  ASSERT_EQ(graph.initializer_size(), 3);
  EXPECT_EQ(graph.initializer(1).name(), "other");
  // Before all others.
  ASSERT_EQ(graph.node_size(), 3);
  EXPECT_EQ(graph.node(0).op_type(), "Transpose");
  EXPECT_EQ(graph.node(0).input(0), "w");
  EXPECT_EQ(graph.node(0).output(0), "turned");
  EXPECT_EQ(graph.node(0).attribute(0).ints_size(), 2);
  EXPECT_EQ(graph.node(1).op_type(), "Identity");
  EXPECT_EQ(graph.node(2).op_type(), "Relu");
}

TEST(TieCopies, LeavesWhatMayBeChance) {
  // Equal elements, a buffer, what was asked for, and copies of no parameter.
  EXPECT_TRUE(tieCopies(fileWith({{"w", {2, 2}, {1, 1, 1, 1}},
                                  {"ones", {2, 2}, {1, 1, 1, 1}}}),
                        isNever)
                  .empty());
  EXPECT_TRUE(
      tieCopies(fileWith({{"w", {1, 2}, {1, 2}}, {"b", {2, 1}, {1, 2}}}),
                isNever)
          .empty());
  EXPECT_TRUE(
      tieCopies(fileWith({{"w", {1, 2}, {1, 2}}, {"val_0", {2, 1}, {1, 2}}}),
                [](llvm::StringRef name) { return name == "val_0"; })
          .empty());
  EXPECT_TRUE(tieCopies(fileWith({{"val_0", {1, 2}, {1, 2}},
                                  {"val_1", {2, 1}, {1, 2}}}),
                        isNever)
                  .empty());
}

TEST(TieCopies, DoesNothingWithoutASignature) {
  auto file = std::make_shared<ModelFile>();
  for (const char *name : {"w", "v"}) {
    auto *tensor = file->proto.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    tensor->add_dims(2);
    tensor->add_float_data(1);
    tensor->add_float_data(2);
  }
  EXPECT_TRUE(tieCopies(file, isNever).empty());
  EXPECT_EQ(file->proto.graph().initializer_size(), 2);
}

// Older files list every initializer as an input, too.
TEST(TieCopies, TakesInputsAway) {
  auto file = fileWith({{"w", {1, 2}, {1, 2}}, {"val_0", {2, 1}, {1, 2}}});
  for (const char *name : {"x", "w", "val_0"})
    file->proto.mutable_graph()->add_input()->set_name(name);
  EXPECT_EQ(tieCopies(file, isNever).size(), 1u);
  ASSERT_EQ(file->proto.graph().input_size(), 2);
  EXPECT_EQ(file->proto.graph().input(1).name(), "w");
}

TEST(UntileWeights, TakesInputsAway) {
  auto file = fileWith({{"expand", {2, 2}, {1, 2, 1, 2}}});
  for (const char *name : {"expand", "x"})
    file->proto.mutable_graph()->add_input()->set_name(name);
  EXPECT_EQ(untileWeights(file, isNever).size(), 1u);
  ASSERT_EQ(file->proto.graph().input_size(), 1);
  EXPECT_EQ(file->proto.graph().input(0).name(), "x");
}

/// A matrix of `rows` x `columns` of numbers that differ.
onnx::TensorProto numbers(int64_t rows, int64_t columns, bool isTransposed) {
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(isTransposed ? columns : rows);
  tensor.add_dims(isTransposed ? rows : columns);
  for (int64_t i = 0; i < rows * columns; ++i)
    tensor.add_float_data(
        float(isTransposed ? i % rows * columns + i / rows : i));
  return tensor;
}

TensorBytes bytesOf(const onnx::TensorProto &tensor) {
  TensorBytes data;
  data.bytes = {reinterpret_cast<const char *>(tensor.float_data().data()),
                tensor.float_data_size() * sizeof(float)};
  return data;
}

TEST(CopyFinder, FindsTheFirstOfMany) {
  for (auto [rows, columns] : {std::pair(1, 7), {7, 1}, {3, 5}, {40, 33}}) {
    onnx::TensorProto original = numbers(rows, columns, false);
    onnx::TensorProto turned = numbers(rows, columns, true);
    onnx::TensorProto other = original;
    other.set_float_data(other.float_data_size() - 2, -1);
    CopyFinder finder;
    finder.add(other, bytesOf(other));
    EXPECT_FALSE(finder.find(original, bytesOf(original)));
    EXPECT_FALSE(finder.find(turned, bytesOf(turned)));
    finder.add(original, bytesOf(original));
    auto copy = finder.find(turned, bytesOf(turned));
    ASSERT_TRUE(copy);
    EXPECT_EQ(copy->original, &original);
    EXPECT_TRUE(copy->isTransposed);
    copy = finder.find(original, bytesOf(original));
    ASSERT_TRUE(copy);
    EXPECT_FALSE(copy->isTransposed);
  }
}

TEST(LiftWeights, KeepsNodesOfWhatWouldBeTooMuch) {
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

TEST(UntileWeights, MakesOneOfEqualParts) {
  auto file = fileWith({{"expand", {2, 1, 3}, {1, 2, 3, 1, 2, 3}},
                        {"other", {2, 1, 3}, {1, 2, 3, 1, 2, 4}},
                        {"ones", {2, 2}, {1, 1, 1, 1}},
                        {"flat", {2}, {1, 1}},
                        {"mask", {2, 2}, {0, -1e9f, 0, -1e9f}},
                        {"arange", {2, 2}, {0, 1, 0, 1}},
                        {"b", {2, 2}, {1, 2, 1, 2}}});
  EXPECT_EQ(untileWeights(file, isNever), std::vector<std::string>{"'expand'"});
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

TEST(UntileWeights, GoesOnWithinEqualParts) {
  auto file = fileWith({{"token", {2, 2, 2}, {1, 2, 1, 2, 1, 2, 1, 2}},
                        {"rows", {1, 2, 2}, {1, 2, 1, 2}},
                        {"inner", {2, 2, 2}, {1, 2, 1, 2, 3, 4, 3, 4}}});
  EXPECT_EQ(untileWeights(file, isNever),
            (std::vector<std::string>{"'token'", "'rows'"}));
  const onnx::GraphProto &graph = file->proto.graph();
  EXPECT_EQ(graph.initializer(0).dims(0), 1);
  EXPECT_EQ(graph.initializer(0).dims(1), 1);
  EXPECT_EQ(graph.initializer(0).raw_data().size(), 2 * sizeof(float));
  EXPECT_EQ(graph.initializer(1).raw_data().size(), 2 * sizeof(float));
}
TEST(UntileWeights, LeavesWhatIsAskedForAndWhatNoParameterIsMissingFor) {
  Matrix expand = {"expand", {2, 2}, {1, 2, 1, 2}};
  EXPECT_TRUE(untileWeights(fileWith({expand}), [](llvm::StringRef name) {
                return name == "expand";
              }).empty());
  EXPECT_TRUE(
      untileWeights(fileWith({{"w", {1}, {1}}, expand}), isNever).empty());
}

using Table = double (*)(int row, int column);

bool isTable(Table table, int rows = 9, int columns = 6) {
  std::vector<float> values;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      values.push_back(float(table(row, column)));
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  for (int extent : {1, rows, columns})
    tensor.add_dims(extent);
  TensorBytes data;
  data.bytes = {reinterpret_cast<const char *>(values.data()),
                values.size() * sizeof(float)};
  return isTableOfSines(data, tensor);
}

double angle(int row, int pair) { return row * std::pow(10, -pair); }

TEST(TableOfSines, IsFoundInEveryLayout) {
  EXPECT_TRUE(isTable([](int row, int column) { // Sine and cosine in turn.
    double x = angle(row, column / 2);
    return column % 2 ? std::cos(x) : std::sin(x);
  }));
  EXPECT_TRUE(isTable([](int row, int column) { // All sines first.
    double x = angle(row, column % 3);
    return column < 3 ? std::sin(x) : std::cos(x);
  }));
  EXPECT_TRUE(isTable([](int row, int column) { // After a row of padding.
    double x = angle(row, column / 2);
    return row == 0 ? 0 : column % 2 ? std::cos(x) : std::sin(x);
  }));
  EXPECT_TRUE(isTable(
      [](int row, int column) { return std::cos(angle(row, column)); }));
  EXPECT_TRUE(isTable(
      [](int row, int column) { return std::sin(angle(row, column)); }));
}

TEST(TableOfSines, IsNoOtherMatrix) {
  EXPECT_FALSE(isTable([](int, int) { return 0.0; }));
  EXPECT_FALSE(isTable([](int, int) { return 1.0; }));
  EXPECT_FALSE(
      isTable([](int row, int column) { return double(row == column); }));
  EXPECT_FALSE(isTable([](int row, int column) { // A weight.
    return std::sin(12.9898 * row + 78.233 * column * column);
  }));
  EXPECT_FALSE(isTable([](int row, int column) { // Nearly one.
    double x = angle(row, column / 2);
    return (column % 2 ? std::cos(x) : std::sin(x)) + (row == 5 ? 0.01 : 0);
  }));
  EXPECT_FALSE(isTable(
      [](int row, int column) { return std::cos(angle(row, column)); }, 3));
}

} // namespace
