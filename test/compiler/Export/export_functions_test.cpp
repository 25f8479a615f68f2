// Exporting statistics that several nodes share, and states of functions.

#include "test/compiler/Export/export.h"
#include "test/compiler/Import/models.h"

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Export/Export.h"
#include "compiler/Import/Import.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

#include <fstream>

using namespace mpc;
using namespace mpc::test;

namespace {

// The importer splits these states, and so does the export.
TEST_F(Export, SplitsSharedStatistics) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(15);
  addInput(model, "x", onnx::TensorProto::FLOAT, {2});
  addFloats(model, "zeros", {2});
  addFloats(model, "ones", {2});
  addNode(model, "Identity", {"zeros"}, "same");
  addNode(model, "BatchNormalization", {"x", "ones", "zeros", "same", "ones"},
          "y");
  model.mutable_graph()->add_output()->set_name("y");
  std::string path = save(model), out = folder + "/trained.onnx";
  std::vector<float> shift = {1, 2}, mean = {3, 4}, variance = {5, 6};
  ASSERT_EQ(describe(exportTrained(path,
                                   {{"zeros", shift},
                                    {"node_y.running_mean", mean},
                                    {"node_y.running_var", variance}},
                                   out)),
            Answer());
  auto trained = load(out);
  EXPECT_EQ(values<float>(trained, "zeros"), shift);
  EXPECT_EQ(values<float>(trained, "node_y.running_mean"), mean);
  const onnx::NodeProto &node = trained->proto.graph().node(1);
  EXPECT_EQ(node.input(2), "zeros");
  EXPECT_EQ(node.input(3), "node_y.running_mean");
  EXPECT_EQ(node.input(4), "node_y.running_var");
  mlir::MLIRContext context;
  EXPECT_TRUE(importOnnx(out, {}, context).module);
}

// If each call of a function has its own statistics, the export inlines the
// calls.
TEST_F(Export, SeparatesCallsOfFunctions) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(15);
  onnx::OperatorSetIdProto *own = model.add_opset_import();
  own->set_domain("f");
  own->set_version(1);
  onnx::FunctionProto &norm = *model.add_functions();
  norm.set_domain("f");
  norm.set_name("norm");
  norm.add_opset_import()->set_version(15);
  for (const char *input : {"x", "scale", "bias", "mean", "var"})
    norm.add_input(input);
  norm.add_output("y");
  onnx::NodeProto &node = *norm.add_node();
  node.set_op_type("BatchNormalization");
  for (const std::string &input : norm.input())
    node.add_input(input);
  node.add_output("y");
  addInput(model, "x", onnx::TensorProto::FLOAT, {2});
  for (const char *name : {"scale", "other", "bias", "mean", "var"})
    addFloats(model, name, {2});
  addNode(model, "norm", {"x", "scale", "bias", "mean", "var"}, "h");
  addNode(model, "norm", {"h", "other", "bias", "mean", "var"}, "y");
  for (onnx::NodeProto &call : *model.mutable_graph()->mutable_node())
    call.set_domain("f");
  model.mutable_graph()->add_output()->set_name("y");
  std::string path = save(model), out = folder + "/trained.onnx";

  mlir::MLIRContext context;
  ImportResult imported = importOnnx(path, {}, context);
  ASSERT_TRUE(imported.module);
  std::vector<float> values2 = {3, 4};
  TrainedStates states;
  for (auto state : imported.module->getOps<train::StateOp>())
    states[state.getSymName().str()] = values2;
  EXPECT_EQ(states.size(), 7u); // Two scales, a bias, 2 means, 2 variances.
  ASSERT_EQ(describe(exportTrained(path, states, out)), Answer());
  auto trained = load(out);
  EXPECT_EQ(trained->proto.functions_size(), 0);
  for (const auto &[name, data] : states)
    EXPECT_EQ(values<float>(trained, name), values2) << name;
}

TEST_F(Export, BringsExternalDataOfBodiesIn) {
  onnx::ModelProto model = makeNetwork();
  onnx::NodeProto &loop = *model.mutable_graph()->add_node();
  loop.set_op_type("Loop");
  loop.add_output("unused");
  onnx::AttributeProto &body = *loop.add_attribute();
  body.set_name("body");
  body.set_type(onnx::AttributeProto::GRAPH);
  onnx::TensorProto &tensor = *body.mutable_g()->add_initializer();
  tensor.set_name("inner");
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(2);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto *entry = tensor.add_external_data();
  entry->set_key("location");
  entry->set_value("inner.bin");
  std::ofstream(folder + "/inner.bin", std::ios::binary) << "12345678";
  std::string path = save(model), out = folder + "/trained.onnx";
  EXPECT_EQ(externalFiles(path).size(), 1u);
  std::vector<float> shift = {1, 1};
  ASSERT_EQ(describe(exportTrained(path, {{"bn.shift", shift}}, out)),
            Answer());
  auto trained = load(out);
  const onnx::NodeProto &last = *trained->proto.graph().node().rbegin();
  EXPECT_EQ(last.attribute(0).g().initializer(0).raw_data(), "12345678");
  EXPECT_TRUE(externalFiles(out).empty());
}

} // namespace
