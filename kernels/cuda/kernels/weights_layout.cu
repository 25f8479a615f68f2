// Changes the layout of a convolution's weights: cuDNN computes an f32 result
// of 16-bit operands correctly only if the weights are O, KH, KW, C in memory;
// the catalog's are O, C, KH, KW.

#include <cstdint>

#include "kernels/cuda/kernels/device.h"

namespace {

// Calls body(index with channels first, index with channels last).
template <typename F>
__device__ __forceinline__ void for_each(int64_t count, int64_t channels,
                                         int64_t window, const F& body) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
#pragma unroll 1  // Divisions are long.
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += step) {
    const int64_t place = i % window;
    const int64_t channel = i / window % channels;
    const int64_t output = i / window / channels;
    body(i, (output * window + place) * channels + channel);
  }
}

}  // namespace

// For results.
extern "C" __global__ void __launch_bounds__(256)
    mpc_channels_first(const float* in, float* out, int64_t count,
                       int64_t channels, int64_t window) {
  for_each(count, channels, window,
           [&](int64_t first, int64_t last) { out[first] = in[last]; });
}

// For operands of 16 bits.
extern "C" __global__ void __launch_bounds__(256)
    mpc_channels_last(const uint16_t* in, uint16_t* out, int64_t count,
                      int64_t channels, int64_t window) {
  for_each(count, channels, window,
           [&](int64_t first, int64_t last) { out[last] = in[first]; });
}
