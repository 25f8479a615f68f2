#include "test/runtime/faults/refusals.h"

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "test/runtime/faults/heap.h"

namespace mpc::test {
namespace {

std::atomic<bool> armed{false};
std::atomic<int64_t> until{0}, refused{0};
// Bytes in use since refuse(), now and at request n. Threads are never released
// in these tests, and mappings count as if they were not.
std::atomic<int64_t> live{0}, most{0};
Resource wanted;
Refused refusal;

bool is_refused(Resource resource, size_t size) {
  if (!armed.load(std::memory_order_acquire) || resource != wanted)
    return false;
  const int64_t left = until.fetch_sub(1, std::memory_order_relaxed) - 1;
  if (left == 0) most = live.load();
  if (left > 0 || (left < 0 && refusal == Refused::kOne)) return false;
  if (left < 0 && refusal == Refused::kGrowth &&
      resource == Resource::kMemory &&
      live + static_cast<int64_t>(size) <= most)
    return false;
  refused.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace

bool on_allocate(size_t size) { return is_refused(Resource::kMemory, size); }

void on_allocated(void* memory) {
  if (memory && armed.load(std::memory_order_relaxed))
    live += static_cast<int64_t>(malloc_usable_size(memory));
}

void on_free(void* memory) {
  if (memory && armed.load(std::memory_order_relaxed))
    live -= static_cast<int64_t>(malloc_usable_size(memory));
}

void refuse(Resource resource, int64_t n, Refused which) {
  wanted = resource;
  refusal = which;
  until = n;
  refused = 0;
  live = 0;
  armed.store(true, std::memory_order_release);
}

int64_t stop_refusing() {
  armed = false;
  return refused;
}

}  // namespace mpc::test

using mpc::test::is_refused;
using mpc::test::Resource;

// Symbols of the executable take precedence, also in libraries.
extern "C" {
void* mmap(void* address, size_t size, int protection, int flags, int file,
           off_t offset) {
  if (is_refused(Resource::kMapping, size)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  using Map = void*(void*, size_t, int, int, int, off_t);
  static Map* const next = reinterpret_cast<Map*>(dlsym(RTLD_NEXT, "mmap"));
  return next(address, size, protection, flags, file, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                   void* (*start)(void*), void* data) {
  if (is_refused(Resource::kThread, 1)) return EAGAIN;
  using Create =
      int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static Create* const next =
      reinterpret_cast<Create*>(dlsym(RTLD_NEXT, "pthread_create"));
  return next(thread, attributes, start, data);
}
}
