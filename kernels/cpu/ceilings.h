// The rates that this machine reaches at the moment, which no kernel can
// exceed by much: multiply-adds in registers and a copy of a large block.

#ifndef MPC_KERNELS_CPU_CEILINGS_H_
#define MPC_KERNELS_CPU_CEILINGS_H_

#include <cstddef>

namespace mpc::kernels {

struct Ceilings {
  double f32_flops = 0;   // Per second, by multiply-adds of vectors.
  double bf16_flops = 0;  // The same by vdpbf16ps; 0 if the CPU lacks it.
  double amx_flops = 0;   // The same by tdpbf16ps, on tiles of bf16.
  // Bytes per second that a copy reads and writes, with plain stores. It is
  // larger than the caches of one core, but may fit a shared cache.
  double copy_bytes = 0;
};

// Measures for about a tenth of a second on `threads` threads, those of the
// caller's team or OpenMP's. Each rate is the best of several runs, so that an
// interruption does not count. Takes memory for the copy; where there is none,
// copy_bytes is 0.
Ceilings measure_ceilings(int threads);

// The bytes per second that a copy of `bytes` reads and writes with plain
// stores, each thread copying its part again and again. 0 if there is no
// memory.
double measure_copy(size_t bytes, int threads);

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_CPU_CEILINGS_H_
