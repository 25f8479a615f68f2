// Widens 16-bit floats to f32, for convolutions that cuDNN computes only in
// f32.

#include "kernels/cuda/kernels/device.h"
#include "kernels/float_types.h"

namespace {

// The elements that a thread reads at once.
struct alignas(16) Eight {
  uint16_t bits[8];
};

template <typename T>
__device__ __forceinline__ float widen(uint16_t bits) {
  T value;
  value.bits = bits;
  return static_cast<float>(value);
}

template <typename T>
__device__ __forceinline__ void widen_all(const T* in, float* out,
                                          int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  const int64_t first =
      static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t eights = count / 8;
#pragma unroll 1  // Once, unless the grid is too small.
  for (int64_t i = first; i < eights; i += step) {
    const Eight from = reinterpret_cast<const Eight*>(in)[i];
    float4* to = reinterpret_cast<float4*>(out) + 2 * i;
    to[0] = make_float4(widen<T>(from.bits[0]), widen<T>(from.bits[1]),
                        widen<T>(from.bits[2]), widen<T>(from.bits[3]));
    to[1] = make_float4(widen<T>(from.bits[4]), widen<T>(from.bits[5]),
                        widen<T>(from.bits[6]), widen<T>(from.bits[7]));
  }
#pragma unroll 1
  for (int64_t i = 8 * eights + first; i < count; i += step)
    out[i] = static_cast<float>(in[i]);
}

}  // namespace

// `in` and `out` must be aligned to 16 bytes.
extern "C" __global__ void __launch_bounds__(256)
    mpc_widen_bf16(const mpc::kernels::Bf16* in, float* out, int64_t count) {
  widen_all(in, out, count);
}

extern "C" __global__ void __launch_bounds__(256)
    mpc_widen_f16(const mpc::kernels::F16* in, float* out, int64_t count) {
  widen_all(in, out, count);
}
