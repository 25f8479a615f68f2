//===- EpochLoss.cpp - The mean loss of an epoch --------------------------===//

#include "tools/mpc/training/EpochLoss.h"
#include "tools/mpc/base/Text.h"

#include <sstream>

using namespace mpc::tool;

void EpochLoss::add(uint64_t epoch, double loss, uint64_t count) {
  if (epoch != current) {
    current = epoch;
    samples = 0;
    sum = 0;
  }
  samples += count;
  sum += loss * count;
}

std::optional<double> EpochLoss::mean() const {
  if (samples == 0)
    return std::nullopt;
  return sum / samples;
}

std::string EpochLoss::toText() const {
  return format("%llu %llu %.17g", static_cast<unsigned long long>(current),
                static_cast<unsigned long long>(samples), sum);
}

void EpochLoss::restore(const std::string &text) {
  EpochLoss found;
  std::istringstream words(text);
  *this = words >> found.current >> found.samples >> found.sum ? found
                                                               : EpochLoss();
}
