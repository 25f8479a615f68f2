#include "kernels/cpu/dnnl/dnnl_memory.h"

#include <dnnl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>

#include "kernels/cpu/dnnl/redirect.h"
#include "kernels/cpu/dnnl/spare_blocks.h"

namespace mpc::kernels::cpu {
namespace {

// The code and primitives of a kernel take at most some megabytes, so a kernel
// can be made if this much memory is available.
constexpr size_t kRoomOfKernel = 16 << 20;
constexpr size_t kReserve = 2 * kRoomOfKernel;

size_t page_size() {
  static const size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

// A region of address space from which allocations are taken in order. It is
// reset when all of them have been freed.
class Reserve {
 public:
  // Maps the region; false if it has not enough room left.
  bool map() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (begin_.load(std::memory_order_relaxed) == 0) {
      void* memory = mmap(nullptr, kReserve, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (memory == MAP_FAILED) return false;
      begin_.store(reinterpret_cast<uintptr_t>(memory),
                   std::memory_order_release);
    }
    return kReserve - used_ >= kRoomOfKernel;
  }

  bool contains(const void* pointer) const {
    // Before the region is mapped it contains nothing.
    const uintptr_t begin = begin_.load(std::memory_order_acquire);
    return begin != 0 &&
           reinterpret_cast<uintptr_t>(pointer) - begin < kReserve;
  }

  // Returns zeroed memory, or null if there is not enough left.
  void* take(size_t size, size_t alignment) {
    // Page-aligned memory may become code, so it must not share pages with
    // other allocations.
    if (alignment >= page_size() && size < kReserve)
      size = (size + page_size() - 1) / page_size() * page_size();
    const std::lock_guard<std::mutex> lock(mutex_);
    const uintptr_t begin = begin_.load(std::memory_order_relaxed);
    const size_t offset = (used_ + alignment - 1) / alignment * alignment;
    if (begin == 0 || offset > kReserve || size > kReserve - offset)
      return nullptr;
    used_ = offset + size;
    ++live_;
    return reinterpret_cast<void*>(begin + offset);
  }

  void give_back() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (--live_ > 0) return;
    void* memory =
        reinterpret_cast<void*>(begin_.load(std::memory_order_relaxed));
    // Pages with code were made read-only. Both calls fail only if the kernel
    // has no memory for its tables; in that case the reserve is not used again.
    if (mprotect(memory, kReserve, PROT_READ | PROT_WRITE) == 0 &&
        madvise(memory, kReserve, MADV_DONTNEED) == 0)
      used_ = 0;
  }

 private:
  std::mutex mutex_;
  std::atomic<uintptr_t> begin_{0};
  size_t used_ = 0;
  size_t live_ = 0;
};

// Never destroyed: oneDNN allocates and frees until the process ends.
template <typename T>
T& leaked_singleton() {
  alignas(T) static char storage[sizeof(T)];
  static T* const made = new (storage) T;
  return *made;
}
Reserve& reserve() { return leaked_singleton<Reserve>(); }
SpareBlocks& spare_blocks() { return leaked_singleton<SpareBlocks>(); }

thread_local uint64_t set_aside = 0;

// Counts and returns `memory`, which was set aside; throws if it is null,
// because callers in oneDNN would use a null pointer.
void* checked_reserve_block(void* memory) {
  if (!memory) throw std::bad_alloc();
  ++set_aside;
  return memory;
}

enum Call { kNew, kMalloc, kAlign, kFree, kMap, kUnmap, kNumCalls };
extern Redirection calls[kNumCalls];

template <typename Function>
Function* before(Call call) {
  return reinterpret_cast<Function*>(calls[call].before);
}

void* make(size_t size) {
  const auto make_before = before<void*(size_t)>(kNew);
  try {
    return make_before(size);
  } catch (const std::bad_alloc&) {
    // This also helps allocations by the standard library on behalf of oneDNN,
    // which are not redirected.
    spare_blocks().release_large();
  }
  try {
    return checked_reserve_block(make_before(size));
  } catch (const std::bad_alloc&) {
    return checked_reserve_block(spare_blocks().take(size));
  }
}

void* allocate(size_t size) {
  void* memory = before<void*(size_t)>(kMalloc)(size);
  return memory ? memory
                : checked_reserve_block(
                      reserve().take(size, alignof(std::max_align_t)));
}

int allocate_aligned(void** out_memory, size_t alignment, size_t size) {
  const int error =
      before<int(void**, size_t, size_t)>(kAlign)(out_memory, alignment, size);
  if (error != ENOMEM) return error;
  *out_memory = checked_reserve_block(reserve().take(size, alignment));
  return 0;
}

void release(void* memory) {
  if (reserve().contains(memory))
    reserve().give_back();
  else
    before<void(void*)>(kFree)(memory);
}

void* map(void* address, size_t size, int protection, int flags, int file,
          off_t offset) {
  void* memory = before<void*(void*, size_t, int, int, int, off_t)>(kMap)(
      address, size, protection, flags, file, offset);
  if (memory != MAP_FAILED || address || (flags & MAP_ANONYMOUS) == 0)
    return memory;
  const int error = errno;
  memory = reserve().take(size, page_size());
  if (memory && mprotect(memory, size, protection) == 0)
    return checked_reserve_block(memory);
  if (memory) release(memory);
  errno = error;
  return MAP_FAILED;
}

int unmap(void* memory, size_t size) {
  if (!reserve().contains(memory))
    return before<int(void*, size_t)>(kUnmap)(memory, size);
  reserve().give_back();
  return 0;
}

Redirection calls[kNumCalls] = {
    redirection("_Znwm", make),
    // Without support for GPUs oneDNN 3.7 does not call it.
    optional_redirection("malloc", allocate),
    redirection("posix_memalign", allocate_aligned),
    redirection("free", release),
    redirection("mmap", map),
    redirection("munmap", unmap),
};

// Whether enough memory is available, for libraries whose calls cannot be
// redirected. Nothing is written, so it costs two system calls.
bool has_room() {
  void* room = mmap(nullptr, kReserve, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return room != MAP_FAILED && munmap(room, kReserve) == 0;
}

}  // namespace

void prepare_dnnl_memory() {
  static const bool redirected =
      redirect_calls(dnnl_version(), calls, kNumCalls);
  const bool enough =
      redirected ? reserve().map() && spare_blocks().fill() : has_room();
  if (!enough) throw std::bad_alloc();
}

static std::atomic<bool> damaged{false};

bool is_dnnl_damaged() { return damaged; }
void set_dnnl_damaged() { damaged = true; }

uint64_t dnnl_allocations_set_aside() { return set_aside; }

void clear_dnnl_cache() {
  int capacity = 0;
  if (dnnl_get_primitive_cache_capacity(&capacity) != dnnl_success) return;
  (void)dnnl_set_primitive_cache_capacity(0);
  (void)dnnl_set_primitive_cache_capacity(capacity);
}

}  // namespace mpc::kernels::cpu
