// Models with the program signature of PyTorch's exporter.
#ifndef MPC_TEST_COMPILER_IMPORT_SIGNATURE_MODELS_H
#define MPC_TEST_COMPILER_IMPORT_SIGNATURE_MODELS_H

#include "compiler/Import/Initializers/Signature.h"
#include "compiler/Import/Normalize/NormalizeModel.h"

#include "gtest/gtest.h"

#include <google/protobuf/unknown_field_set.h>

namespace mpc::test {

/// A model with these initializers and, in the metadata of its graph, this
/// signature. It is added in bytes, because not every libonnx has the field.
inline onnx::ModelProto
modelWith(std::initializer_list<const char *> initializers,
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

/// An initializer of fileWith(), which makes a file with a signature that has
/// one parameter, `w`.
struct Matrix {
  const char *name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};

inline std::shared_ptr<ModelFile>
fileWith(const std::vector<Matrix> &matrices) {
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

inline bool isNever(llvm::StringRef) { return false; }

} // namespace mpc::test

#endif // MPC_TEST_COMPILER_IMPORT_SIGNATURE_MODELS_H
