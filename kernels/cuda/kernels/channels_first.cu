// Transposes the gradient of a convolution's weights from O, KH, KW, C to O, C,
// KH, KW: cuDNN computes it in f32 only in the former layout.

#include "kernels/cuda/kernels/device.h"

extern "C" __global__ void __launch_bounds__(256)
    mpc_channels_first(const float* in, float* out, int64_t count,
                       int64_t channels, int64_t window) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count; i += step) {
    const int64_t place = i % window;
    const int64_t channel = i / window % channels;
    const int64_t output = i / window / channels;
    out[i] = in[(output * window + place) * channels + channel];
  }
}
