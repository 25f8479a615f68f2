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
  auto secondsSince = [](Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  const std::string device = mpc_session_device(session.get());
  const bool waits = device == "cpu" || device == "reference";
  const Clock::time_point begin = Clock::now();
  Clock::time_point last = begin;
  for (uint64_t step = 0; step < count; ++step) {
    for (uint64_t call = 0; call < program.microBatches(); ++call)
      check(mpc_session_step(session.get(), tensors.data(), tensors.size(),
                             nullptr),
            place);
    if (waits)
      times.add(secondsSince(last));
    last = Clock::now();
  }
  check(mpc_session_synchronize(session.get(), nullptr), place);
  if (waits)
    return;
  const double each = secondsSince(begin) / double(count);
  for (uint64_t step = 0; step < count; ++step)
    times.add(each);
}
