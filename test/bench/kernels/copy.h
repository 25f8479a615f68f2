// The memory rate: the time of a kernel that only moves bytes.

#ifndef MPC_TEST_BENCH_KERNELS_COPY_H_
#define MPC_TEST_BENCH_KERNELS_COPY_H_

#include <cstddef>

namespace mpc::bench {

// Copies with a plain vector loop in all OpenMP threads; `bytes` is a multiple
// of 64, and both sides are aligned to 64.
void copy_plain(void* to, const void* from, size_t bytes);

// The same with non-temporal stores, which bypass the caches.
void copy_streaming(void* to, const void* from, size_t bytes);

}  // namespace mpc::bench

#endif  // MPC_TEST_BENCH_KERNELS_COPY_H_
