// GELU, approximated by tanh as in "Gaussian Error Linear Units" (Hendrycks and
// Gimpel, 2016), section 2: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).

#ifndef MPC_KERNELS_GELU_H_
#define MPC_KERNELS_GELU_H_

#include <cmath>

#include "kernels/float_types.h"

namespace mpc::kernels {

inline constexpr double kGeluScale = 0.7978845608028654;  // sqrt(2/pi)
inline constexpr double kGeluCubic = 0.044715;

MPC_HOST_DEVICE inline float exp_of(float x) { return expf(x); }
MPC_HOST_DEVICE inline double exp_of(double x) { return exp(x); }

// The factor of x in gelu: 0.5 (1 + tanh(y)) = 1 / (1 + exp(-2 y)).
template <typename T>
MPC_HOST_DEVICE T gelu_factor(T x) {
  const T y = T(kGeluScale) * x * (T(1) + T(kGeluCubic) * x * x);
  return T(1) / (T(1) + exp_of(T(-2) * y));
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
