// Statistics of a tensor, and the effect of rounding it. Uses one block: the
// kernels are not time-critical, and without atomics the bits are always the
// same. Threads take elements in turn, then the first thread adds up the
// partial results.

#include "kernels/cuda/kernels/device.h"
#include "kernels/float_types.h"
#include "kernels/observation.h"

namespace {

using mpc::kernels::Bf16;
using mpc::kernels::F16;
using mpc::kernels::Observation;
using mpc::kernels::RoundingSums;

constexpr int kThreads = 256;
constexpr int kGroup = 16;  // Threads with counts in shared memory at once.

// Shared memory cannot hold objects with a constructor, so they are arrays of
// words.
template <typename T>
constexpr int kWords = sizeof(T) / sizeof(int64_t);

template <typename T>
__device__ __forceinline__ void observe_all(int64_t count, const T* values,
                                            double* row) {
  using Counts = Observation<float>;
  MPC_SHARED(int64_t, room, [kGroup][kWords<Counts>]);
  Counts mine;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
    mine.add(static_cast<float>(values[i]), i);
  Counts all;
  for (int group = 0; group < kThreads; group += kGroup) {
    const int place = static_cast<int>(threadIdx.x) - group;
    if (place >= 0 && place < kGroup)
      memcpy(room[place], &mine, sizeof(Counts));
    __syncthreads();
#pragma unroll 1
    for (int i = 0; threadIdx.x == 0 && i < kGroup; ++i) {
      Counts other;
      memcpy(&other, room[i], sizeof(Counts));
      all.add(other);
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) all.write(row);
}

template <typename T>
__device__ __forceinline__ void round_all(int64_t count, const T* values,
                                          const T* gradients, double* row) {
  MPC_SHARED(int64_t, room, [kThreads][kWords<RoundingSums>]);
  RoundingSums mine;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x)
    mine.add(static_cast<float>(values[i]), static_cast<float>(gradients[i]));
  memcpy(room[threadIdx.x], &mine, sizeof(RoundingSums));
  __syncthreads();
  if (threadIdx.x != 0) return;
#pragma unroll 1
  for (int i = 1; i < kThreads; ++i) {
    RoundingSums other;
    memcpy(&other, room[i], sizeof(RoundingSums));
    mine.add(other);
  }
  mine.write(row);
}

}  // namespace

#define MPC_OBSERVE(type, name)                                              \
  extern "C" __global__ void __launch_bounds__(256)                          \
      mpc_observe_##name(int64_t count, const type* values, double* row) {   \
    observe_all(count, values, row);                                         \
  }                                                                          \
  extern "C" __global__ void __launch_bounds__(256)                          \
      mpc_rounding_##name(int64_t count, const type* values,                 \
                          const type* gradients, double* row) {              \
    round_all(count, values, gradients, row);                                \
  }

MPC_OBSERVE(float, f32)
MPC_OBSERVE(Bf16, bf16)
MPC_OBSERVE(F16, f16)
