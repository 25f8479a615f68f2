// The rate of memory: what a kernel that only moves bytes would take.

#ifndef MPC_TEST_BENCH_KERNELS_COPY_H_
#define MPC_TEST_BENCH_KERNELS_COPY_H_

#include <cstddef>

namespace mpc::bench {

// Copies over all OpenMP threads with a plain vector loop; `bytes` is a
// multiple of 64, both sides are aligned to 64.
void copy_plain(void* to, const void* from, size_t bytes);

// The same past the caches (non-temporal stores).
void copy_streaming(void* to, const void* from, size_t bytes);

}  // namespace mpc::bench

#endif  // MPC_TEST_BENCH_KERNELS_COPY_H_
