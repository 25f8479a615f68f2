// CUDA in C++ for the host simulator: the header that a .cu file includes if
// this folder precedes a toolkit's. It has only the parts of CUDA that our
// kernels use; add further functions here, with the semantics of NVIDIA's
// guide.
//
// `__shared__` works for plain arrays (static: never poisoned, not counted);
// MPC_SHARED is better checked, so kernels use that.

#ifndef MPC_TEST_DEVICE_SIM_CUDA_CUDA_RUNTIME_H_
#define MPC_TEST_DEVICE_SIM_CUDA_CUDA_RUNTIME_H_

#ifdef __CUDACC__
#error "nvcc must find the toolkit's cuda_runtime.h, not the simulator's"
#endif

#include <cmath>
#include <cstdint>
#include <cstring>

#include "test/device_sim/abi.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))

// See kernels/cuda/kernels/device.h.
#define MPC_SHARED(type, name, dims)                                  \
  static char name##_key;                                             \
  using name##_array = type dims;                                     \
  name##_array& name = *static_cast<name##_array*>(                   \
      mpc_sim_static_shared(&name##_key, #name, sizeof(name##_array), \
                            alignof(name##_array), __FILE__, __LINE__))
#define MPC_DYNAMIC_SHARED(type, name) \
  type* name = static_cast<type*>(mpc_sim_dynamic_shared(__FILE__, __LINE__))

// ---- Types. Aligned as on the device, so that UBSan detects misaligned
// accesses.

using uint3 = mpc_sim_index_t;
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1)
      : x(x), y(y), z(z) {}
};

#define MPC_SIM_VECTORS(type, base, pair_alignment, quad_alignment) \
  struct alignas(pair_alignment) base##2 {                          \
    type x, y;                                                      \
  };                                                                \
  struct alignas(quad_alignment) base##4 {                          \
    type x, y, z, w;                                                \
  };                                                                \
  inline base##2 make_##base##2(type x, type y) { return {x, y}; }  \
  inline base##4 make_##base##4(type x, type y, type z, type w) {   \
    return {x, y, z, w};                                            \
  }
MPC_SIM_VECTORS(float, float, 8, 16)
MPC_SIM_VECTORS(int, int, 8, 16)
MPC_SIM_VECTORS(unsigned, uint, 8, 16)
MPC_SIM_VECTORS(unsigned short, ushort, 4, 8)
#undef MPC_SIM_VECTORS
struct alignas(16) double2 {
  double x, y;
};

// ---- The position of a thread.

#define threadIdx (mpc_sim_position.thread)
#define blockIdx (mpc_sim_position.block)
#define blockDim (mpc_sim_position.block_size)
#define gridDim (mpc_sim_position.grid_size)
constexpr int warpSize = 32;

// ---- Synchronisation. The last two parameters are the site of the call.

#define MPC_SIM_SITE \
  const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void __syncthreads(MPC_SIM_SITE) { mpc_sim_block_barrier(file, line); }

// Whether the predicate of any thread of the block is not zero.
inline int __syncthreads_or(int predicate, MPC_SIM_SITE) {
  static thread_local int any;  // One block runs at a time.
  mpc_sim_block_barrier(file, line);
  any = 0;
  mpc_sim_block_barrier(file, line);
  if (predicate) any = 1;
  mpc_sim_block_barrier(file, line);
  return any;
}

inline void __syncwarp(unsigned mask = ~0u, MPC_SIM_SITE) {
  mpc_sim_warp_barrier(mask, file, line);
}

// Blocks and threads see each other's writes immediately.
inline void __threadfence() {}
inline void __threadfence_block() {}

inline int __any_sync(unsigned mask, int predicate, MPC_SIM_SITE) {
  return mpc_sim_vote(MPC_SIM_VOTE_ANY, mask, predicate != 0, file, line);
}
inline int __all_sync(unsigned mask, int predicate, MPC_SIM_SITE) {
  return mpc_sim_vote(MPC_SIM_VOTE_ALL, mask, predicate != 0, file, line);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, MPC_SIM_SITE) {
  return mpc_sim_vote(MPC_SIM_VOTE_BALLOT, mask, predicate != 0, file, line);
}

namespace mpc::device_sim {

template <class T>
T shuffle(unsigned mode, unsigned mask, T value, unsigned lane, int width,
          const char* file, int line) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "of 32 or 64 bits");
  if (width < 1 || width > 32 || (width & (width - 1)) != 0)
    mpc_sim_trap("a shuffle's width must be a power of two up to 32", file,
                 line);
  const unsigned clamp = static_cast<unsigned>(32 - width) << 8 |
                         (mode == MPC_SIM_SHUFFLE_UP ? 0 : 0x1f);
  T result;
  if constexpr (sizeof(T) == 4) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits =
        mpc_sim_shuffle_32(mode, mask, bits, lane, clamp, nullptr, file, line);
    std::memcpy(&result, &bits, sizeof bits);
  } else {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits =
        mpc_sim_shuffle_64(mode, mask, bits, lane, clamp, nullptr, file, line);
    std::memcpy(&result, &bits, sizeof bits);
  }
  return result;
}

template <class To, class From>
To bits_of(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

}  // namespace mpc::device_sim

template <class T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, MPC_SIM_SITE) {
  return mpc::device_sim::shuffle(MPC_SIM_SHUFFLE_IDX, mask, value, lane, width,
                                  file, line);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 MPC_SIM_SITE) {
  return mpc::device_sim::shuffle(MPC_SIM_SHUFFLE_UP, mask, value, delta, width,
                                  file, line);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   MPC_SIM_SITE) {
  return mpc::device_sim::shuffle(MPC_SIM_SHUFFLE_DOWN, mask, value, delta,
                                  width, file, line);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32,
                  MPC_SIM_SITE) {
  return mpc::device_sim::shuffle(MPC_SIM_SHUFFLE_XOR, mask, value, lanes,
                                  width, file, line);
}

inline void mpc_sim_trap_here(MPC_SIM_SITE) {
  mpc_sim_trap("__trap()", file, line);
}
#define __trap() mpc_sim_trap_here()

// ---- Atomics.

#define MPC_SIM_ATOMIC(name, type, function, as)                               \
  inline type name(type* address, type value) {                                \
    return mpc::device_sim::bits_of<type>(function(                            \
        reinterpret_cast<as*>(address), mpc::device_sim::bits_of<as>(value))); \
  }
MPC_SIM_ATOMIC(atomicAdd, int, mpc_sim_atomic_add_i32, int32_t)
MPC_SIM_ATOMIC(atomicAdd, unsigned, mpc_sim_atomic_add_i32, int32_t)
MPC_SIM_ATOMIC(atomicAdd, unsigned long long, mpc_sim_atomic_add_i64, int64_t)
MPC_SIM_ATOMIC(atomicAdd, float, mpc_sim_atomic_add_f32, float)
MPC_SIM_ATOMIC(atomicAdd, double, mpc_sim_atomic_add_f64, double)
MPC_SIM_ATOMIC(atomicMax, int, mpc_sim_atomic_max_i32, int32_t)
MPC_SIM_ATOMIC(atomicMax, unsigned, mpc_sim_atomic_max_u32, uint32_t)
MPC_SIM_ATOMIC(atomicMax, long long, mpc_sim_atomic_max_i64, int64_t)
MPC_SIM_ATOMIC(atomicMax, unsigned long long, mpc_sim_atomic_max_u64, uint64_t)
MPC_SIM_ATOMIC(atomicExch, int, mpc_sim_atomic_exchange_32, uint32_t)
MPC_SIM_ATOMIC(atomicExch, unsigned, mpc_sim_atomic_exchange_32, uint32_t)
MPC_SIM_ATOMIC(atomicExch, float, mpc_sim_atomic_exchange_32, uint32_t)
MPC_SIM_ATOMIC(atomicExch, unsigned long long, mpc_sim_atomic_exchange_64,
               uint64_t)
#undef MPC_SIM_ATOMIC

inline int atomicCAS(int* address, int expected, int value) {
  return static_cast<int>(mpc_sim_atomic_cas_32(
      reinterpret_cast<uint32_t*>(address), static_cast<uint32_t>(expected),
      static_cast<uint32_t>(value)));
}
inline unsigned atomicCAS(unsigned* address, unsigned expected,
                          unsigned value) {
  return mpc_sim_atomic_cas_32(address, expected, value);
}
inline unsigned long long atomicCAS(unsigned long long* address,
                                    unsigned long long expected,
                                    unsigned long long value) {
  return mpc_sim_atomic_cas_64(reinterpret_cast<uint64_t*>(address), expected,
                               value);
}

// ---- Loads, bits and arithmetic.

template <class T>
T __ldg(const T* address) {
  return *address;
}

inline int __float_as_int(float x) { return mpc::device_sim::bits_of<int>(x); }
inline float __int_as_float(int x) {
  return mpc::device_sim::bits_of<float>(x);
}
inline unsigned __float_as_uint(float x) {
  return mpc::device_sim::bits_of<unsigned>(x);
}
inline float __uint_as_float(unsigned x) {
  return mpc::device_sim::bits_of<float>(x);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) {
  return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(uint64_t{a} * b >> 32);
}
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }

#define MPC_SIM_MIN_MAX(type)                               \
  inline type min(type a, type b) { return b < a ? b : a; } \
  inline type max(type a, type b) { return a < b ? b : a; }
MPC_SIM_MIN_MAX(int)
MPC_SIM_MIN_MAX(unsigned)
MPC_SIM_MIN_MAX(long)
MPC_SIM_MIN_MAX(unsigned long)
MPC_SIM_MIN_MAX(long long)
MPC_SIM_MIN_MAX(unsigned long long)
#undef MPC_SIM_MIN_MAX

#undef MPC_SIM_SITE

#endif  // MPC_TEST_DEVICE_SIM_CUDA_CUDA_RUNTIME_H_
