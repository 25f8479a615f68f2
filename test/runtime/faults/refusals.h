// Makes the n-th allocation, mapping or thread creation of the process fail,
// whichever code requests it. Replaces malloc, mmap and pthread_create in the
// program that links this, also for its libraries.

#ifndef MPC_TEST_RUNTIME_REFUSALS_H_
#define MPC_TEST_RUNTIME_REFUSALS_H_

#include <cstdint>

namespace mpc::test {

enum class Resource { kMemory, kMapping, kThread };

// Which requests are refused.
enum class Refused {
  kOne,     // Only request n.
  kGrowth,  // Also later ones that leave the process with more than it had at
            // request n.
  kAll,     // Also all later ones.
};

// Starts refusing; requests of all threads for `resource` are counted from 1.
void refuse(Resource resource, int64_t n, Refused which);

// Grants everything again. Returns how many requests were refused.
int64_t stop_refusing();

}  // namespace mpc::test

#endif  // MPC_TEST_RUNTIME_REFUSALS_H_
