// Pooling and its gradients. Among equal maxima the first in row-major order of
// the window wins; the first NaN is larger than everything. Pads are ignored by
// max_pool, and count for average_pool at most in the divisor.

#include "kernels/reference/reference.h"

namespace mpc::kernels::reference {
namespace {

struct Geometry {
  explicit Geometry(const PoolShape& s)
      : x(s.channels_last, s.channels, s.input),
        y(s.channels_last, s.channels, s.output) {}
  ImageStrides x, y;
};

// Calls body(n, c, x offset of the image, y offset of the result, h, w).
template <typename F>
void for_results(const PoolShape& s, const Geometry& g, F&& body) {
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t c = 0; c < s.channels; ++c)
      for (int64_t h = 0; h < s.output[0]; ++h)
        for (int64_t w = 0; w < s.output[1]; ++w)
          body(n * g.x.n + c * g.x.c,
               n * g.y.n + c * g.y.c + h * g.y.h + w * g.y.w, h, w);
}

// Calls body(offset in the image, position in the window) for each element of
// the window at h, w that lies inside the image.
template <typename F>
void for_window(const PoolShape& s, const Geometry& g, int64_t h, int64_t w,
                F&& body) {
  const Taps rows = window_taps(s.window, 0, s.input[0], h);
  const Taps columns = window_taps(s.window, 1, s.input[1], w);
  for (int64_t kh = rows.first; kh < rows.end; ++kh)
    for (int64_t kw = columns.first; kw < columns.end; ++kw)
      body((rows.start + kh * s.window.dilations[0]) * g.x.h +
               (columns.start + kw * s.window.dilations[1]) * g.x.w,
           kh * s.window.kernel[1] + kw);
}

template <typename T, typename R>
void max_pool(const PoolShape& s, void* const* operands) {
  const Geometry g(s);
  const T* x = static_cast<const T*>(operands[0]);
  T* y = static_cast<T*>(operands[1]);
  uint8_t* indices = static_cast<uint8_t*>(operands[2]);
  for_results(s, g, [&](int64_t image, int64_t result, int64_t h, int64_t w) {
    bool found = false;
    Sum<T> best = 0;
    for_window(s, g, h, w, [&](int64_t offset, int64_t position) {
      const Sum<T> value = Sum<T>(x[image + offset]);
      if (found && (value <= best || best != best)) return;
      found = true;
      best = value;
      indices[result] = static_cast<uint8_t>(position);
    });
    y[result] = T(best);
  });
}

// Gradients are summed for each input element, so that they are rounded only
// once.
template <typename T, typename R, typename F>
void gather(const PoolShape& s, const T* dy, T* dx, F&& share) {
  const Geometry g(s);
  const Window& window = s.window;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t c = 0; c < s.channels; ++c)
      for (int64_t h = 0; h < s.input[0]; ++h)
        for (int64_t w = 0; w < s.input[1]; ++w) {
          Sum<T> sum = 0;
          for (int64_t oh = 0; oh < s.output[0]; ++oh)
            for (int64_t ow = 0; ow < s.output[1]; ++ow) {
              const int64_t down =
                  h + window.pads_begin[0] - oh * window.strides[0];
              const int64_t right =
                  w + window.pads_begin[1] - ow * window.strides[1];
              if (down < 0 || right < 0 || down % window.dilations[0] != 0 ||
                  right % window.dilations[1] != 0)
                continue;
              const int64_t kh = down / window.dilations[0];
              const int64_t kw = right / window.dilations[1];
              if (kh >= window.kernel[0] || kw >= window.kernel[1]) continue;
              const int64_t at =
                  n * g.y.n + c * g.y.c + oh * g.y.h + ow * g.y.w;
              sum +=
                  share(Sum<T>(dy[at]), at, oh, ow, kh * window.kernel[1] + kw);
            }
          dx[n * g.x.n + c * g.x.c + h * g.x.h + w * g.x.w] = T(sum);
        }
}

template <typename T, typename R>
void max_pool_grad(const PoolShape& s, void* const* operands) {
  const uint8_t* indices = static_cast<const uint8_t*>(operands[1]);
  gather<T, R>(
      s, static_cast<const T*>(operands[0]), static_cast<T*>(operands[2]),
      [&](Sum<T> grad, int64_t at, int64_t, int64_t, int64_t position) {
        return indices[at] == position ? grad : Sum<T>(0);
      });
}

// The divisor of the mean of the window at h, w.
template <typename T>
Sum<T> divisor(const PoolShape& s, int64_t h, int64_t w) {
  if (s.count_include_pad)
    return Sum<T>(s.window.kernel[0]) * Sum<T>(s.window.kernel[1]);
  const Taps rows = window_taps(s.window, 0, s.input[0], h);
  const Taps columns = window_taps(s.window, 1, s.input[1], w);
  return Sum<T>(rows.end - rows.first) * Sum<T>(columns.end - columns.first);
}

template <typename T, typename R>
void average_pool(const PoolShape& s, void* const* operands) {
  const Geometry g(s);
  const T* x = static_cast<const T*>(operands[0]);
  T* y = static_cast<T*>(operands[1]);
  for_results(s, g, [&](int64_t image, int64_t result, int64_t h, int64_t w) {
    Sum<T> sum = 0;
    for_window(s, g, h, w, [&](int64_t offset, int64_t) {
      sum += Sum<T>(x[image + offset]);
    });
    y[result] = T(sum / divisor<T>(s, h, w));
  });
}

template <typename T, typename R>
void average_pool_grad(const PoolShape& s, void* const* operands) {
  gather<T, R>(s, static_cast<const T*>(operands[0]),
               static_cast<T*>(operands[1]),
               [&](Sum<T> grad, int64_t, int64_t h, int64_t w, int64_t) {
                 return grad / divisor<T>(s, h, w);
               });
}

struct Pool {
  using Function = ReferenceKernel<PoolShape>::Function;
  template <typename T, typename R>
  static Function get(KernelId id) {
    switch (id) {
      case KernelId::max_pool:
        return max_pool<T, R>;
      case KernelId::max_pool_grad:
        return max_pool_grad<T, R>;
      case KernelId::average_pool:
        return average_pool<T, R>;
      default:
        return average_pool_grad<T, R>;
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> make_pool(KernelId id, const PoolShape& shape) {
  return std::make_unique<ReferenceKernel<PoolShape>>(
      shape, select<Pool>(id, shape.dtype, shape.dtype));
}

}  // namespace mpc::kernels::reference
