// mpc-canary: prints the current multiply-add rates, "f32 GF/s, bf16 GF/s".

#include <cstdio>

#include "test/bench/kernels/canary.h"

int main() {
  const double f32 = mpc::bench::canary_f32();
  std::printf("%.1f %.1f\n", f32, mpc::bench::canary_bf16());
}
