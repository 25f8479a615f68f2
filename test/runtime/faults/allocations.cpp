#include "test/runtime/faults/allocations.h"

#include <atomic>
#include <cstddef>

#include "test/runtime/faults/heap.h"

namespace mpc::test {
namespace {

std::atomic<bool> watching{false};
std::atomic<int64_t> allocated{0}, freed{0};
thread_local int64_t until_failure = 0;
thread_local bool has_failed = false;

}  // namespace

bool on_allocate(size_t) {
  if (!watching.load(std::memory_order_relaxed)) return false;
  allocated.fetch_add(1, std::memory_order_relaxed);
  if (until_failure == 0 || --until_failure > 0) return false;
  has_failed = true;
  return true;
}

void on_allocated(void*) {}

void on_free(void* memory) {
  if (memory && watching.load(std::memory_order_relaxed))
    freed.fetch_add(1, std::memory_order_relaxed);
}

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

bool can_watch_allocations() { return kReplacesHeap; }

}  // namespace mpc::test
