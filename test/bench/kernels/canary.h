// The current speed of the machine. Shared hosts may run at half speed for
// seconds, so a measurement counts only if the canaries before and after it
// were good.

#ifndef MPC_TEST_BENCH_KERNELS_CANARY_H_
#define MPC_TEST_BENCH_KERNELS_CANARY_H_

#include <algorithm>
#include <chrono>
#include <vector>

namespace mpc::bench {

inline double seconds_now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Multiply-add rate in GFLOP/s of all OpenMP threads together, over some
// milliseconds: f32 FMA, or vdpbf16ps where the CPU has it (0 elsewhere).
double canary_f32();
double canary_bf16();

inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half]
                           : (values[half - 1] + values[half]) / 2;
}

// Seconds per call of `body`, repeated for about `budget` seconds.
template <typename Body>
double time_per_call(double budget, Body&& body) {
  int calls = 1;
  for (;;) {
    const double start = seconds_now();
    for (int i = 0; i < calls; ++i) body();
    const double taken = seconds_now() - start;
    if (taken >= budget / 2) return taken / calls;
    calls =
        std::max(calls + 1, static_cast<int>(calls * budget / (taken + 1e-9)));
  }
}

}  // namespace mpc::bench

#endif  // MPC_TEST_BENCH_KERNELS_CANARY_H_
