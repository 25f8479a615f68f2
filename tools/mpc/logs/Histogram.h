//===- Histogram.h - The distribution of a tensor's values ------*- C++ -*-===//
#ifndef MPC_TOOLS_MPC_LOGS_HISTOGRAM_H
#define MPC_TOOLS_MPC_LOGS_HISTOGRAM_H

#include <cstdint>
#include <vector>

namespace mpc::tool {

/// How many of a tensor's finite values lie in each of some intervals, which
/// have equal widths and reach from the smallest value to the largest.
struct Histogram {
  explicit Histogram(const std::vector<float> &values);

  uint64_t count = 0; ///< Finite values.
  double smallest = 0, largest = 0, sum = 0, sumOfSquares = 0;
  /// For each interval: its upper end, and its number of values. Empty if no
  /// value is finite.
  std::vector<double> ends, counts;
};

} // namespace mpc::tool

#endif // MPC_TOOLS_MPC_LOGS_HISTOGRAM_H
