// A product plus a bias, its GELU, and a product times the derivative of GELU,
// for products that cuBLASLt does not combine with them.

#include "kernels/cuda/kernels/device.h"
#include "kernels/gelu.h"

namespace {

// The elements that a thread reads at once.
struct alignas(16) Eight {
  uint16_t bits[8];
};

template <typename T>
__device__ __forceinline__ float load(uint16_t bits) {
  T value;
  value.bits = bits;
  return static_cast<float>(value);
}

template <typename T>
__device__ __forceinline__ uint16_t store(float value) {
  return T(value).bits;
}

// `result` holds products, rows of `columns` elements, and gets the bias.
template <typename T>
__device__ __forceinline__ void add_bias(const T* bias, T* result,
                                         int64_t count, int64_t columns) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
#pragma unroll 1  // Once, unless the grid is too small.
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count / 8; i += step) {
    Eight x = reinterpret_cast<const Eight*>(result)[i];
    const Eight b = reinterpret_cast<const Eight*>(bias)[i % (columns / 8)];
    for (int j = 0; j < 8; ++j)
      x.bits[j] = store<T>(load<T>(x.bits[j]) + load<T>(b.bits[j]));
    reinterpret_cast<Eight*>(result)[i] = x;
  }
}

// `argument` holds products, rows of `columns` elements, and gets the bias.
template <typename T>
__device__ __forceinline__ void gelu_all(const T* bias, T* argument, T* result,
                                         int64_t count, int64_t columns) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
#pragma unroll 1  // Once, unless the grid is too small.
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count / 8; i += step) {
    Eight x = reinterpret_cast<const Eight*>(argument)[i], y;
    const Eight b = reinterpret_cast<const Eight*>(bias)[i % (columns / 8)];
    for (int j = 0; j < 8; ++j) {
      const float sum = load<T>(x.bits[j]) + load<T>(b.bits[j]);
      x.bits[j] = store<T>(sum);
      y.bits[j] = store<T>(sum * mpc::kernels::gelu_factor(sum));
    }
    reinterpret_cast<Eight*>(argument)[i] = x;
    reinterpret_cast<Eight*>(result)[i] = y;
  }
}

template <typename T>
__device__ __forceinline__ void multiply_by_slope(const T* argument, T* result,
                                                  int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
#pragma unroll 1
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < count / 8; i += step) {
    const Eight x = reinterpret_cast<const Eight*>(argument)[i];
    Eight y = reinterpret_cast<const Eight*>(result)[i];
    for (int j = 0; j < 8; ++j)
      y.bits[j] = store<T>(load<T>(y.bits[j]) *
                           mpc::kernels::gelu_slope(load<T>(x.bits[j])));
    reinterpret_cast<Eight*>(result)[i] = y;
  }
}

}  // namespace

// Columns must be a multiple of 8, and all pointers aligned to 16 bytes.
#define MPC_EPILOGUE_KERNELS(suffix, T)                                        \
  extern "C" __global__ void __launch_bounds__(256) mpc_bias_##suffix(         \
      const T* bias, T* result, int64_t count, int64_t columns) {              \
    add_bias(bias, result, count, columns);                                    \
  }                                                                            \
  extern "C" __global__ void __launch_bounds__(256) mpc_gelu_##suffix(         \
      const T* bias, T* argument, T* result, int64_t count, int64_t columns) { \
    gelu_all(bias, argument, result, count, columns);                          \
  }                                                                            \
  extern "C" __global__ void __launch_bounds__(256)                            \
      mpc_gelu_grad_##suffix(const T* argument, T* result, int64_t count) {    \
    multiply_by_slope(argument, result, count);                                \
  }
MPC_EPILOGUE_KERNELS(bf16, mpc::kernels::Bf16)
MPC_EPILOGUE_KERNELS(f16, mpc::kernels::F16)
