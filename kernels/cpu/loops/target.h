// Functions compiled for instruction sets beyond the library's baseline.

#ifndef MPC_KERNELS_CPU_LOOPS_TARGET_H
#define MPC_KERNELS_CPU_LOOPS_TARGET_H

#define MPC_PRAGMA(text) _Pragma(#text)

// MPC_BEGIN_TARGET(MPC_AVX2) ... MPC_END_TARGET: functions in between are
// compiled for these instructions. A separate file with its own flags would not
// work: inline functions of headers would then be compiled with these flags,
// and the linker could use them for all callers.
#ifdef __clang__
#define MPC_BEGIN_TARGET(features)                                   \
  MPC_PRAGMA(clang attribute push(__attribute__((target(features))), \
                                  apply_to = function))
#define MPC_END_TARGET MPC_PRAGMA(clang attribute pop)
#else
#define MPC_BEGIN_TARGET(features) \
  MPC_PRAGMA(GCC push_options) MPC_PRAGMA(GCC target(features))
#define MPC_END_TARGET MPC_PRAGMA(GCC pop_options)
#endif

#define MPC_AVX2 "avx2,fma,f16c"
#define MPC_AVX512 "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c"

#endif  // MPC_KERNELS_CPU_LOOPS_TARGET_H
