//===- CompensatedSum.h - Sums without accumulated rounding -----*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_METRICS_KINDS_COMPENSATEDSUM_H
#define MPC_TOOLS_MPC_METRICS_KINDS_COMPENSATEDSUM_H

#include <cmath>

namespace mpc::tool {

/// A sum whose error does not grow with the number of terms (Neumaier).
class CompensatedSum {
public:
  void add(double term) {
    double next = sum + term;
    if (std::isfinite(next))
      lost += std::fabs(sum) >= std::fabs(term) ? (sum - next) + term
                                                : (term - next) + sum;
    sum = next;
  }
  double value() const { return sum + lost; }

private:
  double sum = 0, lost = 0;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_METRICS_KINDS_COMPENSATEDSUM_H
