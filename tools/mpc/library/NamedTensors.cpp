//===- NamedTensors.cpp - Arrays in the memory of a program ---------------===//

#include "tools/mpc/library/MemorySources.h"

#include "runtime/src/base/guard.h"

#include <algorithm>

using namespace mpc::tool;

/// The name of a type for arrays of data; "" if they cannot have it.
static std::string arrayTypeName(mpc_dtype_t dtype) {
  return dtype == MPC_DTYPE_BF16 ? "bfloat16" : numpyName(dtype);
}

/// The size of the elements in bytes. Throws a Failure if the shape is invalid.
static uint64_t sizeOf(const NamedTensor &tensor) {
  uint64_t bytes = mpc_dtype_size(tensor.dtype);
  for (int64_t extent : tensor.shape)
    if (extent < 0 ||
        __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      throw Failure(Usage, "array '" + tensor.name + "' has the shape " +
                               formatType(tensor.dtype, tensor.shape) +
                               ", which is invalid");
  return bytes;
}

static NamedTensor readTensor(const char *name, const mpc_tensor_t &given) {
  const std::string subject = std::string("array '") + name + "'";
  mpc_tensor_t tensor;
  check(mpc::runtime::copy_in(&given, subject.c_str(), &tensor));
  if (tensor.device.kind != MPC_DEVICE_HOST)
    throw Failure(Usage, subject + " must be in host memory");
  if (arrayTypeName(tensor.dtype).empty())
    throw Failure(Usage, subject + " is " + mpc_dtype_name(tensor.dtype) +
                             ", which data cannot be");
  if (tensor.rank > 0 && !tensor.shape)
    throw Failure(Usage, subject + ": its shape is NULL");
  NamedTensor read = {name,
                      tensor.dtype,
                      {tensor.shape, tensor.shape + tensor.rank},
                      tensor.data};
  if (sizeOf(read) > 0 && !read.data)
    throw Failure(Usage, subject + ": its data is NULL");
  return read;
}

std::vector<NamedTensor> mpc::tool::readTensors(const char *const *names,
                                                const mpc_tensor_t *tensors,
                                                size_t count) {
  std::vector<NamedTensor> read;
  for (size_t i = 0; i < count; ++i) {
    if (!names[i])
      throw Failure(Usage,
                    "the name of tensor " + std::to_string(i) + " is NULL");
    for (const NamedTensor &other : read)
      if (other.name == names[i])
        throw Failure(Usage, "two arrays are called '" + other.name + "'");
    read.push_back(readTensor(names[i], tensors[i]));
  }
  return read;
}

namespace {
class TensorSource : public DataSource {
public:
  explicit TensorSource(const std::vector<NamedTensor> &tensors)
      : DataSource("arrays in memory"), tensors(tensors) {}

  std::vector<std::string> names() const override {
    std::vector<std::string> all;
    for (const NamedTensor &tensor : tensors)
      all.push_back(tensor.name);
    return all;
  }
  mpc::npz::ArrayType header(const std::string &name) const override {
    return typeOf(find(name));
  }
  std::vector<StoredArray> read(const std::string &name) const override {
    const NamedTensor &tensor = find(name);
    return {StoredArray(path, typeOf(tensor),
                        Elements::borrow(tensor.data, sizeOf(tensor)))};
  }

private:
  static mpc::npz::ArrayType typeOf(const NamedTensor &tensor) {
    return {tensor.name, arrayTypeName(tensor.dtype), tensor.shape};
  }
  const NamedTensor &find(const std::string &name) const {
    return *std::find_if(
        tensors.begin(), tensors.end(),
        [&](const NamedTensor &tensor) { return tensor.name == name; });
  }

  const std::vector<NamedTensor> tensors;
};
} // namespace

std::unique_ptr<DataSource>
mpc::tool::openTensors(const std::vector<NamedTensor> &tensors) {
  return std::make_unique<TensorSource>(tensors);
}
