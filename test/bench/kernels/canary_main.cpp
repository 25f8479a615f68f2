// mpc-canary: prints the current multiply-add rates, "f32 GF/s, bf16 GF/s".

#include <algorithm>
#include <cstdio>

#include "test/bench/kernels/canary.h"

// The best of some runs; threads start in the first one.
static double best_of(double (*canary)()) {
  double best = 0;
  for (int run = 0; run < 5; ++run) best = std::max(best, canary());
  return best;
}

int main() {
  const double f32 = best_of(mpc::bench::canary_f32);
  std::printf("%.1f %.1f\n", f32, best_of(mpc::bench::canary_bf16));
}
