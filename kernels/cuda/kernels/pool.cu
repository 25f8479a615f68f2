// Pooling and its gradients, with one thread per element of the result. Each
// thread reads its values in the order of the reference and gives the same
// bits: the first of equal maxima, NaN as the largest, sums in f32 in order.
// Gradients are gathered, so that no two threads add to the same element.

#include "kernels/cuda/kernels/device.h"
#include "kernels/cuda/kernels/pool_params.h"
#include "kernels/float_types.h"

namespace {

using mpc::kernels::PoolParams;

// The position of an element.
struct Place {
  int64_t n;
  int32_t c, h, w;
};

template <typename Index>
__device__ __forceinline__ Place place_of(const PoolParams& p,
                                          const int32_t* extent, Index index) {
  const Index channels = static_cast<Index>(p.channels),
              rows = static_cast<Index>(extent[0]),
              columns = static_cast<Index>(extent[1]);
  Index c, h, w;
  if (p.channels_last) {
    c = index % channels;
    index /= channels;
  }
  w = index % columns;
  index /= columns;
  h = index % rows;
  index /= rows;
  if (!p.channels_last) {
    c = index % channels;
    index /= channels;
  }
  return {static_cast<int64_t>(index), static_cast<int32_t>(c),
          static_cast<int32_t>(h), static_cast<int32_t>(w)};
}

// The slow path: numbers below 2^32, the usual case, are divided several times
// faster.
__device__ __attribute__((noinline)) Place far_place_of(const PoolParams& p,
                                                        const int32_t* extent,
                                                        uint64_t index) {
  return place_of<uint64_t>(p, extent, index);
}

// The offset of channel c of image n, and the strides of rows and columns.
struct Plane {
  int64_t base, h, w;
};

__device__ __forceinline__ Plane plane_of(const PoolParams& p,
                                          const int32_t* extent,
                                          const Place& place) {
  const int64_t pixels = int64_t{extent[0]} * extent[1];
  if (p.channels_last)
    return {place.n * p.channels * pixels + place.c,
            int64_t{extent[1]} * p.channels, p.channels};
  return {(place.n * p.channels + place.c) * pixels, extent[1], 1};
}

// The positions of the window at `index` that lie in the image, and the
// coordinate of position 0.
struct Taps {
  int32_t start, first, end;
};

__device__ __forceinline__ Taps taps_of(const PoolParams& p, int dim,
                                        int32_t index) {
  const int32_t dilation = p.dilations[dim];
  const int32_t start = index * p.strides[dim] - p.pads[dim];
  // Pads are smaller than the window, so at least one position is inside.
  const int32_t first = start < 0 ? (-start - 1) / dilation + 1 : 0;
  const int32_t inside = (p.input[dim] - 1 - start) / dilation + 1;
  return {start, first, inside < p.kernel[dim] ? inside : p.kernel[dim]};
}

__device__ __forceinline__ float divisor(const PoolParams& p, int32_t h,
                                         int32_t w) {
  if (p.count_include_pad)
    return static_cast<float>(p.kernel[0]) * static_cast<float>(p.kernel[1]);
  const Taps rows = taps_of(p, 0, h), columns = taps_of(p, 1, w);
  return static_cast<float>(rows.end - rows.first) *
         static_cast<float>(columns.end - columns.first);
}

// Calls body(offset in the input, position in the window) for each position
// inside the image.
template <typename F>
__device__ __forceinline__ void for_window(const PoolParams& p,
                                           const Place& place, F&& body) {
  const Plane x = plane_of(p, p.input, place);
  const Taps rows = taps_of(p, 0, place.h), columns = taps_of(p, 1, place.w);
  for (int32_t kh = rows.first; kh < rows.end; ++kh)
    for (int32_t kw = columns.first; kw < columns.end; ++kw)
      body(x.base + (rows.start + kh * p.dilations[0]) * x.h +
               (columns.start + kw * p.dilations[1]) * x.w,
           kh * p.kernel[1] + kw);
}

// The windows that may cover coordinate `at`: [first, end).
struct Windows {
  int32_t first, end;
};

__device__ __forceinline__ Windows windows_of(const PoolParams& p, int dim,
                                              int32_t at) {
  const int32_t padded = at + p.pads[dim];
  const int32_t reach = padded - (p.kernel[dim] - 1) * p.dilations[dim];
  const int32_t first = reach <= 0 ? 0 : (reach - 1) / p.strides[dim] + 1;
  const int32_t end = padded / p.strides[dim] + 1;
  return {first, end < p.output[dim] ? end : p.output[dim]};
}

// Sums share(gradient, its offset, row, column, position in that window) over
// the windows that cover the input element.
template <typename T, typename F>
__device__ __forceinline__ float gather(const PoolParams& p, const T* dy,
                                        const Place& place, F&& share) {
  const Plane y = plane_of(p, p.output, place);
  const Windows rows = windows_of(p, 0, place.h),
                columns = windows_of(p, 1, place.w);
  float sum = 0;
  for (int32_t oh = rows.first; oh < rows.end; ++oh) {
    const int32_t down = place.h + p.pads[0] - oh * p.strides[0];
    if (down % p.dilations[0] != 0) continue;
    for (int32_t ow = columns.first; ow < columns.end; ++ow) {
      const int32_t right = place.w + p.pads[1] - ow * p.strides[1];
      if (right % p.dilations[1] != 0) continue;
      const int64_t at = y.base + oh * y.h + ow * y.w;
      sum +=
          share(static_cast<float>(dy[at]), at, oh, ow,
                down / p.dilations[0] * p.kernel[1] + right / p.dilations[1]);
    }
  }
  return sum;
}

// Calls body(index of the element, its place) for the elements of this thread.
template <typename F>
__device__ __forceinline__ void for_elements(const PoolParams& p,
                                             const int32_t* extent, F&& body) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < p.elements; i += step)
    body(i, i <= 0xffffffff
                ? place_of<uint32_t>(p, extent, static_cast<uint32_t>(i))
                : far_place_of(p, extent, static_cast<uint64_t>(i)));
}

template <typename T>
__device__ __forceinline__ void max_pool(const PoolParams& p, const T* x, T* y,
                                         uint8_t* indices) {
  for_elements(p, p.output, [&](int64_t i, const Place& place) {
    bool found = false;
    float best = 0;
    int32_t index = 0;
    for_window(p, place, [&](int64_t offset, int32_t position) {
      const float value = static_cast<float>(x[offset]);
      if (found && (value <= best || best != best)) return;
      found = true;
      best = value;
      index = position;
    });
    y[i] = T(best);
    indices[i] = static_cast<uint8_t>(index);
  });
}

template <typename T>
__device__ __forceinline__ void max_pool_grad(const PoolParams& p, const T* dy,
                                              const uint8_t* indices, T* dx) {
  for_elements(p, p.input, [&](int64_t i, const Place& place) {
    dx[i] = T(
        gather(p, dy, place,
               [&](float grad, int64_t at, int64_t, int64_t, int64_t position) {
                 return indices[at] == position ? grad : 0.0f;
               }));
  });
}

template <typename T>
__device__ __forceinline__ void average_pool(const PoolParams& p, const T* x,
                                             T* y) {
  for_elements(p, p.output, [&](int64_t i, const Place& place) {
    float sum = 0;
    for_window(p, place, [&](int64_t offset, int32_t) {
      sum += static_cast<float>(x[offset]);
    });
    y[i] = T(sum / divisor(p, place.h, place.w));
  });
}

template <typename T>
__device__ __forceinline__ void average_pool_grad(const PoolParams& p,
                                                  const T* dy, T* dx) {
  for_elements(p, p.input, [&](int64_t i, const Place& place) {
    dx[i] = T(gather(p, dy, place,
                     [&](float grad, int64_t, int32_t h, int32_t w, int32_t) {
                       return grad / divisor(p, h, w);
                     }));
  });
}

}  // namespace

// Operands in the order of the catalog.
#define MPC_POOL_KERNELS(suffix, T)                                        \
  extern "C" __global__ void __launch_bounds__(256) mpc_max_pool_##suffix( \
      PoolParams p, const T* x, T* y, uint8_t* indices) {                  \
    max_pool(p, x, y, indices);                                            \
  }                                                                        \
  extern "C" __global__ void __launch_bounds__(256)                        \
      mpc_max_pool_grad_##suffix(PoolParams p, const T* dy,                \
                                 const uint8_t* indices, T* dx) {          \
    max_pool_grad(p, dy, indices, dx);                                     \
  }                                                                        \
  extern "C" __global__ void __launch_bounds__(256)                        \
      mpc_average_pool_##suffix(PoolParams p, const T* x, T* y) {          \
    average_pool(p, x, y);                                                 \
  }                                                                        \
  extern "C" __global__ void __launch_bounds__(256)                        \
      mpc_average_pool_grad_##suffix(PoolParams p, const T* dy, T* dx) {   \
    average_pool_grad(p, dy, dx);                                          \
  }

MPC_POOL_KERNELS(f32, float)
MPC_POOL_KERNELS(bf16, mpc::kernels::Bf16)
MPC_POOL_KERNELS(f16, mpc::kernels::F16)
