//===- TensorData.cpp - Elements of a TensorProto -------------------------===//

#include "compiler/Import/File/TensorData.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA1.h"

#include <cstring>

using namespace llvm;
using namespace mpc;
using onnx::TensorProto;

//===----------------------------------------------------------------------===//
// Types and counts
//===----------------------------------------------------------------------===//

namespace {

struct DataType {
  const char *name;
  unsigned size;
};

// Indexed by TensorProto::DataType. libonnx defines the types up to bfloat16;
// files may have newer ones.
constexpr DataType kDataTypes[] = {
    {"undefined", 0},      {"float32", 4},    {"uint8", 1},
    {"int8", 1},           {"uint16", 2},     {"int16", 2},
    {"int32", 4},          {"int64", 8},      {"string", 0},
    {"bool", 1},           {"float16", 2},    {"float64", 8},
    {"uint32", 4},         {"uint64", 8},     {"complex64", 8},
    {"complex128", 16},    {"bfloat16", 2},   {"float8e4m3fn", 1},
    {"float8e4m3fnuz", 1}, {"float8e5m2", 1}, {"float8e5m2fnuz", 1},
    {"uint4", 0},          {"int4", 0},       {"float4e2m1", 0},
    {"float8e8m0", 1},     {"uint2", 0},      {"int2", 0},
};

} // namespace

static DataType lookUp(int32_t dataType) {
  if (dataType >= 0 && size_t(dataType) < std::size(kDataTypes))
    return kDataTypes[dataType];
  return {"unknown", 0};
}

StringRef mpc::dataTypeName(int32_t dataType) { return lookUp(dataType).name; }

unsigned mpc::dataTypeSize(int32_t dataType) { return lookUp(dataType).size; }

static Error invalid(const Twine &message) {
  return makeModelError(ModelError::Invalid, message);
}

/// Includes advice for the user.
static constexpr StringLiteral kTooManyElements =
    "has more than 2^40 elements, the maximum; if a dimension was bound with "
    "option 'batch' or option 'dim', bind a smaller one";

Expected<int64_t> mpc::countElements(ArrayRef<int64_t> shape) {
  if (shape.size() > kMaxRank)
    return invalid("has " + Twine(shape.size()) + " dimensions; at most " +
                   Twine(kMaxRank) + " are supported");
  int64_t count = 1;
  bool isEmpty = false, isHuge = false;
  for (int64_t extent : shape) {
    if (extent < 0)
      return invalid("has a negative dimension, " + Twine(extent));
    // All extents are checked, even if one is zero.
    isEmpty |= extent == 0;
    isHuge |= extent > kMaxElements;
    if (extent != 0 && !isHuge) {
      isHuge = count > kMaxElements / extent;
      count = isHuge ? count : count * extent;
    }
  }
  if (isHuge)
    return makeModelError(ModelError::Limit, kTooManyElements);
  return isEmpty ? 0 : count;
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

Expected<TensorBytes> TensorReader::read(const TensorProto &tensor) {
  auto given = model->checkpoint.find(tensor.name());
  if (given != model->checkpoint.end())
    return given->second;
  Expected<int64_t> count = countElements(
      ArrayRef<int64_t>(tensor.dims().data(), tensor.dims_size()));
  if (!count)
    return count.takeError();
  unsigned size = dataTypeSize(tensor.data_type());
  if (size == 0)
    return invalid("holds " + dataTypeName(tensor.data_type()) +
                   " elements, which are not supported");
  if (tensor.has_segment())
    return invalid("is stored in segments, which are not supported");

  uint64_t expected = uint64_t(*count) * size;
  bool hasTyped = tensor.float_data_size() + tensor.double_data_size() +
                      tensor.int32_data_size() + tensor.int64_data_size() +
                      tensor.uint64_data_size() >
                  0;
  auto checkRaw = [&](size_t stored) -> Error {
    if (stored == expected)
      return Error::success();
    return invalid("has " + Twine(stored) +
                   " bytes of data, but its shape needs " + Twine(expected));
  };
  if (std::shared_ptr<const std::string> data = model->detachedData(tensor)) {
    if (Error error = checkRaw(data->size()))
      return error;
    return TensorBytes{ArrayRef<char>(data->data(), data->size()), data};
  }
  bool isExternal = tensor.data_location() == TensorProto::EXTERNAL;
  if (int(tensor.has_raw_data()) + int(hasTyped) + int(isExternal) > 1)
    return invalid("stores its data twice");
  if (!isExternal && tensor.external_data_size() > 0)
    return invalid("names external data, but is not marked as external");
  if (isExternal)
    return readExternal(tensor, expected);
  if (!tensor.has_raw_data())
    return readTyped(tensor, *count);
  const std::string &raw = tensor.raw_data();
  if (Error error = checkRaw(raw.size()))
    return error;
  return TensorBytes{ArrayRef<char>(raw.data(), raw.size()), model};
}

/// Copies 32-bit fields into elements of `Element`; fails if one does not fit.
template <typename Element>
static Expected<TensorBytes>
narrow(const google::protobuf::RepeatedField<int32_t> &values, int64_t low,
       int64_t high) {
  auto data = std::make_shared<std::vector<char>>();
  data->reserve(values.size() * sizeof(Element));
  for (int32_t value : values) {
    if (value < low || value > high)
      return invalid("holds " + Twine(value) +
                     ", which is out of range for its type");
    Element element = static_cast<Element>(value);
    const char *bytes = reinterpret_cast<const char *>(&element);
    data->insert(data->end(), bytes, bytes + sizeof(Element));
  }
  return TensorBytes{ArrayRef<char>(*data), data};
}

Expected<TensorBytes> TensorReader::readTyped(const TensorProto &tensor,
                                              int64_t count) {
  auto checkCount = [&](int64_t stored) -> Error {
    if (stored == count)
      return Error::success();
    return invalid("has " + Twine(stored) +
                   " elements of data, but its shape needs " + Twine(count));
  };
  auto borrow = [&](const auto &field) -> Expected<TensorBytes> {
    if (Error error = checkCount(field.size()))
      return error;
    return TensorBytes{
        ArrayRef<char>(reinterpret_cast<const char *>(field.data()),
                       size_t(field.size()) * sizeof(*field.data())),
        model};
  };
  const auto &small = tensor.int32_data();
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return borrow(tensor.float_data());
  case TensorProto::DOUBLE:
    return borrow(tensor.double_data());
  case TensorProto::INT64:
    return borrow(tensor.int64_data());
  case TensorProto::INT32:
    return borrow(small);
  case TensorProto::BOOL:
    if (Error error = checkCount(small.size()))
      return error;
    return narrow<uint8_t>(small, 0, 1);
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    if (Error error = checkCount(small.size()))
      return error;
    return narrow<uint16_t>(small, 0, 0xffff);
  default:
    return invalid("holds " + dataTypeName(tensor.data_type()) +
                   " elements, which are not supported");
  }
}

//===----------------------------------------------------------------------===//
// External data
//===----------------------------------------------------------------------===//

namespace {

struct ExternalEntry {
  StringRef location, checksum;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

} // namespace

static Expected<ExternalEntry> parseEntry(const TensorProto &tensor) {
  ExternalEntry result;
  StringMap<char> seen;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    StringRef key = entry.key(), value = entry.value();
    if (!seen.insert({key, 0}).second)
      return invalid("names external data key '" + key + "' twice");
    uint64_t number = 0;
    bool isNumber = !value.empty() && all_of(value, isDigit) &&
                    !value.getAsInteger(10, number);
    if ((key == "offset" || key == "length") && !isNumber)
      return invalid("has external data " + key + " '" + value +
                     "', which is not a number of bytes");
    if (key == "location")
      result.location = value;
    else if (key == "offset")
      result.offset = number;
    else if (key == "length")
      result.length = number;
    else if (key == "checksum")
      result.checksum = value;
    else
      return invalid("has external data key '" + key +
                     "'; known are location, offset, length and checksum");
  }
  return result;
}

Expected<TensorBytes> TensorReader::readExternal(const TensorProto &tensor,
                                                 uint64_t expectedBytes) {
  Expected<ExternalEntry> entry = parseEntry(tensor);
  if (!entry)
    return entry.takeError();
  if (!model->hasFolder)
    return invalid("has its elements in the file '" + entry->location +
                   "', but the model is in memory, without a folder where "
                   "its files are");
  std::shared_ptr<FileMapping> &file = externalFiles[entry->location];
  if (!file) {
    auto opened = FileMapping::openBelow(model->folder, entry->location);
    if (!opened)
      return opened.takeError();
    file = std::move(*opened);
  }
  ArrayRef<char> all = file->bytes();
  if (entry->offset > all.size())
    return invalid("begins at byte " + Twine(entry->offset) + " of '" +
                   entry->location + "', which has " + Twine(all.size()));
  uint64_t left = all.size() - entry->offset;
  uint64_t length = entry->length.value_or(left);
  if (length > left)
    return invalid("needs " + Twine(length) + " bytes from byte " +
                   Twine(entry->offset) + " of '" + entry->location +
                   "', which has " + Twine(all.size()));
  if (length != expectedBytes)
    return invalid("has " + Twine(length) +
                   " bytes of external data, but its shape needs " +
                   Twine(expectedBytes));
  ArrayRef<char> bytes = all.slice(entry->offset, length);
  if (!entry->checksum.empty()) {
    auto digest = SHA1::hash(ArrayRef<uint8_t>(
        reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
    if (!entry->checksum.equals_insensitive(toHex(digest)))
      return invalid("does not match its checksum; '" + entry->location +
                     "' is damaged or belongs to another model");
  }
  // A tensor that is not used any more takes no memory.
  auto release = [file, begin = entry->offset, length](const void *) {
    file->releasePages(begin, begin + length);
  };
  return TensorBytes{bytes, std::shared_ptr<const void>(bytes.data(), release)};
}
