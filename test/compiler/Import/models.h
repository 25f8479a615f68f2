// Models that tests build in memory.
#ifndef MPC_TEST_COMPILER_IMPORT_MODELS_H
#define MPC_TEST_COMPILER_IMPORT_MODELS_H

#include "onnx/onnx_pb.h"

#include <initializer_list>
#include <string>
#include <vector>

namespace mpc {

inline onnx::AttributeProto *addInts(onnx::NodeProto *node,
                                     const std::string &name,
                                     std::initializer_list<int64_t> values) {
  onnx::AttributeProto *attribute = node->add_attribute();
  attribute->set_name(name);
  attribute->set_type(onnx::AttributeProto::INTS);
  for (int64_t value : values)
    attribute->add_ints(value);
  return attribute;
}

inline onnx::NodeProto *addNode(onnx::ModelProto &model, const std::string &op,
                                std::initializer_list<std::string> inputs,
                                const std::string &output) {
  onnx::NodeProto *node = model.mutable_graph()->add_node();
  node->set_op_type(op);
  node->set_name("node_" + output);
  for (const std::string &input : inputs)
    node->add_input(input);
  node->add_output(output);
  return node;
}

inline onnx::TensorProto *addFloats(onnx::ModelProto &model,
                                    const std::string &name,
                                    std::initializer_list<int64_t> shape) {
  onnx::TensorProto *tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  int64_t count = 1;
  for (int64_t extent : shape) {
    tensor->add_dims(extent);
    count *= extent;
  }
  for (int64_t i = 0; i < count; ++i)
    tensor->add_float_data(float(i % 7) / 8 + 0.25f);
  return tensor;
}

inline onnx::TensorProto *addIntegers(onnx::ModelProto &model,
                                      const std::string &name,
                                      std::initializer_list<int64_t> values) {
  onnx::TensorProto *tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::INT64);
  tensor->add_dims(values.size());
  for (int64_t value : values)
    tensor->add_int64_data(value);
  return tensor;
}

inline void addInput(onnx::ModelProto &model, const std::string &name,
                     int dataType, std::initializer_list<int64_t> shape) {
  onnx::ValueInfoProto *input = model.mutable_graph()->add_input();
  input->set_name(name);
  auto *type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(dataType);
  type->mutable_shape()->add_dim()->set_dim_param("N");
  for (int64_t extent : shape)
    type->mutable_shape()->add_dim()->set_dim_value(extent);
}

/// A small network with many features: a dozen ops, attributes of each type,
/// both kinds of shape operands, raw and typed data, a loss.
inline onnx::ModelProto makeNetwork() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  addInput(model, "images", onnx::TensorProto::FLOAT, {1, 4, 4});
  addInput(model, "labels", onnx::TensorProto::INT64, {});
  addFloats(model, "conv.weight", {2, 1, 3, 3});
  addFloats(model, "bn.scale", {2});
  addFloats(model, "bn.shift", {2});
  addFloats(model, "bn.mean", {2});
  addFloats(model, "bn.var", {2});
  addFloats(model, "ln.scale", {8});
  onnx::TensorProto *weight = addFloats(model, "fc.weight", {3, 8});
  weight->clear_float_data();
  weight->set_raw_data(std::string(3 * 8 * 4, '\x3f'));
  addIntegers(model, "shape", {0, -1});
  addIntegers(model, "axes", {0});

  onnx::NodeProto *conv =
      addNode(model, "Conv", {"images", "conv.weight"}, "c");
  addInts(conv, "pads", {1, 1, 1, 1});
  addInts(conv, "strides", {1, 1});
  addNode(model, "BatchNormalization",
          {"c", "bn.scale", "bn.shift", "bn.mean", "bn.var"}, "b");
  addNode(model, "Relu", {"b"}, "r");
  onnx::NodeProto *pool = addNode(model, "MaxPool", {"r"}, "p");
  addInts(pool, "kernel_shape", {2, 2});
  addInts(pool, "strides", {2, 2});
  addNode(model, "Reshape", {"p", "shape"}, "f");
  onnx::NodeProto *norm =
      addNode(model, "LayerNormalization", {"f", "ln.scale"}, "l");
  onnx::AttributeProto *epsilon = norm->add_attribute();
  epsilon->set_name("epsilon");
  epsilon->set_type(onnx::AttributeProto::FLOAT);
  epsilon->set_f(1e-5f);
  onnx::NodeProto *gemm = addNode(model, "Gemm", {"l", "fc.weight"}, "logits");
  onnx::AttributeProto *transpose = gemm->add_attribute();
  transpose->set_name("transB");
  transpose->set_type(onnx::AttributeProto::INT);
  transpose->set_i(1);
  onnx::NodeProto *loss =
      addNode(model, "SoftmaxCrossEntropyLoss", {"logits", "labels"}, "loss");
  onnx::AttributeProto *reduction = loss->add_attribute();
  reduction->set_name("reduction");
  reduction->set_type(onnx::AttributeProto::STRING);
  reduction->set_s("mean");
  addNode(model, "Unsqueeze", {"loss", "axes"}, "u");
  model.mutable_graph()->add_output()->set_name("logits");
  model.mutable_graph()->add_output()->set_name("u");
  return model;
}

} // namespace mpc

#endif // MPC_TEST_COMPILER_IMPORT_MODELS_H
