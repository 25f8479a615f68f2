//===- StateDict.cpp - Weights for PyTorch's load_state_dict --------------===//

#include "tools/mpc/checkpoints/StateDict.h"
#include "tools/mpc/Command.h"
#include "tools/mpc/base/Runtime.h"
#include "tools/mpc/base/Text.h"
#include "tools/mpc/data/ConvertArray.h"
#include "tools/mpc/data/sources/Files.h"

#include "runtime/src/checkpoint/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace mpc::tool;

using TensorsByName = std::map<std::string, NamedTensor>;

/// The matrix with its dimensions exchanged.
static NamedTensor transposed(const NamedTensor &matrix) {
  NamedTensor result = matrix;
  std::swap(result.shape[0], result.shape[1]);
  const uint64_t size = mpc_dtype_size(matrix.dtype), rows = matrix.shape[0],
                 columns = matrix.shape[1];
  for (uint64_t i = 0; i < rows; ++i)
    for (uint64_t j = 0; j < columns; ++j)
      std::memcpy(&result.bytes[(j * rows + i) * size],
                  &matrix.bytes[(i * columns + j) * size], size);
  return result;
}

/// The trained tensor in the shape that the file has for it.
static NamedTensor inShape(const NamedTensor &tensor,
                           const mpc::npz::ArrayType &wanted,
                           const std::string &like) {
  if (tensor.shape == wanted.shape)
    return tensor;
  const bool isTransposed =
      tensor.shape.size() == 2 &&
      std::equal(tensor.shape.rbegin(), tensor.shape.rend(),
                 wanted.shape.begin(), wanted.shape.end());
  if (!isTransposed)
    throw Failure(Usage, "'" + wanted.name + "' is " +
                             formatType(tensor.dtype, tensor.shape) +
                             " in the program, but " +
                             mpc::npz::typeText(wanted) + " in '" + like +
                             "'; give a state_dict of the same model");
  return transposed(tensor);
}

/// The trained tensor that `array` is tied to; null if there is none.
static const NamedTensor *findTiedTo(const DataSource &file,
                                     const StoredArray &array,
                                     const TensorsByName &trained) {
  if (array.shape.size() < 2)
    return nullptr; // Such buffers may be equal to new norms.
  const NamedTensor *tied = nullptr;
  for (const auto &[name, tensor] : trained) {
    if (!file.has(name))
      continue;
    mpc::npz::ArrayType type = file.header(name);
    if (type.shape != array.shape || type.dtype != array.dtype)
      continue;
    StoredArray other = readWhole(file, name);
    if (std::memcmp(other.data(), array.data(), array.elements.size()) != 0)
      continue;
    if (tied)
      return nullptr; // Equal by chance, as zeros are.
    tied = &tensor;
  }
  return tied;
}

/// The type of an array of a file; throws if checkpoints cannot have it.
static mpc_dtype_t typeOf(const StoredArray &array) {
  if (array.dtype == "bfloat16")
    return MPC_DTYPE_BF16;
  for (int type = MPC_DTYPE_F32; type <= int(MPC_DTYPE_BOOL); ++type)
    if (numpyName(static_cast<mpc_dtype_t>(type)) == array.dtype)
      return static_cast<mpc_dtype_t>(type);
  throw Failure(Usage, "'" + array.name + "' of '" + array.path + "' is " +
                           array.dtype + ", which is not supported");
}

std::vector<NamedTensor>
mpc::tool::completeStateDict(std::vector<NamedTensor> tensors,
                             const std::string &like,
                             std::vector<std::string> &notes) {
  std::unique_ptr<DataSource> file = openSafetensors(like);
  TensorsByName trained;
  std::vector<std::string> unknown, copied;
  for (NamedTensor &tensor : tensors) {
    if (!file->has(tensor.name))
      unknown.push_back(tensor.name);
    trained.emplace(tensor.name, std::move(tensor));
  }
  if (!unknown.empty())
    throw Failure(Usage, "'" + like + "' lacks " +
                             formatCount(unknown.size(), "trained tensor") +
                             ": " + listNames(unknown) +
                             "; give a state_dict of the same model");
  std::vector<NamedTensor> result;
  for (const std::string &name : file->names()) {
    if (auto known = trained.find(name); known != trained.end()) {
      result.push_back(inShape(known->second, file->header(name), like));
      continue;
    }
    StoredArray array = readWhole(*file, name);
    NamedTensor tensor;
    if (const NamedTensor *tied = findTiedTo(*file, array, trained)) {
      tensor = inShape(*tied, array, like);
      notes.push_back("'" + name + "' is tied to '" + tied->name +
                      "', because '" + like + "' has the same values for both");
    } else {
      tensor.dtype = typeOf(array);
      tensor.shape = array.shape;
      tensor.bytes.assign(array.data(), array.data() + array.elements.size());
      copied.push_back(name);
    }
    tensor.name = name;
    result.push_back(std::move(tensor));
  }
  if (!copied.empty())
    notes.push_back("copied from '" + like +
                    "', because training does not "
                    "change " +
                    (copied.size() == 1 ? "it" : "them") + ": " +
                    listNames(copied));
  return result;
}

std::string
mpc::tool::formatSafetensors(const std::vector<NamedTensor> &tensors) {
  std::vector<mpc::runtime::StoredTensor> stored;
  for (const NamedTensor &tensor : tensors) {
    mpc::runtime::StoredTensor entry;
    entry.name = tensor.name;
    entry.dtype = tensor.dtype;
    entry.shape = tensor.shape;
    entry.bytes = tensor.bytes.size();
    stored.push_back(std::move(entry));
  }
  std::string text = mpc::runtime::safetensors_header(&stored);
  for (const NamedTensor &tensor : tensors)
    text.append(tensor.bytes.data(), tensor.bytes.size());
  return text;
}
