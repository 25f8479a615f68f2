// Models that are larger than they look: the importer may reject them, but it
// must not hang or use excessive memory.

#include "test/compiler/Import/importer.h"
#include "test/compiler/Import/models.h"

#include "gtest/gtest.h"

#include <chrono>

using namespace mpc;

namespace {

// The parser would use 750 MB for these 10 MB.
TEST(Hostile, ManyEmptyNodes) {
  std::string nodes;
  for (int i = 0; i < 5'000'000; ++i)
    nodes += std::string("\x0a\x00", 2); // GraphProto.node, empty.
  std::string bytes = "\x3a";            // ModelProto.graph
  for (size_t left = nodes.size(); left > 0 || bytes.size() == 1; left >>= 7)
    bytes += char((left & 0x7f) | (left >> 7 ? 0x80 : 0));
  Importer importer;
  ImportResult result = importer.run(bytes + nodes);
  EXPECT_EQ(result.error, ModelError::Limit);
  EXPECT_EQ(importer.last,
            "the model has more than 4000000 nodes, attributes and names");
}

/// Makes function `f0` with one node, and others that each call the previous
/// one.
onnx::ModelProto makeFunctions(int count, int calls) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  addInput(model, "x", onnx::TensorProto::FLOAT, {2});
  auto call = [](onnx::NodeProto &node, int function) {
    node.set_op_type(function < 0 ? "Neg" : "f" + std::to_string(function));
    node.set_domain(function < 0 ? "" : "own");
    node.add_input("x");
  };
  for (int i = 0; i < count; ++i) {
    onnx::FunctionProto &function = *model.add_functions();
    function.set_name("f" + std::to_string(i));
    function.set_domain("own");
    function.add_input("x");
    function.add_output("y");
    function.add_opset_import()->set_version(17);
    for (int k = 0; k < calls; ++k) {
      onnx::NodeProto &node = *function.add_node();
      call(node, i - 1);
      node.add_output(k == 0 ? "y" : "y" + std::to_string(k));
    }
  }
  call(*model.mutable_graph()->add_node(), count - 1);
  model.mutable_graph()->mutable_node(0)->add_output("y");
  model.mutable_graph()->add_output()->set_name("y");
  return model;
}

TEST(Hostile, DeepFunctions) {
  Importer importer;
  EXPECT_TRUE(importer.run(makeFunctions(50, 1).SerializeAsString()).module);
  importer.expectClearAnswer(makeFunctions(6000, 1).SerializeAsString());
  EXPECT_EQ(importer.last, "is in more than 100 nested functions and "
                           "subgraphs; inline some (onnx.inliner)");
}

const char kTooManyNodes[] =
    "the calls of functions in the model make more than 160000 nodes, the "
    "limit; simplify the functions, or raise the limit with option 'max-ops'";

TEST(Hostile, FunctionsThatMultiply) {
  Importer importer;
  importer.expectClearAnswer(makeFunctions(60, 2).SerializeAsString());
  EXPECT_EQ(importer.last, kTooManyNodes);
  // Nodes of subgraphs are counted.
  onnx::ModelProto model = makeFunctions(1, 1);
  onnx::NodeProto &node = *model.mutable_functions(0)->mutable_node(0);
  onnx::AttributeProto &body = *node.add_attribute();
  body.set_name("body");
  body.set_type(onnx::AttributeProto::GRAPH);
  for (int i = 0; i < 100'000; ++i) {
    onnx::NodeProto &inner = *body.mutable_g()->add_node();
    inner.set_op_type("Neg");
    inner.add_output("v" + std::to_string(i));
  }
  for (int i = 0; i < 60; ++i) {
    onnx::NodeProto &call = *model.mutable_graph()->add_node();
    call = model.graph().node(0);
    call.set_output(0, "other" + std::to_string(i));
  }
  importer.expectClearAnswer(model.SerializeAsString());
  EXPECT_EQ(importer.last, kTooManyNodes);
}

TEST(Hostile, LongNamesOfCalls) {
  Importer importer;
  onnx::ModelProto model = makeFunctions(2, 200);
  model.mutable_graph()->mutable_node(0)->set_name(
      std::string(10'000'000, 'n'));
  importer.expectClearAnswer(model.SerializeAsString());
  EXPECT_EQ(importer.last, "with this call the names of nodes in functions "
                           "exceed 2^26 characters in total; shorten them");
}

/// Imports with a limit; returns the kind of error and sets `message`.
ModelError importUpTo(int64_t maxOps, const onnx::ModelProto &model,
                      std::string &message) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &what) {
    message = what.str();
    return mlir::success();
  });
  ImportOptions options;
  options.maxOps = maxOps;
  std::string bytes = model.SerializeAsString();
  ModelError error =
      importOnnx(llvm::MemoryBufferRef(bytes, "model.onnx"), options, context)
          .error;
  // An import that continues after failures also stops here.
  ModelSurvey survey;
  options.survey = &survey;
  EXPECT_EQ(
      importOnnx(llvm::MemoryBufferRef(bytes, "model.onnx"), options, context)
          .error,
      error);
  return error;
}

onnx::ModelProto makeChain(int length) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  addInput(model, "v0", onnx::TensorProto::FLOAT, {2});
  for (int i = 0; i < length; ++i)
    addNode(model, "Neg", {"v" + std::to_string(i)},
            "v" + std::to_string(i + 1));
  model.mutable_graph()->add_output()->set_name("v" + std::to_string(length));
  return model;
}

// The size of an expanded model is limited, however it expands.
TEST(Hostile, MoreOpsThanAreCompiled) {
  std::string message;
  EXPECT_EQ(importUpTo(100, makeChain(100), message), ModelError::None);
  EXPECT_EQ(importUpTo(100, makeChain(101), message), ModelError::Limit);
  EXPECT_EQ(message,
            "with this node the graph has more than 100 operations, the limit; "
            "subgraphs, functions, loops and recurrent nets count as the "
            "operations they expand to: export a shorter sequence, or raise "
            "the limit with option 'max-ops'");
  // Functions, nested.
  EXPECT_EQ(importUpTo(30, makeFunctions(5, 2), message), ModelError::Limit);
  EXPECT_EQ(importUpTo(40, makeFunctions(5, 2), message), ModelError::None);
  // One node that is expanded.
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  addInput(model, "x", onnx::TensorProto::FLOAT, {1, 2}); // 32 steps.
  addFloats(model, "w", {1, 3, 2});
  addFloats(model, "r", {1, 3, 3});
  onnx::NodeProto *node = addNode(model, "RNN", {"x", "w", "r"}, "y");
  onnx::AttributeProto *size = node->add_attribute();
  size->set_name("hidden_size");
  size->set_type(onnx::AttributeProto::INT);
  size->set_i(3);
  model.mutable_graph()->add_output()->set_name("y");
  EXPECT_EQ(importUpTo(100, model, message), ModelError::Limit);
  EXPECT_EQ(importUpTo(2000, model, message), ModelError::None);
}

TEST(Hostile, ManyInputsAndOutputs) {
  std::string message;
  for (int count : {4096, 4097}) {
    onnx::ModelProto inputs = makeChain(1), outputs = makeChain(count + 1);
    for (int i = 1; i < count; ++i)
      addInput(inputs, "unused" + std::to_string(i), onnx::TensorProto::FLOAT,
               {2});
    for (int i = 2; i <= count; ++i)
      outputs.mutable_graph()->add_output()->set_name("v" + std::to_string(i));
    ModelError expected = count > 4096 ? ModelError::Limit : ModelError::None;
    EXPECT_EQ(importUpTo(kMaxOps, inputs, message), expected);
    EXPECT_EQ(importUpTo(kMaxOps, outputs, message), expected);
  }
  EXPECT_EQ(message, "the model has 4097 outputs; at most 4096 are supported; "
                     "concatenate some of them");
}

// Each insertion makes a new list.
TEST(Hostile, LongSequences) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  addInput(model, "x", onnx::TensorProto::FLOAT, {2});
  addNode(model, "SequenceEmpty", {}, "s0");
  int count = 20'000;
  for (int i = 0; i < count; ++i)
    addNode(model, "SequenceInsert", {"s" + std::to_string(i), "x"},
            "s" + std::to_string(i + 1));
  addNode(model, "SequenceLength", {"s" + std::to_string(count)}, "y");
  model.mutable_graph()->add_output()->set_name("y");
  Importer importer;
  importer.expectClearAnswer(model.SerializeAsString());
  EXPECT_EQ(importer.last, "with this node, all sequences together have more "
                           "than 2^24 elements, the maximum");
}

// The search for equal weights must not compare all pairs.
TEST(Hostile, ManyEqualWeights) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  addInput(model, "x", onnx::TensorProto::FLOAT, {768});
  std::string last = "x", ones;
  for (int i = 0; i < 768; ++i)
    ones += std::string("\0\0\x80\x3f", 4);
  for (int i = 0; i < 4000; ++i) {
    std::string name = std::to_string(i);
    onnx::TensorProto *weight = addFloats(model, "w" + name, {});
    weight->clear_float_data();
    weight->add_dims(768);
    weight->set_raw_data(ones);
    addNode(model, "Mul", {last, "w" + name}, "y" + name);
    last = "y" + name;
  }
  model.mutable_graph()->add_output()->set_name(last);
  Importer importer;
  auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(importer.run(model.SerializeAsString()).module);
  std::chrono::duration<double> taken =
      std::chrono::steady_clock::now() - begin;
  EXPECT_LT(taken.count(), 10); // 20 if all pairs are compared, otherwise 0.1.
}

} // namespace
