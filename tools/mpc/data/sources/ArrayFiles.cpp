//===- ArrayFiles.cpp - .npz, .npy and .safetensors files -----------------===//

#include "runtime/src/checkpoint/checkpoint.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/data/ConvertArray.h"
#include "tools/mpc/data/sources/Files.h"
#include "tools/mpc/data/sources/OpenedFile.h"
#include "tools/npz/Npy.h"

#include <algorithm>
#include <filesystem>

using namespace mpc::tool;

/// Calls `read` with the exceptions of npz turned into Failures.
template <typename Read> static auto withFailures(Read read) {
  try {
    return read();
  } catch (const mpc::npz::FileError &error) {
    throw Failure(InputOutput, error.what());
  } catch (const mpc::npz::MemoryError &error) {
    throw Failure(Limit, error.what());
  }
}

//===----------------------------------------------------------------------===//
// Arrays in memory, and .npz
//===----------------------------------------------------------------------===//

namespace {
class ArraySource : public DataSource {
public:
  ArraySource(const std::string &path, mpc::npz::Arrays arrays)
      : DataSource(path), arrays(std::move(arrays)) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const mpc::npz::Array &array : arrays)
      all.push_back(array.name);
    return all;
  }
  mpc::npz::ArrayType header(const std::string &name) const override {
    return find(name);
  }
  std::vector<StoredArray> read(const std::string &name) const override {
    return {StoredArray(path, find(name))};
  }

private:
  const mpc::npz::Array &find(const std::string &name) const {
    return *std::find_if(
        arrays.begin(), arrays.end(),
        [&](const mpc::npz::Array &array) { return array.name == name; });
  }

  const mpc::npz::Arrays arrays;
};

class NpzSource : public DataSource {
public:
  explicit NpzSource(const std::string &path)
      : DataSource(path),
        reader(withFailures([&] { return mpc::npz::Reader(path); })) {}

  std::vector<std::string> names() const override { return reader.names(); }
  mpc::npz::ArrayType header(const std::string &name) const override {
    return withFailures([&] { return reader.header(name); });
  }
  std::vector<StoredArray> read(const std::string &name) const override {
    return withFailures([&]() -> std::vector<StoredArray> {
      if (reader.size(name) > memoryForArray()) {
        ElementsBuilder bytes("array '" + name + "' of " + path);
        if (reader.stream(name, [&](const char *data, size_t size) {
              bytes.append(data, size);
            }))
          return {StoredArray(path, reader.header(name), bytes.take())};
      }
      return {StoredArray(path, reader.read(name))};
    });
  }

private:
  const mpc::npz::Reader reader;
};
} // namespace

std::unique_ptr<DataSource> mpc::tool::openArrays(const std::string &path,
                                                  mpc::npz::Arrays arrays) {
  return std::make_unique<ArraySource>(path, std::move(arrays));
}

std::unique_ptr<DataSource> mpc::tool::openNpz(const std::string &path) {
  return std::make_unique<NpzSource>(path);
}

//===----------------------------------------------------------------------===//
// Files that can be mapped
//===----------------------------------------------------------------------===//

namespace {
class NpySource : public DataSource {
public:
  explicit NpySource(const std::string &path) : DataSource(path), file(path) {
    std::string what;
    if (!mpc::npz::parseNpyHeader(
            file.read(0, std::min(file.size, mpc::npz::kMaxNpyHeader)), parsed,
            what))
      file.fail(what);
    if (file.size - parsed.begin != parsed.bytes)
      file.fail("it has " + std::to_string(file.size - parsed.begin) +
                " bytes, which does not match its shape");
    parsed.array.name = std::filesystem::path(path).stem().string();
  }

  std::vector<std::string> names() const override {
    return {parsed.array.name};
  }
  mpc::npz::ArrayType header(const std::string &) const override {
    return parsed.array;
  }
  std::vector<StoredArray> read(const std::string &) const override {
    if (parsed.isPlain)
      return {StoredArray(path, parsed.array,
                          file.take(parsed.begin, parsed.bytes))};
    mpc::npz::Array array;
    std::string what;
    if (!mpc::npz::parseNpy(file.read(0, file.size), array, what))
      file.fail(what);
    array.name = parsed.array.name;
    return {StoredArray(path, std::move(array))};
  }

private:
  const OpenedFile file;
  mpc::npz::NpyHeader parsed;
};

class SafetensorsSource : public DataSource {
public:
  explicit SafetensorsSource(const std::string &path)
      : DataSource(path), file(path) {
    std::vector<char> bytes = file.read(0, std::min<uint64_t>(file.size, 8));
    uint64_t size = mpc::runtime::safetensors_header_size(
        reinterpret_cast<const uint8_t *>(bytes.data()),
        bytes.size() < 8 ? 0 : file.size);
    bytes = file.read(0, size);
    std::vector<mpc::runtime::StoredTensor> tensors;
    check(mpc::runtime::parse_safetensors(
        path, reinterpret_cast<const uint8_t *>(bytes.data()),
        size == 0 ? 0 : file.size, &tensors));
    for (mpc::runtime::StoredTensor &tensor : tensors)
      places.emplace(tensor.name, std::move(tensor));
  }

  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const auto &[name, place] : places)
      all.push_back(name);
    return all;
  }
  mpc::npz::ArrayType header(const std::string &name) const override {
    const mpc::runtime::StoredTensor &tensor = places.at(name);
    mpc::npz::ArrayType type;
    type.name = name;
    type.dtype =
        tensor.dtype == MPC_DTYPE_BF16 ? "bfloat16" : numpyName(tensor.dtype);
    if (type.dtype.empty())
      file.fail("tensor '" + name + "' is " + mpc_dtype_name(tensor.dtype) +
                ", which data cannot be");
    type.shape = tensor.shape;
    return type;
  }
  std::vector<StoredArray> read(const std::string &name) const override {
    const mpc::runtime::StoredTensor &tensor = places.at(name);
    return {StoredArray(path, header(name),
                        file.take(tensor.offset, tensor.bytes))};
  }

private:
  const OpenedFile file;
  std::map<std::string, mpc::runtime::StoredTensor> places;
};
} // namespace

std::unique_ptr<DataSource> mpc::tool::openNpy(const std::string &path) {
  return std::make_unique<NpySource>(path);
}

std::unique_ptr<DataSource>
mpc::tool::openSafetensors(const std::string &path) {
  return std::make_unique<SafetensorsSource>(path);
}
