// GELU, approximated by tanh as in "Gaussian Error Linear Units" (Hendrycks and
// Gimpel, 2016), section 2: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).

#ifndef MPC_KERNELS_GELU_H_
#define MPC_KERNELS_GELU_H_

#include <cmath>

#include "kernels/float_types.h"

namespace mpc::kernels {

inline constexpr double kGeluScale = 0.7978845608028654;  // sqrt(2/pi)
inline constexpr double kGeluCubic = 0.044715;

MPC_HOST_DEVICE inline float tanh_of(float x) { return tanhf(x); }
MPC_HOST_DEVICE inline double tanh_of(double x) { return tanh(x); }

// The factor of x in gelu, between 0 and 1.
template <typename T>
MPC_HOST_DEVICE T gelu_factor(T x) {
  const T inner = T(kGeluScale) * x * (T(1) + T(kGeluCubic) * x * x);
  return T(0.5) + T(0.5) * tanh_of(inner);
}

// The derivative of gelu: factor + x factor'.
template <typename T>
MPC_HOST_DEVICE T gelu_slope(T x) {
  const T factor = gelu_factor(x), square = x * x;
  // Where the factor is 0 or 1, an infinite square times 0 would be NaN.
  const T bounded = square > T(1e30) ? T(1e30) : square;
  const T inner = T(2 * kGeluScale) * (T(1) + T(3 * kGeluCubic) * bounded);
  return factor + x * (factor * (T(1) - factor) * inner);
}

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_GELU_H_
