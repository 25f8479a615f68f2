#include "runtime/src/session/masters.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/src/base/number.h"
#include "runtime/src/program/roles.h"

namespace mpc::runtime {

namespace {

using schema::StateRole;

// Elements of a file may be unaligned.
template <typename Element>
Element element_at(const uint8_t* data, uint64_t index) {
  Element element;
  std::memcpy(&element, data + index * sizeof(element), sizeof(element));
  return element;
}

template <typename Element>
void set_element(uint8_t* data, uint64_t index, Element element) {
  std::memcpy(data + index * sizeof(element), &element, sizeof(element));
}

bool is_weight(const StateTensor& tensor) {
  return tensor.kind == schema::StateKind::Parameter;
}

}  // namespace

const StateTensor* compensation_of(const mpc_program_t& program,
                                   const StateTensor& weight) {
  if (!is_weight(weight) || weight.dtype != MPC_DTYPE_BF16) return nullptr;
  const StateTensor* compensation =
      belonging_to(program, weight, StateRole::Compensation);
  bool fits = compensation && compensation->dtype == weight.dtype &&
              compensation->bytes == weight.bytes;
  return fits ? compensation : nullptr;
}

void clear_compensations(const mpc_program_t& program, uint8_t* states) {
  for (const StateTensor& tensor : program.tensors)
    if (const StateTensor* compensation = compensation_of(program, tensor))
      std::memset(states + compensation->offset, 0, compensation->bytes);
}

bool convert_weight(const mpc_program_t& program, const StateTensor& weight,
                    const StoredTensor& found, const uint8_t* data,
                    uint8_t* states) {
  bool narrows = found.dtype == MPC_DTYPE_F32 && weight.dtype == MPC_DTYPE_BF16;
  bool widens = found.dtype == MPC_DTYPE_BF16 && weight.dtype == MPC_DTYPE_F32;
  if (!is_weight(weight) || (!narrows && !widens) ||
      found.shape.size() != weight.rank ||
      !std::equal(found.shape.begin(), found.shape.end(), weight.shape))
    return false;
  const StateTensor* compensation = compensation_of(program, weight);
  uint8_t* to = states + weight.offset;
  for (uint64_t i = 0; i < weight.count; ++i) {
    if (widens) {
      set_element(to, i, f32_from_bf16(element_at<uint16_t>(data, i)));
      continue;
    }
    auto whole = element_at<float>(data, i);
    uint16_t value = bf16_from_f32(whole);
    set_element(to, i, value);
    float left = whole - f32_from_bf16(value);
    if (compensation && std::isfinite(left))
      set_element(states + compensation->offset, i, bf16_from_f32(left));
  }
  return true;
}

void add_compensations(const mpc_program_t& program,
                       const std::vector<StoredTensor>& optimizer,
                       const uint8_t* file, uint8_t* states) {
  constexpr std::string_view kPrefix = "compensation/";
  for (const StoredTensor& stored : optimizer) {
    // This program has no such states: the names are those of the program that
    // wrote the checkpoint.
    const std::string name = usual_name(stored.name);
    if (name.compare(0, kPrefix.size(), kPrefix) != 0 ||
        stored.dtype != MPC_DTYPE_BF16)
      continue;
    int64_t index = program.find_tensor(name.c_str() + kPrefix.size());
    if (index < 0) continue;
    const StateTensor& weight = program.tensors[static_cast<size_t>(index)];
    if (!is_weight(weight) || weight.dtype != MPC_DTYPE_F32 ||
        stored.bytes != weight.count * sizeof(uint16_t))
      continue;
    uint8_t* to = states + weight.offset;
    for (uint64_t i = 0; i < weight.count; ++i) {
      float compensation =
          f32_from_bf16(element_at<uint16_t>(file + stored.offset, i));
      set_element(to, i, element_at<float>(to, i) + compensation);
    }
  }
}

}  // namespace mpc::runtime
