// The logarithm of the sum of a softmax, as two numbers. Attention saves it for
// its gradient, which recomputes the probabilities. A single number would be
// off by up to half an ulp, which at 10,000 is a relative error of 5e-4 in each
// probability.

#ifndef MPC_KERNELS_LOG_SUM_EXP_H_
#define MPC_KERNELS_LOG_SUM_EXP_H_

#include <cmath>

#include "kernels/float_types.h"

namespace mpc::kernels {

// Scores minus `high` are exact where it matters, because both have similar
// magnitude; `low` is the rounding error of `high`.
template <typename T>
struct LogSumExp {
  T high, low;
};

// The logarithm of the sum for scores with maximum `largest` whose e^(score -
// largest) add up to `sum`. A `sum` of 0 means that all scores are minus
// infinity and all probabilities 0. Wide has more digits than T.
template <typename Wide, typename T>
MPC_HOST_DEVICE inline LogSumExp<T> log_sum_exp(T largest, T sum) {
  if (sum == 0) return {static_cast<T>(INFINITY), 0};
  const Wide from = static_cast<Wide>(largest);
  const Wide log = std::log(static_cast<Wide>(sum));
  const T high = static_cast<T>(from + log);
  // The order matters: adding a large number to the logarithm would lose digits
  // of the latter in any type.
  return {high, static_cast<T>((from - static_cast<Wide>(high)) + log)};
}

// The number to subtract from scores before the exponential: their maximum,
// unless all are minus infinity.
template <typename T>
MPC_HOST_DEVICE inline T softmax_shift(T largest) {
  return largest == -static_cast<T>(INFINITY) ? 0 : largest;
}

// The divisor of the exponentials: their sum, unless all are 0.
template <typename T>
MPC_HOST_DEVICE inline T softmax_divisor(T sum) {
  return sum == 0 ? 1 : sum;
}

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_LOG_SUM_EXP_H_
