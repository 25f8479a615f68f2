// Hooks into the malloc of the process: counts calls, or makes one of them
// fail. Has no effect in sanitizer builds, which have their own malloc.

#ifndef MPC_TEST_RUNTIME_ALLOCATIONS_H_
#define MPC_TEST_RUNTIME_ALLOCATIONS_H_

#include <cstdint>

namespace mpc::test {

// Whether this build can hook into malloc.
bool can_watch_allocations();

// Counts the allocations of all threads during its lifetime. With `fail_at` n
// >= 1, the n-th allocation of this thread returns null.
class AllocationWatch {
 public:
  explicit AllocationWatch(int64_t fail_at = 0);
  ~AllocationWatch();
  int64_t count() const;
  // Allocations minus frees.
  int64_t live() const;
  // Whether an allocation was made to fail.
  bool failed() const;
};

}  // namespace mpc::test

#endif  // MPC_TEST_RUNTIME_ALLOCATIONS_H_
