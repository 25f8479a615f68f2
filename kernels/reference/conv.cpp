// Convolution and its two gradients as one loop nest each. With
//   y[n, o, p] = bias[o] + sum over c, k of
//                x[n, c, p*stride - pad + k*dilation] * w[o, c, k]
// the gradients are sums over the same products, gathered by input element or
// by weight.

#include "kernels/reference/reference.h"

namespace mpc::kernels::reference {
namespace {

// Extents and strides under short names.
struct Geometry {
  explicit Geometry(const ConvShape& s)
      : shape(s),
        x(s.channels_last, s.input_channels, s.input),
        y(s.channels_last, s.output_channels, s.output),
        group_inputs(s.input_channels / s.group),
        group_outputs(s.output_channels / s.group) {}

  int64_t weight(int64_t o, int64_t c, int64_t kh, int64_t kw) const {
    const auto& kernel = shape.window.kernel;
    return ((o * group_inputs + c) * kernel[0] + kh) * kernel[1] + kw;
  }
  // Coordinate in the input of position `k` of the window at `p`.
  int64_t coordinate(int dim, int64_t p, int64_t k) const {
    const Window& w = shape.window;
    return p * w.strides[dim] - w.pads_begin[dim] + k * w.dilations[dim];
  }
  // The window whose position `k` lies on input coordinate `i`, or -1.
  int64_t window_at(int dim, int64_t i, int64_t k) const {
    const Window& w = shape.window;
    const int64_t start = i + w.pads_begin[dim] - k * w.dilations[dim];
    if (start < 0 || start % w.strides[dim] != 0) return -1;
    const int64_t p = start / w.strides[dim];
    return p < shape.output[dim] ? p : -1;
  }

  const ConvShape& shape;
  ImageStrides x, y;
  int64_t group_inputs, group_outputs;
};

template <typename F>
void for_image(int64_t batch, int64_t channels, std::array<int64_t, 2> extent,
               F&& body) {
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t h = 0; h < extent[0]; ++h)
        for (int64_t w = 0; w < extent[1]; ++w) body(n, c, h, w);
}

double bias_at(const ConvShape& s, const void* bias, int64_t o) {
  switch (s.bias_dtype) {
    case MPC_DTYPE_F64:
      return static_cast<const double*>(bias)[o];
    case MPC_DTYPE_F16:
      return static_cast<const F16*>(bias)[o];
    case MPC_DTYPE_BF16:
      return static_cast<const Bf16*>(bias)[o];
    default:
      return static_cast<const float*>(bias)[o];
  }
}

template <typename T, typename R>
void forward(const ConvShape& s, void* const* operands) {
  const Geometry g(s);
  const T* x = static_cast<const T*>(operands[0]);
  const T* weight = static_cast<const T*>(operands[1]);
  R* y = static_cast<R*>(operands[s.has_bias ? 3 : 2]);
  for_image(
      s.batch, s.output_channels, s.output,
      [&](int64_t n, int64_t o, int64_t h, int64_t w) {
        const int64_t first = o / g.group_outputs * g.group_inputs;
        Sum<T> sum = 0;
        for (int64_t c = 0; c < g.group_inputs; ++c)
          for (int64_t kh = 0; kh < s.window.kernel[0]; ++kh)
            for (int64_t kw = 0; kw < s.window.kernel[1]; ++kw) {
              const int64_t ih = g.coordinate(0, h, kh);
              const int64_t iw = g.coordinate(1, w, kw);
              if (ih < 0 || ih >= s.input[0] || iw < 0 || iw >= s.input[1])
                continue;
              sum += Sum<T>(x[n * g.x.n + (first + c) * g.x.c + ih * g.x.h +
                              iw * g.x.w]) *
                     Sum<T>(weight[g.weight(o, c, kh, kw)]);
            }
        if (s.has_bias) sum += Sum<T>(bias_at(s, operands[2], o));
        y[n * g.y.n + o * g.y.c + h * g.y.h + w * g.y.w] = R(sum);
      });
}

template <typename T, typename R>
void grad_input(const ConvShape& s, void* const* operands) {
  const Geometry g(s);
  const T* dy = static_cast<const T*>(operands[0]);
  const T* weight = static_cast<const T*>(operands[1]);
  R* dx = static_cast<R*>(operands[2]);
  for_image(
      s.batch, s.input_channels, s.input,
      [&](int64_t n, int64_t c, int64_t h, int64_t w) {
        const int64_t group = c / g.group_inputs;
        Sum<T> sum = 0;
        for (int64_t i = 0; i < g.group_outputs; ++i)
          for (int64_t kh = 0; kh < s.window.kernel[0]; ++kh)
            for (int64_t kw = 0; kw < s.window.kernel[1]; ++kw) {
              const int64_t oh = g.window_at(0, h, kh);
              const int64_t ow = g.window_at(1, w, kw);
              if (oh < 0 || ow < 0) continue;
              const int64_t o = group * g.group_outputs + i;
              sum +=
                  Sum<T>(dy[n * g.y.n + o * g.y.c + oh * g.y.h + ow * g.y.w]) *
                  Sum<T>(weight[g.weight(o, c % g.group_inputs, kh, kw)]);
            }
        dx[n * g.x.n + c * g.x.c + h * g.x.h + w * g.x.w] = R(sum);
      });
}

template <typename T, typename R>
void grad_weight(const ConvShape& s, void* const* operands) {
  const Geometry g(s);
  const T* dy = static_cast<const T*>(operands[0]);
  const T* x = static_cast<const T*>(operands[1]);
  R* dw = static_cast<R*>(operands[2]);
  for_image(
      s.output_channels, g.group_inputs, s.window.kernel,
      [&](int64_t o, int64_t c, int64_t kh, int64_t kw) {
        const int64_t channel = o / g.group_outputs * g.group_inputs + c;
        Sum<T> sum = 0;
        for (int64_t n = 0; n < s.batch; ++n)
          for (int64_t oh = 0; oh < s.output[0]; ++oh)
            for (int64_t ow = 0; ow < s.output[1]; ++ow) {
              const int64_t ih = g.coordinate(0, oh, kh);
              const int64_t iw = g.coordinate(1, ow, kw);
              if (ih < 0 || ih >= s.input[0] || iw < 0 || iw >= s.input[1])
                continue;
              sum +=
                  Sum<T>(dy[n * g.y.n + o * g.y.c + oh * g.y.h + ow * g.y.w]) *
                  Sum<T>(
                      x[n * g.x.n + channel * g.x.c + ih * g.x.h + iw * g.x.w]);
            }
        dw[g.weight(o, c, kh, kw)] = R(sum);
      });
}

struct Conv {
  using Function = ReferenceKernel<ConvShape>::Function;
  template <typename T, typename R>
  static Function get(KernelId id) {
    switch (id) {
      case KernelId::conv_grad_input:
        return grad_input<T, R>;
      case KernelId::conv_grad_weight:
        return grad_weight<T, R>;
      default:
        return forward<T, R>;
    }
  }
};

}  // namespace

std::unique_ptr<Kernel> make_conv(KernelId id, const ConvShape& shape) {
  return std::make_unique<ReferenceKernel<ConvShape>>(
      shape, select<Conv>(id, shape.dtype, shape.result_dtype));
}

}  // namespace mpc::kernels::reference
