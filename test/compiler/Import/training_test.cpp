// Damaged training steps: models with training_info, and folders of training
// artifacts. Best run with sanitizers.

#include "importer.h"

#include "onnx/onnx_pb.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include "gtest/gtest.h"

#include <fstream>
#include <random>

using namespace mpc;

namespace {

std::string contentOf(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(bool(buffer)) << path;
  return buffer ? (*buffer)->getBuffer().str() : "";
}

std::string modelOf(const char *name) {
  return contentOf(std::string(MPC_TRAINING_INFO) + "/" + name + ".onnx");
}

/// A temporary copy of a folder of artifacts.
class Folder {
public:
  explicit Folder(const std::string &name) {
    llvm::SmallString<128> made;
    EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("mpc-artifacts", made));
    path = made.str().str();
    for (const char *file : kFiles)
      write(file, contentOf(std::string(MPC_ORT_ARTIFACTS) + "/" + name + "/" +
                            file));
  }
  ~Folder() { llvm::sys::fs::remove_directories(path); }

  void write(const std::string &file, const std::string &content) const {
    std::ofstream(path + "/" + file, std::ios::binary) << content;
  }
  std::string read(const std::string &file) const {
    return contentOf(path + "/" + file);
  }

  static constexpr const char *kFiles[] = {
      "training_model.onnx", "eval_model.onnx", "optimizer_model.onnx",
      "checkpoint"};
  std::string path;
};

struct FolderImporter {
  FolderImporter()
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          numErrors +=
              diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
          last = diagnostic.str();
          return mlir::success();
        }) {}

  /// Expects either a module or an error that was reported.
  bool expectClearAnswer(const Folder &folder) {
    numErrors = 0;
    ImportResult result = importOnnx(folder.path, {}, context);
    if (result.module)
      EXPECT_EQ(numErrors, 0u) << last;
    else
      EXPECT_GT(numErrors, 0u);
    EXPECT_EQ(bool(result.module), result.error == ModelError::None);
    return bool(result.module);
  }

  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler handler;
  unsigned numErrors = 0;
  std::string last;
};

std::string flip(std::string bytes, std::mt19937 &random) {
  int flips = 1 + random() % 4;
  for (int i = 0; i < flips && !bytes.empty(); ++i)
    bytes[random() % bytes.size()] ^= char(1 << random() % 8);
  return bytes;
}

TEST(HostileTraining, InfoTruncatedAtEveryLength) {
  Importer importer;
  std::string bytes = modelOf("rivals");
  for (size_t length = 0; length < bytes.size(); length += 3) {
    SCOPED_TRACE(length);
    importer.expectClearAnswer(bytes.substr(0, length));
  }
}

TEST(HostileTraining, InfoWithBitFlips) {
  Importer importer;
  std::mt19937 random(20261122);
  for (const char *name : {"rivals", "cnn", "penalty", "plain"}) {
    const std::string bytes = modelOf(name);
    int numImported = 0;
    for (int round = 0; round < 1000; ++round) {
      SCOPED_TRACE(std::string(name) + " " + std::to_string(round));
      importer.expectClearAnswer(flip(bytes, random));
      numImported += importer.numErrors == 0;
    }
    EXPECT_GT(numImported, 50);
    EXPECT_LT(numImported, 950);
  }
}

// Each name in a binding, or of a gradient's parameter, replaced by any other
// name.
TEST(HostileTraining, WrongNames) {
  Importer importer;
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(modelOf("embedding")));
  onnx::TrainingInfoProto info = model.training_info(0);
  std::vector<std::string> names = {""};
  for (const onnx::GraphProto *graph : {&model.graph(), &info.algorithm()}) {
    for (const auto &tensor : graph->initializer())
      names.push_back(tensor.name());
    for (const auto &input : graph->input())
      names.push_back(input.name());
    for (const auto &node : graph->node())
      names.insert(names.end(), node.output().begin(), node.output().end());
  }
  for (const std::string &name : names) {
    SCOPED_TRACE(name);
    auto expectAnswer = [&](auto change) {
      onnx::ModelProto copy = model;
      change(*copy.mutable_training_info(0));
      importer.expectClearAnswer(copy.SerializeAsString());
    };
    for (int i = 0; i < info.update_binding_size(); ++i) {
      expectAnswer(
          [&](auto &t) { t.mutable_update_binding(i)->set_key(name); });
      expectAnswer(
          [&](auto &t) { t.mutable_update_binding(i)->set_value(name); });
    }
    for (int n = 0; n < info.algorithm().node_size(); ++n)
      for (int i = 0; i < info.algorithm().node(n).input_size(); ++i)
        expectAnswer([&](auto &t) {
          t.mutable_algorithm()->mutable_node(n)->set_input(i, name);
        });
  }
}

TEST(HostileTraining, ImportsUnchangedArtifacts) {
  FolderImporter importer;
  for (const char *name : {"mlp-ce-clip", "cnn-sgd", "transformer"})
    EXPECT_TRUE(importer.expectClearAnswer(Folder(name))) << importer.last;
}

TEST(HostileTraining, ArtifactsWithBitFlips) {
  std::mt19937 random(20261122);
  for (const char *name : {"mlp-ce-clip", "cnn-sgd"}) {
    Folder folder(name);
    for (const char *file : Folder::kFiles) {
      const std::string bytes = folder.read(file);
      for (int round = 0; round < 300; ++round) {
        SCOPED_TRACE(std::string(file) + " " + std::to_string(round));
        folder.write(file, flip(bytes, random));
        FolderImporter().expectClearAnswer(folder);
      }
      folder.write(file, bytes);
    }
  }
}

TEST(HostileTraining, ArtifactsTruncated) {
  Folder folder("mlp-ce-clip");
  for (const char *file : Folder::kFiles) {
    const std::string bytes = folder.read(file);
    for (size_t length = 0; length < bytes.size(); length += 61) {
      SCOPED_TRACE(std::string(file) + " " + std::to_string(length));
      folder.write(file, bytes.substr(0, length));
      FolderImporter().expectClearAnswer(folder);
    }
    folder.write(file, bytes);
  }
}

// Files of two different folders do not match.
TEST(HostileTraining, MixedArtifacts) {
  Folder folder("mlp-ce-clip"), other("cnn-sgd");
  for (const char *file : Folder::kFiles) {
    SCOPED_TRACE(file);
    const std::string bytes = folder.read(file);
    folder.write(file, other.read(file));
    FolderImporter importer;
    bool isOptimizer = std::string(file) == "optimizer_model.onnx";
    EXPECT_EQ(importer.expectClearAnswer(folder), isOptimizer);
    folder.write(file, bytes);
  }
}

TEST(HostileTraining, MissingArtifacts) {
  for (const char *file : Folder::kFiles) {
    SCOPED_TRACE(file);
    Folder folder("mlp-ce-clip");
    ASSERT_FALSE(llvm::sys::fs::remove(folder.path + "/" + file));
    FolderImporter importer;
    // Without an optimizer model, the optimizer of the options is used.
    bool isOptimizer = std::string(file) == "optimizer_model.onnx";
    EXPECT_EQ(importer.expectClearAnswer(folder), isOptimizer);
    if (!isOptimizer) {
      EXPECT_NE(importer.last.find(std::string(file) == "training_model.onnx"
                                       ? "no training_model.onnx"
                                       : file),
                std::string::npos)
          << importer.last;
    }
  }
}

} // namespace
