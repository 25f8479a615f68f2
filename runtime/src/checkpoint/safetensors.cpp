// Reads and writes the safetensors format, as strictly as it is specified.

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "runtime/src/base/json.h"
#include "runtime/src/base/number.h"
#include "runtime/src/checkpoint/checkpoint.h"

namespace mpc::runtime {

namespace {

// The maximum number of JSON values of one tensor: type, offsets, and a shape
// of any supported rank.
constexpr size_t kMaxTensorValues = 256;

struct TypeName {
  mpc_dtype_t dtype;
  const char* name;
};
constexpr TypeName kTypes[] = {
    {MPC_DTYPE_F32, "F32"}, {MPC_DTYPE_F16, "F16"},   {MPC_DTYPE_BF16, "BF16"},
    {MPC_DTYPE_F64, "F64"}, {MPC_DTYPE_I64, "I64"},   {MPC_DTYPE_I32, "I32"},
    {MPC_DTYPE_U8, "U8"},   {MPC_DTYPE_BOOL, "BOOL"},
};

const char* type_name(mpc_dtype_t dtype) {
  for (const TypeName& type : kTypes)
    if (type.dtype == dtype) return type.name;
  return "";
}

bool find_type(const Json* name, mpc_dtype_t* dtype) {
  if (!name || name->kind != Json::Kind::kString) return false;
  for (const TypeName& type : kTypes) {
    if (name->text != type.name) continue;
    *dtype = type.dtype;
    return true;
  }
  return false;
}

mpc_status_t damaged_safetensors(const std::string& path,
                                 const std::string& what) {
  return mpc_status_make(MPC_DAMAGED, "'%s' is damaged: %s", path.c_str(),
                         what.c_str());
}

bool parse_shape(const Json* json, std::vector<int64_t>* shape) {
  if (!json || json->kind != Json::Kind::kArray) return false;
  for (const Json& item : json->items) {
    int64_t extent;
    if (!item.to_signed(&extent)) return false;
    shape->push_back(extent);
  }
  return true;
}

// Parses one tensor. Offsets count from `data_begin`; `limit` is the file's
// size.
bool parse_tensor(const Json& json, uint64_t data_begin, uint64_t limit,
                  StoredTensor* tensor) {
  const Json* range = json.find("data_offsets");
  if (json.kind != Json::Kind::kObject || json.members.size() != 3 ||
      !find_type(json.find("dtype"), &tensor->dtype) ||
      !parse_shape(json.find("shape"), &tensor->shape) || !range ||
      range->kind != Json::Kind::kArray || range->items.size() != 2)
    return false;
  uint64_t begin, end, count;
  if (!range->items[0].to_unsigned(&begin) ||
      !range->items[1].to_unsigned(&end) || begin > end ||
      end > limit - data_begin ||
      !count_elements(tensor->shape.data(), tensor->shape.size(), &count) ||
      !multiply_sizes(count, mpc_dtype_size(tensor->dtype), &tensor->bytes))
    return false;
  tensor->offset = data_begin + begin;
  return tensor->bytes == end - begin;
}

// Whether the tensors cover [begin, end) without gaps or overlaps. Sorts the
// tensors.
bool covers_all(std::vector<StoredTensor>* tensors, uint64_t begin,
                uint64_t end) {
  std::sort(tensors->begin(), tensors->end(),
            [](const StoredTensor& a, const StoredTensor& b) {
              return a.offset != b.offset ? a.offset < b.offset
                                          : a.bytes < b.bytes;
            });
  for (const StoredTensor& tensor : *tensors) {
    if (tensor.offset != begin) return false;
    begin += tensor.bytes;
  }
  return begin == end;
}

}  // namespace

std::string safetensors_header(std::vector<StoredTensor>* tensors) {
  std::string json = "{";
  uint64_t begin = 0;
  for (const StoredTensor& tensor : *tensors) {
    if (json.size() > 1) json += ',';
    json += json_quote(tensor.name) + ":{\"dtype\":\"" +
            type_name(tensor.dtype) + "\",\"shape\":[";
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      if (i > 0) json += ',';
      json += std::to_string(tensor.shape[i]);
    }
    json += "],\"data_offsets\":[" + std::to_string(begin) + ',' +
            std::to_string(begin + tensor.bytes) + "]}";
    begin += tensor.bytes;
  }
  json += '}';
  json.append((8 - json.size() % 8) % 8, ' ');  // Aligns the data.

  uint64_t offset = 8 + json.size();
  for (StoredTensor& tensor : *tensors) {
    tensor.offset = offset;
    offset += tensor.bytes;
  }
  std::string header(8, '\0');
  for (size_t i = 0; i < 8; ++i)
    header[i] = static_cast<char>(json.size() >> (8 * i) & 0xff);
  return header + json;
}

uint64_t safetensors_header_size(const uint8_t* data, uint64_t size) {
  // The limit of the reference implementation.
  constexpr uint64_t kMaxHeader = 100'000'000;
  if (size < 8) return 0;
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i)
    length |= static_cast<uint64_t>(data[i]) << (8 * i);
  return length > size - 8 || length > kMaxHeader ? 0 : 8 + length;
}

mpc_status_t parse_safetensors(const std::string& path, const uint8_t* data,
                               uint64_t size,
                               std::vector<StoredTensor>* out_tensors) {
  uint64_t begin = safetensors_header_size(data, size);
  if (begin == 0)
    return damaged_safetensors(path, "its header size is invalid");
  auto* header = reinterpret_cast<const char*>(data + 8);
  if (begin == 8 || *header != '{')
    return damaged_safetensors(path, "its header is not an object");

  std::vector<StoredTensor> tensors;
  std::string wrong, error;
  auto visit = [&](std::string name, Json value) {
    if (name == "__metadata__") return true;
    StoredTensor tensor;
    tensor.name = std::move(name);
    if (!parse_tensor(value, begin, size, &tensor)) {
      wrong = "tensor '" + tensor.name + "' has an invalid description";
      return false;
    }
    tensors.push_back(std::move(tensor));
    return true;
  };
  if (!Json::parse_members(header, begin - 8, kMaxTensorValues, visit, &error))
    return damaged_safetensors(path,
                               wrong.empty() ? "its header: " + error : wrong);
  auto by_name = [](const StoredTensor& a, const StoredTensor& b) {
    return a.name < b.name;
  };
  if (!covers_all(&tensors, begin, size))
    return damaged_safetensors(path, "its tensors overlap or leave bytes over");
  std::sort(tensors.begin(), tensors.end(), by_name);
  for (size_t i = 1; i < tensors.size(); ++i)
    if (tensors[i].name == tensors[i - 1].name)
      return damaged_safetensors(
          path, "tensor '" + tensors[i].name + "' occurs twice");
  *out_tensors = std::move(tensors);
  return nullptr;
}

}  // namespace mpc::runtime
