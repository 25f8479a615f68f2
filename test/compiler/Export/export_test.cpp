// Trained values into the original file: what changes, what does not, and what
// is left behind when it goes wrong.

#include "test/compiler/Import/models.h"

#include "compiler/Dialect/Train/IR/Train.h"
#include "compiler/Export/Export.h"
#include "compiler/Import/File/TensorData.h"
#include "compiler/Import/Import.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

#include <cstring>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace mpc;

namespace {

class Export : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("mpc-export", path));
    folder = path.str().str();
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string save(const onnx::ModelProto &model,
                   const std::string &name = "model.onnx") {
    std::ofstream file(folder + "/" + name, std::ios::binary);
    model.SerializeToOstream(&file);
    return folder + "/" + name;
  }

  static std::shared_ptr<ModelFile> load(const std::string &path) {
    auto model = readModelFile(path);
    if (model)
      return *model;
    ADD_FAILURE() << llvm::toString(model.takeError());
    return nullptr;
  }

  /// The bytes of an initializer as 32-bit words, wherever they lie.
  template <typename Element>
  static std::vector<Element> values(const std::shared_ptr<ModelFile> &model,
                                     const std::string &name) {
    for (const onnx::TensorProto &tensor : model->proto.graph().initializer()) {
      if (tensor.name() != name)
        continue;
      auto data = TensorReader(model).read(tensor);
      if (!data) {
        ADD_FAILURE() << llvm::toString(data.takeError());
        return {};
      }
      std::vector<Element> result(data->bytes.size() / sizeof(Element));
      std::memcpy(result.data(), data->bytes.data(), data->bytes.size());
      return result;
    }
    ADD_FAILURE() << "no initializer " << name;
    return {};
  }

  /// The kind and text of an error.
  static std::pair<ModelError, std::string> describe(llvm::Error error) {
    std::pair<ModelError, std::string> result = {ModelError::None, ""};
    llvm::handleAllErrors(std::move(error), [&](const ModelFileError &info) {
      result = {info.kind, info.message};
    });
    return result;
  }

  unsigned countFiles() {
    unsigned count = 0;
    std::error_code code;
    for (llvm::sys::fs::directory_iterator it(folder, code), end; it != end;
         it.increment(code))
      ++count;
    return count;
  }

  std::string folder;
  using Answer = std::pair<ModelError, std::string>;
};

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

  // Put the old values back, and it is the old model.
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

// External data comes in; it must not depend on the old model's folder.
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

  // Now it is missing in the original.
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
  // It can be imported, and exported again in its own place.
  mlir::MLIRContext context;
  EXPECT_TRUE(importOnnx(out, {}, context).module);
  ASSERT_EQ(describe(exportTrained(out, {{"large", data}}, out, options)),
            Answer());
  EXPECT_EQ(values<float>(load(out), "larger"), more);
}

// The importer split these states; so does the export.
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

// Each call of a function has statistics of its own: then calls are written
// out.
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
  EXPECT_EQ(states.size(), 7u); // Two scales, a bias, two of each statistic.
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

TEST_F(Export, RefusesWhatDoesNotFit) {
  std::string path = save(makeNetwork()), out = folder + "/trained.onnx";
  std::vector<float> two = {1, 2}, three = {1, 2, 3};
  EXPECT_EQ(describe(exportTrained(path, {{"bn.bias", two}}, out)),
            Answer(ModelError::Invalid,
                   "the model has no initializer 'bn.bias'; the states come "
                   "from another model"));
  EXPECT_EQ(describe(exportTrained(path, {{"bn.shift", three}}, out)),
            Answer(ModelError::Invalid,
                   "state 'bn.shift' has 3 elements, but the initializer in "
                   "the model has 2"));
  EXPECT_EQ(describe(exportTrained(path, {{"shape", two}}, out)),
            Answer(ModelError::Invalid,
                   "initializer 'shape' holds int64 elements, which cannot "
                   "take trained values"));
  EXPECT_EQ(describe(exportTrained(folder + "/absent.onnx", {}, out)).first,
            ModelError::Io);
  EXPECT_EQ(describe(exportTrained(path, {}, folder + "/absent/x.onnx")).first,
            ModelError::Io);
  // A folder in the way: the rename fails, and nothing is left behind.
  ASSERT_EQ(mkdir((folder + "/taken").c_str(), 0777), 0);
  EXPECT_EQ(describe(exportTrained(path, {}, folder + "/taken")).first,
            ModelError::Io);
  EXPECT_EQ(countFiles(), 2u);
}

} // namespace
