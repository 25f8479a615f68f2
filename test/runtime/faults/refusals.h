// Makes the system refuse: the n-th allocation, mapping or thread of the
// process, whoever asks for it. Replaces malloc, mmap and pthread_create of the
// program that it is linked into, for its libraries as well.

#ifndef MPC_TEST_RUNTIME_REFUSALS_H_
#define MPC_TEST_RUNTIME_REFUSALS_H_

#include <cstdint>

namespace mpc::test {

enum class Resource { kMemory, kMapping, kThread };

// Which requests are refused.
enum class Refused {
  kOne,     // Number n.
  kGrowth,  // And later those that leave the process with more than it had
            // then.
  kAll,     // And all later ones.
};

// From now on, counting the requests of all threads for `resource` from 1.
void refuse(Resource resource, int64_t n, Refused which);

// Grants everything again. Returns how many requests were refused.
int64_t stop_refusing();

}  // namespace mpc::test

#endif  // MPC_TEST_RUNTIME_REFUSALS_H_
