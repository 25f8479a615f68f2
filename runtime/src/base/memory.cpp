#include "runtime/src/base/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/src/base/byte_text.h"

namespace mpc::runtime {

// The size of a huge page. Blocks of at least twice this size start on one.
static constexpr size_t kHugePage = size_t{2} << 20;

static void* allocate_aligned(void*, size_t size, size_t alignment) {
  if (size > SIZE_MAX - alignment) return nullptr;
  return std::aligned_alloc(alignment,
                            (size + alignment - 1) / alignment * alignment);
}

// Maps zeroed pages, which take up memory when they are used; null if that
// fails.
static uint8_t* map_pages(size_t size) {
  const size_t room = size + kHugePage;
  void* const mapped = mmap(nullptr, room, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  uint8_t* const begin = static_cast<uint8_t*>(mapped);
  const size_t before =
      (kHugePage - reinterpret_cast<uintptr_t>(begin) % kHugePage) % kHugePage;
  if (before > 0) munmap(begin, before);
  if (before < kHugePage) munmap(begin + before + size, kHugePage - before);
  // A hint only: a failure is harmless.
  (void)madvise(begin + before, size, MADV_HUGEPAGE);
  return begin + before;
}

static void release_aligned(void*, void* pointer) { std::free(pointer); }

mpc_allocator_t default_allocator() {
  return {nullptr, allocate_aligned, release_aligned};
}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(allocator_, other.allocator_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

mpc_status_t Memory::allocate(const mpc_allocator_t& allocator, uint64_t size,
                              const char* what) {
  reset();
  const auto fail = [&] {
    return mpc_status_make(MPC_OUT_OF_MEMORY, "cannot allocate %s for %s",
                           ByteText(size).c_str(), what);
  };
  // The limit is halved so that rounding up cannot overflow.
  if (size > SIZE_MAX / 2) return fail();
  if (allocator.allocate == allocate_aligned && size >= 2 * kHugePage) {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t rounded = (size + page - 1) / page * page;
    data_ = map_pages(rounded);
    if (!data_) return fail();
    mapped_ = rounded;
    size_ = size;
    return nullptr;
  }
  void* data = allocator.allocate(allocator.user, size > 0 ? size : kAlignment,
                                  kAlignment);
  if (!data) return fail();
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
  if (mapped_ > 0)
    munmap(data_, mapped_);
  else if (data_)
    allocator_.release(allocator_.user, data_);
  data_ = nullptr;
  size_ = mapped_ = 0;
}

}  // namespace mpc::runtime
