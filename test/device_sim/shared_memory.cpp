#include "test/device_sim/shared_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "test/device_sim/asan.h"

namespace mpc::device_sim {
namespace {

// The guard after each array; AddressSanitizer has its own.
constexpr size_t kGuardBytes = MPC_DEVICE_SIM_ASAN ? 0 : 64;
constexpr unsigned char kGuard = 0xc3;

}  // namespace

void SharedMemory::Free::operator()(unsigned char* data) const { free(data); }

void* SharedMemory::make(const void* key, const std::string& name, size_t bytes,
                         size_t alignment) {
  void* data = nullptr;
  alignment = std::max(alignment, sizeof(void*));
  if (posix_memalign(&data, alignment, bytes + kGuardBytes) != 0)
    throw std::bad_alloc();
  std::memset(data, poison_, bytes);
  std::memset(static_cast<unsigned char*>(data) + bytes, kGuard, kGuardBytes);
  auto* owned = static_cast<unsigned char*>(data);
  arrays_.push_back(
      {key, name, bytes, std::unique_ptr<unsigned char, Free>(owned)});
  bytes_ += bytes;
  return data;
}

void* SharedMemory::find(const void* key) const {
  for (const Array& array : arrays_)
    if (array.key == key) return array.data.get();
  return nullptr;
}

void SharedMemory::poison() {
  for (const Array& array : arrays_)
    std::memset(array.data.get(), poison_, array.bytes);
}

const std::string* SharedMemory::overrun() const {
  for (const Array& array : arrays_) {
    const unsigned char* end = array.data.get() + array.bytes;
    if (!std::all_of(end, end + kGuardBytes,
                     [](unsigned char byte) { return byte == kGuard; }))
      return &array.name;
  }
  return nullptr;
}

}  // namespace mpc::device_sim
