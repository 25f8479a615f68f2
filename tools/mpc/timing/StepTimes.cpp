//===- StepTimes.cpp - Measure training steps -----------------------------===//

#include "tools/mpc/timing/StepTimes.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

using namespace mpc::tool;

double StepTimes::sum() const {
  return std::accumulate(times.begin(), times.end(), 0.0);
}

double StepTimes::quantile(double part) const {
  std::vector<double> sorted = times;
  std::sort(sorted.begin(), sorted.end());
  double place = part * double(sorted.size() - 1);
  size_t below = size_t(place), above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] +
         (place - double(below)) * (sorted[above] - sorted[below]);
}

void StepRunner::run(uint64_t count, StepTimes &times) {
  using Clock = std::chrono::steady_clock;
  const std::vector<mpc_tensor_t> &tensors = inputs.tensors();
  const std::string place = "on " + inputs.describe();
  Clock::time_point last = Clock::now();
  for (uint64_t step = 0; step < count; ++step) {
    for (uint64_t call = 0; call < program.microBatches(); ++call)
      check(mpc_session_step(session.get(), tensors.data(), tensors.size(),
                             nullptr),
            place);
    Clock::time_point now = Clock::now();
    times.add(std::chrono::duration<double>(now - last).count());
    last = now;
  }
  check(mpc_session_synchronize(session.get(), nullptr), place);
}
