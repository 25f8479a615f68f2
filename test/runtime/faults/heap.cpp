#include "test/runtime/faults/heap.h"

#include <cerrno>

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

template <typename Allocate>
void* allocate(size_t size, Allocate allocate_now) {
  if (mpc::test::on_allocate(size)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* memory = allocate_now();
  mpc::test::on_allocated(memory);
  return memory;
}

}  // namespace

// Symbols of the executable take precedence, also in libraries.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* pointer, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* pointer);

void* malloc(size_t size) {
  return allocate(size, [=] { return __libc_malloc(size); });
}

void* calloc(size_t count, size_t size) {
  return allocate(count * size, [=] { return __libc_calloc(count, size); });
}

void* realloc(void* pointer, size_t size) {
  return allocate(size, [=] {
    mpc::test::on_free(pointer);
    return __libc_realloc(pointer, size);
  });
}

void* memalign(size_t alignment, size_t size) {
  return allocate(size, [=] { return __libc_memalign(alignment, size); });
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
