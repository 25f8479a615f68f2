// Notes of an import on how the model was exported.

#include "importer.h"
#include "models.h"

#include "compiler/Import/Check/ExportDiagnostics.h"
#include "compiler/Import/Normalize/ModulePaths.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace mpc;

namespace {

/// Adds `key` to the `metadata_props` of a node. Does that in bytes, because
/// not every version of libonnx has the field.
void setMetadata(onnx::NodeProto &node, const char *key,
                 const std::string &value) {
  onnx::StringStringEntryProto entry;
  entry.set_key(key);
  entry.set_value(value);
  onnx::NodeProto parsed;
  node.GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(
      9, entry.SerializeAsString());
  ASSERT_TRUE(parsed.ParseFromString(node.SerializeAsString()));
  node = parsed;
}

/// Sets the metadata that PyTorch's exporter writes for a node of module
/// `path`.
void setScopes(onnx::NodeProto &node, const std::string &path,
               const std::string &moduleClass, const std::string &op,
               const std::string &torchOp) {
  setMetadata(node, kNameScopes, "['', '" + path + "', '" + op + "']");
  setMetadata(node, kClassHierarchy,
              "['Net', '" + moduleClass + "', '" + torchOp + "']");
}

class ExportNotes : public testing::Test {
protected:
  ExportNotes() {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    addInput(model, "x", onnx::TensorProto::FLOAT, {3, 5});
    addFloats(model, "w", {4, 3, 1});
    addFloats(model, "b", {4});
  }

  /// The notes that contain `part`.
  std::vector<std::string> notesWith(const std::string &part) {
    Importer importer;
    ImportResult result = importer.run(model.SerializeAsString());
    EXPECT_TRUE(result.module) << importer.last;
    std::vector<std::string> found;
    std::copy_if(result.notes.begin(), result.notes.end(),
                 std::back_inserter(found), [&](const std::string &note) {
                   return note.find(part) != std::string::npos;
                 });
    return found;
  }

  void finish(const std::string &output) {
    model.mutable_graph()->add_output()->set_name(output);
  }

  onnx::ModelProto model;
};

constexpr char kNorm[] = "torch.nn.modules.batchnorm.BatchNorm1d";
constexpr char kNormOp[] = "aten._native_batch_norm_legit_no_training.default";
constexpr char kDropout[] = "torch.nn.modules.dropout.Dropout";
using Notes = std::vector<std::string>;

TEST_F(ExportNotes, TellOfFoldedNorms) {
  onnx::NodeProto *conv = addNode(model, "Conv", {"x", "w", "b"}, "y");
  setScopes(*conv, "block.bn", kNorm, "_native_batch_norm", kNormOp);
  finish("y");
  EXPECT_EQ(notesWith("folded"),
            Notes{"PyTorch's exporter folded 1 batch norm module ('block.bn') "
                  "into the preceding convolutions and linear layers, so they "
                  "are not trained; export with optimize=False"});
}

TEST_F(ExportNotes, SayNothingOfNormsThatAreThere) {
  for (const char *name : {"mean", "var"})
    addFloats(model, name, {4});
  onnx::NodeProto *conv = addNode(model, "Conv", {"x", "w", "b"}, "c");
  setScopes(*conv, "conv", "torch.nn.modules.conv.Conv1d", "conv1d",
            "aten.conv1d.default");
  onnx::NodeProto *norm =
      addNode(model, "BatchNormalization", {"c", "b", "b", "mean", "var"}, "n");
  setScopes(*norm, "bn", kNorm, "_native_batch_norm", kNormOp);
  onnx::NodeProto *same = addNode(model, "Identity", {"n"}, "y");
  setScopes(*same, "bn", kNorm, "_native_batch_norm", kNormOp);
  finish("y");
  EXPECT_EQ(notesWith("folded"), Notes());
}

TEST_F(ExportNotes, TellADoctorOfDropoutWithoutEffect) {
  addNode(model, "Conv", {"x", "w", "b"}, "v0");
  for (int i = 0; i < 6; ++i) {
    onnx::NodeProto *same =
        addNode(model, "Identity", {"v" + std::to_string(i)},
                "v" + std::to_string(i + 1));
    setScopes(*same, "drop" + std::to_string(i), kDropout, "clone",
              "aten.clone.default");
  }
  EXPECT_EQ(findRemarks(model.graph()).at(0),
            "6 Dropout modules ('drop0', 'drop1', 'drop2', 'drop3', 'drop4' "
            "and 1 more) without effect: the probability is 0, or the model "
            "was exported in eval mode; to train with dropout, call "
            "model.train() before exporting");
  // A dropout that has an effect: the mode was not eval.
  size_t count = findRemarks(model.graph()).size();
  addNode(model, "Dropout", {"v6"}, "v7");
  EXPECT_EQ(findRemarks(model.graph()).size(), count - 1);
}

constexpr char kShared[] = "used in several places";

// Reading only the shape does not count, and several reads in one call count
// once.
TEST_F(ExportNotes, CountWhatReadsAWeightOncePerCall) {
  addNode(model, "Shape", {"w"}, "shape");
  addNode(model, "Size", {"w"}, "size");
  addNode(model, "CastLike", {"x", "w"}, "like");
  onnx::NodeProto *conv = addNode(model, "Conv", {"like", "w", "b"}, "y");
  setScopes(*conv, "conv", "torch.nn.modules.conv.Conv1d", "conv1d",
            "aten.conv1d.default");
  onnx::NodeProto *add = addNode(model, "ReduceSum", {"w"}, "s");
  const onnx::NodeProto bare = *add;
  setScopes(*add, "conv", "torch.nn.modules.conv.Conv1d", "conv1d",
            "aten.conv1d.default");
  addNode(model, "Add", {"y", "s"}, "z");
  finish("z");
  EXPECT_EQ(notesWith(kShared), Notes());
  // Another call is another use.
  *add = bare;
  setScopes(*add, "conv", "torch.nn.modules.conv.Conv1d", "conv1d_1",
            "aten.conv1d.default");
  EXPECT_EQ(notesWith(kShared),
            Notes{"used in several places, trained as one: 'w'"});
}

// TorchScript's exporter numbers the calls in node names.
TEST_F(ExportNotes, CountCallsByNamesOfNodes) {
  addNode(model, "Conv", {"x", "w", "b"}, "y")->set_name("/conv/Conv");
  onnx::NodeProto *sum = addNode(model, "ReduceSum", {"w"}, "s");
  sum->set_name("/conv/ReduceSum");
  addNode(model, "Add", {"y", "s"}, "z");
  finish("z");
  EXPECT_EQ(notesWith(kShared), Notes());
  sum->set_name("/conv_1/ReduceSum");
  EXPECT_EQ(notesWith(kShared).size(), 1u);
  sum->set_name("/ReduceSum");
  EXPECT_EQ(notesWith(kShared).size(), 1u);
}

} // namespace
