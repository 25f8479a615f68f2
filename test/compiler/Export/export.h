// Fixture for models that are exported to a temporary folder.
#ifndef MPC_TEST_COMPILER_EXPORT_EXPORT_H
#define MPC_TEST_COMPILER_EXPORT_EXPORT_H

#include "test/compiler/Import/models.h"

#include "compiler/Export/Export.h"
#include "compiler/Import/File/TensorData.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include "gtest/gtest.h"

#include <cstring>
#include <fstream>
#include <unistd.h>

namespace mpc::test {

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

  /// The data of an initializer as 32-bit elements, in whichever field it is.
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

} // namespace mpc::test

#endif // MPC_TEST_COMPILER_EXPORT_EXPORT_H
