//===- WeightsFile.cpp - A file with weights ------------------------------===//

#include "tools/mpc/checkpoints/initial/WeightsFile.h"
#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/checkpoints/StateDict.h"

#include "runtime/src/base/files.h"
#include "runtime/src/base/guard.h"

#include <filesystem>

using namespace mpc::tool;
using mpc::runtime::StoredTensor;

namespace {
/// A safetensors file whose header has been read.
class SafetensorsFile final : public WeightsFile {
public:
  explicit SafetensorsFile(const std::string &path)
      : WeightsFile(path, /*isModel=*/false) {
    using namespace mpc::runtime;
    check(guard([&]() -> mpc_status_t {
      MPC_RETURN_IF_ERROR(file.open(system_files(), path));
      uint8_t length[8] = {};
      uint64_t size = file.size() < 8 ? 0 : 8;
      MPC_RETURN_IF_ERROR(file.read_at(length, size, 0));
      size = safetensors_header_size(length, file.size());
      std::vector<uint8_t> header(std::max<uint64_t>(size, 8));
      if (size > 0)
        MPC_RETURN_IF_ERROR(file.read_at(header.data(), size, 0));
      return size == 0
                 ? mpc_status_make(MPC_DAMAGED,
                                   "'%s' is not a safetensors file; write one "
                                   "with safetensors.torch.save_file(model."
                                   "state_dict(), ...)",
                                   path.c_str())
                 : parse_safetensors(path, header.data(), file.size(),
                                     &tensors);
    }));
  }

  std::vector<char> read(const StoredTensor &tensor) const override {
    std::vector<char> data(tensor.bytes);
    check(mpc::runtime::guard([&] {
      return file.read_at(data.data(), tensor.bytes, tensor.offset);
    }));
    return data;
  }

private:
  mpc::runtime::OpenFile file;
};

/// The initializers of an ONNX model; the offset of a tensor is its index.
class OnnxFile final : public WeightsFile {
public:
  OnnxFile(const std::string &path, ReadOnnxWeights *readOnnx)
      : WeightsFile(path, /*isModel=*/true), initializers(readOnnx(path)) {
    for (const NamedTensor &tensor : initializers)
      tensors.push_back({tensor.name, tensor.dtype, tensor.shape,
                         tensors.size(), tensor.bytes.size()});
  }

  std::vector<char> read(const StoredTensor &tensor) const override {
    return initializers[tensor.offset].bytes;
  }

private:
  std::vector<NamedTensor> initializers;
};
} // namespace

std::unique_ptr<WeightsFile> mpc::tool::openWeights(const std::string &path,
                                                    ReadOnnxWeights *readOnnx) {
  const std::string extension = std::filesystem::path(path).extension();
  if (extension != ".onnx" && extension != ".onnxtxt" &&
      extension != ".textproto")
    return std::make_unique<SafetensorsFile>(path);
  if (!readOnnx)
    throw Failure(Usage,
                  "--init: '" + path +
                      "' is an ONNX file, which this mpc cannot read: it "
                      "was built without the compiler; give the weights "
                      "as a safetensors file");
  return std::make_unique<OnnxFile>(path, readOnnx);
}
