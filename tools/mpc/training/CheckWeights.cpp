//===- CheckWeights.cpp - Find weights that are not finite ----------------===//

#include "tools/mpc/training/CheckWeights.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

using namespace mpc::tool;

/// "nan", "inf" or "" for `count` bytes of floats.
template <typename Float>
static const char *findIn(const std::vector<char> &bytes, size_t count) {
  const char *found = "";
  for (size_t i = 0; i + sizeof(Float) <= count; i += sizeof(Float)) {
    Float value;
    std::memcpy(&value, bytes.data() + i, sizeof(value));
    if (std::isnan(value))
      return "nan";
    if (std::isinf(value))
      found = "inf";
  }
  return found;
}

/// The same for one tensor, at [begin, end) of the file.
static const char *findInTensor(std::ifstream &file, const std::string &dtype,
                                uint64_t begin, uint64_t end) {
  constexpr uint64_t piece = 1 << 20;
  std::vector<char> bytes(std::min(piece, end - begin));
  const char *found = "";
  file.seekg(begin);
  for (uint64_t done = begin; done < end && file; done += piece) {
    size_t count = std::min(piece, end - done);
    file.read(bytes.data(), count);
    const char *here = dtype == "F32"   ? findIn<float>(bytes, count)
                       : dtype == "F64" ? findIn<double>(bytes, count)
                                        : "";
    if (*here == 'n')
      return here;
    found = *here ? here : found;
  }
  return found;
}

std::string mpc::tool::findNonFiniteWeight(const std::string &checkpoint) {
  std::string path = checkpoint + "/model.safetensors";
  std::error_code error;
  uint64_t size = std::filesystem::file_size(path, error), length = 0;
  std::ifstream file(path, std::ios::binary);
  char number[sizeof(length)];
  if (error || !file.read(number, sizeof(number)))
    return "'model.safetensors' cannot be read";
  std::memcpy(&length, number, sizeof(length)); // Little-endian, as x86 is.
  constexpr uint64_t mostHeader = uint64_t(1) << 28;
  if (length > std::min(mostHeader, size - sizeof(number)))
    return "'model.safetensors' has no header";
  std::string text(length, '\0');
  file.read(text.data(), length);
  nlohmann::json header =
      nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!file || !header.is_object())
    return "'model.safetensors' has no header";
  const uint64_t data = sizeof(number) + length;
  for (const auto &[name, tensor] : header.items()) {
    if (name == "__metadata__")
      continue;
    auto offsets = tensor.value("data_offsets", std::vector<uint64_t>());
    if (offsets.size() != 2 || offsets[0] > offsets[1] ||
        offsets[1] > size - data)
      return "'model.safetensors' has no header";
    const char *found = findInTensor(file, tensor.value("dtype", std::string()),
                                     data + offsets[0], data + offsets[1]);
    if (*found)
      return "'" + name + "' holds " + found +
             "; use --allow-non-finite to accept it";
  }
  return "";
}
