// The hyperbolic tangent for loops that the compiler vectorizes, included as
// exponential.h.

#include "kernels/cpu/loops/exponential.h"

// Small numbers use the polynomial of Cephes' tanhf, because the other form
// would lose their digits.
MPC_INLINE float tanh(float x) {
  const float size = std::fabs(x);
  const float e = exponential(-2.0f * size);
  const float large = (1.0f - e) / (1.0f + e);
  const float z = x * x;
  float y = -5.70498872745e-3f;
  y = y * z + 2.06390887954e-2f;
  y = y * z - 5.37397155531e-2f;
  y = y * z + 1.33314422036e-1f;
  y = y * z - 3.33332819422e-1f;
  const float small = y * z * x + x;
  return size < 0.625f ? small : std::copysign(large, x);
}
