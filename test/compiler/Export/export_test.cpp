// Exporting trained values to the original model: what changes, what does not,
// and what remains after a failure.

#include "test/compiler/Export/export.h"
#include "test/compiler/Import/models.h"

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Export/Export.h"
#include "compiler/Import/Import.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpc;
using namespace mpc::test;

namespace {

TEST_F(Export, ReplacesWhatIsNamedAndNothingElse) {
  onnx::ModelProto original = makeNetwork();
  original.set_producer_name("somebody");
  std::string path = save(original), out = folder + "/trained.onnx";
  std::vector<float> shift = {5, -6}, weight(24, 0.5f);
  EXPECT_EQ(describe(exportTrained(
                path, {{"bn.shift", shift}, {"fc.weight", weight}}, out)),
            Answer());
  auto trained = load(out);
  ASSERT_TRUE(trained);
  EXPECT_EQ(values<float>(trained, "bn.shift"), shift);
  EXPECT_EQ(values<float>(trained, "fc.weight"), weight);

  // With the old values, it is the old model again.
  for (int i = 0; i < original.graph().initializer_size(); ++i)
    *trained->proto.mutable_graph()->mutable_initializer(i) =
        original.graph().initializer(i);
  EXPECT_EQ(trained->proto.SerializeAsString(), original.SerializeAsString());
  EXPECT_EQ(countFiles(), 2u);
}

TEST_F(Export, KeepsTheTypeOfEachInitializer) {
  onnx::ModelProto model = makeNetwork();
  auto setType = [&](int index, int type) {
    onnx::TensorProto *tensor =
        model.mutable_graph()->mutable_initializer(index);
    tensor->set_data_type(type);
    tensor->clear_float_data();
    tensor->set_raw_data(std::string(2 * dataTypeSize(type), '\0'));
    return tensor->name();
  };
  std::string half = setType(1, onnx::TensorProto::FLOAT16);
  std::string bfloat = setType(2, onnx::TensorProto::BFLOAT16);
  std::string wide = setType(3, onnx::TensorProto::DOUBLE);
  std::string out = folder + "/trained.onnx";
  std::vector<float> data = {1.5f, -2.0f};
  ASSERT_EQ(describe(exportTrained(save(model),
                                   {{half, data}, {bfloat, data}, {wide, data}},
                                   out)),
            Answer());
  auto trained = load(out);
  EXPECT_EQ(values<uint16_t>(trained, half),
            (std::vector<uint16_t>{0x3e00, 0xc000}));
  EXPECT_EQ(values<uint16_t>(trained, bfloat),
            (std::vector<uint16_t>{0x3fc0, 0xc000}));
  EXPECT_EQ(values<double>(trained, wide), (std::vector<double>{1.5, -2.0}));
  EXPECT_EQ(trained->proto.graph().initializer(1).data_type(),
            onnx::TensorProto::FLOAT16);
}

TEST_F(Export, MayReplaceTheOriginal) {
  std::string path = save(makeNetwork());
  std::vector<float> data = {1, 2};
  ASSERT_EQ(describe(exportTrained(path, {{"bn.mean", data}}, path)), Answer());
  EXPECT_EQ(values<float>(load(path), "bn.mean"), data);
  EXPECT_EQ(countFiles(), 1u);
}

// External data is embedded, so that the result does not depend on the old
// folder.
TEST_F(Export, BringsExternalDataIn) {
  onnx::ModelProto model = makeNetwork();
  onnx::TensorProto *tensor = model.mutable_graph()->mutable_initializer(1);
  tensor->clear_float_data();
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  onnx::StringStringEntryProto *entry = tensor->add_external_data();
  entry->set_key("location");
  entry->set_value("scale.bin");
  std::vector<float> scale = {8, 9}, shift = {1, 1};
  std::ofstream(folder + "/scale.bin", std::ios::binary)
      .write(reinterpret_cast<char *>(scale.data()), 8);
  std::string path = save(model), out = folder + "/trained.onnx";
  ASSERT_EQ(describe(exportTrained(path, {{"bn.shift", shift}}, out)),
            Answer());
  ASSERT_EQ(unlink((folder + "/scale.bin").c_str()), 0);
  EXPECT_EQ(values<float>(load(out), "bn.scale"), scale);

  // The external file of the original is now missing.
  auto [kind, text] = describe(exportTrained(path, {{"bn.shift", shift}}, out));
  EXPECT_EQ(kind, ModelError::Io);
  EXPECT_NE(text.find("initializer 'bn.scale' cannot open"), std::string::npos)
      << text;
}

TEST_F(Export, WritesLargeModelsWithExternalData) {
  onnx::ModelProto model = makeNetwork();
  addFloats(model, "large", {100, 10});
  addFloats(model, "larger", {100, 20});
  addNode(model, "Relu", {"large"}, "large_out");
  addNode(model, "Relu", {"larger"}, "larger_out");
  model.mutable_graph()->add_output()->set_name("large_out");
  model.mutable_graph()->add_output()->set_name("larger_out");
  std::vector<float> data(1000), more(2000);
  for (size_t i = 0; i < more.size(); ++i)
    more[i] = data[i / 2] = float(i);
  std::string out = folder + "/trained.onnx";
  ExportOptions options;
  options.maxInlineBytes = 2048;
  ASSERT_EQ(
      describe(exportTrained(save(model), {{"large", data}, {"larger", more}},
                             out, options)),
      Answer());
  auto trained = load(out);
  EXPECT_LT(trained->proto.ByteSizeLong(), 2048u);
  EXPECT_EQ(values<float>(trained, "large"), data);
  EXPECT_EQ(values<float>(trained, "larger"), more);
  EXPECT_EQ(countFiles(), 3u);
  // The result can be imported, and exported again to the same path.
  mlir::MLIRContext context;
  EXPECT_TRUE(importOnnx(out, {}, context).module);
  ASSERT_EQ(describe(exportTrained(out, {{"large", data}}, out, options)),
            Answer());
  EXPECT_EQ(values<float>(load(out), "larger"), more);
}

TEST_F(Export, RefusesWhatDoesNotFit) {
  std::string path = save(makeNetwork()), out = folder + "/trained.onnx";
  std::vector<float> two = {1, 2}, three = {1, 2, 3};
  EXPECT_EQ(describe(exportTrained(path, {{"bn.bias", two}}, out)),
            Answer(ModelError::Invalid,
                   "the model has no initializer 'bn.bias'; the "
                   "states belong to another model"));
  EXPECT_EQ(describe(exportTrained(path, {{"bn.shift", three}}, out)),
            Answer(ModelError::Invalid,
                   "state 'bn.shift' has 3 elements, but the initializer in "
                   "the model has 2"));
  EXPECT_EQ(describe(exportTrained(path, {{"shape", two}}, out)),
            Answer(ModelError::Invalid,
                   "initializer 'shape' holds int64 elements, "
                   "which cannot hold trained values"));
  EXPECT_EQ(describe(exportTrained(folder + "/absent.onnx", {}, out)).first,
            ModelError::Io);
  EXPECT_EQ(describe(exportTrained(path, {}, folder + "/absent/x.onnx")).first,
            ModelError::Io);
  // A folder exists at the path: the rename fails, and nothing remains.
  ASSERT_EQ(mkdir((folder + "/taken").c_str(), 0777), 0);
  EXPECT_EQ(describe(exportTrained(path, {}, folder + "/taken")).first,
            ModelError::Io);
  EXPECT_EQ(countFiles(), 2u);
}

} // namespace
