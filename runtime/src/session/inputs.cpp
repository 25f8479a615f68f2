// Checks the caller's tensors against a signature. Inputs are not trusted: an
// out-of-range label would make a kernel read outside its buffer.

#include <cinttypes>
#include <cstddef>
#include <cstring>
#include <string>

#include "runtime/src/session/session.h"

namespace mpc::runtime {

const mpc_tensor_t& tensor_at(const mpc_tensor_t* tensors, size_t index) {
  return *reinterpret_cast<const mpc_tensor_t*>(
      reinterpret_cast<const char*>(tensors) + index * tensors->struct_size);
}

bool is_tensor_size(size_t struct_size) {
  // The oldest version of the struct ends before `device`. The size is the
  // stride of arrays, so a size larger than any future struct is rejected: it
  // was not initialized.
  constexpr size_t kOldest = offsetof(mpc_tensor_t, device), kLargest = 1024;
  return struct_size >= kOldest && struct_size <= kLargest &&
         struct_size % alignof(mpc_tensor_t) == 0;
}

mpc_device_t device_of(const mpc_tensor_t& tensor) {
  if (tensor.struct_size < sizeof(mpc_tensor_t)) return {MPC_DEVICE_HOST, 0};
  return tensor.device;
}

static std::string name_of(bool inputs, size_t index,
                           const schema::Binding& binding) {
  return std::string(inputs ? "input " : "output ") + std::to_string(index) +
         " ('" + binding.name()->str() + "')";
}

static bool same_type(const mpc_tensor_t& tensor,
                      const schema::Buffer& buffer) {
  uint32_t rank = rank_of(buffer.shape());
  return tensor.dtype == dtype_of(buffer.dtype()) && tensor.rank == rank &&
         (rank == 0 ||
          (tensor.shape && std::memcmp(tensor.shape, extents_of(buffer.shape()),
                                       rank * sizeof(int64_t)) == 0));
}

static mpc_status_t wrong_type(const std::string& name,
                               const mpc_tensor_t& tensor,
                               const schema::Buffer& buffer) {
  std::string expected =
      type_text(dtype_of(buffer.dtype()), extents_of(buffer.shape()),
                rank_of(buffer.shape()));
  constexpr uint32_t kMaxPrinted = 64;
  std::string got =
      tensor.rank > kMaxPrinted || (tensor.rank > 0 && !tensor.shape)
          ? "a tensor without a shape"
          : type_text(tensor.dtype, tensor.shape, tensor.rank);
  return mpc_status_make(MPC_INVALID_ARGUMENT, "%s: expected %s, got %s",
                         name.c_str(), expected.c_str(), got.c_str());
}

// The position of the first value that is not allowed, or `count` if all are
// allowed. `data` may have any alignment.
template <typename Int>
static uint64_t find_outside(const void* data, uint64_t count,
                             const schema::Binding& binding, int64_t* value) {
  const int64_t low = binding.low(), high = binding.high();
  const bool has_ignored = binding.has_ignored();
  const int64_t ignored = binding.ignored();
  auto* bytes = static_cast<const char*>(data);
  for (uint64_t i = 0; i < count; ++i) {
    Int element;
    std::memcpy(&element, bytes + i * sizeof(Int), sizeof(Int));
    int64_t wide = element;
    if ((wide >= low && (wide < high || high == INT64_MAX)) ||
        (has_ignored && wide == ignored))
      continue;
    *value = wide;
    return i;
  }
  return count;
}

// "lies outside [0, 10)", "lies below 0", "is not below 10".
static std::string outside_text(const schema::Binding& binding) {
  std::string low = std::to_string(binding.low());
  std::string high = std::to_string(binding.high());
  if (binding.high() == INT64_MAX) return "lies below " + low;
  if (binding.low() == INT64_MIN) return "is not below " + high;
  return "lies outside [" + low + ", " + high + ")";
}

static mpc_status_t check_values(const mpc_tensor_t& tensor,
                                 const schema::Binding& binding, size_t index) {
  uint64_t count = count_of(binding.buffer()->shape());
  uint64_t position = count;
  int64_t value = 0;
  if (tensor.dtype == MPC_DTYPE_BOOL) {
    auto* bytes = static_cast<const uint8_t*>(tensor.data);
    for (uint64_t i = 0; i < count; ++i)
      if (bytes[i] > 1)
        return mpc_status_make(
            MPC_INVALID_ARGUMENT,
            "%s: value %u at position %" PRIu64 " is neither 0 nor 1",
            name_of(true, index, binding).c_str(), bytes[i], i);
    return nullptr;
  }
  if (!binding.has_range()) return nullptr;
  if (tensor.dtype == MPC_DTYPE_I64)
    position = find_outside<int64_t>(tensor.data, count, binding, &value);
  else if (tensor.dtype == MPC_DTYPE_I32)
    position = find_outside<int32_t>(tensor.data, count, binding, &value);
  else if (tensor.dtype == MPC_DTYPE_U8)
    position = find_outside<uint8_t>(tensor.data, count, binding, &value);
  if (position == count) return nullptr;
  std::string ignored = binding.has_ignored()
                            ? " and is not " +
                                  std::to_string(binding.ignored()) +
                                  ", which is ignored"
                            : "";
  return mpc_status_make(MPC_INVALID_ARGUMENT,
                         "%s: value %" PRId64 " at position %" PRIu64 " %s%s",
                         name_of(true, index, binding).c_str(), value, position,
                         outside_text(binding).c_str(), ignored.c_str());
}

// Finds out where the data of a tensor is, and checks its values if it is on
// the host.
static mpc_status_t check_data(const Device& device, const mpc_tensor_t& tensor,
                               const schema::Binding& binding, size_t index,
                               bool inputs) {
  if (!tensor.data && bytes_of(*binding.buffer()) > 0)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "%s: has no data",
                           name_of(inputs, index, binding).c_str());
  MemoryKind memory_kind;
  mpc_status_t status =
      device.locate(device_of(tensor), tensor.data, &memory_kind);
  if (status) {
    mpc_status_t named = mpc_status_make(
        mpc_status_code(status), "%s: %s",
        name_of(inputs, index, binding).c_str(), mpc_status_message(status));
    mpc_status_free(status);
    return named;
  }
  return inputs && memory_kind == MemoryKind::kHost
             ? check_values(tensor, binding, index)
             : nullptr;
}

mpc_status_t check_tensors(const Device& device, const Bindings* bindings,
                           const mpc_tensor_t* tensors, size_t num_tensors,
                           bool inputs) {
  size_t expected = bindings ? bindings->size() : 0;
  if (num_tensors != expected)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "expected %zu %s, got %zu",
                           expected, inputs ? "inputs" : "outputs",
                           num_tensors);
  if (expected == 0) return nullptr;
  if (!tensors)
    return mpc_status_make(MPC_INVALID_ARGUMENT, "the %s are NULL",
                           inputs ? "inputs" : "outputs");
  for (size_t i = 0; i < expected; ++i) {
    const schema::Binding& binding = *bindings->Get(static_cast<uint32_t>(i));
    const mpc_tensor_t& tensor = tensor_at(tensors, i);
    if (!is_tensor_size(tensor.struct_size) ||
        tensor.struct_size != tensors->struct_size)
      return mpc_status_make(MPC_INVALID_ARGUMENT,
                             "%s: struct_size is not sizeof(mpc_tensor_t)",
                             name_of(inputs, i, binding).c_str());
    if (!inputs && !tensor.data) continue;
    if (!same_type(tensor, *binding.buffer()))
      return wrong_type(name_of(inputs, i, binding), tensor, *binding.buffer());
    MPC_RETURN_IF_ERROR(check_data(device, tensor, binding, i, inputs));
  }
  return nullptr;
}

bool fit(const Bindings* bindings, const mpc_tensor_t* tensors,
         size_t num_tensors) {
  const size_t expected = bindings ? bindings->size() : 0;
  if (num_tensors != expected || (expected > 0 && !tensors)) return false;
  for (size_t i = 0; i < expected; ++i) {
    const mpc_tensor_t& tensor = tensor_at(tensors, i);
    if (!is_tensor_size(tensor.struct_size) ||
        tensor.struct_size != tensors->struct_size ||
        !same_type(tensor, *bindings->Get(static_cast<uint32_t>(i))->buffer()))
      return false;
  }
  return true;
}

mpc_status_t check_and_queue_inputs(mpc_session_t* session, uint32_t entry,
                                    const mpc_tensor_t* inputs,
                                    size_t num_inputs) {
  const Bindings* bindings = session->variant->entries()->Get(entry)->inputs();
  const Device& device = *session->device;
  mpc_status_t status =
      check_tensors(device, bindings, inputs, num_inputs, true);
  if (status && !fit(bindings, inputs, num_inputs))
    status = add_batch_sizes(*session, entry, status);
  MPC_RETURN_IF_ERROR(status);
  session->input_room.clear();
  for (size_t i = 0; i < num_inputs; ++i) {
    const mpc_tensor_t& tensor = tensor_at(inputs, i);
    session->input_room.push_back(
        {bindings->Get(static_cast<uint32_t>(i))->buffer(), tensor.data,
         memory_kind_of(tensor)});
  }
  return nullptr;
}

}  // namespace mpc::runtime
