// Functions with fields that libonnx may not support, and that the text format
// therefore cannot express.

#include "importer.h"

#include "onnx/onnx_pb.h"

#include "gtest/gtest.h"

using namespace mpc;

namespace {

constexpr int kNodeOverload = 8, kFunctionOverload = 13;

void setText(google::protobuf::Message &message, int number,
             const std::string &text) {
  if (const auto *known = message.GetDescriptor()->FindFieldByNumber(number))
    return message.GetReflection()->SetString(&message, known, text);
  message.GetReflection()->MutableUnknownFields(&message)->AddLengthDelimited(
      number, text);
}

/// y = own.f(x) with the overload `called`. There are two overloads: Neg and
/// Relu.
std::string makeModel(const std::string &called, const std::string &second) {
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(18);
  auto *own = model.add_opset_import();
  own->set_domain("own");
  own->set_version(1);
  for (const char *op : {"Neg", "Relu"}) {
    onnx::FunctionProto &function = *model.add_functions();
    function.set_domain("own");
    function.set_name("f");
    function.add_input("a");
    function.add_output("b");
    function.add_opset_import()->set_version(18);
    onnx::NodeProto &node = *function.add_node();
    node.set_op_type(op);
    node.add_input("a");
    node.add_output("b");
    if (std::string(op) == "Relu")
      setText(function, kFunctionOverload, second);
  }
  onnx::GraphProto &graph = *model.mutable_graph();
  graph.set_name("g");
  for (auto *value : {graph.add_input(), graph.add_output()}) {
    auto *type = value->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    type->mutable_shape()->add_dim()->set_dim_value(4);
  }
  graph.mutable_input(0)->set_name("x");
  graph.mutable_output(0)->set_name("y");
  onnx::NodeProto &call = *graph.add_node();
  call.set_domain("own");
  call.set_op_type("f");
  call.add_input("x");
  call.add_output("y");
  setText(call, kNodeOverload, called);
  return model.SerializeAsString();
}

std::string opOf(Importer &importer, const std::string &bytes) {
  ImportResult result = importer.run(bytes);
  std::string text;
  if (result.module)
    result.module->walk([&](mlir::Operation *op) {
      if (op->getName().getDialectNamespace() == "train")
        text += op->getName().stripDialect().str();
    });
  return text;
}

TEST(Functions, AreDistinguishedByOverload) {
  Importer importer;
  EXPECT_EQ(opOf(importer, makeModel("", "other")), "neg");
  EXPECT_EQ(opOf(importer, makeModel("other", "other")), "relu");
}

TEST(Functions, RejectDuplicateOverloads) {
  Importer importer;
  EXPECT_EQ(opOf(importer, makeModel("", "")), "");
  EXPECT_NE(importer.last.find("two functions 'own.f' of one overload"),
            std::string::npos)
      << importer.last;
  EXPECT_EQ(opOf(importer, makeModel("third", "other")), "");
  EXPECT_NE(importer.last.find("unsupported op"), std::string::npos)
      << importer.last;
}

} // namespace
