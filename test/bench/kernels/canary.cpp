#include "test/bench/kernels/canary.h"

#include <immintrin.h>
#include <omp.h>

namespace mpc::bench {
namespace {

constexpr int kChains = 12;  // Enough to hide the latency of both units.
constexpr int kSteps = 200000;

__attribute__((target("avx512f"))) float first_of_sum(const __m512* sums) {
  __m512 total = sums[0];
  for (int i = 1; i < kChains; ++i) total = _mm512_add_ps(total, sums[i]);
  return _mm512_cvtss_f32(total);
}

__attribute__((target("avx512f"))) float fma_loop() {
  __m512 sums[kChains];
  const __m512 a = _mm512_set1_ps(0.999f), b = _mm512_set1_ps(0.001f);
  for (__m512& sum : sums) sum = b;
  for (int step = 0; step < kSteps; ++step)
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], a, b);
  return first_of_sum(sums);
}

__attribute__((target("avx512f,avx512bf16"))) float dot_loop() {
  __m512 sums[kChains];
  const __m512i ones = _mm512_set1_epi32(0x3f803f80);
  const __m512bh a = reinterpret_cast<__m512bh>(ones);
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  for (int step = 0; step < kSteps; ++step)
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_dpbf16_ps(sums[i], a, a);
  return first_of_sum(sums);
}

double rate(float (*loop)(), double flops_per_step) {
  volatile float sink = 0;
  const double start = seconds_now();
#pragma omp parallel
  sink = loop();
  (void)sink;
  return flops_per_step * kChains * kSteps * omp_get_max_threads() /
         (seconds_now() - start) * 1e-9;
}

}  // namespace

double canary_f32() {
  return __builtin_cpu_supports("avx512f") ? rate(fma_loop, 32) : 0;
}

double canary_bf16() {
  return __builtin_cpu_supports("avx512bf16") ? rate(dot_loop, 64) : 0;
}

}  // namespace mpc::bench
