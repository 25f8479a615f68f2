//===- SafetensorsFile.cpp - Weights of a safetensors file ----------------===//

#include "passes/Weights/WeightsFile.h"

#include "runtime/src/base/files.h"
#include "runtime/src/base/guard.h"
#include "runtime/src/checkpoint/checkpoint.h"

#include <algorithm>
#include <filesystem>

using namespace mpc;
namespace rt = mpc::runtime;

/// Throws a WeightsError if `status` is an error.
static void checkFile(mpc_status_t status) {
  if (!status)
    return;
  const mpc_code_t code = mpc_status_code(status);
  WeightsError error(code == MPC_IO              ? WeightsError::Io
                     : code == MPC_OUT_OF_MEMORY ? WeightsError::Limit
                                                 : WeightsError::Damaged,
                     mpc_status_message(status));
  mpc_status_free(status);
  throw error;
}

namespace {
/// A safetensors file whose header has been read.
class SafetensorsFile final : public WeightsFile {
public:
  explicit SafetensorsFile(const std::string &path)
      : WeightsFile(path, /*isModel=*/false) {
    std::vector<rt::StoredTensor> stored;
    checkFile(rt::guard([&]() -> mpc_status_t {
      MPC_RETURN_IF_ERROR(file.open(rt::system_files(), path));
      uint8_t length[8] = {};
      uint64_t size = file.size() < 8 ? 0 : 8;
      MPC_RETURN_IF_ERROR(file.read_at(length, size, 0));
      size = rt::safetensors_header_size(length, file.size());
      std::vector<uint8_t> header(std::max<uint64_t>(size, 8));
      if (size > 0)
        MPC_RETURN_IF_ERROR(file.read_at(header.data(), size, 0));
      return size == 0
                 ? mpc_status_make(MPC_DAMAGED,
                                   "'%s' is not a safetensors file; write one "
                                   "with safetensors.torch.save_file(model."
                                   "state_dict(), ...)",
                                   path.c_str())
                 : rt::parse_safetensors(path, header.data(), file.size(),
                                         &stored);
    }));
    for (rt::StoredTensor &tensor : stored)
      tensors.push_back({std::move(tensor.name), tensor.dtype,
                         std::move(tensor.shape), tensor.offset, tensor.bytes});
  }

  std::vector<char> read(const StoredWeight &tensor) const override {
    std::vector<char> data(tensor.bytes);
    checkFile(rt::guard([&] {
      return file.read_at(data.data(), tensor.bytes, tensor.offset);
    }));
    return data;
  }

private:
  rt::OpenFile file;
};
} // namespace

std::unique_ptr<WeightsFile>
mpc::openSafetensorsWeights(const std::string &path) {
  std::error_code ignored;
  return std::make_unique<SafetensorsFile>(
      std::filesystem::is_directory(path, ignored) ? path + "/" + rt::kModelFile
                                                   : path);
}
