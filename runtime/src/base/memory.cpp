#include "runtime/src/base/memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/src/base/byte_text.h"

namespace mpc::runtime {

// The size of a huge page. Blocks of at least twice this size start on one.
static constexpr size_t kHugePage = size_t{2} << 20;

static void* allocate_aligned(void*, size_t size, size_t alignment) {
  size_t block = size >= 2 * kHugePage ? kHugePage : alignment;
  if (size > SIZE_MAX - block) return nullptr;
  size_t rounded = (size + block - 1) / block * block;
  void* data = std::aligned_alloc(block, rounded);
  // A hint only: a failure is harmless.
  if (data && block == kHugePage) (void)madvise(data, rounded, MADV_HUGEPAGE);
  return data;
}

static void release_aligned(void*, void* pointer) { std::free(pointer); }

mpc_allocator_t default_allocator() {
  return {nullptr, allocate_aligned, release_aligned};
}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(allocator_, other.allocator_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

mpc_status_t Memory::allocate(const mpc_allocator_t& allocator, uint64_t size,
                              const char* what) {
  reset();
  void* data = nullptr;
  // The limit is halved so that rounding up cannot overflow.
  if (size <= SIZE_MAX / 2)
    data = allocator.allocate(allocator.user, size > 0 ? size : kAlignment,
                              kAlignment);
  if (!data)
    return mpc_status_make(MPC_OUT_OF_MEMORY, "cannot allocate %s for %s",
                           ByteText(size).c_str(), what);
  if (reinterpret_cast<uintptr_t>(data) % kAlignment != 0) {
    allocator.release(allocator.user, data);
    return mpc_status_make(MPC_INVALID_ARGUMENT,
                           "the allocator ignores the alignment of %zu bytes",
                           kAlignment);
  }
  std::memset(data, 0, size);
  allocator_ = allocator;
  data_ = static_cast<uint8_t*>(data);
  size_ = size;
  return nullptr;
}

void Memory::reset() {
  if (data_) allocator_.release(allocator_.user, data_);
  data_ = nullptr;
  size_ = 0;
}

}  // namespace mpc::runtime
