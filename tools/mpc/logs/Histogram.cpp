//===- Histogram.cpp - The distribution of a tensor's values --------------===//

#include "tools/mpc/logs/Histogram.h"

#include <algorithm>
#include <cmath>

using namespace mpc::tool;

static constexpr size_t kIntervals = 64;

Histogram::Histogram(const std::vector<float> &values) {
  for (double value : values) {
    if (!std::isfinite(value))
      continue;
    smallest = count == 0 ? value : std::min(smallest, value);
    largest = count == 0 ? value : std::max(largest, value);
    sum += value;
    sumOfSquares += value * value;
    ++count;
  }
  if (count == 0)
    return;
  const double width = (largest - smallest) / kIntervals;
  counts.resize(width > 0 ? kIntervals : 1);
  for (size_t i = 1; i < counts.size(); ++i)
    ends.push_back(smallest + double(i) * width);
  ends.push_back(largest);
  for (double value : values)
    if (std::isfinite(value))
      ++counts[std::upper_bound(ends.begin(), ends.end() - 1, value) -
               ends.begin()];
}
