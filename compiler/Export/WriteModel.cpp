//===- WriteModel.cpp - Writing an ONNX model and its data ----------------===//

#include "compiler/Export/WriteModel.h"

#include "compiler/Export/AtomicFile.h"
#include "compiler/Import/File/ForEachTensor.h"
#include "compiler/Import/File/TensorData.h"

#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "llvm/Support/Path.h"

#include <cstring>
#include <limits>

using namespace llvm;
using namespace mpc;
using onnx::TensorProto;

void mpc::setRaw(TensorProto &tensor, std::string raw) {
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_uint64_data();
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(std::move(raw));
}

Error mpc::inlineExternalData(const std::shared_ptr<ModelFile> &model) {
  TensorReader reader(model);
  return forEachTensor(model->proto, [&](TensorProto &tensor) -> Error {
    if (tensor.data_location() != TensorProto::EXTERNAL)
      return Error::success();
    Expected<TensorBytes> data = reader.read(tensor);
    if (!data)
      return handleErrors(
          data.takeError(), [&](const ModelFileError &info) -> Error {
            return makeModelError(info.kind, "initializer '" + tensor.name() +
                                                 "' " + info.message);
          });
    setRaw(tensor, std::string(data->bytes.data(), data->bytes.size()));
    return Error::success();
  });
}

/// Moves large tensors to `file`, which the model references as `location`.
static Error moveOut(onnx::ModelProto &model, AtomicFile &file,
                     StringRef location) {
  constexpr size_t kMinBytes = 1024, kPage = 4096;
  return forEachTensor(model, [&](TensorProto &tensor) -> Error {
    if (tensor.raw_data().size() < kMinBytes)
      return Error::success();
    // Page-aligned data can be mapped.
    std::string padding((kPage - file.size() % kPage) % kPage, '\0');
    if (Error error = file.write(ArrayRef<char>(padding)))
      return error;
    auto add = [&](StringRef key, StringRef value) {
      onnx::StringStringEntryProto *entry = tensor.add_external_data();
      entry->set_key(key.str());
      entry->set_value(value.str());
    };
    add("location", location);
    add("offset", std::to_string(file.size()));
    add("length", std::to_string(tensor.raw_data().size()));
    if (Error error = file.write(ArrayRef<char>(tensor.raw_data())))
      return error;
    tensor.clear_raw_data();
    tensor.set_data_location(TensorProto::EXTERNAL);
    return Error::success();
  });
}

Error mpc::writeModel(onnx::ModelProto &proto, StringRef outPath,
                      uint64_t maxInlineBytes) {
  if (proto.ByteSizeLong() > maxInlineBytes) {
    std::string dataPath = (outPath + ".data").str();
    Expected<AtomicFile> data = AtomicFile::create(dataPath);
    if (!data)
      return data.takeError();
    if (Error error = moveOut(proto, *data, sys::path::filename(dataPath)))
      return error;
    // Commits the data first, so that a model never references missing data.
    if (Error error = data->commit())
      return error;
  }
  if (proto.ByteSizeLong() > size_t(std::numeric_limits<int32_t>::max()))
    return makeModelError(ModelError::Limit,
                          "the model is over 2 GiB without its weights");
  Expected<AtomicFile> file = AtomicFile::create(outPath);
  if (!file)
    return file.takeError();
  google::protobuf::io::FileOutputStream stream(file->descriptor());
  if (!proto.SerializeToZeroCopyStream(&stream) || !stream.Flush())
    return makeModelError(ModelError::Io, "cannot write '" + outPath + "': " +
                                              std::strerror(stream.GetErrno()));
  return file->commit();
}
