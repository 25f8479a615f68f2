#include "test/runtime/allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace mpc::test {
namespace {

std::atomic<bool> watching{false};
std::atomic<int64_t> allocated{0}, freed{0};
thread_local int64_t until_failure = 0;
thread_local bool has_failed = false;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Whether this call must fail.
bool on_allocation() {
  if (!watching.load(std::memory_order_relaxed)) return false;
  allocated.fetch_add(1, std::memory_order_relaxed);
  if (until_failure == 0 || --until_failure > 0) return false;
  has_failed = true;
  return true;
}

void on_free(void* pointer) {
  if (pointer && watching.load(std::memory_order_relaxed))
    freed.fetch_add(1, std::memory_order_relaxed);
}
#endif

}  // namespace

AllocationWatch::AllocationWatch(int64_t fail_at) {
  allocated = 0;
  freed = 0;
  has_failed = false;
  until_failure = fail_at;
  watching = true;
}

AllocationWatch::~AllocationWatch() {
  watching = false;
  until_failure = 0;
}

int64_t AllocationWatch::count() const { return allocated; }
int64_t AllocationWatch::live() const { return allocated - freed; }
bool AllocationWatch::failed() const { return has_failed; }

bool can_watch_allocations() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

}  // namespace mpc::test

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// The executable's symbols come first, for libraries as well.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* pointer, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* pointer);

void* malloc(size_t size) {
  if (!mpc::test::on_allocation()) return __libc_malloc(size);
  errno = ENOMEM;
  return nullptr;
}

void* calloc(size_t count, size_t size) {
  if (!mpc::test::on_allocation()) return __libc_calloc(count, size);
  errno = ENOMEM;
  return nullptr;
}

void* realloc(void* pointer, size_t size) {
  if (mpc::test::on_allocation()) {
    errno = ENOMEM;
    return nullptr;
  }
  mpc::test::on_free(pointer);
  return __libc_realloc(pointer, size);
}

void* memalign(size_t alignment, size_t size) {
  if (!mpc::test::on_allocation()) return __libc_memalign(alignment, size);
  errno = ENOMEM;
  return nullptr;
}

void* aligned_alloc(size_t alignment, size_t size) {
  return memalign(alignment, size);
}

int posix_memalign(void** pointer, size_t alignment, size_t size) {
  void* memory = memalign(alignment, size);
  if (!memory) return ENOMEM;
  *pointer = memory;
  return 0;
}

void free(void* pointer) {
  mpc::test::on_free(pointer);
  __libc_free(pointer);
}
}
#endif
