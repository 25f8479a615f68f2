// The logarithm of the sum of a softmax, in two numbers. Attention leaves it to
// its gradient, which makes the probabilities again: as one number it would be
// off by half a unit in the last place, which at 10,000 is 5e-4 of each
// probability.

#ifndef MPC_KERNELS_LOG_SUM_EXP_H_
#define MPC_KERNELS_LOG_SUM_EXP_H_

#include <cmath>

#include "kernels/float_types.h"

namespace mpc::kernels {

// Scores minus `high` are exact where they count, as both are of one size;
// `low` is what rounding took from `high`.
template <typename T>
struct LogSumExp {
  T high, low;
};

// The logarithm of a sum for scores whose largest is `largest` and whose
// e^(score - largest) add up to `sum`; of scores that are all minus infinity,
// whose probabilities are 0, if that is 0. Wide has more digits than T.
template <typename Wide, typename T>
MPC_HOST_DEVICE inline LogSumExp<T> log_sum_exp(T largest, T sum) {
  if (sum == 0) return {static_cast<T>(INFINITY), 0};
  const Wide from = static_cast<Wide>(largest);
  const Wide log = std::log(static_cast<Wide>(sum));
  const T high = static_cast<T>(from + log);
  // In this order, as the sum of a large number and the logarithm would lose
  // digits of the latter in any type.
  return {high, static_cast<T>((from - static_cast<Wide>(high)) + log)};
}

// What is subtracted from scores before the exponential: their largest, unless
// all are minus infinity.
template <typename T>
MPC_HOST_DEVICE inline T softmax_shift(T largest) {
  return largest == -static_cast<T>(INFINITY) ? 0 : largest;
}

// What exponentials are divided by: their sum, unless all are 0.
template <typename T>
MPC_HOST_DEVICE inline T softmax_divisor(T sum) {
  return sum == 0 ? 1 : sum;
}

}  // namespace mpc::kernels

#endif  // MPC_KERNELS_LOG_SUM_EXP_H_
